package workload

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// reads checks a read of a table whose reads are consistent half of the time;
// local engines always are.
func (w *worker) reads() *table.Table {
	if w.r.IntN(2) == 0 {
		return w.table.Consistent()
	}
	return w.table
}

// get reads one item.
func (w *worker) get() operation {
	key, from := w.anyKey(), w.reads()
	want, live := w.model.live(w.clock, key)
	s := reading("Get", want, func(ctx context.Context) (doc, error) { return table.Get[doc](ctx, from, key) }, report.Truth)
	if !live {
		s.want = []error{table.ErrNotFound}
	}
	s.about = append(s.about, w.expired(key)...)
	return s
}

// manyKeys draws keys, some of them of items that never were.
func (w *worker) manyKeys(most int) []keys.Key {
	ks := w.anyKeys(1 + w.r.IntN(most))
	for i := range w.r.IntN(3) {
		ks = append(ks, keys.Key{PK: w.partition(0), SK: notePrefix.SK(keys.Str("never"), keys.Int(i, 3))})
	}
	return ks
}

// many is a read of several keys.
func (w *worker) many(name string, ks []keys.Key, read func(context.Context) (map[keys.Key]doc, error)) operation {
	want := map[keys.Key]doc{}
	for _, k := range ks {
		if d, live := w.model.live(w.clock, k); live {
			want[k] = d
		}
	}
	return reading(name, want, read, report.Truth)
}

func (w *worker) batchGet() operation {
	ks, from := w.manyKeys(partitions*perPartition), w.reads()
	for range w.r.IntN(60) { // duplicates
		ks = append(ks, ks[w.r.IntN(len(ks))])
	}
	for i := range w.r.IntN(100) * w.r.IntN(2) {
		ks = append(ks, keys.Key{PK: w.partition(1), SK: notePrefix.SK(keys.Str("absent"), keys.Int(i, 3))})
	}
	return w.many("BatchGet", ks, func(ctx context.Context) (map[keys.Key]doc, error) {
		return table.BatchGet[doc](ctx, from, ks)
	})
}

func (w *worker) transactGet() operation {
	ks := w.manyKeys(20)
	return w.many("TransactGet", ks, func(ctx context.Context) (map[keys.Key]doc, error) {
		return table.TransactGet[doc](ctx, w.table, ks)
	})
}

// query is a query as the library takes it, and what it is to return.
type query struct {
	table.Query
	want []doc
	// about are promises of the items that are in its way, or that it returns.
	about []report.Promise
}

// anyRange draws a range of one of the kinds.
func (w *worker) anyRange() keys.Range {
	at := func() time.Time { return epoch.Add(time.Duration(w.r.IntN(14)) * time.Second) }
	name := names[w.r.IntN(len(names))]
	a, b := w.key(0, w.r.IntN(perPartition)).SK, w.key(0, w.r.IntN(perPartition)).SK
	from := at()
	switch w.r.IntN(13) {
	case 12: // a prefix that ends anywhere
		text := []rune(string(a))
		return keys.Range{Prefix: keys.SK(text[:1+w.r.IntN(min(9, len(text)))])}
	case 0:
		return itemPrefix.Since(from)
	case 1:
		return itemPrefix.Until(from)
	case 2:
		return itemPrefix.Between(from, from.Add(time.Duration(1+w.r.IntN(9))*time.Second))
	case 3:
		return notePrefix.Starting(string([]rune(name)[:1]))
	case 4:
		return notePrefix.All(keys.Str(name))
	case 5:
		return keys.Exactly(a)
	case 6:
		return keys.Range{From: min(a, b), To: max(a, b)}
	case 7:
		return keys.Range{From: a}
	case 8:
		return keys.Range{To: b}
	case 9:
		return itemPrefix.All()
	case 10:
		return notePrefix.All()
	}
	return keys.Range{}
}

