package migrate_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/examples/blog/migrate"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestABackfillDoesNotOverwriteOrBringBack(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 3)
	f.advance(t, migrate.Dual)
	f.Posts.Segments = 1
	// The page is read, and then, before it is copied, writers change what is in
	// it.
	f.old.Next("Scan", inside(false, func() {
		check.OK(t, f.retitle(t, "old-0", "second"), f.retitle(t, "old-0", "third"))
		check.OK(t, f.Posts.Delete(t.Context(), post("old-1")))
	}))
	p := check.Must(f.Posts.Backfill(t.Context(), pass))(t)
	// The old table has a fence for each of its parts, too.
	check.Equal(t, "progress", []int64{p.Changed, p.Current, p.SetAside}, []int64{1, 2 + p.Matched - 3, 0})
	check.Equal(t, "changed meanwhile", f.title(t, "old-0"), "third")
	check.Equal(t, "deleted meanwhile", f.title(t, "old-1"), "")
	check.Equal(t, "untouched", f.title(t, "old-2"), "first")
	f.clean(t, 2)
}

func TestAWriteThatMeetsTheNextPhaseIsDoneInIt(t *testing.T) {
	t.Parallel()
	for _, next := range []migrate.Phase{migrate.Dual, migrate.Switching} {
		t.Run(next.String(), func(t *testing.T) {
			t.Parallel()
			f := setUp(t)
			f.legacy(t, 2)
			f.advance(t, next-1)
			for name, write := range map[string]func() error{
				"create": func() error { return f.Posts.Create(t.Context(), post("new")) },
				"update": func() error { return f.retitle(t, "old-0", "second") },
				"delete": func() error { return f.Posts.Delete(t.Context(), post("old-1")) },
			} {
				// The writer has read its phase; its write is on the way to the
				// old table when the phase moves on.
				f.old.Next("TransactWriteItems", inside(true, func() { f.advance(t, next) }))
				if err := write(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			check.Equal(t, "created", f.title(t, "new"), "first")
			check.Equal(t, "updated", f.title(t, "old-0"), "second")
			check.Equal(t, "deleted", f.title(t, "old-1"), "")
			check.Is(t, check.Err(f.Posts.Get(t.Context(), post("old-1"))), table.ErrNotFound)

			check.OK(t, f.Posts.Run(t.Context(), silent{}))
			check.Equal(t, "created", f.title(t, "new"), "first")
			check.Equal(t, "updated", f.title(t, "old-0"), "second")
			check.Equal(t, "deleted", f.title(t, "old-1"), "")
		})
	}
}

func TestTheOldTableIsFrozenAfterTheCutOver(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 2)
	f.advance(t, migrate.Switching)
	check.OK(t, f.retitle(t, "old-0", "second")) // caught up, and changed
	old := check.Must(table.Get[store.Post](t.Context(), f.Posts.Old.Consistent(), f.Posts.OldKey(post("old-0"))))(t)
	check.Equal(t, "in the old table", old.Title, "first")
	got := check.Must(f.Posts.Get(t.Context(), post("old-1")))(t) // caught up by reading
	check.Equal(t, "read", got.Title, "first")
	check.Is(t, f.Posts.Create(t.Context(), post("old-1")), table.ErrExists)

	check.OK(t, f.Posts.Run(t.Context(), silent{}))
	check.Equal(t, "title", f.title(t, "old-0"), "second")
	f.old.Always("Scan", tabletest.DropRequest())
	check.OK(t, f.retitle(t, "old-0", "third"), f.Posts.Delete(t.Context(), post("old-1")))
	check.OK(t, check.Err(table.Get[store.Post](t.Context(), f.Posts.Old.Consistent(), f.Posts.OldKey(post("old-1")))))
	check.Is(t, f.Posts.Create(t.Context(), post("old-1")), migrate.ErrDeleted)
	check.OK(t, f.Posts.Run(t.Context(), silent{})) // nothing is left to do
}

func TestAVerificationMakesGoodWhatACrashLeft(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 4)
	f.advance(t, migrate.Dual)
	check.Must(f.Posts.Backfill(t.Context(), pass))(t)

	// Writers end between the old table and the copy …
	f.single.Always("TransactWriteItems", tabletest.DropRequest())
	check.Is(t, f.retitle(t, "old-0", "second"), migrate.ErrNotCopied)
	// A write whose copy is in conflict with others is not repeated: the post is there.
	f.single.Always("TransactWriteItems", tabletest.CancelTransaction("TransactionConflict", "None", "None"))
	check.Is(t, f.Posts.Create(t.Context(), post("new")), migrate.ErrNotCopied)
	f.single.Always("TransactWriteItems", nil)
	// … and between the mark and the old table.
	f.old.Always("TransactWriteItems", tabletest.DropRequest())
	if err := f.Posts.Delete(t.Context(), post("old-1")); err == nil {
		t.Error("the deletion was not interrupted")
	}
	f.old.Always("TransactWriteItems", nil)
	check.Equal(t, "before", []string{f.title(t, "old-0"), f.title(t, "new")}, []string{"first", ""})
	check.Is(t, f.retitle(t, "old-1", "back"), table.ErrNotFound)

	v := check.Must(f.Posts.Verify(t.Context()))(t)
	check.Equal(t, "made good", v.Changed, 2)
	check.Equal(t, "after", []string{f.title(t, "old-0"), f.title(t, "new"), f.title(t, "old-1")}, []string{"second", "first", ""})
	check.Is(t, check.Err(f.Posts.Get(t.Context(), post("old-1"))), table.ErrNotFound)
	f.clean(t, 4)
}

func TestAVerificationFindsADifferentCopy(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.advance(t, migrate.Dual)
	check.OK(t, f.Posts.Create(t.Context(), post("p")))
	byID, byAuthor := store.PostKey("p"), store.AuthorKey(post("p"))
	f.clean(t, 1)

	other := expression.Set(expression.Name("title"), expression.Value("other"))
	for _, op := range []table.Op{
		table.Update(byID, other),     // the items differ
		table.Update(byAuthor, other), // they agree, and differ from the old table
		table.Delete(byAuthor),        // one is missing
	} {
		check.OK(t, f.store.Table.Do(t.Context(), op))
		check.Is(t, check.Err(f.Posts.Verify(t.Context())), migrate.ErrDifferent)
	}
}
