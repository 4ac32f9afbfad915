package shard_test

import (
	"testing"
	"time"

	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestSlowConsumer takes longer for an item than a cursor lives, and has the
// clock set back in between.
func TestSlowConsumer(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]time.Duration{"slow": time.Hour, "set back": -time.Hour} {
		now := noon
		codec, err := paginate.New([]paginate.Key{paginate.NewKey()}, &paginate.Options{TTL: time.Minute, Now: func() time.Time { return now }})
		must(t, err)
		tbl := tabletest.New(t, schema, &table.Options{Cursors: codec})
		for _, shards := range []int{1, 4} {
			seed(t, tbl, globalTx(shards), 400)
			r := newReader(t, tbl, globalTx(shards), nil)
			first, err := r.Page(t.Context(), shard.Query{Limit: 10, Descending: true})
			must(t, err)
			var got []string
			for v, err := range r.All(t.Context(), shard.Query{After: first.Next, Descending: true}) {
				must(t, err)
				got = append(got, v.ID)
				now = now.Add(step)
			}
			equal(t, name, got, span(389, 0))
		}
	}
}
