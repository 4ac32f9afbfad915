package shard_test

import (
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
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
		codec := expect.Value(paginate.New([]paginate.Key{paginate.NewKey()}, &paginate.Options{TTL: time.Minute, Now: func() time.Time { return now }}))(t)
		tbl := tabletest.New(t, spec, &table.Options{Cursors: codec})
		for _, shards := range []int{1, 4} {
			seed(t, tbl, globalTx(shards), 400)
			r := newReader(t, tbl, globalTx(shards), nil)
			first := expect.Value(r.Page(t.Context(), shard.Query{Limit: 10, Descending: true}))(t)
			var got []string
			for v, err := range r.All(t.Context(), shard.Query{After: first.Next, Descending: true}) {
				expect.OK(t, err)
				got = append(got, v.ID)
				now = now.Add(step)
			}
			expect.Equal(t, name, got, span(389, 0))
		}
	}
}
