package shard_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// seedKilobytes stores n transactions of nearly 1 KB.
func seedKilobytes(tb testing.TB, tbl *table.Table, index shard.Index, n int) {
	tb.Helper()
	var ops []table.Op
	for i := range n {
		key := index.Key(id(i), sortKey(i))
		ops = append(ops, table.Put(keys.Key{PK: keys.Tx.PK(id(i)), SK: keys.Metadata},
			tx{ID: id(i), GSI1PK: key.PK, GSI1SK: key.SK, Note: kilobyte}))
	}
	write(tb, tbl, ops...)
}

// TestCost compares the cost of the pages of a walk with what a reader would pay
// that knows how many items of the page each shard has. A full block of 4 KB is
// half a read unit, and holds 4 items.
func TestCost(t *testing.T) {
	t.Parallel()
	const items, n = 2000, 100
	for name, tt := range map[string]struct {
		shards int
		place  func(shards int) func(i int) int
		most   float64 // read units for a page, in the mean
		above  float64 // the most, as a multiple of what is needed
	}{
		"10 shards":                  {10, byHash, 21, 1.3},
		"16 shards":                  {16, byHash, 21, 1.3},
		"10 shards, few of them hot": {10, zipf, 21, 1.3},
		"16 shards, few of them hot": {16, zipf, 23, 1.3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tbl := tabletest.New(t, spec, nil)
			index, place := globalTx(tt.shards), tt.place(tt.shards)
			shardOf := make(map[string]int, items)
			var ops []table.Op
			for i := range items {
				shardOf[id(i)] = place(i)
				ops = append(ops, table.Put(keys.Key{PK: keys.Tx.PK(id(i)), SK: keys.Metadata},
					tx{ID: id(i), GSI1PK: partition(index, place(i)), GSI1SK: sortKey(i), Note: kilobyte}))
			}
			write(t, tbl, ops...)

			r := newReader(t, tbl, index, nil)
			q := shard.Query{Limit: n, Descending: true}
			rounds, read, needed := 0, 0.0, 0.0
			for range items / n {
				page := expect.Value(r.Page(t.Context(), q))(t)
				expect.Equal(t, "items of a page", len(page.Items), n)
				rounds += page.Stats.Rounds
				read += page.Stats.Capacity
				have := make([]int, tt.shards)
				for _, item := range page.Items {
					have[shardOf[item.ID]]++
				}
				for _, items := range have {
					needed += math.Ceil(float64(items+1)/4) / 2 // one more shows that there is none before it
				}
				q.After = page.Next
			}
			pages := float64(items / n)
			t.Logf("a page costs %.1f read units in %.2f rounds, %.2f times what is needed", read/pages, float64(rounds)/pages, read/needed)
			if read/pages > tt.most || read > needed*tt.above {
				t.Errorf("%.1f read units a page, more than %v or %v times what is needed, %.1f", read/pages, tt.most, tt.above, needed/pages)
			}
			if float64(rounds)/pages > 2.3 {
				t.Errorf("%.2f rounds a page", float64(rounds)/pages)
			}
		})
	}
}

func byHash(shards int) func(int) int {
	index := globalTx(shards)
	return func(i int) int { return index.Shard(id(i)) }
}

// zipf places items so that shard i has in proportion to 1/(i+1).
func zipf(shards int) func(int) int {
	total, random := 0.0, rand.New(rand.NewPCG(1, 2))
	for i := range shards {
		total += 1 / float64(i+1)
	}
	places := make(map[int]int)
	return func(i int) int {
		if at, ok := places[i]; ok {
			return at
		}
		left := random.Float64() * total
		at := 0
		for left -= 1; left > 0 && at < shards-1; left -= 1 / float64(at+1) {
			at++
		}
		places[i] = at
		return at
	}
}

// TestCostOfAll checks that a stream pays for an item once, and that one which is
// broken off pays for little more than it gave.
func TestCostOfAll(t *testing.T) {
	t.Parallel()
	const items, shards = 800, 8
	tbl := tabletest.New(t, spec, nil)
	index := globalTx(shards)
	seedKilobytes(t, tbl, index, items)
	capacity := 0.0
	own := expect.Value(table.New(tabletest.Client(t), tbl.Schema(), observer(&capacity)))(t)
	r := newReader(t, own, index, &shard.Options[tx]{Concurrency: 1})
	for _, tt := range []struct {
		take int
		most float64 // read units; one is 8 items
	}{
		{50, 25}, {150, 55}, {items, items/8*1.15 + shards},
	} {
		capacity = 0
		n := 0
		for _, err := range r.All(t.Context(), shard.Query{Descending: true}) {
			expect.OK(t, err)
			if n++; n == tt.take {
				break
			}
		}
		t.Logf("%d items: %.1f read units", n, capacity)
		if capacity > tt.most {
			t.Errorf("%d items: %.1f read units, more than %.1f", n, capacity, tt.most)
		}
	}
}

// TestReadAheadStaysBounded checks that a stream of larger items does not read
// more and more of them ahead.
func TestReadAheadStaysBounded(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	index := globalTx(2)
	var ops []table.Op
	for i := range 500 {
		key := index.Key(id(i), sortKey(i))
		ops = append(ops, table.Put(keys.Key{PK: keys.Tx.PK(id(i)), SK: keys.Metadata},
			tx{ID: id(i), GSI1PK: key.PK, GSI1SK: key.SK, Note: strings.Repeat(kilobyte, 13)}))
	}
	write(t, tbl, ops...)
	all := expect.Value(table.Collect(newReader(t, tbl, index, nil).All(t.Context(), shard.Query{Descending: true})))(t)
	expect.Equal(t, "items", ids(all), span(499, 0))
	for _, r := range faults.Requests("Query") {
		var body struct{ Limit int }
		expect.OK(t, json.Unmarshal(r.Body, &body))
		if body.Limit > 100 {
			t.Errorf("a request for %d items", body.Limit)
		}
	}
}
