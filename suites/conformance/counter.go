package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

func counterTests() tests {
	return tests{
		"numbers follow all writes, within their bounds": countsFollow,
		"ops that count in one item are one":             countsInOne,
		"what counts expires, and is uncounted":          countsExpire,
	}
}

// shelf counts the books on it, of which it holds three.
type shelf struct {
	ID       string `dynamodbav:"id"`
	Books    int64  `dynamodbav:"books"`
	Pages    int64  `dynamodbav:"pages"`
	Revision string `dynamodbav:"revision"`
}

type book struct {
	ID       string    `dynamodbav:"id"`
	Shelf    string    `dynamodbav:"shelf"`
	Pages    int64     `dynamodbav:"pages"`
	Until    time.Time `dynamodbav:"expiresAt,unixtime"`
	Revision string    `dynamodbav:"revision"`
}

func shelfKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("SHELF").PK(id), SK: keys.Metadata}
}

func bookKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("BOOK").PK(id), SK: keys.Metadata}
}

func onShelf(b book) keys.Key { return shelfKey(b.Shelf) }

type library struct {
	*table.Table
	shelves *repo.Repo[shelf]
	books   *repo.Repo[book]
}

func newLibrary(t *testing.T, h Harness) library {
	t.Helper()
	tbl := h.newTable(t, appCore())
	l := library{Table: tbl}
	l.shelves = expect.Value(repo.New(tbl, repo.Entity[shelf]{
		Type: "SHELF", Version: "revision", Counted: []string{"books", "pages"},
		Key: func(s shelf) keys.Key { return shelfKey(s.ID) },
	}))(t)
	l.books = expect.Value(repo.New(tbl, repo.Entity[book]{
		Type: "BOOK", Version: "revision", Key: func(b book) keys.Key { return bookKey(b.ID) },
		Counters: []repo.Counter[book]{
			{Name: "books", Owner: "SHELF", Attribute: "books", Key: onShelf, Min: new(int64(0)), Max: new(int64(3))},
			{Name: "pages", Owner: "SHELF", Attribute: "pages", Key: onShelf, Amount: func(b book) int64 { return b.Pages }},
		},
	}))(t)
	for _, id := range []string{"a", "b"} {
		must(t, l.shelves.Create(t.Context(), &shelf{ID: id}))
	}
	return l
}

func (l library) has(t *testing.T, what, id string, books, pages int64) {
	t.Helper()
	s := expect.Value(l.shelves.Consistent().Get(t.Context(), shelfKey(id)))(t)
	equal(t, what, fmt.Sprint(s.Books, s.Pages), fmt.Sprint(books, pages))
}

func countsFollow(t *testing.T, h Harness) {
	l, ctx := newLibrary(t, h), t.Context()
	for _, id := range []string{"1", "2", "3"} {
		must(t, l.books.Create(ctx, &book{ID: id, Shelf: "a", Pages: 100}))
	}
	l.has(t, "created", "a", 3, 300)
	err := l.books.Create(ctx, &book{ID: "4", Shelf: "a", Pages: 1})
	wantErr(t, err, table.ErrLimit)
	if _, ok := table.FailedOp(err, "BOOK books"); !ok {
		t.Errorf("the counter is not named: %v", err)
	}
	again := l.books.Create(ctx, &book{ID: "3", Shelf: "a", Pages: 1})
	wantErr(t, again, table.ErrExists)
	wantNot(t, again, table.ErrLimit)
	wantErr(t, l.books.Create(ctx, &book{ID: "4", Shelf: "none"}), table.ErrUncounted)
	change := func(id string, change func(b *book)) error {
		_, err := l.books.Update(ctx, bookKey(id), func(b *book) error { change(b); return nil })
		return err
	}
	must(t, change("1", func(b *book) { b.Pages = 90 }))
	l.has(t, "changed", "a", 3, 290)
	must(t, change("1", func(b *book) { b.Shelf = "b" }))
	l.has(t, "moved from", "a", 2, 200)
	l.has(t, "moved to", "b", 1, 90)
	must(t, l.books.Delete(ctx, bookKey("1")))
	l.has(t, "deleted", "b", 0, 0)
	must(t, l.shelves.Delete(ctx, shelfKey("a")))
	must(t, change("2", func(b *book) { b.Pages = 1 }))
	must(t, l.books.Delete(ctx, bookKey("2")))
	absent(t, l.Table, shelfKey("a"))
}

func countsInOne(t *testing.T, h Harness) {
	l, ctx := newLibrary(t, h), t.Context()
	c, books := shelf{ID: "c"}, []book{{ID: "1", Shelf: "c", Pages: 1}, {ID: "2", Shelf: "c", Pages: 2}, {ID: "3", Shelf: "c", Pages: 3}}
	ops := l.shelves.CreateOps(&c)
	for i := range books {
		ops = append(ops, l.books.CreateOps(&books[i])...)
	}
	must(t, l.Transact(ctx, ops...))
	l.has(t, "created together", "c", 3, 6)
	next := book{ID: "4", Shelf: "c", Pages: 4}
	must(t, l.Transact(ctx, append(l.books.DeleteOps(books[0]), l.books.CreateOps(&next)...)...))
	l.has(t, "exchanged", "c", 3, 9)
	wantErr(t, l.Transact(ctx, append(l.books.CreateOps(&books[0]), table.CheckExists(shelfKey("c")))...), table.ErrLimit)
	must(t, l.Transact(ctx, append(l.books.DeleteOps(next), table.CheckExists(shelfKey("c")))...))
	l.has(t, "with a check", "c", 2, 5)
	must(t, l.Transact(ctx, append(l.books.DeleteOps(books[1]), l.shelves.DeleteOps(c)...)...))
	absent(t, l.Table, shelfKey("c"))
}

func countsExpire(t *testing.T, h Harness) {
	l, ctx := newLibrary(t, h), t.Context()
	past := l.Now().Add(-time.Hour)
	for _, id := range []string{"1", "2", "3"} {
		must(t, l.books.Create(ctx, &book{ID: id, Shelf: "a", Pages: 10, Until: past}))
	}
	must(t, l.books.Create(ctx, &book{ID: "1", Shelf: "b", Pages: 5}))
	l.has(t, "created over", "a", 2, 20)
	l.has(t, "created over", "b", 1, 5)
	equal(t, "uncounted", expect.Value(l.books.Uncount(ctx, bookKey("2")))(t), true)
	equal(t, "uncounted again", expect.Value(l.books.Uncount(ctx, bookKey("2")))(t), false)
	l.has(t, "uncounted", "a", 1, 10)
	image := expect.Value(table.Get[table.Item](ctx, l.IncludingExpired().Consistent(), bookKey("3")))(t)
	must(t, l.Transact(ctx, append(l.books.UncountOps(image), table.Delete(bookKey("3")))...))
	l.has(t, "as a handler does", "a", 0, 0)
}
