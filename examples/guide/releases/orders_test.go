package releases

import (
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func open(t *testing.T) (*table.Table, *repo.Repo[Order1], *repo.Repo[Order2]) {
	t.Helper()
	tbl := tabletest.New(t, Schema, nil)
	old := check.Must(repo.New(tbl, release1))(t)
	now := check.Must(repo.New(tbl, release2))(t)
	return tbl, old, now
}

func TestTheOldReleaseKeepsWhatTheNewOneStores(t *testing.T) {
	t.Parallel()
	tbl, old, now := open(t)
	check.OK(t, now.Create(t.Context(), &Order2{ID: "o-1", Status: "open", Currency: "EUR"}))
	if _, err := old.Update(t.Context(), Key("o-1"), func(o *Order1) error { o.Status = "paid"; return nil }); err != nil {
		t.Fatal(err)
	}
	got, err := now.Get(t.Context(), Key("o-1"))
	if err != nil || got.Status != "paid" || got.Currency != "EUR" {
		t.Errorf("after the old release has written: %+v, %v", got, err)
	}
	listed, err := now.Query(t.Context(), table.Query{Index: "GSI1", PK: "CURRENCY#EUR"})
	if err != nil || len(listed.Items) != 1 {
		t.Errorf("listed: %+v, %v", listed.Items, err)
	}

	// What replaces the whole item does not.
	read := check.Must(old.Get(t.Context(), Key("o-1")))(t)
	check.OK(t, tbl.Do(t.Context(), table.Put(Key("o-1"), read)))
	item, err := table.Get[table.Item](t.Context(), tbl, Key("o-1"))
	if err != nil || item["currency"] != nil {
		t.Errorf("after table.Put: %v, %v", item, err)
	}
}

func TestAStaleRevisionIsRefused(t *testing.T) {
	t.Parallel()
	_, old, now := open(t)
	o := Order2{ID: "o-1", Status: "open"}
	check.OK(t, now.Create(t.Context(), &o))
	stale := Order1{ID: o.ID, Status: "cancelled", Revision: o.Revision}
	o.Status = "paid"
	check.OK(t, now.Save(t.Context(), &o))
	check.Is(t, old.Save(t.Context(), &stale), table.ErrStale, "a stale Save")
}
