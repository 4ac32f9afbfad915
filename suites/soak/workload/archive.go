package workload

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// archive is what all workers read and nobody changes. It depends on nothing but
// the seed.
type archive struct {
	docs []doc
	// sparse are partitions of several MB in which few items match.
	sparse []sparse
	// log is a sharded index of many small items, newest first.
	log spread
	// entries are its items, oldest first.
	entries []doc
}

// sparse is a partition, of which a query wants few items.
type sparse struct {
	table.Query
	// index says that the partition's items are those of a sharded index, too.
	index *spread
	want  []doc // in ascending order
}

const (
	// fillers of fillerSize bytes are what a request of DynamoDB passes over
	// three at a time, as it reads 1 MB at most. AWS: Query, Amazon DynamoDB API
	// Reference.
	fillers    = 22
	fillerSize = 350_000
	matching   = 10
	entries    = 400
)

const archivePrefix keys.Prefix = "ARCHIVE"

func newArchive(seed uint64) *archive {
	r := rand.New(rand.NewPCG(seed, 1<<62))
	a := &archive{log: spread{prefix: "LOG", shards: 4}}
	a.addSparse(r, "filtered", nil, func(d *doc) { d.Color = colors[1] })
	a.addSparse(r, "expired", &spread{prefix: "SPARSE", shards: 2}, func(d *doc) {
		d.Expires = epoch.AddDate(-1, 0, 0).Unix()
	})
	for i := range entries {
		d := doc{PK: archivePrefix.PK("log"), SK: itemPrefix.SK(keys.Int(i, 4)), Type: "DOC", N: 1}
		// Every other sort key is one of another program, with an empty segment.
		at, id := keys.None.SK(keys.Time(epoch.Add(time.Duration(i)*time.Second))), fmt.Sprint(i)
		if i%2 == 0 {
			a.log.put(&d, id, at+"##"+keys.SK(id))
		} else {
			a.log.put(&d, id, at+"#"+keys.SK(id))
		}
		a.entries = append(a.entries, d)
	}
	a.docs = append(a.docs, a.entries...)
	return a
}

// addSparse adds a partition of which hide hides all items but a few. It begins
// and ends with more than DynamoDB reads at once.
func (a *archive) addSparse(r *rand.Rand, name string, index *spread, hide func(*doc)) {
	s := sparse{Query: table.Query{PK: archivePrefix.PK(name)}, index: index}
	if index == nil {
		s.Filter = expression.Name("color").Equal(expression.Value(colors[0]))
	}
	const edge = 4
	kinds := make([]bool, fillers-2*edge+matching) // whether an item matches
	for _, i := range r.Perm(len(kinds))[:matching] {
		kinds[i] = true
	}
	kinds = slices.Concat(make([]bool, edge), kinds, make([]bool, edge))
	pad := strings.Repeat("x", fillerSize)
	for i, match := range kinds {
		d := doc{
			PK: s.PK, SK: itemPrefix.SK(keys.Int(i, 4)), Type: "DOC", N: 1, Color: colors[0],
			ListPK: s.PK + "#list", ListSK: keys.None.SK(keys.Int(i, 4)),
		}
		if index != nil {
			index.put(&d, fmt.Sprint(i), keys.None.SK(keys.Time(epoch.Add(time.Duration(i)*time.Minute)), keys.Int(i, 4)))
		}
		if match {
			s.want = append(s.want, d)
		} else {
			hide(&d)
			d.Pad = pad
		}
		a.docs = append(a.docs, d)
	}
	a.sparse = append(a.sparse, s)
}

