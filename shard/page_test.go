package shard_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"testing"

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

// TestUnevenShards shows that, however items lie, pages are the sorted truth.
func TestUnevenShards(t *testing.T) {
	t.Parallel()
	const n, shards = 300, 16
	// pick returns an item into shard 15 of those that match, and of others
	// into the rest.
	pick := func(match func(i int) bool) func(i int) int {
		return func(i int) int {
			if match(i) {
				return shards - 1
			}
			return i % (shards - 1)
		}
	}
	for name, place := range map[string]func(i int) int{
		"one after the other":      func(i int) int { return i % shards },
		"one holds all the newest": pick(func(i int) bool { return i >= 200 }),
		"one holds all the oldest": pick(func(i int) bool { return i < 100 }),
		"one holds everything":     pick(func(int) bool { return true }),
		"one holds a single item":  pick(func(i int) bool { return i == 150 }),
		"one is empty":             pick(func(int) bool { return false }),
		"two, in turns":            func(i int) int { return 3 + i%2 },
		"in blocks of one shard":   func(i int) int { return i / 20 },
		"in blocks, the other way": func(i int) int { return shards - 1 - i/20 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tbl := tabletest.New(t, schema, nil)
			index := globalTx(shards)
			var ops []table.Op
			for i := range n {
				ops = append(ops, put(id(i), keys.Key{PK: partition(index, place(i)), SK: sortKey(i)}))
			}
			write(t, tbl, ops...)
			r := newReader(t, tbl, index, nil)
			for direction, oldest := range bothWays {
				truth := walk(n, oldest)
				for _, limit := range []int{1, 10, 100, n, n + 1, math.MaxInt} {
					page, err := r.Page(t.Context(), shard.Query{Limit: limit, Descending: !oldest})
					must(t, err)
					equal(t, direction, ids(page.Items), truth[:min(limit, n)])
					if page.Stats.Rounds > 2 || page.Stats.Items != len(page.Items) {
						t.Errorf("%s, limit %d: %+v", direction, limit, page.Stats)
					}
				}
				all := pages(t, r, shard.Query{Limit: 37, Descending: !oldest}, nil)
				equal(t, direction+", all pages", slices.Concat(all...), truth)
				streamed, err := table.Collect(r.All(t.Context(), shard.Query{Descending: !oldest}))
				must(t, err)
				equal(t, direction+", streamed", ids(streamed), truth)
			}
		})
	}
}

// TestThousand has ids as they fall.
func TestThousand(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	seed(t, tbl, globalTx(16), 1000)
	r := newReader(t, tbl, globalTx(16), nil)
	latest, err := r.Latest(t.Context(), 10)
	must(t, err)
	equal(t, "latest", ids(latest), span(999, 990))
	for direction, oldest := range bothWays {
		all := pages(t, r, shard.Query{Limit: 64, Descending: !oldest}, nil)
		for i, page := range all[:15] {
			equal(t, fmt.Sprint("size of page ", i), len(page), 64)
		}
		equal(t, direction, slices.Concat(all...), walk(1000, oldest))
	}
}

func TestTies(t *testing.T) {
	t.Parallel()
	index := globalTx(4)
	index.NonUniqueSortKeys = true
	tbl := tabletest.New(t, schema, nil)
	var ops []table.Op
	var oldest []string
	for second, count := range []int{1, 2, 30, 7, 1, 14, 8, 3} {
		for range count {
			i := len(ops)
			pk := partition(index, i*i%4) // in two of the four
			ops = append(ops, put(id(i), keys.Key{PK: pk, SK: keys.None.SK(keys.Time(at(second)))}))
			oldest = append(oldest, id(i))
		}
	}
	write(t, tbl, ops...)
	newest := slices.Clone(oldest)
	slices.Reverse(newest)
	r := newReader(t, tbl, index, nil)
	for direction, want := range map[bool][]string{true: oldest, false: newest} {
		for _, limit := range []int{1, 7, 66, 100} {
			q := shard.Query{Limit: limit, Descending: !direction}
			all := pages(t, r, q, nil)
			equal(t, fmt.Sprint(q), slices.Concat(all...), want)
			for _, page := range all[:len(all)-1] {
				if len(page) != limit {
					t.Errorf("%+v: a page of %d", q, len(page))
				}
			}
		}
		streamed, err := table.Collect(r.All(t.Context(), shard.Query{Descending: !direction}))
		must(t, err)
		equal(t, "streamed", ids(streamed), want)
	}
}

