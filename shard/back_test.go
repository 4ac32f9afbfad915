package shard_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// thereAndBack walks to the end of a query and back, and returns the pages of both
// walks in the order of the query. between is called before each step back.
func thereAndBack(tb testing.TB, r *shard.Reader[tx], q shard.Query, between func()) (there, back [][]string) {
	tb.Helper()
	var page shard.Page[tx]
	for more := true; more; more = q.After != "" {
		page = expect.Value(r.Page(tb.Context(), q))(tb)
		there = append(there, ids(page.Items))
		q.After = page.Next
	}
	for page.Prev != "" && len(back) < 1000 {
		if between != nil {
			between()
		}
		q.After = page.Prev
		page = expect.Value(r.Page(tb.Context(), q))(tb)
		back = append(back, ids(page.Items))
	}
	slices.Reverse(back)
	return there, back
}

// TestPagesBack walks over every number of shards and items, with unique and equal
// sort keys and copies.
func TestPagesBack(t *testing.T) {
	t.Parallel()
	for shards := 1; shards <= 4; shards++ {
		for _, n := range []int{0, 1, 7, 23} {
			index := globalTx(shards)
			tied := index
			tied.NonUniqueSortKeys = true
			unique, ties := tabletest.New(t, spec, nil), tabletest.New(t, spec, nil)
			seed(t, unique, index, n)
			var ops []table.Op
			for i := range n {
				ops = append(ops, put(id(i), tied.Key(id(i), keys.None.SK(keys.Time(at(i/3))))))
			}
			write(t, ties, ops...)
			for name, r := range map[string]*shard.Reader[tx]{
				"unique": newReader(t, unique, index, nil),
				"tied":   newReader(t, ties, tied, nil),
				"dedupe": newReader(t, ties, tied, &shard.Options[tx]{Dedupe: func(v tx) string { return v.ID }}),
			} {
				for _, size := range []int{1, 4, 7, 30} {
					for _, descending := range []bool{true, false} {
						there, back := thereAndBack(t, r, shard.Query{Limit: size, Descending: descending}, nil)
						expect.Equal(t, fmt.Sprintf("%s, %d shards: pages back", name, shards),
							append([][]string{}, back...), append([][]string{}, there[:len(there)-1]...))
					}
				}
			}
		}
	}
}

// TestPagesInAMovedWindow compares an index of one shard with a query of that partition:
// both read the same pages, by the cursors of another window.
func TestPagesInAMovedWindow(t *testing.T) {
	t.Parallel()
	type result struct {
		Items  []string
		Prev   bool
		Reason paginate.Reason
	}
	index := globalTx(1)
	tbl := tabletest.New(t, spec, nil)
	seed(t, tbl, index, 20)
	r := newReader(t, tbl, index, nil)
	window := func(from, to int) keys.Range { return keys.Range{From: sortKey(from), To: sortKey(to)} }
	reason := func(err error) paginate.Reason {
		if e, ok := errors.AsType[*paginate.Error](err); ok {
			return e.Reason
		}
		expect.OK(t, err)
		return ""
	}
	page := func(in keys.Range, descending bool, after string) (shard.Page[tx], result) {
		p, err := r.Page(t.Context(), shard.Query{Range: in, Descending: descending, Limit: 4, After: after})
		return p, result{ids(p.Items), p.Prev != "", reason(err)}
	}
	query := func(in keys.Range, descending bool, after string) (table.Page[tx], result) {
		p, err := table.QueryPage[tx](t.Context(), tbl, table.Query{
			Index: "GSI1", PK: "GLOBAL_TX", Range: in, Descending: descending, Limit: 4, After: after,
		})
		return p, result{ids(p.Items), p.Prev != "", reason(err)}
	}
	for _, descending := range []bool{false, true} {
		before := window(4, 15)
		first, _ := page(before, descending, "")
		second, _ := page(before, descending, first.Next)
		firstOf, _ := query(before, descending, "")
		secondOf, _ := query(before, descending, firstOf.Next)
		for _, now := range []keys.Range{
			before, window(0, 19), window(6, 15), window(9, 19), window(13, 19), window(4, 13), window(0, 9), window(0, 5),
		} {
			for name, cursors := range map[string][2]string{
				"Next of the first page": {first.Next, firstOf.Next}, "Next of the second page": {second.Next, secondOf.Next},
				"Prev of the second page": {second.Prev, secondOf.Prev},
			} {
				p, got := page(now, descending, cursors[0])
				o, want := query(now, descending, cursors[1])
				what := fmt.Sprintf("%s, descending %v, %v", name, descending, now)
				expect.Equal(t, what, got, want)
				if got.Reason != "" || p.Prev == "" || o.Prev == "" {
					continue
				}
				_, got = page(now, descending, p.Prev)
				_, want = query(now, descending, o.Prev)
				expect.Equal(t, what+", and back", got.Items, want.Items)
			}
		}
	}
}

