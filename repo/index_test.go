package repo_test

import (
	"testing"

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// UpdateOps refuses a change of the main key or a copy's, not of an index's.
func TestUpdateOpsChangesIndexKeys(t *testing.T) {
	t.Parallel()
	type order struct{ ID, State, Revision string }
	tbl := tabletest.New(t, table.Schema{Name: "Orders", Indexes: []table.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}, nil)
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
	tbl := tabletest.New(t, table.Schema{Name: "Pages", Indexes: []table.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}, nil)
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