// TestManyTies checks that a timestamp which very many items share is read in
// few rounds, though all of them have to be read.
func TestManyTies(t *testing.T) {
	t.Parallel()
	index := globalTx(2)
	index.NonUniqueSortKeys = true
	tbl := tabletest.New(t, schema, nil)
	var ops []table.Op
	for i := range 1500 {
		ops = append(ops, put(id(i), index.Key(id(i), keys.None.SK(keys.Time(noon)))))
	}
	write(t, tbl, ops...)
	page, err := newReader(t, tbl, index, nil).Page(t.Context(), shard.Query{Limit: 5, Descending: true})
	must(t, err)
	equal(t, "items", ids(page.Items), span(1499, 1495))
	if page.Stats.Rounds > 9 {
		t.Errorf("%+v", page.Stats)
	}
}

// TestOneShard checks that a single shard takes one request a page, though the
// item at the position is read again, and one behind the last because of ties.
func TestOneShard(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	for _, ties := range []bool{false, true} {
		index := globalTx(1)
		index.NonUniqueSortKeys = ties
		seed(t, tbl, index, 100)
		q := shard.Query{Limit: 40, Descending: true}
		for _, want := range []int{40, 40, 20} {
			page, err := newReader(t, tbl, index, nil).Page(t.Context(), q)
			must(t, err)
			equal(t, "items", len(page.Items), want)
			equal(t, "requests", page.Stats.Requests, 1)
			q.After = page.Next
		}
	}
}

// TestMovedInBetween has an item move from one shard to another between the two
// requests, so that both return it.
func TestMovedInBetween(t *testing.T) {
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
		latest, err := newReader(t, tbl, index, &shard.Options[tx]{Concurrency: 1}).Latest(t.Context(), 10)
		must(t, err)
		equal(t, "items", ids(latest), span(4, 0))
	}
}

// putTwice stores a transaction as two items, both of them in the index.
func putTwice(id string, key keys.Key) []table.Op {
	return []table.Op{
		put(id, key),
		table.Put(keys.Key{PK: keys.User.PK("u-123"), SK: keys.Tx.SK(keys.Str(id))}, tx{ID: id, GSI1PK: key.PK, GSI1SK: key.SK}),
	}
}

func TestDedupe(t *testing.T) {
	t.Parallel()
	const n = 70
	for name, ties := range map[string]bool{"unique": false, "ties": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			index := globalTx(6)
			index.NonUniqueSortKeys = ties
			tbl := tabletest.New(t, schema, nil)
			var ops []table.Op
			for i := range n {
				sk := sortKey(i)
				if ties {
					sk = keys.None.SK(keys.Time(at(i / 6)))
				}
				ops = append(ops, putTwice(id(i), index.Key(id(i), sk))...)
			}
			write(t, tbl, ops...)
			r := newReader(t, tbl, index, &shard.Options[tx]{Dedupe: func(v tx) string { return v.ID }})
			for direction, oldest := range bothWays {
				for _, limit := range []int{1, 7, 30} {
					all := pages(t, r, shard.Query{Limit: limit, Descending: !oldest}, nil)
					for _, page := range all[:n/limit] {
						equal(t, "size of a page", len(page), limit)
					}
					got := slices.Concat(all...)
					equal(t, "items", len(got), n)
					if !ties {
						equal(t, direction, got, walk(n, oldest))
					}
					slices.Sort(got)
					equal(t, "sorted", got, span(0, n-1))
				}
				streamed, err := table.Collect(r.All(t.Context(), shard.Query{Descending: !oldest}))
				must(t, err)
				equal(t, "streamed", len(streamed), n)
			}
		})
	}
}

