package shard_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// bothWays are the two orders of a query.
var bothWays = map[string]bool{"newest first": false, "oldest first": true}

// walk returns 0 to n-1 in the order of a query.
func walk(n int, oldestFirst bool) []string {
	if oldestFirst {
		return span(0, n-1)
	}
	return span(n-1, 0)
}

// TestManyTies checks that a timestamp which very many items share is read in
// few rounds, though all of them have to be read.
func TestManyTies(t *testing.T) {
	t.Parallel()
	index := globalTx(2)
	index.NonUniqueSortKeys = true
	tbl := tabletest.New(t, spec, nil)
	var ops []table.Op
	for i := range 1500 {
		ops = append(ops, put(id(i), index.Key(id(i), keys.None.SK(keys.Time(noon)))))
	}
	write(t, tbl, ops...)
	page := expect.Value(newReader(t, tbl, index, nil).Page(t.Context(), shard.Query{Limit: 5, Descending: true}))(t)
	expect.Equal(t, "items", ids(page.Items), span(1499, 1495))
	if page.Stats.Rounds > 9 {
		t.Errorf("%+v", page.Stats)
	}
}

// TestOneShard checks that a single shard takes one request a page, though the
// item at the position is read again, and one behind the last because of ties.
func TestOneShard(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	for _, ties := range []bool{false, true} {
		index := globalTx(1)
		index.NonUniqueSortKeys = ties
		seed(t, tbl, index, 100)
		q := shard.Query{Limit: 40, Descending: true}
		for _, want := range []int{40, 40, 20} {
			page := expect.Value(newReader(t, tbl, index, nil).Page(t.Context(), q))(t)
			expect.Equal(t, "items", len(page.Items), want)
			expect.Equal(t, "requests", page.Stats.Requests, 1)
			q.After = page.Next
		}
	}
}

// TestItemMovesBetweenRequests has an item move from one shard to another between
// the two requests, so that both return it.
func TestItemMovesBetweenRequests(t *testing.T) {
	t.Parallel()
	index := globalTx(2)
	for _, ties := range []bool{false, true} {
		index.NonUniqueSortKeys = ties
		tbl, faults := withFaults(t, nil)
		seedAt(t, tbl, index, 0, upTo(0, 5)...)
		faults.Next("Query", nil, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			seedAt(t, tbl, index, 1, 3)
			return next.RoundTrip(r)
		})
		latest := expect.Value(newReader(t, tbl, index, &shard.Options[tx]{Concurrency: 1}).Latest(t.Context(), 10))(t)
		expect.Equal(t, "items", ids(latest), span(4, 0))
	}
}

// TestPrefixEnd pages prefixes, also such as do not end with a segment, next to
// the keys that follow them.
func TestPrefixEnd(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	for i, sk := range []keys.SK{"TX#1", "TX#2", "TX#2\U0010FFFF", "TX#2\U0010FFFFa", "TX#3", "TX#\uD7FFa", "TX#\uE000", "TX$"} {
		write(t, tbl, put(id(i), globalTx(4).Key(id(i), sk)))
	}
	r := newReader(t, tbl, globalTx(4), nil)
	for prefix, last := range map[keys.SK][2]int{
		"TX#": {0, 6}, "TX#2": {1, 3}, "TX#2\U0010FFFF": {2, 3}, "TX#\uD7FF": {5, 5}, "TX": {0, 7},
	} {
		q := shard.Query{Range: keys.Range{Prefix: prefix}, Limit: 1}
		expect.Equal(t, string(prefix), slices.Concat(pages(t, r, q, nil)...), span(last[0], last[1]))
		q.Descending = true
		expect.Equal(t, string(prefix)+", newest first", slices.Concat(pages(t, r, q, nil)...), span(last[1], last[0]))
	}
}

func TestInvalidQueries(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	r := newReader(t, tbl, globalTx(8), nil)
	for _, n := range []int{0, -1} {
		if _, err := r.Latest(t.Context(), n); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("Latest(%d): %v", n, err)
		}
	}
	for name, tt := range map[string]struct {
		q    shard.Query
		want error
	}{
		"negative limit": {shard.Query{Limit: -1, Descending: true}, table.ErrInvalid},
		"invalid prefix": {shard.Query{Range: keys.Tx.All(keys.Str("")), Descending: true}, keys.ErrInvalid},
	} {
		if _, err := r.Page(t.Context(), tt.q); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		n := 0
		for _, err := range r.All(t.Context(), tt.q) {
			if n++; !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		expect.Equal(t, "yields", n, 1)
	}
	expect.Equal(t, "requests", queries(faults), 0)
}
