package shard_test

import (
	"encoding/json"
	"strings"
	"testing"

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

func TestCost(t *testing.T) {
	t.Parallel()
	const items, shards, n = 2000, 16, 100
	tbl := tabletest.New(t, schema, nil)
	index := globalTx(shards)
	seedKilobytes(t, tbl, index, items)

	all := 0.0 // what it costs to ask each shard for n items
	for i := range shards {
		page, err := table.QueryPage[tx](t.Context(), tbl, table.Query{
			Index: "GSI1", PK: partition(index, i), Descending: true, Limit: n,
		})
		must(t, err)
		equal(t, "items of a shard", len(page.Items), n)
		all += page.Stats.Capacity
	}

	r := newReader(t, tbl, index, nil)
	q := shard.Query{Limit: n, Descending: true}
	rounds, requests, read := 0, 0, 0.0
	for range items / n {
		page, err := r.Page(t.Context(), q)
		must(t, err)
		equal(t, "items of a page", len(page.Items), n)
		rounds += page.Stats.Rounds
		requests += page.Stats.Requests
		read += page.Stats.Capacity
		q.After = page.Next
	}
	pages := float64(items / n)
	t.Logf("a page costs %.1f read units in %.2f rounds of %.1f requests in all; from every shard in full, %.1f",
		read/pages, float64(rounds)/pages, float64(requests)/pages, all)
	if read/pages > all/3 {
		t.Errorf("%.1f read units a page, more than a third of %.1f", read/pages, all)
	}
	if float64(rounds)/pages > 2 {
		t.Errorf("%.2f rounds a page", float64(rounds)/pages)
	}
}

// TestCostOfAll checks that a stream pays for an item once, and that one which is
// broken off pays for little more than it gave.
func TestCostOfAll(t *testing.T) {
	t.Parallel()
	const items, shards = 800, 8
	tbl := tabletest.New(t, schema, nil)
	index := globalTx(shards)
	seedKilobytes(t, tbl, index, items)
	capacity := 0.0
	own, err := table.New(tabletest.Client(t), tbl.Schema(), observer(&capacity))
	must(t, err)
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
			must(t, err)
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

// TestCostOfDedupe checks that pages of an index that holds everything twice
// take no more rounds than others.
func TestCostOfDedupe(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	index := globalTx(16)
	var ops []table.Op
	for i := range 600 {
		ops = append(ops, putTwice(id(i), index.Key(id(i), sortKey(i)))...)
	}
	write(t, tbl, ops...)
	r := newReader(t, tbl, index, &shard.Options[tx]{Dedupe: func(v tx) string { return v.ID }})
	q := shard.Query{Limit: 50, Descending: true}
	rounds := 0
	for range 12 {
		page, err := r.Page(t.Context(), q)
		must(t, err)
		equal(t, "items", len(page.Items), 50)
		rounds += page.Stats.Rounds
		q.After = page.Next
	}
	if rounds > 18 {
		t.Errorf("%d rounds for 12 pages", rounds)
	}
	t.Logf("%d rounds for 12 pages", rounds)
}

// TestCostOfNeedlessDedupe checks that a reader learns that nothing is there
// twice.
func TestCostOfNeedlessDedupe(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	seedKilobytes(t, tbl, globalTx(16), 1200)
	scanned := func(o *shard.Options[tx]) (n int) {
		r := newReader(t, tbl, globalTx(16), o)
		for range 10 {
			page, err := r.Page(t.Context(), shard.Query{Limit: 100, Descending: true})
			must(t, err)
			n = page.Stats.Scanned
		}
		return n
	}
	with, without := scanned(&shard.Options[tx]{Dedupe: func(v tx) string { return v.ID }}), scanned(nil)
	if with > without*12/10 {
		t.Errorf("%d items read, %d without Dedupe", with, without)
	}
}

// TestStrides checks that a stream of larger items does not read more and more
// of them ahead.
func TestStrides(t *testing.T) {
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
	all, err := table.Collect(newReader(t, tbl, index, nil).All(t.Context(), shard.Query{Descending: true}))
	must(t, err)
	equal(t, "items", ids(all), span(499, 0))
	for _, r := range faults.Requests("Query") {
		var body struct{ Limit int }
		must(t, json.Unmarshal(r.Body, &body))
		if body.Limit > 100 {
			t.Errorf("a request for %d items", body.Limit)
		}
	}
}
