package conformance

import (
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

func projectTests() tests {
	return tests{
		"reads by key give what is asked for":          projectItems,
		"entities that were read in part are not put":  projectEntities,
		"entities with upgrades are cut after reading": projectUpgraded,
	}
}

func projectItems(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, note{Type: "N", ID: "1", N: 5, GSI1PK: "A", GSI1SK: "B"})))
	must(t, tbl.Do(t.Context(), table.Put(other, note{Type: "N", ID: "2", N: 6, ExpiresAt: now.Unix() - 1})))
	part, want := tbl.Project("n").OfType("N"), note{Type: "N", N: 5}
	equal(t, "Get", expect.Value(table.Get[note](t.Context(), part, user))(t), want)
	wantErr(t, expect.ErrOf(table.Get[note](t.Context(), part, other)), table.ErrNotFound)
	wantErr(t, expect.ErrOf(table.Get[note](t.Context(), part.OfType("M"), user)), table.ErrWrongType)
	equal(t, "BatchGet", expect.Value(table.BatchGet[note](t.Context(), part, []keys.Key{user, other}))(t), map[keys.Key]note{user: want})
	equal(t, "TransactGet", expect.Value(table.TransactGet[note](t.Context(), part, []keys.Key{user, other}))(t), map[keys.Key]note{user: want})
	q := table.Query{PK: user.PK}
	equal(t, "QueryPage", expect.Value(table.QueryPage[note](t.Context(), part, q))(t).Items, []note{want})
	q.Project = []string{"id"}
	equal(t, "a query's own", expect.Value(table.QueryPage[note](t.Context(), part, q))(t).Items, []note{{Type: "N", ID: "1"}})
	equal(t, "Count", expect.Value(part.Count(t.Context(), table.Query{PK: user.PK}))(t).Items, 1)
	scanned := expect.Value(table.ScanPage[note](t.Context(), part, table.Scan{}))(t)
	equal(t, "ScanPage", scanned.Items, []note{want})
	whole := expect.Value(table.Get[note](t.Context(), part.Project(), user))(t)
	equal(t, "whole again", whole, note{Type: "N", ID: "1", N: 5, GSI1PK: "A", GSI1SK: "B"})
}

func projectEntities(t *testing.T, h Harness) {
	r := newRepo(t, h.newTable(t, appCore()), accountEntity)
	must(t, r.Create(t.Context(), &account{ID: "u-1", Name: "ana", N: 3}))
	key := accountKey("u-1")
	part := r.Project("n", "id")
	want := account{ID: "u-1", N: 3, Version: -1}
	v := expect.Value(part.Get(t.Context(), key))(t)
	equal(t, "Get", v, want)
	equal(t, "GetMany", expect.Value(part.GetMany(t.Context(), []keys.Key{key}))(t), map[keys.Key]account{key: want})
	equal(t, "Query", expect.Value(part.Query(t.Context(), table.Query{PK: key.PK}))(t).Items, []account{want})
	equal(t, "All", expect.Value(table.Collect(part.All(t.Context(), table.Query{PK: key.PK})))(t), []account{want})
	wantErr(t, part.Put(t.Context(), &v), table.ErrStale)

	_, err := part.Update(t.Context(), key, func(a *account) error { a.N++; return nil })
	must(t, err)
	got := expect.Value(part.Consistent().Project().Get(t.Context(), key))(t)
	equal(t, "after an update of the view", got, account{ID: "u-1", Name: "ana", N: 4, Version: 2})
}

func projectUpgraded(t *testing.T, h Harness) {
	type renamed struct {
		ID    string `dynamodbav:"id"`
		Title string `dynamodbav:"title"`
		N     int    `dynamodbav:"n"`
		V     int64  `dynamodbav:"version"`
	}
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, map[string]any{"entityType": "R", "id": "1", "name": "old", "n": 2, "version": 1})))
	r := newRepo(t, tbl, repo.Entity[renamed]{
		Type: "R", Key: func(renamed) keys.Key { return user }, Version: "version",
		Upgrades: []repo.Upgrade{repo.Rename("name", "title")},
	}).Project("title")
	want := renamed{Title: "old", V: -1}
	equal(t, "Get", expect.Value(r.Get(t.Context(), user))(t), want)
	equal(t, "GetMany", expect.Value(r.GetMany(t.Context(), []keys.Key{user}))(t), map[keys.Key]renamed{user: want})
	equal(t, "Query", expect.Value(r.Query(t.Context(), table.Query{PK: user.PK}))(t).Items, []renamed{want})
}
