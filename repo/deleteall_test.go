package repo_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

type page struct {
	ID  string `dynamodbav:"id"`
	Tag string `dynamodbav:"tag"`
	Rev string `dynamodbav:"rev"`
}

func pageKey(p page) keys.Key { return keys.Key{PK: "SITE", SK: keys.SK("PAGE#" + p.ID)} }

func tagKey(p page) keys.Key { return keys.Key{PK: "SITE", SK: keys.SK("TAG#" + p.Tag + "#" + p.ID)} }

// pageEntity has its copies in the partition of its main items.
func pageEntity() repo.Entity[page] {
	return repo.Entity[page]{Type: "PAGE", Version: "rev", Key: pageKey, Copies: []repo.Copy[page]{{Key: tagKey}}}
}

// newPages returns a repository whose table has the pages.
func newPages(tb testing.TB, tbl *table.Table, pages ...page) *repo.Repo[page] {
	tb.Helper()
	r := expect.Value(repo.New(tbl, pageEntity()))(tb)
	for _, p := range pages {
		expect.OK(tb, r.Create(tb.Context(), &p))
	}
	return r
}

// itemsLeft returns how many items the table has.
func itemsLeft(tb testing.TB, tbl *table.Table) int {
	tb.Helper()
	return len(expect.Value(table.ScanPage[table.Item](tb.Context(), tbl, table.Scan{Limit: 1000}))(tb).Items)
}

func TestDeleteAllRefusesNegativeLimits(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newPages(t, tbl, page{ID: "1", Tag: "new"})
	for _, limit := range []int{-1, math.MinInt} {
		_, err := r.DeleteAll(t.Context(), table.Query{PK: "SITE", Limit: limit}, nil)
		expect.Err(t, err, table.ErrInvalid)
	}
	for _, units := range []float64{-1, math.NaN()} {
		_, err := r.DeleteAll(t.Context(), table.Query{PK: "SITE"}, &repo.DeleteOptions{MaxUnits: units})
		expect.Err(t, err, table.ErrInvalid)
	}
	expect.Equal(t, "items left", itemsLeft(t, tbl), 2)
}

// A call whose units the query consumes has to delete something, or a loop over such
// calls never ends.
func TestDeleteAllProgressesWithFewUnits(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newPages(t, tbl, page{ID: "1", Tag: "new"}, page{ID: "2", Tag: "new"}, page{ID: "3", Tag: "new"})
	for calls := 0; ; calls++ {
		deleted := expect.Value(r.DeleteAll(t.Context(), table.Query{PK: "SITE"}, &repo.DeleteOptions{MaxUnits: 0.1}))(t)
		if deleted.Done {
			break
		}
		if calls == 10 {
			t.Fatalf("not done after %d calls", calls)
		}
	}
	expect.Equal(t, "items left", itemsLeft(t, tbl), 0)
}

// Another call, or the same call through another item of the entity, deletes the entity
// between the reads of its copy and its main item.
func TestDeleteAllRacesAnotherDeletion(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	r := newPages(t, tbl, page{ID: "1", Tag: "new"})
	other := newPages(t, expect.Value(table.New(tabletest.Client(t), tbl.Schema(), nil))(t))
	faults.Next("GetItem", nil, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if err := other.Delete(t.Context(), keys.Key{PK: "SITE", SK: "PAGE#1"}); err != nil {
			return nil, err
		}
		return next.RoundTrip(req)
	})
	q := table.Query{PK: "SITE", Range: keys.Range{Prefix: "TAG#"}}
	deleted := expect.Value(r.DeleteAll(t.Context(), q, nil))(t)
	expect.Equal(t, "done", deleted.Done, true)
	expect.Equal(t, "items left", itemsLeft(t, tbl), 0)
}

