package shard_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// asked returns how many items were asked of each shard: "0: 8 4, 1: 8" means 8 and
// then 4 of shard 0.
func asked(t *testing.T, index shard.Index, requests []tabletest.Request) string {
	t.Helper()
	limits := make(map[string]string)
	for _, r := range requests {
		var body struct {
			Limit                     int
			ExpressionAttributeValues map[string]struct{ S string }
		}
		expect.OK(t, json.Unmarshal(r.Body, &body))
		limits[body.ExpressionAttributeValues[":pk"].S] += fmt.Sprintf(" %d", body.Limit)
	}
	var all []string
	for i := range index.Shards {
		if of, ok := limits[string(partition(index, i))]; ok {
			all = append(all, fmt.Sprintf("%d:%s", i, of))
		}
	}
	return strings.Join(all, ", ")
}

// TestLimits pins how many items the first pages of a walk ask of each shard, and in
// how many rounds. Items of 1 KB are asked for in fours, which are charged as one;
// large ones one by one.
func TestLimits(t *testing.T) {
	t.Parallel()
	const items, pages = 100, 4
	dedupe := &shard.Options[tx]{Dedupe: func(v tx) string { return v.ID }}
	roundRobin := func(shards int) func(int) int { return func(i int) int { return i % shards } }
	large := strings.Repeat(kilobyte, 12)
	for name, tt := range map[string]struct {
		shards  int
		note    string
		ties    bool // sort keys may be equal
		twice   bool // each item has a copy
		options *shard.Options[tx]
		place   func(i int) int
		limit   int
		want    []string // the last one is of the pages that follow, too
	}{
		"few shards": {
			shards: 3, note: kilobyte, place: roundRobin(3), limit: 10,
			want: []string{"0: 8, 1: 8, 2: 8; rounds: 1"},
		},
		"eight shards": {
			shards: 8, note: kilobyte, place: roundRobin(8), limit: 25,
			want: []string{"0: 8, 1: 8, 2: 8, 3: 8, 4: 8, 5: 8, 6: 8, 7: 8; rounds: 1"},
		},
		"nine shards": {
			shards: 9, note: kilobyte, place: roundRobin(9), limit: 25,
			want: []string{"0: 4, 1: 4, 2: 4, 3: 4, 4: 4, 5: 4, 6: 4, 7: 4, 8: 4; rounds: 1"},
		},
		"large items": {
			shards: 3, note: large, place: roundRobin(3), limit: 10,
			want: []string{
				"0: 8, 1: 8, 2: 8; rounds: 1",
				"0: 6, 1: 6, 2: 6; rounds: 1",
			},
		},
		"one is hot": {
			shards: 3, note: large, place: func(i int) int { return min(i%9, 2) }, limit: 20,
			want: []string{
				"0: 12, 1: 12, 2: 12 6; rounds: 2",
				"0: 10, 1: 10, 2: 10 10; rounds: 2",
				"0: 10, 1: 10, 2: 11 9; rounds: 2",
				"0: 10, 1: 10, 2: 11 7; rounds: 2",
			},
		},
		"equal sort keys": {
			shards: 3, note: large, ties: true, place: roundRobin(3), limit: 10,
			want: []string{
				"0: 8, 1: 8, 2: 8; rounds: 1",
				"0: 7, 1: 6, 2: 6; rounds: 1",
				"0: 7, 1: 6, 2: 7; rounds: 1",
				"0: 6, 1: 7, 2: 6; rounds: 1",
			},
		},
		"each item twice": {
			shards: 3, note: large, twice: true, options: dedupe, place: roundRobin(3), limit: 10,
			want: []string{"0: 12, 1: 12, 2: 12; rounds: 1"},
		},
		"one is hot, each item twice": {
			shards: 3, note: large, twice: true, options: dedupe, place: func(i int) int { return min(i%9, 2) }, limit: 20,
			want: []string{
				"0: 20, 1: 20, 2: 20 16; rounds: 2",
				"0: 20, 1: 20, 2: 20 20; rounds: 2",
				"0: 19, 1: 19, 2: 21 18; rounds: 2",
				"0: 19, 1: 19, 2: 21 14; rounds: 2",
			},
		},
		"no item twice": {
			shards: 3, note: large, options: dedupe, place: roundRobin(3), limit: 10,
			want: []string{
				"0: 12, 1: 12, 2: 12; rounds: 1",
				"0: 9, 1: 9, 2: 9; rounds: 1",
				"0: 7, 1: 7, 2: 7; rounds: 1",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tbl, faults := withFaults(t, nil)
			index := globalTx(tt.shards)
			index.NonUniqueSortKeys = tt.ties
			var ops []table.Op
			for i := range items {
				v := tx{ID: id(i), GSI1PK: partition(index, tt.place(i)), GSI1SK: sortKey(i), Note: tt.note}
				ops = append(ops, table.Put(keys.Key{PK: keys.Tx.PK(v.ID), SK: keys.Metadata}, v))
				if tt.twice {
					ops = append(ops, table.Put(keys.Key{PK: keys.Tx.PK(v.ID), SK: "COPY"}, v))
				}
			}
			write(t, tbl, ops...)
			r := newReader(t, tbl, index, tt.options)
			q := shard.Query{Limit: tt.limit, Descending: true}
			for i := range pages {
				want := tt.want[min(i, len(tt.want)-1)]
				before := len(faults.Requests("Query"))
				page := expect.Value(r.Page(t.Context(), q))(t)
				expect.Equal(t, "items", ids(page.Items), span(items-1-i*tt.limit, items-(i+1)*tt.limit))
				expect.Equal(t, fmt.Sprint("page ", i), fmt.Sprintf("%s; rounds: %d", asked(t, index, faults.Requests("Query")[before:]), page.Stats.Rounds), want)
				q.After = page.Next
			}
		})
	}
}