// anyQuery draws a query of one of the worker's partitions, or of its list.
func (w *worker) anyQuery() query {
	p := w.partition(w.r.IntN(partitions))
	r := w.anyRange()
	q := query{Query: table.Query{PK: p, Range: r, Descending: w.r.IntN(2) == 0, Scope: w.by}}
	sk, less := func(d doc) keys.SK { return d.SK }, bySK
	in := func(d doc) bool { return d.PK == p }
	if w.r.IntN(3) == 0 {
		q.Index, q.PK, q.Range = listIndex, w.listPK(), keys.Range{}
		if from := epoch.Add(time.Duration(w.r.IntN(9)) * time.Minute); w.r.IntN(2) == 0 {
			q.Range = keys.None.Between(from, from.Add(3*time.Minute))
		}
		sk, less = func(d doc) keys.SK { return d.ListSK }, byList
		in = func(d doc) bool { return d.ListPK == q.PK }
	}
	color := ""
	if w.r.IntN(3) == 0 {
		color = colors[w.r.IntN(len(colors))]
		q.Filter = expression.Name("color").Equal(expression.Value(color))
	}
	if w.r.IntN(3) == 0 {
		q.Project = []string{"n", "by"}
	}
	match := func(d doc) bool {
		return in(d) && q.Range.Contains(sk(d)) && (color == "" || d.Color == color)
	}
	q.want = w.model.docs(w.clock, match, less)
	if len(q.want) < len(w.model.docs(nil, match, less)) {
		q.about = append(q.about, report.Expired)
	}
	if slices.ContainsFunc(q.want, func(d doc) bool { return foreign(d.key()) }) {
		q.about = append(q.about, report.Foreign)
	}
	if q.Descending {
		slices.Reverse(q.want)
	}
	for i := range q.want {
		q.want[i] = q.projected(q.want[i])
	}
	return q
}

// projected returns what the query gives of an item.
func (q query) projected(d doc) doc {
	if q.Project == nil {
		return d
	}
	kept := doc{PK: d.PK, SK: d.SK, Type: d.Type, N: d.N, By: d.By, Expires: d.Expires}
	if q.Index == listIndex {
		kept.ListPK, kept.ListSK = d.ListPK, d.ListSK
	}
	return kept
}

// all reads a query to its end, or breaks off.
func (w *worker) all() operation {
	q, stop := w.anyQuery(), -1
	if w.r.IntN(3) == 0 {
		q.Limit = 1 + w.r.IntN(10)
	}
	if w.r.IntN(4) == 0 {
		stop = w.r.IntN(5)
	}
	want := first(q.want, q.Limit, false)
	if stop >= 0 {
		want = want[:min(stop, len(want))]
	}
	return reading("All", want, func(ctx context.Context) (have []doc, err error) {
		for d, err := range table.All[doc](ctx, w.table, q.Query) {
			if err != nil {
				return nil, err
			}
			if len(have) == stop {
				break
			}
			have = append(have, d)
		}
		return have, nil
	}, append(q.about, report.Truth)...)
}

// scan reads the whole table in parts and keeps what is the worker's own. It is
// done while nobody writes: dynoxide loses items from a scan that goes on after
// a key that was deleted concurrently, and deals out the parts again when
// partitions come and go.
func (w *worker) scan(ctx context.Context, segments int) error {
	own := string(ownPrefix.PK(strconv.Itoa(w.id))) + "#"
	var have []doc
	for segment := range segments {
		scan := table.Scan{
			Segment: segment, Segments: segments, Limit: 1 + w.r.IntN(200), Scope: w.by,
			Filter: expression.NameNoDotSplit(spec.PK).BeginsWith(own),
		}
		items, err := w.turns("ScanPage", func(ctx context.Context, after string) ([]doc, string, error) {
			scan.After = after
			page, err := table.ScanPage[doc](ctx, w.table, scan)
			return page.Items, page.Next, err
		}).all(ctx)
		if err != nil {
			return err
		}
		have = append(have, items...)
	}
	want := w.model.docs(w.clock, func(d doc) bool { return strings.HasPrefix(string(d.PK), own) }, bySK)
	w.check(report.Walk, wrap("ScanPage", checker.Once(have, want, want)))
	return nil
}
