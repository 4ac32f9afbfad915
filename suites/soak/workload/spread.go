package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// grow writes an index, raises the number of its shards in the documented order,
// readers before writers, and reads it before, during and after that.
func (w *worker) grow(ctx context.Context) error {
	before := spread{prefix: w.by, shards: []int{1, 1, 2, 3, 5, 8}[w.r.IntN(6)], listed: w.r.IntN(4) == 0}
	after := before
	after.shards += 1 + w.r.IntN(8)
	old, err := shard.New[doc](w.table, before.index(), nil)
	if err != nil {
		return err
	}
	grown, err := shard.New[doc](w.table, after.index(), nil)
	if err != nil {
		return err
	}
	var stored []doc
	store := func(in spread, n int) error {
		from := len(stored)
		for range n {
			i := len(stored)
			d := doc{PK: ownPrefix.PK(w.by), SK: itemPrefix.SK(keys.Int(i, 4)), N: 1}
			at := epoch.Add(time.Duration(w.r.IntN(1000)) * time.Second)
			in.put(&d, fmt.Sprint(i), keys.None.SK(keys.Time(at), keys.Int(i, 4)))
			stored = append(stored, d)
		}
		return w.calm.BatchWrite(ctx, puts(stored[from:])...)
	}
	if err := store(before, 10+w.r.IntN(40)); err != nil {
		return err
	}
	must := slices.Clone(stored)
	reader, left := old, w.r.IntN(4) // pages until the readers have the new number
	q := shard.Query{Descending: w.r.IntN(2) != 0, Limit: 1 + w.r.IntN(12)}
	// The readers have the new number first, and the writers a page later.
	page := 0
	next := func([]doc, string) (err error) {
		switch page - left {
		case 0:
			reader, err = grown, store(before, w.r.IntN(10))
		case 1:
			err = store(after, w.r.IntN(10))
		}
		page++
		return err
	}
	if err := next(nil, ""); err != nil {
		return err
	}
	have, err := w.turns("shard Page", func(ctx context.Context, after string) ([]doc, string, error) {
		return shardPages(reader, q)(ctx, after)
	}).each(ctx, next)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("shard Page, %d to %d shards", before.shards, after.shards)
	w.check(report.Growth, wrap(name, checker.Once(have, must, stored)))
	inOrder := slices.IsSortedFunc(have, func(a, b doc) int {
		if q.Descending {
			a, b = b, a
		}
		return cmp.Compare(a.ShardSK, b.ShardSK)
	})
	w.check(report.Growth, wrap(name, checker.Equal(inOrder, true)))
	slices.SortFunc(stored, byShard)
	return w.do(ctx, reading("shard All", stored, func(ctx context.Context) ([]doc, error) {
		return table.Collect(grown.All(ctx, shard.Query{}))
	}, report.Growth))
}

// copies reads an index that holds values twice, under few sort keys, while
// copies of them come and go. A value is to come once if one of its copies was
// there all the time.
func (w *worker) copies(ctx context.Context) error {
	in := spread{prefix: w.by, shards: 1 + w.r.IntN(4), ties: true}
	reader, err := shard.New(w.table, in.index(), &shard.Options[doc]{Dedupe: func(d doc) string { return d.By }})
	if err != nil {
		return err
	}
	type value struct {
		copies  [2]doc
		present [2]bool
		steady  [2]bool // present from beginning to end
	}
	values := make([]value, 6+w.r.IntN(20))
	var ops []table.Op
	for i := range values {
		v := &values[i]
		id := fmt.Sprint(i)
		at := keys.None.SK(keys.Time(epoch.Add(time.Duration(w.r.IntN(3)) * time.Second)))
		for c := range v.copies {
			d := doc{PK: ownPrefix.PK(w.by, fmt.Sprint(w.r.IntN(3))), SK: itemPrefix.SK(keys.Int(i, 3), keys.Int(c, 1)), N: 1, By: id}
			in.put(&d, id+strings.Repeat("'", c*w.r.IntN(2)), at) // in the same shard or not
			v.copies[c] = d
			v.present[c] = w.r.IntN(3) > 0
			v.steady[c] = v.present[c]
			if v.present[c] {
				ops = append(ops, table.Put(d.key(), d))
			}
		}
	}
	if err := w.calm.BatchWrite(ctx, ops...); err != nil {
		return err
	}
	q := shard.Query{Descending: w.r.IntN(2) != 0, Limit: 1 + w.r.IntN(6)}
	found, err := w.turns("shard Page", shardPages(reader, q)).each(ctx, func(_ []doc, next string) error {
		if next == "" {
			return nil
		}
		for range w.r.IntN(4) {
			v, c := &values[w.r.IntN(len(values))], w.r.IntN(2)
			op := table.Put(v.copies[c].key(), v.copies[c])
			if v.present[c] {
				op = table.Delete(v.copies[c].key())
			}
			v.present[c], v.steady[c] = !v.present[c], false
			if err := w.calm.Do(ctx, op); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var have, must, may []string
	for _, d := range found {
		have = append(have, d.By)
	}
	for i, v := range values {
		may = append(may, fmt.Sprint(i))
		if v.steady[0] || v.steady[1] {
			must = append(must, fmt.Sprint(i))
		}
	}
	w.check(report.Copies, wrap("shard Page", checker.Once(have, must, may)))
	return nil
}

// undeclaredTies reads an index in which two items have the same sort key though it
// says that none do. The items are so large that readers ask for few at a time.
// Nothing may be lost without an error.
func (w *worker) undeclaredTies(ctx context.Context) error {
	in := spread{prefix: w.by, shards: 1 + w.r.IntN(3)}
	reader, err := shard.New[doc](w.table, in.index(), nil)
	if err != nil {
		return err
	}
	docs := make([]doc, 8+w.r.IntN(12))
	pad, tied := strings.Repeat("x", 5000), 1+w.r.IntN(len(docs)-1)
	for i := range docs {
		d := doc{PK: ownPrefix.PK(w.by), SK: itemPrefix.SK(keys.Int(i, 4)), N: 1, Pad: pad}
		at := epoch.Add(time.Duration(i) * time.Second)
		if i == tied {
			at = at.Add(-time.Second)
		}
		in.put(&d, fmt.Sprint(i), keys.None.SK(keys.Time(at)))
		docs[i] = d
	}
	if err := w.calm.BatchWrite(ctx, puts(docs)...); err != nil {
		return err
	}
	for range 8 {
		w.check(report.Ties, w.readTies(ctx, reader, docs))
	}
	return nil
}

// readTies reads an index once, without faults. It says how items were lost
// without an error.
func (w *worker) readTies(ctx context.Context, r *shard.Reader[doc], docs []doc) error {
	q := shard.Query{Descending: w.r.IntN(2) != 0, Limit: 1 + w.r.IntN(12)}
	name, read := "shard Page", func(ctx context.Context) ([]doc, error) { return shardPages(r, q).all(ctx) }
	if w.r.IntN(8) == 0 {
		q.Limit = 0
		name, read = "shard All", func(ctx context.Context) ([]doc, error) { return table.Collect(r.All(ctx, q)) }
	}
	var have []doc
	_, err := w.try(ctx, name, nil, func(ctx context.Context) (err error) {
		have, err = read(ctx)
		return err
	})
	switch {
	case errors.Is(err, table.ErrInvalid):
		return nil
	case err == nil:
		err = checker.Once(have, docs, docs)
	}
	return wrap(name, err)
}
