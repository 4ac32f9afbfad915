package migrate_test

import (
	"errors"
	"testing"

	"github.com/singletable/singletable/examples/blog/migrate"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var errKilled = errors.New("killed")

func TestABackfillGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 60)
	_, err := f.Posts.Backfill(t.Context(), pass)
	check.Is(t, err, migrate.ErrPhase) // writers do not write twice yet

	f.advance(t, migrate.Dual)
	p, err := f.Posts.Backfill(t.Context(), func(migrate.Progress) error { return errKilled })
	check.Is(t, err, errKilled)
	check.Equal(t, "after the first page", []int{p.Pages, p.Copied}, []int{1, 25})

	// In the middle of the second page the connection is gone.
	f.single.Next("TransactWriteItems", make([]tabletest.Fault, 5)...)
	f.single.Always("TransactWriteItems", tabletest.DropRequest())
	if _, err = f.Posts.Backfill(t.Context(), pass); err == nil {
		t.Fatal("the backfill was not interrupted")
	}
	f.single.Always("TransactWriteItems", nil)
	stored := check.Must(table.Get[migrate.Progress](t.Context(), f.store.Table, migrate.ProgressKey("posts")))(t)
	check.Equal(t, "stored progress", stored, p)

	p = check.Must(f.Posts.Backfill(t.Context(), pass))(t)
	// The five that were copied before the end of the connection are done again.
	check.Equal(t, "at the end", []int{p.Pages, p.Copied, p.Newer}, []int{3, 55, 5})
	requests := len(f.old.Requests("Scan"))
	again := check.Must(f.Posts.Backfill(t.Context(), pass))(t)
	check.Equal(t, "again", again, p)
	check.Equal(t, "scans of one that is done", len(f.old.Requests("Scan")), requests)
	v, err := f.Posts.Verify(t.Context())
	clean(t, v, err)
	check.Equal(t, "checked", v.Checked, 60)
}

func TestABackfillWithATokenThatIsNoLongerGoodBeginsAnew(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 30)
	f.advance(t, migrate.Dual)
	p, err := f.Posts.Backfill(t.Context(), func(migrate.Progress) error { return errKilled })
	check.Is(t, err, errKilled)
	p.Token = "too old"
	check.OK(t, f.store.Table.Do(t.Context(), table.Put(migrate.ProgressKey("posts"), p)))
	p = check.Must(f.Posts.Backfill(t.Context(), pass))(t)
	check.Equal(t, "copied", p.Copied, 30)
}

func TestTheSingleTableIsNeverScanned(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 3)
	check.OK(t, f.Run(t.Context(), silent{}))
	check.Equal(t, "scans of the single table", len(f.single.Requests("Scan")), 0)
}