func TestWritesBetweenPages(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	index := globalTx(8)
	r := newReader(t, tbl, index, nil)
	seedAt(t, tbl, index, 3, upTo(20, 60)...)
	all := pages(t, r, shard.Query{Limit: 10, Descending: true}, func(page int) *shard.Reader[tx] {
		if page == 2 {
			seedAt(t, tbl, index, 0, upTo(60, 70)...) // newer than any
			seedAt(t, tbl, index, 1, upTo(10, 20)...) // older than any
			write(t, tbl, table.Delete(keys.Key{PK: keys.Tx.PK(id(40)), SK: keys.Metadata}))
		}
		return r
	})
	equal(t, "items", slices.Concat(all...), span(59, 10))
}

func TestRanges(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	index := globalTx(4)
	var ops []table.Op
	for i := range 40 {
		ops = append(ops, put(id(i), index.Key(id(i), keys.Tx.SK(keys.Time(at(i)), keys.Str(id(i))))))
	}
	for i, sk := range []keys.SK{"TX", "TX$0", "TXX#1", "NOTIF#1", "U"} {
		ops = append(ops, put(id(1000+i), index.Key(id(1000+i), sk)))
	}
	write(t, tbl, ops...)
	r := newReader(t, tbl, index, nil)
	for name, tt := range map[string]struct {
		r           keys.Range
		first, last int
	}{
		"prefix":  {keys.Tx.All(), 0, 39},
		"since":   {keys.Tx.Since(at(7)), 7, 39},
		"until":   {keys.Tx.Until(at(7)), 0, 6},
		"between": {keys.Tx.Between(at(7), at(30)), 7, 29},
		"exactly": {keys.Exactly(keys.Tx.SK(keys.Time(at(7)), keys.Str(id(7)))), 7, 7},
	} {
		want := span(tt.first, tt.last)
		for _, limit := range []int{1, 3, 50} {
			q := shard.Query{Range: tt.r, Limit: limit}
			equal(t, name, slices.Concat(pages(t, r, q, nil)...), want)
			q.Descending = true
			got := slices.Concat(pages(t, r, q, nil)...)
			slices.Reverse(got)
			equal(t, name+", newest first", got, want)
		}
	}
}

// TestPrefixEnd pages prefixes, also such as do not end with a segment, next to
// the keys that follow them.
func TestPrefixEnd(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	for i, sk := range []keys.SK{"TX#1", "TX#2", "TX#2\U0010FFFF", "TX#2\U0010FFFFa", "TX#3", "TX#\uD7FFa", "TX#\uE000", "TX$"} {
		write(t, tbl, put(id(i), globalTx(4).Key(id(i), sk)))
	}
	r := newReader(t, tbl, globalTx(4), nil)
	for prefix, last := range map[keys.SK][2]int{
		"TX#": {0, 6}, "TX#2": {1, 3}, "TX#2\U0010FFFF": {2, 3}, "TX#\uD7FF": {5, 5}, "TX": {0, 7},
	} {
		q := shard.Query{Range: keys.Range{Prefix: prefix}, Limit: 1}
		equal(t, string(prefix), slices.Concat(pages(t, r, q, nil)...), span(last[0], last[1]))
		q.Descending = true
		equal(t, string(prefix)+", newest first", slices.Concat(pages(t, r, q, nil)...), span(last[1], last[0]))
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	r := newReader(t, tbl, globalTx(8), nil)
	page, err := r.Page(t.Context(), shard.Query{Descending: true})
	must(t, err)
	equal(t, "page", page.Items, nil)
	equal(t, "token", page.Next, "")
	equal(t, "requests", queries(faults), 8)
	all, err := table.Collect(r.All(t.Context(), shard.Query{Descending: true}))
	must(t, err)
	equal(t, "all", all, nil)
}

// TestEmptyRange reads ranges that hold no time, which is no error.
func TestEmptyRange(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	r := newReader(t, tbl, globalTx(4), nil)
	seed(t, tbl, globalTx(4), 5)
	for _, in := range []keys.Range{keys.None.Between(noon, noon), {From: "b", To: "a"}} {
		page, err := r.Page(t.Context(), shard.Query{Range: in, Descending: true})
		must(t, err)
		equal(t, "page", page, shard.Page[tx]{})
		all, err := table.Collect(r.All(t.Context(), shard.Query{Range: in, Descending: true}))
		must(t, err)
		equal(t, "all", all, nil)
	}
	equal(t, "requests", queries(faults), 0)
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
		equal(t, "yields", n, 1)
	}
	equal(t, "requests", queries(faults), 0)
}
