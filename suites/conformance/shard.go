package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

func shardTests() tests {
	return tests{
		"gives the newest of all shards":          shardLatest,
		"loses no ties":                           shardTies,
		"copies come and go between pages":        shardLateCopies,
		"a range and what is just outside of it":  shardRange,
		"an expired item takes nobody else's row": shardExpired,
	}
}

func global(shards int) shard.Index {
	return shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: shards}
}

// shardSK is the sort key of the i-th transaction in the index.
func shardSK(i int) keys.SK { return keys.None.SK(keys.Time(txTime(i)), keys.Int(i, 4)) }

// shardPK is the partition key of a shard.
func shardPK(shard int) keys.PK {
	if shard == 0 {
		return "GLOBAL_TX"
	}
	return keys.Prefix("GLOBAL_TX").PK(fmt.Sprint(shard))
}

// inIndex stores a transaction that is in the index under a key.
func inIndex(i int, key keys.Key) table.Op {
	return table.Put(txKey(i), note{Type: "tx", N: i, GSI1PK: string(key.PK), GSI1SK: string(key.SK)})
}

// spreadTx stores the transactions from first to before end, spread by their ids.
func spreadTx(t *testing.T, tbl *table.Table, index shard.Index, first, end int) {
	t.Helper()
	var ops []table.Op
	for i := first; i < end; i++ {
		ops = append(ops, inIndex(i, index.Key(fmt.Sprint("tx-", i), shardSK(i))))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
}

func shardReader(t *testing.T, tbl *table.Table, index shard.Index, o *shard.Options[note]) *shard.Reader[note] {
	t.Helper()
	return expect.Value(shard.New(tbl, index, o))(t)
}

// shardPages walks a query to its end. between, if set, returns the reader to go
// on with.
func shardPages(t *testing.T, r *shard.Reader[note], q shard.Query, between func(page int) *shard.Reader[note]) []int {
	t.Helper()
	var all []int
	for page := range 1000 {
		got := expect.Value(r.Page(t.Context(), q))(t)
		all = append(all, numbers(got.Items)...)
		if got.Next == "" {
			return all
		}
		equal(t, "size of a page with a next one", len(got.Items), q.Limit)
		q.After = got.Next
		if between != nil {
			r = between(page + 1)
		}
	}
	t.Fatal("1000 pages and no end")
	return nil
}

func shardLatest(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	key := global(16).Key("tx-abc", "2100-01-15T10:05:00.000Z#tx-abc")
	equal(t, "partition of tx-abc", key.PK, "GLOBAL_TX#14")
	spreadTx(t, tbl, global(16), 0, 1000)
	r := shardReader(t, tbl, global(16), nil)
	latest := expect.Value(r.Latest(t.Context(), 10))(t)
	equal(t, "latest", numbers(latest), span(999, 990))
	all := expect.Value(table.Collect(r.All(t.Context(), shard.Query{})))(t)
	equal(t, "all", numbers(all), span(0, 999))
	page := expect.Value(r.Page(t.Context(), shard.Query{Limit: 100, Descending: true}))(t)
	if page.Stats.Rounds > 3 {
		t.Errorf("%+v", page.Stats)
	}
}

func shardTies(t *testing.T, h Harness) {
	index := global(4)
	index.NonUniqueSortKeys = true
	tbl := h.newTable(t, appCore())
	var ops []table.Op
	for i := range 60 {
		sk := keys.None.SK(keys.Time(txTime(i * i / 300))) // 18 in the first minute, then fewer
		ops = append(ops, inIndex(i, keys.Key{PK: shardPK(i % 3), SK: sk}))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	r := shardReader(t, tbl, index, nil)
	for _, limit := range []int{1, 7, 60} {
		equal(t, "newest first", shardPages(t, r, shard.Query{Limit: limit, Descending: true}, nil), span(59, 0))
		equal(t, "oldest first", shardPages(t, r, shard.Query{Limit: limit}, nil), span(0, 59))
	}
	all := expect.Value(table.Collect(r.All(t.Context(), shard.Query{})))(t)
	equal(t, "streamed", numbers(all), span(0, 59))
}

// shardLateCopies has copies of values come and go between two pages, on each
// side of the position, where all items have one sort key. Engines order them as
// they like; every value comes exactly once.
func shardLateCopies(t *testing.T, h Harness) {
	index := global(3)
	index.NonUniqueSortKeys = true
	const n = 12
	sk := keys.None.SK(keys.Time(now))
	// The letter of a copy says where its table key is among those of all copies.
	key := func(i int, letter string) keys.Key { return keys.Key{PK: keys.PK(letter), SK: shardSK(i)} }
	put := func(i int, letter string) table.Op {
		return table.Put(key(i, letter), note{N: i, GSI1PK: string(shardPK(i % 3)), GSI1SK: string(sk)})
	}
	for name, change := range map[string]func(i int) []table.Op{
		"a copy before":              func(i int) []table.Op { return []table.Op{put(i, "A")} },
		"a copy behind":              func(i int) []table.Op { return []table.Op{put(i, "Z")} },
		"copies on both sides":       func(i int) []table.Op { return []table.Op{put(i, "A"), put(i, "Z")} },
		"another copy, not this one": func(i int) []table.Op { return []table.Op{put(i, "A"), table.Delete(key(i, "M"))} },
		"the copy moves behind":      func(i int) []table.Op { return []table.Op{put(i, "Z"), table.Delete(key(i, "M"))} },
	} {
		for _, q := range []shard.Query{{Limit: 1, Descending: true}, {Limit: 5, Descending: true}, {Limit: 5}, {Limit: 8}} {
			tbl := h.newTable(t, appCore())
			var before, between []table.Op
			for i := range n {
				before = append(before, put(i, "M"))
				between = append(between, change(i)...)
			}
			must(t, tbl.BatchWrite(t.Context(), before...))
			r := shardReader(t, tbl, index, &shard.Options[note]{Dedupe: func(v note) string { return fmt.Sprintf("%02d", v.N) }})
			want := span(n-1, 0)
			if !q.Descending {
				want = span(0, n-1)
			}
			equal(t, fmt.Sprintf("%s, %+v", name, q), shardPages(t, r, q, func(page int) *shard.Reader[note] {
				if page == 1 {
					must(t, tbl.BatchWrite(t.Context(), between...))
				}
				return r
			}), want)
		}
	}
}

func shardRange(t *testing.T, h Harness) {
	tbl, index := h.newTable(t, appCore()), global(4)
	var ops []table.Op
	for i := range 30 {
		ops = append(ops, inIndex(i, index.Key(fmt.Sprint("tx-", i), keys.Tx.SK(keys.Time(txTime(i)), keys.Int(i, 4)))))
	}
	for i, sk := range []keys.SK{"TX", "TX$0", "TXX#1", "NOTIF#1", "U"} {
		ops = append(ops, inIndex(100+i, index.Key(fmt.Sprint("other-", i), sk)))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	r := shardReader(t, tbl, index, nil)
	for name, tt := range map[string]struct {
		in          keys.Range
		first, last int
	}{
		"prefix":  {keys.Tx.All(), 0, 29},
		"since":   {keys.Tx.Since(txTime(7)), 7, 29},
		"until":   {keys.Tx.Until(txTime(7)), 0, 6},
		"between": {keys.Tx.Between(txTime(5), txTime(17)), 5, 16},
		"exactly": {keys.Exactly(keys.Tx.SK(keys.Time(txTime(7)), keys.Int(7, 4))), 7, 7},
	} {
		for _, limit := range []int{1, 4, 50} {
			q := shard.Query{Limit: limit, Range: tt.in}
			equal(t, name+", oldest first", shardPages(t, r, q, nil), span(tt.first, tt.last))
			q.Descending = true
			equal(t, name+", newest first", shardPages(t, r, q, nil), span(tt.last, tt.first))
		}
	}
}

func shardExpired(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	spreadTx(t, tbl, global(4), 0, 40)
	var ops []table.Op
	for i := 20; i < 36; i++ {
		key := global(4).Key(fmt.Sprint("tx-", i), shardSK(i))
		ops = append(ops, table.Put(txKey(i), note{N: i, GSI1PK: string(key.PK), GSI1SK: string(key.SK), ExpiresAt: now.Unix()}))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	got := shardPages(t, shardReader(t, tbl, global(4), nil), shard.Query{Limit: 6, Descending: true}, nil)
	equal(t, "items", got, slices.Concat(span(39, 36), span(19, 0)))
}
