package migrate_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/examples/blog/migrate"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestABackfillDoesNotOverwriteOrBringBack(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 3)
	f.advance(t, migrate.Dual)
	// The page is read, and then, before it is copied, writers change what is in
	// it.
	f.old.Next("Scan", inside(false, func() {
		must(t, f.retitle(t, "old-0", "second"), f.retitle(t, "old-0", "third"))
		must(t, f.Posts.Delete(t.Context(), post("old-1")))
	}))
	p, err := f.Posts.Backfill(t.Context(), pass)
	must(t, err)
	equal(t, "progress", []int{p.Copied, p.Newer, p.Deleted}, []int{1, 1, 1})
	equal(t, "changed meanwhile", f.title(t, "old-0"), "third")
	equal(t, "deleted meanwhile", f.title(t, "old-1"), "")
	equal(t, "untouched", f.title(t, "old-2"), "first")
	v, err := f.Posts.Verify(t.Context())
	clean(t, v, err)
	equal(t, "checked", v.Checked, 2)
}

func TestALateCopyDoesNotOverwriteANewerOne(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 1)
	f.advance(t, migrate.Dual)
	// The copy of the second title is on its way while the third is written.
	f.single.Next("TransactWriteItems", inside(true, func() { must(t, f.retitle(t, "old-0", "third")) }))
	must(t, f.retitle(t, "old-0", "second"))
	equal(t, "title", f.title(t, "old-0"), "third")
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
			equal(t, "created", f.title(t, "new"), "first")
			equal(t, "updated", f.title(t, "old-0"), "second")
			equal(t, "deleted", f.title(t, "old-1"), "")
			_, err := f.Posts.Get(t.Context(), post("old-1"))
			is(t, err, table.ErrNotFound)

			must(t, migrate.Run(t.Context(), f.Posts, silent{}))
			equal(t, "created", f.title(t, "new"), "first")
			equal(t, "updated", f.title(t, "old-0"), "second")
			equal(t, "deleted", f.title(t, "old-1"), "")
		})
	}
}

func TestTheOldTableIsFrozenAfterTheCutOver(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 2)
	f.advance(t, migrate.Switching)
	must(t, f.retitle(t, "old-0", "second")) // caught up, and changed
	old, err := table.Get[store.Post](t.Context(), f.Posts.Old.Consistent(), f.Posts.OldKey(post("old-0")))
	must(t, err)
	equal(t, "in the old table", old.Title, "first")
	got, err := f.Posts.Get(t.Context(), post("old-1")) // caught up by reading
	must(t, err)
	equal(t, "read", got.Title, "first")
	is(t, f.Posts.Create(t.Context(), post("old-1")), table.ErrExists)

	must(t, migrate.Run(t.Context(), f.Posts, silent{}))
	equal(t, "title", f.title(t, "old-0"), "second")
	f.old.Always("Scan", tabletest.DropRequest())
	must(t, f.retitle(t, "old-0", "third"), f.Posts.Delete(t.Context(), post("old-1")))
	is(t, f.Posts.Create(t.Context(), post("old-1")), migrate.ErrDeleted)
	must(t, migrate.Run(t.Context(), f.Posts, silent{})) // nothing is left to do
}

func TestAVerificationMakesGoodWhatACrashLeft(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 4)
	f.advance(t, migrate.Dual)
	_, err := f.Posts.Backfill(t.Context(), pass)
	must(t, err)

	// Writers end between the old table and the copy …
	f.single.Always("TransactWriteItems", tabletest.DropRequest())
	is(t, f.retitle(t, "old-0", "second"), migrate.ErrNotCopied)
	is(t, f.Posts.Create(t.Context(), post("new")), migrate.ErrNotCopied)
	f.single.Always("TransactWriteItems", nil)
	// … and between the mark and the old table.
	f.old.Always("TransactWriteItems", tabletest.DropRequest())
	if err := f.Posts.Delete(t.Context(), post("old-1")); err == nil {
		t.Error("the deletion was not interrupted")
	}
	f.old.Always("TransactWriteItems", nil)
	equal(t, "before", []string{f.title(t, "old-0"), f.title(t, "new")}, []string{"first", ""})
	is(t, f.retitle(t, "old-1", "back"), table.ErrNotFound)

	v, err := f.Posts.Verify(t.Context())
	must(t, err)
	equal(t, "made good", v, migrate.Verification{Checked: 5, Copied: 2, Deleted: 1})
	equal(t, "after", []string{f.title(t, "old-0"), f.title(t, "new"), f.title(t, "old-1")}, []string{"second", "first", ""})
	_, err = f.Posts.Get(t.Context(), post("old-1"))
	is(t, err, table.ErrNotFound)
	v, err = f.Posts.Verify(t.Context())
	clean(t, v, err)
}

func TestAVerificationFindsADifferentCopy(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.advance(t, migrate.Dual)
	must(t, f.Posts.Create(t.Context(), post("p")))
	byID, byAuthor := store.PostKey("p"), store.AuthorKey(post("p"))
	v, err := f.Posts.Verify(t.Context())
	clean(t, v, err)

	other := expression.Set(expression.Name("title"), expression.Value("other"))
	for _, op := range []table.Op{
		table.Update(byID, other),     // the items differ
		table.Update(byAuthor, other), // they agree, and differ from the old table
		table.Delete(byAuthor),        // one is missing
	} {
		must(t, f.store.Table.Do(t.Context(), op))
		_, err := f.Posts.Verify(t.Context())
		is(t, err, migrate.ErrDifferent)
	}
}