// TestPagesBackUnderChanges adds and removes items during the walk back.
func TestPagesBackUnderChanges(t *testing.T) {
	t.Parallel()
	for _, descending := range []bool{true, false} {
		index := globalTx(3)
		tbl := tabletest.New(t, spec, nil)
		seed(t, tbl, index, 40)
		at := 0
		there, back := thereAndBack(t, newReader(t, tbl, index, nil), shard.Query{Limit: 4, Descending: descending}, func() {
			write(t, tbl, table.Delete(txKey(3*at)))
			name := fmt.Sprintf("%s-more", id(3*at+1))
			write(t, tbl, put(name, index.Key(name, keys.None.SK(keys.Time(noon.Add(1500*1e6)), keys.Str(name)))))
			at++
		})
		got := append(slices.Concat(back...), there[len(there)-1]...)
		sorted := slices.Sorted(slices.Values(got))
		expect.Equal(t, "items once", len(slices.Compact(slices.Clone(sorted))), len(sorted))
		for i := range 40 {
			if gone := i%3 == 0 && i < 3*at; !gone && !slices.Contains(got, id(i)) {
				t.Errorf("item %d is left out", i)
			}
		}
	}
}

// TestPagesBackFromAnEmptyPage steps back from an empty page, and into one.
func TestPagesBackFromAnEmptyPage(t *testing.T) {
	t.Parallel()
	index := globalTx(2)
	tbl := tabletest.New(t, spec, nil)
	seed(t, tbl, index, 6)
	r := newReader(t, tbl, index, nil)
	page := func(after string) shard.Page[tx] {
		t.Helper()
		return expect.Value(r.Page(t.Context(), shard.Query{Limit: 3, After: after}))(t)
	}
	second := page(page("").Next)
	for i := range 3 {
		write(t, tbl, table.Delete(txKey(i)))
	}
	nothing := page(second.Prev)
	expect.Equal(t, "page before the second", [2]any{len(nothing.Items), nothing.Prev}, [2]any{0, ""})
	expect.Equal(t, "page after it", ids(page(nothing.Next).Items), span(3, 5))

	for i := range 6 {
		write(t, tbl, table.Delete(txKey(i)))
	}
	seed(t, tbl, index, 4)
	first := expect.Value(r.Page(t.Context(), shard.Query{Limit: 2}))(t)
	write(t, tbl, table.Delete(txKey(2)), table.Delete(txKey(3)))
	empty := expect.Value(r.Page(t.Context(), shard.Query{Limit: 2, After: first.Next}))(t)
	expect.Equal(t, "items of an empty page", len(empty.Items), 0)
	expect.Equal(t, "items before it", ids(page(empty.Prev).Items), span(0, 1))
}

// TestPagesBackOfOtherQueriesAreRefused passes the cursor of a previous page to
// other queries.
func TestPagesBackOfOtherQueriesAreRefused(t *testing.T) {
	t.Parallel()
	index := globalTx(2)
	tbl, faults := withFaults(t, nil)
	seed(t, tbl, index, 9)
	r := newReader(t, tbl, index, nil)
	q := shard.Query{Limit: 3, Scope: "ann", Descending: true}
	q.After = expect.Value(r.Page(t.Context(), q))(t).Next
	q.After = expect.Value(r.Page(t.Context(), q))(t).Prev
	before := queries(faults)
	for name, change := range map[string]func(*shard.Query){
		"direction": func(q *shard.Query) { q.Descending = false },
		"scope":     func(q *shard.Query) { q.Scope = "bob" },
		"prefix":    func(q *shard.Query) { q.Range = keys.Tx.All() },
	} {
		other := q
		change(&other)
		if err := expect.ErrOf(r.Page(t.Context(), other)); err == nil {
			t.Errorf("the cursor is taken with another %s", name)
		} else {
			expect.Err(t, err, paginate.ErrInvalidCursor)
		}
	}
	expect.Err(t, expect.ErrOf(table.Collect(r.All(t.Context(), q))), paginate.ErrInvalidCursor)
	expect.Equal(t, "queries", queries(faults), before)
}

// A page before is read with one item more, which must be neither an overflow of the
// greatest limit nor an error of this page.
func TestPageBeforeReadsOneMore(t *testing.T) {
	t.Parallel()
	tbl, index := tabletest.New(t, spec, nil), globalTx(2)
	seed(t, tbl, index, 5)
	r := newReader(t, tbl, index, nil)
	q := shard.Query{Limit: 3}
	first := expect.Value(r.Page(t.Context(), q))(t)
	q.After = first.Next
	q.After = expect.Value(r.Page(t.Context(), q))(t).Prev

	q.Limit = math.MaxInt
	page := expect.Value(r.Page(t.Context(), q))(t)
	if got, want := ids(page.Items), ids(first.Items); !slices.Equal(got, want) {
		t.Errorf("with the greatest limit: %v, want %v", got, want)
	}

	update := expression.Set(expression.Name("id"), expression.Value([]string{"no text"}))
	expect.OK(t, tbl.Do(t.Context(), table.Update(put(first.Items[1].ID, keys.Key{}).Key(), update)))
	q.Limit = 1
	page = expect.Value(r.Page(t.Context(), q))(t)
	if got, want := ids(page.Items), ids(first.Items[2:]); !slices.Equal(got, want) {
		t.Errorf("before it is an item that does not fit: %v, want %v", got, want)
	}
	q.After = page.Prev
	if _, err := r.Page(t.Context(), q); err == nil {
		t.Error("the page of the item that does not fit: no error")
	}
}
