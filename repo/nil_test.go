package repo_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// state encodes to a nil pointer, or to a list with one, if its text says so.
type state string

func (s state) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	switch s {
	case "nil":
		return (*types.AttributeValueMemberS)(nil), nil
	case "a list with nil":
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{(*types.AttributeValueMemberN)(nil)}}, nil
	}
	return &types.AttributeValueMemberS{Value: string(s)}, nil
}

func TestANilOfAMarshalerIsRefused(t *testing.T) {
	t.Parallel()
	type job struct{ ID, Rev, State string }
	type oddJob struct {
		ID, Rev string
		State   state
	}
	tbl := tabletest.New(t, schema.Table{}, nil)
	key := keys.Key{PK: "JOB", SK: "1"}
	good := expect.Value(repo.New(tbl, repo.Entity[job]{Type: "JOB", Version: "Rev", Key: func(job) keys.Key { return key }}))(t)
	odd := expect.Value(repo.New(tbl, repo.Entity[oddJob]{Type: "JOB", Version: "Rev", Key: func(oddJob) keys.Key { return key }}))(t)
	stored := job{ID: "1", State: "new"}
	expect.OK(t, good.Create(t.Context(), &stored))
	was := oddJob{ID: "1", Rev: stored.Rev, State: "new"}
	for _, s := range []state{"nil", "a list with nil"} {
		with := func() *oddJob { return &oddJob{ID: "1", Rev: stored.Rev, State: s} }
		for call, err := range map[string]error{
			"Create":      odd.Create(t.Context(), with()),
			"Save":        odd.Save(t.Context(), with()),
			"TransactPut": odd.TransactPut(t.Context(), with()),
			"UpdateOps":   tbl.Transact(t.Context(), odd.UpdateOps(was, with())...),
			"Update": expect.ErrOf(odd.Update(t.Context(), key, func(j *oddJob) error {
				j.State = s
				return nil
			})),
			"Changes": expect.ErrOf(odd.Changes(was, *with())),
		} {
			expect.Err(t, err, table.ErrInvalid)
			for _, part := range []string{`"JOB"`, tbl.Schema().Name, `attribute "State`} {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("%s, %s: no %s in %v", s, call, part, err)
				}
			}
		}
	}
}

func TestItemsWithANilAreRefused(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newPages(t, tbl, page{ID: "1", Tag: "new"})
	stored := storedItem(t, tbl, pageKey(page{ID: "1"}))
	none := (*types.AttributeValueMemberN)(nil)
	for name, value := range map[string]types.AttributeValue{
		"pk": none, "entityType": none, "rev": none, "entityShape": none, "tag": none, "other": none,
		"a nil interface": nil,
		"a list":          &types.AttributeValueMemberL{Value: []types.AttributeValue{none}},
		"a map":           &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"a": none}},
	} {
		item := table.Item{name: value}
		for attribute, v := range stored {
			if attribute != name {
				item[attribute] = v
			}
		}
		_, _, err := r.Decode(item)
		expect.Err(t, err, table.ErrInvalid)
		expect.Err(t, expect.ErrOf(r.RefreshOps(t.Context(), item)), table.ErrInvalid)
		expect.Err(t, expect.ErrOf(r.RefreshItems(item)), table.ErrInvalid)
	}
}

func TestUpgradesSetNoNil(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	expect.OK(t, newRepo(t, tbl, docWith(0)).Create(t.Context(), &Doc{ID: "d-1"}))
	expect.OK(t, tbl.Do(t.Context(), table.Patch(docKey, nil, "title")))
	for what, value := range map[string]types.AttributeValue{
		"nil": nil, "a nil pointer": (*types.AttributeValueMemberN)(nil),
		"a list": &types.AttributeValueMemberL{Value: []types.AttributeValue{nil}},
	} {
		for _, name := range []string{"title", "other"} {
			change := func(item table.Item) error { item[name] = value; return nil }
			docs := newRepo(t, tbl, docWith(0, repo.Upgrade{Writes: []string{"title"}, Change: change}))
			_, err := docs.Get(t.Context(), docKey)
			expect.Err(t, err, table.ErrInvalid)
			if err != nil && !strings.Contains(err.Error(), "upgrade from shape 0") {
				t.Errorf("%s for %s: %v", what, name, err)
			}
		}
	}
}