// A copy that its entity does not have, such as one that a program without this
// library has left behind, is deleted; the entity stays.
func TestDeleteAllDeletesStaleCopies(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newPages(t, tbl, page{ID: "1", Tag: "old"})
	stale := tagKey(page{ID: "1", Tag: "old"})
	left := expect.Value(table.Get[table.Item](t.Context(), tbl, stale))(t)
	expect.Value(r.Update(t.Context(), keys.Key{PK: "SITE", SK: "PAGE#1"}, func(p *page) error {
		p.Tag = "new"
		return nil
	}))(t)
	expect.OK(t, tbl.Do(t.Context(), table.Put(stale, left)))

	q := table.Query{PK: "SITE", Range: keys.Range{Prefix: "TAG#old"}}
	deleted := expect.Value(r.DeleteAll(t.Context(), q, nil))(t)
	expect.Equal(t, "deleted", deleted.Items, 1)
	if _, err := table.Get[table.Item](t.Context(), tbl, stale); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("the stale copy is still there: %v", err)
	}
	expect.Equal(t, "items left", itemsLeft(t, tbl), 2)
}

// A copy without an entity and a version is deleted as it was read: if it changes after that,
// it is read again.
func TestDeleteAllOfACopyThatChanges(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	left := tagKey(page{ID: "1", Tag: "old"})
	expect.OK(t, tbl.Do(t.Context(), table.Put(left, map[string]any{"entityType": "PAGE", "id": "1", "tag": "old"})))
	faults.Next("TransactWriteItems", func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if err := tbl.Do(t.Context(), table.Patch(left, table.Item{"rev": tenant("another program's")})); err != nil {
			return nil, err
		}
		return next.RoundTrip(req)
	})
	deleted := expect.Value(newRepo(t, tbl, pageEntity()).DeleteAll(t.Context(), table.Query{PK: "SITE"}, nil))(t)
	expect.Equal(t, "deleted", deleted.Items, 1)
	expect.Equal(t, "attempts", len(faults.Requests("TransactWriteItems")), 2)
	expect.Equal(t, "items left", itemsLeft(t, tbl), 0)
}

// Former copies are deleted with their entity.
func TestDeleteAllDeletesFormerCopies(t *testing.T) {
	t.Parallel()
	moved := pageEntity()
	moved.FormerCopies = []func(page) keys.Key{tagKey}
	moved.Copies = []repo.Copy[page]{{Key: func(p page) keys.Key { return keys.Key{PK: "TAGS", SK: keys.SK(p.Tag + "#" + p.ID)} }}}
	pages := []page{{ID: "1", Tag: "new"}, {ID: "2", Tag: "new"}}
	for _, prefix := range []keys.SK{"", "PAGE#", "TAG#"} {
		for _, present := range []bool{false, true} {
			tbl := tabletest.New(t, schema.Table{}, nil)
			newPages(t, tbl, pages...)
			r := expect.Value(repo.New(tbl, moved))(t)
			for _, p := range pages {
				if present {
					expect.Value(r.Refresh(t.Context(), pageKey(p)))(t)
				}
			}
			q := table.Query{PK: "SITE", Range: keys.Range{Prefix: prefix}}
			deleted := expect.Value(r.DeleteAll(t.Context(), q, nil))(t)
			expect.Equal(t, "done", deleted.Done, true)
			if n := expect.Value(tbl.Count(t.Context(), q))(t).Items; n > 0 {
				t.Errorf("prefix %q, present %v: the query still gives %d items", prefix, present, n)
			}
			if n := expect.Value(tbl.Count(t.Context(), table.Query{PK: "TAGS"}))(t).Items; n > 0 {
				t.Errorf("prefix %q, present %v: %d items in TAGS", prefix, present, n)
			}
		}
	}
}

// A query of a table is read consistently, one of an index cannot be.
func TestDeleteAllOfAnIndex(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{Indexes: []schema.Index{{Name: "byTag", PK: "tagPK", SK: "tagSK"}}}, nil)
	e := pageEntity()
	e.Copies, e.Indexes = nil, repo.Indexes[page]{"byTag": tagKey}
	r := newRepo(t, tbl, e)
	for name, consistent := range map[string]bool{"": true, "byTag": false} {
		expect.OK(t, r.Create(t.Context(), &page{ID: "1", Tag: "new"}))
		before := len(faults.Requests("Query"))
		deleted := expect.Value(r.DeleteAll(t.Context(), table.Query{Index: name, PK: "SITE"}, nil))(t)
		expect.Equal(t, "deleted", deleted.Items, 1)
		for _, q := range faults.Requests("Query")[before:] {
			expect.Equal(t, "consistent with index "+name, strings.Contains(string(q.Body), `"ConsistentRead":true`), consistent)
			expect.Equal(t, "items in a request", strings.Contains(string(q.Body), `"Limit":100`), true)
		}
	}
}

