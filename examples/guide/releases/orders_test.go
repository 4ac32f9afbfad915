package releases

import (
	"errors"
	"testing"

	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func open(t *testing.T) (*table.Table, *repo.Repo[Order1], *repo.Repo[Order2]) {
	t.Helper()
	tbl := tabletest.New(t, Schema, nil)
	old, err := repo.New(tbl, release1)
	if err != nil {
		t.Fatal(err)
	}
	now, err := repo.New(tbl, release2)
	if err != nil {
		t.Fatal(err)
	}
	return tbl, old, now
}

func TestTheOldReleaseKeepsWhatTheNewOneStores(t *testing.T) {
	t.Parallel()
	tbl, old, now := open(t)
	if err := now.Create(t.Context(), &Order2{ID: "o-1", Status: "open", Currency: "EUR"}); err != nil {
		t.Fatal(err)
	}
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
	read, err := old.Get(t.Context(), Key("o-1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tbl.Do(t.Context(), table.Put(Key("o-1"), read)); err != nil {
		t.Fatal(err)
	}
	item, err := table.Get[table.Item](t.Context(), tbl, Key("o-1"))
	if err != nil || item["currency"] != nil {
		t.Errorf("after table.Put: %v, %v", item, err)
	}
}

func TestAStaleRevisionIsRefused(t *testing.T) {
	t.Parallel()
	_, old, now := open(t)
	o := Order2{ID: "o-1", Status: "open"}
	if err := now.Create(t.Context(), &o); err != nil {
		t.Fatal(err)
	}
	stale := Order1{ID: o.ID, Status: "cancelled", Revision: o.Revision}
	o.Status = "paid"
	if err := now.Put(t.Context(), &o); err != nil {
		t.Fatal(err)
	}
	if err := old.Put(t.Context(), &stale); !errors.Is(err, table.ErrStale) {
		t.Errorf("a stale Put: %v", err)
	}
}
