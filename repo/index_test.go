package repo_test

import (
	"errors"
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

// UpdateOps refuses a change of the main key or a copy's, not of an index's.
func TestUpdateOpsChangesIndexKeys(t *testing.T) {
	t.Parallel()
	type order struct{ ID, State, Revision string }
	tbl := tabletest.New(t, schema.Table{Name: "Orders", Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}, nil)
	byState := func(state string) keys.PK { return keys.Prefix("STATE").PK(state) }
	orders := expect.Value(repo.New(tbl, repo.Entity[order]{
		Type: "ORDER", Version: "Revision",
		Key: func(o order) keys.Key { return keys.Key{PK: keys.Prefix("ORDER").PK(o.ID), SK: keys.Metadata} },
		Indexes: repo.Indexes[order]{"GSI1": func(o order) keys.Key {
			if o.State == "" {
				return keys.Key{}
			}
			return keys.Key{PK: byState(o.State), SK: keys.None.SK(keys.Str(o.ID))}
		}},
	}))(t)
	o := order{ID: "o-1", State: "open"}
	expect.OK(t, orders.Create(t.Context(), &o))
	for _, state := range []string{"closed", "", "open"} {
		old := o
		o.State = state
		expect.OK(t, tbl.Transact(t.Context(), orders.UpdateOps(old, &o)...))
		for _, s := range []string{"open", "closed"} {
			want := 0
			if s == state {
				want = 1
			}
			page := expect.Value(orders.Query(t.Context(), table.Query{Index: "GSI1", PK: byState(s)}))(t)
			expect.Equal(t, "orders in state "+s+" after "+state, len(page.Items), want)
		}
		item := expect.Value(table.Get[table.Item](t.Context(), tbl, keys.Key{PK: keys.Prefix("ORDER").PK(o.ID), SK: keys.Metadata}))(t)
		_, pk := item["GSI1PK"]
		_, sk := item["GSI1SK"]
		expect.Equal(t, "stored index keys after "+state, [2]bool{pk, sk}, [2]bool{state != "", state != ""})
	}
}

// A copy gets the keys of an index that was declared after it was stored.
func TestRefreshGivesCopiesTheirIndexKeys(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Name: "Pages", Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}, nil)
	p := page{ID: "1", Tag: "new"}
	newPages(t, tbl, p)
	e := pageEntity()
	e.Copies[0].Indexes = repo.Indexes[page]{"GSI1": tagKey}
	pages := newRepo(t, tbl, e)
	expect.Equal(t, "changed", expect.Value(pages.Refresh(t.Context(), pageKey(p)))(t), true)
	found := expect.Value(pages.Query(t.Context(), table.Query{Index: "GSI1", PK: "SITE"}))(t)
	expect.Equal(t, "entities in the index", len(found.Items), 1)
	expect.Equal(t, "changed again", expect.Value(pages.Refresh(t.Context(), pageKey(p)))(t), false)
}

// TestCopiesInAnIndexOfFields checks that no index has an entity and its copies in one
// partition.
func TestCopiesInAnIndexOfFields(t *testing.T) {
	t.Parallel()
	type member struct {
		ID       string `dynamodbav:"id"`
		Status   string `dynamodbav:"status,omitempty"`
		Email    string `dynamodbav:"email,omitempty"`
		Revision string `dynamodbav:"revision"`
	}
	client := tabletest.Client(t)
	key := func(m member) keys.Key { return keys.Key{PK: keys.User.PK(m.ID), SK: keys.Metadata} }
	mail := repo.Copy[member]{Name: "e-mail", Key: func(m member) keys.Key {
		return keys.Key{PK: keys.Prefix("EMAIL").PK(m.Email), SK: keys.Metadata}
	}}
	names := func(all ...string) (attributes []schema.Attribute) {
		for _, name := range all {
			attributes = append(attributes, schema.Attribute{Name: name})
		}
		return attributes
	}
	for name, tt := range map[string]struct {
		index   schema.Index
		refused bool
	}{
		"partition and sort key are fields": {schema.Index{PK: "status", SK: "email"}, true},
		"the partition key is a field":      {schema.Index{PK: "status"}, true},
		"sorted by a key of the table":      {schema.Index{PK: "status", SK: "pk"}, true},
		"keys only":                         {schema.Index{PK: "status", SK: "id", Projection: types.ProjectionTypeKeysOnly}, true},
		"several attributes":                {schema.Index{PKs: names("status"), SKs: names("email")}, true},
		"type and a field":                  {schema.Index{PKs: names("entityType"), SKs: names("status")}, true},
		"several, and a key of the table":   {schema.Index{PKs: names("entityType", "status"), SKs: names("sk")}, true},

		"no field for the sort key":      {schema.Index{PK: "status", SK: "GSI1SK"}, false},
		"no field for the partition key": {schema.Index{PK: "GSI1PK", SK: "status"}, false},
		"no field for one of several":    {schema.Index{PKs: names("status"), SKs: names("GSI1SK")}, false},
		"the table's partition key":      {schema.Index{Local: true, SK: "status"}, false},
	} {
		tt.index.Name = "index"
		tbl := expect.Value(table.New(client, schema.Table{Name: "Members", Indexes: []schema.Index{tt.index}}, nil))(t)
		entity := repo.Entity[member]{Type: "MEMBER", Key: key, Version: "revision"}
		if _, err := repo.New(tbl, entity); err != nil {
			t.Errorf("%s, without copies: %v", name, err)
		}
		entity.Copies = []repo.Copy[member]{mail}
		_, err := repo.New(tbl, entity)
		if _, ok := errors.AsType[*schema.Error](err); ok != tt.refused || ok && !strings.Contains(err.Error(), `has all key attributes of index "index"`) {
			t.Errorf("%s: %v, refused %v", name, err, tt.refused)
		}

		// What a type has is not known if it makes its attributes itself.
		_, err = repo.New(tbl, repo.Entity[map[string]string]{
			Type: "MEMBER", Version: "revision", Key: func(map[string]string) keys.Key { return keys.Key{} },
			Copies: []repo.Copy[map[string]string]{{Key: func(map[string]string) keys.Key { return keys.Key{} }}},
		})
		expect.OK(t, err)
	}
}
