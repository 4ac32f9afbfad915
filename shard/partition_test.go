package shard_test

import (
	"slices"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// seedOf returns the ops that store transactions from first to before end.
func seedOf(index shard.Index, first, end int) []table.Op {
	var ops []table.Op
	for i := first; i < end; i++ {
		ops = append(ops, put(id(i), index.Key(id(i), sortKey(i))))
	}
	return ops
}

// TestPartitionsOfOtherPrograms reads tables whose partition keys were not made by
// this package, and writes where they do.
func TestPartitionsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		index      shard.Index
		partitions []keys.PK
	}{
		"numbered from 0": {suffixed("GLOBAL_TX", "#0", "#1", "#2", "#3"), []keys.PK{"GLOBAL_TX#0", "GLOBAL_TX#1", "GLOBAL_TX#2", "GLOBAL_TX#3"}},
		"an underscore":   {suffixed("GLOBAL_TX", "_1", "_2", "_3"), []keys.PK{"GLOBAL_TX_1", "GLOBAL_TX_2", "GLOBAL_TX_3"}},
		"grown from one":  {suffixed("GLOBAL_TX", "", "#0", "#1"), []keys.PK{"GLOBAL_TX", "GLOBAL_TX#0", "GLOBAL_TX#1"}},
		"number first":    {suffixed("", "0.all tx", "1.all tx"), []keys.PK{"0.all tx", "1.all tx"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tbl := tabletest.New(t, spec, nil)
			var ops []table.Op
			for i := range 60 {
				ops = append(ops, put(id(i), keys.Key{PK: tt.partitions[i%len(tt.partitions)], SK: sortKey(i)}))
			}
			write(t, tbl, append(ops, seedOf(tt.index, 60, 90)...)...)
			r := newReader(t, tbl, tt.index, nil)
			expect.Equal(t, "items", slices.Concat(pages(t, r, shard.Query{Limit: 7, Descending: true}, nil)...), span(89, 0))
			for _, pk := range tt.partitions {
				page := expect.Value(table.QueryPage[tx](t.Context(), tbl, table.Query{Index: "GSI1", PK: pk, Range: keys.None.Since(at(60))}))(t)
				if len(page.Items) == 0 {
					t.Errorf("nothing was written to %q", pk)
				}
			}
		})
	}
}

// TestSortKeysOfOtherPrograms pages sort keys that package keys does not build,
// such as those with an empty segment.
func TestSortKeysOfOtherPrograms(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	for i, sk := range []keys.SK{"\x00", " ", "#", "##", "#x", "A#", "A##", "A##B", "A#B#", "B", "\uFFFF", "\U0010FFFF"} {
		write(t, tbl, put(id(i), globalTx(3).Key(id(i), sk)))
	}
	r := newReader(t, tbl, globalTx(3), nil)
	for direction, oldest := range bothWays {
		for limit := 1; limit <= 12; limit += 5 {
			q := shard.Query{Limit: limit, Descending: !oldest}
			expect.Equal(t, direction, slices.Concat(pages(t, r, q, nil)...), walk(12, oldest))
		}
		q := shard.Query{Limit: 1, Descending: !oldest, Range: keys.Range{Prefix: "A#"}}
		want := span(8, 5)
		if oldest {
			want = span(5, 8)
		}
		expect.Equal(t, direction+", of a prefix", slices.Concat(pages(t, r, q, nil)...), want)
	}
}
