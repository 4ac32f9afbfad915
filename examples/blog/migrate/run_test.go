package migrate_test

import (
	"errors"
	"testing"

	"github.com/singletable/singletable/examples/blog/migrate"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var errKilled = errors.New("killed")

func TestABackfillGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 60)
	_, err := f.Posts.Backfill(t.Context(), pass)
	is(t, err, migrate.ErrPhase) // writers do not write twice yet

	f.advance(t, migrate.Dual)
	p, err := f.Posts.Backfill(t.Context(), func(migrate.Progress) error { return errKilled })
	is(t, err, errKilled)
	equal(t, "after the first page", []int{p.Pages, p.Copied}, []int{1, 25})

	// In the middle of the second page the connection is gone.
	f.single.Next("TransactWriteItems", make([]tabletest.Fault, 5)...)
	f.single.Always("TransactWriteItems", tabletest.DropRequest())
	if _, err = f.Posts.Backfill(t.Context(), pass); err == nil {
		t.Fatal("the backfill was not interrupted")
	}
	f.single.Always("TransactWriteItems", nil)
	stored, err := table.Get[migrate.Progress](t.Context(), f.store.Table, migrate.ProgressKey("posts"))
	must(t, err)
	equal(t, "stored progress", stored, p)

	p, err = f.Posts.Backfill(t.Context(), pass)
	must(t, err)
	// The five that were copied before the end of the connection are done again.
	equal(t, "at the end", []int{p.Pages, p.Copied, p.Newer}, []int{3, 55, 5})
	requests := len(f.old.Requests("Scan"))
	again, err := f.Posts.Backfill(t.Context(), pass)
	must(t, err)
	equal(t, "again", again, p)
	equal(t, "scans of one that is done", len(f.old.Requests("Scan")), requests)
	v, err := f.Posts.Verify(t.Context())
	clean(t, v, err)
	equal(t, "checked", v.Checked, 60)
}

func TestABackfillWithATokenThatIsNoLongerGoodBeginsAnew(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 30)
	f.advance(t, migrate.Dual)
	p, err := f.Posts.Backfill(t.Context(), func(migrate.Progress) error { return errKilled })
	is(t, err, errKilled)
	p.Token = "too old"
	must(t, f.store.Table.Do(t.Context(), table.Put(migrate.ProgressKey("posts"), p)))
	p, err = f.Posts.Backfill(t.Context(), pass)
	must(t, err)
	equal(t, "copied", p.Copied, 30)
}

func TestTheSingleTableIsNeverScanned(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 3)
	must(t, f.Run(t.Context(), silent{}))
	equal(t, "scans of the single table", len(f.single.Requests("Scan")), 0)
}
