package repo_test

import (
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// loosely has attributes whose values are in interfaces.
type loosely struct {
	Title    string         `dynamodbav:"title"`
	Extra    any            `dynamodbav:"extra"`
	Settings map[string]any `dynamodbav:"settings"`
	Upgraded any            `dynamodbav:"upgraded"`
	Revision string         `dynamodbav:"revision"`
}

// UpdateOps leave a set and a long number in an interface as they are stored, in the main item
// and in the copy. A map that both values share may have changed in place, and is written.
func TestUpdateOpsLeaveWhatIsInInterfaces(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	copyKey := keys.Key{PK: "COPY", SK: "DOC"}
	upgrade := repo.Default("upgraded", []any{"a"})
	docs := newRepo(t, tbl, repo.Entity[loosely]{
		Type: "DOC", Version: "revision", Upgrades: []repo.Upgrade{upgrade},
		Key:    func(loosely) keys.Key { return docKey },
		Copies: []repo.Copy[loosely]{{Key: func(loosely) keys.Key { return copyKey }}},
	})
	loose := &types.AttributeValueMemberM{Value: table.Item{
		"set":    &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
		"number": &types.AttributeValueMemberN{Value: "12345678901234567890"},
	}}
	stored := table.Item{
		"entityType": &types.AttributeValueMemberS{Value: "DOC"}, "revision": &types.AttributeValueMemberS{Value: "1"},
		"extra": loose, "settings": loose,
	}
	for _, key := range []keys.Key{docKey, copyKey} {
		expect.OK(t, tbl.Do(t.Context(), table.Put(key, stored)))
	}
	old := expect.Value(docs.Get(t.Context(), docKey))(t)

	want := table.Item{
		"extra": loose, "settings": loose, "title": &types.AttributeValueMemberS{Value: "new"},
		"upgraded": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: "a"}}},
	}
	next := old
	next.Title, next.Settings = "new", maps.Clone(old.Settings)
	expect.OK(t, tbl.Transact(t.Context(), docs.UpdateOps(old, &next)...))
	for _, key := range []keys.Key{docKey, copyKey} {
		got := expect.Value(table.Get[table.Item](t.Context(), tbl, key))(t)
		for name, want := range want {
			expect.Equal(t, name+" is as it should be", item.EqualUnordered(got[name], want), true)
		}
	}

	last := next
	last.Extra, last.Settings["more"] = "text", true
	expect.OK(t, tbl.Transact(t.Context(), docs.UpdateOps(next, &last)...))
	got := expect.Value(docs.Get(t.Context(), docKey))(t)
	expect.Equal(t, "extra", got.Extra, any("text"))
	expect.Equal(t, "a member that was added in place", got.Settings["more"], any(true))
}
