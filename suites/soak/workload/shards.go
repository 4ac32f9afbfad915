package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// spread describes a sharded index of the table.
type spread struct {
	prefix string
	shards int
	ties   bool // sort keys need not be unique
	listed bool // the shards have names of their own instead of numbers
}

// index is the only place that knows the fields of [shard.Index].
func (s spread) index() shard.Index {
	x := shard.Index{Index: shardIndex, Prefix: keys.Prefix(s.prefix), NonUniqueSortKeys: s.ties}
	if !s.listed {
		x.Shards = s.shards
		return x
	}
	for i := range s.shards {
		x.Suffixes = append(x.Suffixes, fmt.Sprintf("_%d", i+1))
	}
	return x
}

// put files an item in the index.
func (s spread) put(d *doc, id string, sk keys.SK) {
	key := s.index().Key(id, sk)
	d.ShardPK, d.ShardSK = key.PK, key.SK
}

// holds reports whether an item is in the index.
func (s spread) holds(d doc) bool {
	pk := string(d.ShardPK)
	return pk == s.prefix || strings.HasPrefix(pk, s.prefix+"#")
}

// byShard is the order of a sharded index: by sort key, and items with the same
// one by their table keys.
func byShard(a, b doc) int {
	return cmp.Or(cmp.Compare(a.ShardSK, b.ShardSK), cmp.Compare(a.PK, b.PK), cmp.Compare(a.SK, b.SK))
}

// sharded returns what is in the worker's sharded index, newest first.
func (w *worker) sharded(in keys.Range) []doc {
	want := w.model.docs(w.clock, func(d doc) bool { return w.shards().holds(d) && in.Contains(d.ShardSK) }, byShard)
	slices.Reverse(want)
	return want
}

// latest reads the newest items of the sharded index.
func (w *worker) latest(r *shard.Reader[doc]) operation {
	n := 1 + w.r.IntN(20)
	want := first(w.sharded(keys.Range{}), n, false)
	return reading("shard Latest", want, func(ctx context.Context) ([]doc, error) { return r.Latest(ctx, n) }, report.Truth)
}

// shardQuery draws a query of the sharded index and says what it is to return.
func (w *worker) shardQuery() (shard.Query, []doc) {
	q := shard.Query{Descending: w.r.IntN(2) != 0, Limit: 1 + w.r.IntN(12), Scope: w.by}
	if from := epoch.Add(time.Duration(w.r.IntN(6)) * time.Minute); w.r.IntN(3) == 0 {
		q.Range = keys.None.Between(from, from.Add(4*time.Minute))
	}
	want := w.sharded(q.Range)
	if !q.Descending {
		slices.Reverse(want)
	}
	return q, want
}

// shardAll streams the sharded index.
func (w *worker) shardAll(r *shard.Reader[doc]) operation {
	q, want := w.shardQuery()
	q.Limit *= 4
	return reading("shard All", first(want, q.Limit, false), func(ctx context.Context) ([]doc, error) {
		return table.Collect(r.All(ctx, q))
	}, report.Truth)
}

// shardWalk reads the sharded index page by page.
func (w *worker) shardWalk(ctx context.Context, r *shard.Reader[doc]) error {
	q, want := w.shardQuery()
	return w.meddled(ctx, "shard Page", w.turns("shard Page", shardPages(r, q)), want, nil, func([]doc, string) {})
}