// An index that does not hold the type attribute does not tell what is to be deleted, so nothing
// is sent. It needs no other attribute.
func TestReadsOfAnIndexWithoutTheType(t *testing.T) {
	t.Parallel()
	keysOnly := types.ProjectionTypeKeysOnly
	spec := schema.Table{Indexes: []schema.Index{
		{Name: "keys", PK: "tagPK", SK: "tagSK", Projection: keysOnly},
		{Name: "type", PK: "tagPK", SK: "tagSK", Projection: types.ProjectionTypeInclude, Include: []string{"entityType"}},
		{Name: "local", SK: "tagSK", Local: true, Projection: keysOnly},
	}}
	tbl := tabletest.New(t, spec, nil)
	e := pageEntity()
	e.Copies, e.Indexes = nil, repo.Indexes[page]{"keys": tagKey}
	r := newRepo(t, tbl, e)
	expect.OK(t, r.Create(t.Context(), &page{ID: "1", Tag: "new"}))
	requests := 0
	ctx := table.WithObserver(t.Context(), func(context.Context, table.Event) { requests++ })
	for _, index := range []string{"keys", "local"} {
		q := table.Query{Index: index, PK: "SITE"}
		expect.Err(t, expect.ErrOf(r.DeleteAll(ctx, q, nil)), table.ErrInvalid)
		expect.Err(t, expect.ErrOf(table.Collect(r.All(ctx, q))), table.ErrInvalid)
		expect.Err(t, expect.ErrOf(table.QueryRows[struct{}](ctx, r.View(), q, nil)), table.ErrInvalid)
		expect.Err(t, expect.ErrOf(table.ScanPage[struct{}](ctx, r.View(), table.Scan{Index: index})), table.ErrInvalid)
	}
	expect.Equal(t, "requests", requests, 0)
	expect.Equal(t, "deleted", expect.Value(r.DeleteAll(ctx, table.Query{Index: "type", PK: "SITE"}, nil))(t).Items, 1)
}

// Limit and MaxUnits hold beyond a page of 100 items, and to the unit.
func TestDeleteAllLimits(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	e := pageEntity()
	e.Copies = nil
	r := newRepo(t, tbl, e)
	const all = 103
	for i := range all {
		expect.OK(t, tbl.Do(t.Context(), r.CreateOps(&page{ID: strconv.Itoa(i)})[0]))
	}
	count := func(limit int, units float64) repo.Deleted {
		t.Helper()
		q := table.Query{PK: "SITE", Limit: limit}
		return expect.Value(r.DeleteAll(t.Context(), q, &repo.DeleteOptions{DryRun: true, MaxUnits: units}))(t)
	}
	for limit, want := range map[int]int{0: all, 1: 1, 100: 100, 101: 101, all + 1: all} {
		got := count(limit, 0)
		expect.Equal(t, fmt.Sprintf("items with limit %d", limit), got.Items, want)
		expect.Equal(t, fmt.Sprintf("done with limit %d", limit), got.Done, want == all)
	}
	units := count(2, 0).Units
	expect.Equal(t, "items with just the units of the query", count(2, units).Items, 1)
	expect.Equal(t, "items with more units than the query takes", count(2, units+0.5).Items, 2)
}

func TestDeleteAllUnwindsItsCaller(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	newPages(t, tbl, page{ID: "1"}, page{ID: "2"})
	expect.Unwinds(t, "DeleteAll", func(unwind func()) {
		e := pageEntity()
		e.Key = func(p page) keys.Key { unwind(); return pageKey(p) }
		r := expect.Value(repo.New(tbl, e))(t)
		_, _ = r.DeleteAll(t.Context(), table.Query{PK: "SITE", Range: keys.Prefix("PAGE").All()}, nil)
	})
}