// readSparse reads a partition of several MB of which few items match.
func (w *worker) readSparse(ctx context.Context, a *archive) error {
	s := a.sparse[w.r.IntN(len(a.sparse))]
	if s.index != nil && w.r.IntN(3) == 0 {
		return w.readSparseIndex(ctx, s)
	}
	q := s.Query
	q.Descending = w.r.IntN(2) == 0
	if w.r.IntN(4) == 0 {
		q.Index, q.PK = listIndex, s.PK+"#list"
	}
	limit := w.r.IntN(2) * (1 + w.r.IntN(matching+2))
	docs, err := repo.New(w.table, repo.Entity[doc]{Type: "DOC", Key: doc.key})
	if err != nil {
		return err
	}
	q.Limit = limit
	name, read := "All", func(ctx context.Context) ([]doc, error) { return table.Collect(table.All[doc](ctx, w.table, q)) }
	paged := w.r.IntN(3) == 0
	switch way := w.r.IntN(4); {
	case paged:
		name, read = "QueryPage", func(ctx context.Context) ([]doc, error) { return w.queryPages(q).all(ctx) }
		limit = 0 // of a page, not of the walk
	case way == 1:
		name, read = "repo All", func(ctx context.Context) ([]doc, error) { return table.Collect(docs.All(ctx, q)) }
	case way == 2:
		name, read = "repo Collect", func(ctx context.Context) (have []doc, err error) {
			err = repo.Collect(ctx, w.table, q, docs.AppendTo(&have))
			return have, err
		}
	case way == 3:
		name, read = "repo Stream", func(ctx context.Context) (have []doc, err error) {
			for v, err := range repo.Stream(ctx, w.table, q, docs) {
				if err != nil {
					return nil, err
				}
				have = append(have, v.(doc))
			}
			return have, nil
		}
	}
	return w.do(ctx, reading(name, first(s.want, limit, q.Descending), read, report.Sparse))
}

// readSparseIndex reads the same items out of a sharded index.
func (w *worker) readSparseIndex(ctx context.Context, s sparse) error {
	reader, err := shard.New[doc](w.table, s.index.index(), nil)
	if err != nil {
		return err
	}
	q := shard.Query{Descending: w.r.IntN(2) != 0, Limit: w.r.IntN(2) * (1 + w.r.IntN(matching+2))}
	limit := q.Limit
	name, read := "shard All", func(ctx context.Context) ([]doc, error) { return table.Collect(reader.All(ctx, q)) }
	if w.r.IntN(2) == 0 {
		limit = 0
		name, read = "shard Page", func(ctx context.Context) ([]doc, error) { return shardPages(reader, q).all(ctx) }
	}
	return w.do(ctx, reading(name, first(s.want, limit, q.Descending), read, report.Sparse))
}

// readSlowly reads an index while the reader's clock jumps by days, forth past
// the lifetime of cursors and back before they were made.
func (w *worker) readSlowly(ctx context.Context, a *archive) error {
	reader, err := shard.New[doc](w.table, a.log.index(), nil)
	if err != nil {
		return err
	}
	q := shard.Query{Descending: w.r.IntN(2) != 0, Limit: w.r.IntN(2) * (1 + w.r.IntN(entries))}
	limit := q.Limit
	pause, days := 1+w.r.IntN(150), w.r.IntN(11)-5
	name, read := "shard All", func(ctx context.Context) (have []doc, err error) {
		now := w.clock.since.Load()
		defer w.clock.since.Store(now)
		for d, err := range reader.All(ctx, q) {
			if err != nil {
				return nil, err
			}
			if have = append(have, d); len(have)%pause == 0 {
				w.jump(time.Duration(days) * 24 * time.Hour)
			}
		}
		return have, nil
	}
	if w.r.IntN(4) == 0 {
		// A walk by cursors, which have to be in time.
		q.Limit, limit = 1+w.r.IntN(entries/2), 0
		name, read = "shard Page", func(ctx context.Context) ([]doc, error) { return shardPages(reader, q).all(ctx) }
	}
	return w.do(ctx, reading(name, first(a.entries, limit, q.Descending), read, report.Slow))
}

// first returns the first items in one of the directions; all if n is 0.
func first(ascending []doc, n int, reverse bool) []doc {
	docs := slices.Clone(ascending)
	if reverse {
		slices.Reverse(docs)
	}
	return docs[:min(cmp.Or(n, len(docs)), len(docs))]
}
