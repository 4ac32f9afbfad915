package shard_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var (
	firstSeed = flag.Uint64("shard.seed", 1, "the seed of the first round of TestRandom")
	rounds    = flag.Int("shard.rounds", 48, "how many rounds TestRandom has; each has the next seed")
)

// TestRandom compares walks over random indexes with the sorted truth. A failure
// names its seed; repeat it with -shard.seed=N -shard.rounds=1.
func TestRandom(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	for i := range *rounds {
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tbl, seed)
			switch seed % 4 {
			case 3:
				w.streamWhileWriting()
			case 2:
				w.pagesWhileWriting()
			default:
				w.pagesBetweenWrites()
			}
			if t.Failed() {
				t.Logf("%+v %+v copies=%d hot=%d spread=%d prefix=%q items=%d", w.index, w.q, w.copies, w.hot, w.spread, w.prefix, w.next)
			}
		})
	}
}

// entry is one item in the index.
type entry struct {
	id            string
	tablePK, base keys.SK
	sk            keys.SK
}

// world is one random index and how it is read.
type world struct {
	t       *testing.T
	rnd     *rand.Rand
	tbl     *table.Table
	index   shard.Index
	options *shard.Options[tx]
	q       shard.Query
	copies  int
	hot     int // percent of the items that are in shard 0
	spread  int // over how many seconds the items are spread
	prefix  keys.Prefix
	next    int
	items   map[string][]entry // by id
	// ever holds all items there have been, always those that were never
	// deleted or inserted since the walk began.
	ever, always map[string]entry
}

func newWorld(t *testing.T, tbl *table.Table, seed uint64) *world {
	rnd := rand.New(rand.NewPCG(seed, 17))
	pick := func(from, to int) int { return from + rnd.IntN(to-from+1) }
	w := &world{
		t: t, rnd: rnd, tbl: tbl, copies: 1, items: map[string][]entry{},
		ever: map[string]entry{}, always: map[string]entry{},
		index:   shard.Index{Index: "GSI1", Prefix: keys.Prefix(fmt.Sprintf("W%d", seed)), Shards: pick(1, 32), NonUniqueSortKeys: rnd.IntN(2) == 0},
		options: &shard.Options[tx]{Concurrency: pick(0, 5)},
		q:       shard.Query{Descending: rnd.IntN(2) != 0, Limit: pick(1, 40)},
	}
	if rnd.IntN(3) == 0 {
		w.options.Dedupe = func(v tx) string { return v.ID }
		w.copies = pick(1, 3)
	}
	w.hot = []int{0, 0, 50, 100}[rnd.IntN(4)]
	w.spread = []int{1, 10, 1000}[rnd.IntN(3)]
	w.prefix = []keys.Prefix{keys.None, keys.Tx}[rnd.IntN(2)]
	switch rnd.IntN(5) {
	case 0:
		w.q.Range = w.prefix.Since(at(w.spread / 4))
	case 1:
		w.q.Range = w.prefix.Until(at(1 + w.spread/2))
	case 2:
		w.q.Range = w.prefix.Between(at(w.spread/4), at(w.spread/4+pick(1, w.spread)))
	case 3:
		w.q.Range = w.prefix.All()
	}
	var ops []table.Op
	for range pick(0, min(150, 15*w.q.Limit)) {
		ops = append(ops, w.insert(w.rnd.IntN(w.spread))...)
	}
	for _, sk := range []keys.SK{"A", "TX", "TX$0", "U#"} { // strangers in the partition
		if w.prefix == keys.Tx && w.q.Range != (keys.Range{}) {
			ops = append(ops, put(fmt.Sprint(w.index.Prefix, sk), keys.Key{PK: w.index.Key("x", "x").PK, SK: sk}))
		}
	}
	write(t, tbl, ops...)
	for id, copies := range w.items {
		w.always[id] = copies[0]
	}
	return w
}

// insert returns the ops that store a new transaction.
func (w *world) insert(second int) []table.Op {
	w.next++
	name := fmt.Sprintf("%s-%04d", w.index.Prefix, w.next)
	segments := []keys.Segment{keys.Time(at(second))}
	if !w.index.NonUniqueSortKeys {
		// In another order than the ids and than the table's keys.
		segments = append(segments, keys.Int(w.rnd.IntN(1000), 3), keys.Str(name))
	}
	n := w.rnd.IntN(w.index.Shards)
	if w.rnd.IntN(100) < w.hot {
		n = 0
	}
	pk := partition(w.index, n)
	var ops []table.Op
	note := strings.Repeat("x", w.rnd.IntN(300))
	for c := range w.copies {
		e := entry{id: name, sk: w.prefix.SK(segments...)}
		e.tablePK, e.base = keys.SK(fmt.Sprintf("%c#%s", 'A'+(c*7+w.next)%10, w.index.Prefix)), keys.SK(name)
		w.items[name] = append(w.items[name], e)
		ops = append(ops, e.put(pk, note))
	}
	w.ever[name] = w.items[name][0]
	return ops
}

// put returns the op that stores an entry in a partition of the index.
func (e entry) put(pk keys.PK, note string) table.Op {
	return table.Put(e.key(), tx{ID: e.id, GSI1PK: pk, GSI1SK: e.sk, Note: note})
}

func (e entry) key() keys.Key { return keys.Key{PK: keys.PK(e.tablePK), SK: e.base} }

// copyLate returns the op that stores a further copy of a transaction, under a
// table key before or after those of the others.
func (w *world) copyLate() []table.Op {
	all := w.sorted()
	if len(all) == 0 {
		return nil
	}
	w.next++
	e := all[w.rnd.IntN(len(all))]
	e.tablePK = keys.SK(fmt.Sprintf("%c#%s", 'A'+w.rnd.IntN(10), w.index.Prefix))
	e.base = keys.SK(fmt.Sprintf("%s-late-%d", e.id, w.next))
	w.items[e.id] = append(w.items[e.id], e)
	return []table.Op{e.put(partition(w.index, w.rnd.IntN(w.index.Shards)), "")}
}

// removeCopy returns the op that deletes a copy that is not the last one.
func (w *world) removeCopy() []table.Op {
	all := w.sorted()
	if len(all) == 0 {
		return nil
	}
	id := all[w.rnd.IntN(len(all))].id
	copies := w.items[id]
	if len(copies) == 1 {
		return nil
	}
	i := w.rnd.IntN(len(copies))
	if i == 0 {
		delete(w.always, id) // a walk may have met neither this copy nor the others
	}
	w.items[id] = slices.Delete(slices.Clone(copies), i, i+1)
	return []table.Op{table.Delete(copies[i].key())}
}

// remove returns the ops that delete a transaction.
func (w *world) remove() []table.Op {
	all := w.sorted()
	if len(all) == 0 {
		return nil
	}
	id := all[w.rnd.IntN(len(all))].id
	var ops []table.Op
	for _, e := range w.items[id] {
		ops = append(ops, table.Delete(e.key()))
	}
	delete(w.items, id)
	delete(w.always, id)
	return ops
}

// change writes at random.
func (w *world) change() {
	for range w.rnd.IntN(4) {
		ops := w.remove
		switch n := w.rnd.IntN(6); {
		case n < 2 && w.options.Dedupe != nil:
			ops = w.copyLate
		case n == 2 && w.options.Dedupe != nil:
			ops = w.removeCopy
		case n < 5:
			ops = func() []table.Op { return w.insert(w.rnd.IntN(w.spread)) }
		}
		if err := w.tbl.BatchWrite(w.t.Context(), ops()...); err != nil {
			w.t.Error(err)
		}
	}
}

// compare orders entries as the query does: equal sort keys by identity with
// Dedupe, by table key without. Copies of one value are equal.
func (w *world) compare(a, b entry) int {
	order := cmp.Or(cmp.Compare(a.sk, b.sk), cmp.Compare(a.tablePK, b.tablePK), cmp.Compare(a.base, b.base))
	if w.options.Dedupe != nil {
		order = cmp.Or(cmp.Compare(a.sk, b.sk), cmp.Compare(a.id, b.id))
	}
	if !w.q.Descending {
		return order
	}
	return -order
}

// sorted returns everything in the index that is in the range of the query, in
// its order.
func (w *world) sorted() []entry {
	var all []entry
	for _, copies := range w.items {
		for _, e := range copies {
			if w.q.Range.Contains(e.sk) {
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, w.compare)
	return all
}

// following returns the ids that are left after a position.
func (w *world) following(after *entry) []string {
	left := []string{}
	for _, e := range w.sorted() {
		if after == nil || w.compare(e, *after) > 0 {
			after = &e
			left = append(left, e.id)
		}
	}
	return left
}

// pagesBetweenWrites compares every page with the truth at its time. Writes
// happen between pages, page size and number of shards change.
func (w *world) pagesBetweenWrites() {
	t, r := w.t, newReader(w.t, w.tbl, w.index, w.options)
	var after *entry
	for page := range 400 {
		want := w.following(after)
		got := expect.Value(r.Page(t.Context(), w.q))(t)
		expect.Equal(t, fmt.Sprint("page ", page), ids(got.Items), want[:min(len(want), w.q.Limit)])
		if got.Stats.Rounds > 3 && !w.index.NonUniqueSortKeys && w.options.Dedupe == nil {
			t.Errorf("page %d: %+v", page, got.Stats)
		}
		if got.Next == "" {
			if len(want) > w.q.Limit {
				t.Errorf("page %d: no token, and %d items more", page, len(want)-w.q.Limit)
			}
			return
		}
		if t.Failed() {
			return
		}
		w.q.After = got.Next
		if n := len(got.Items); n > 0 {
			after = &w.items[got.Items[n-1].ID][0]
		}
		if page < 20 {
			w.change()
		}
		if w.rnd.IntN(8) == 0 {
			w.q.Limit = 1 + w.rnd.IntN(40)
		}
		if w.rnd.IntN(8) == 0 {
			w.index.Shards += w.rnd.IntN(5)
			r = newReader(t, w.tbl, w.index, w.options)
		}
	}
	t.Error("no end")
}

// writing returns a table whose queries are each preceded by a write, up to
// some number of them.
func (w *world) writing() *table.Table {
	faults := &tabletest.Faults{}
	left := 60
	faults.Always("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if left--; left > 0 && w.rnd.IntN(3) == 0 {
			w.change()
		}
		return next.RoundTrip(r)
	})
	own := expect.Value(table.New(tabletest.Client(w.t, faults.Install), w.tbl.Schema(), nil))(w.t)
	w.options.Concurrency = 1 // so that a seed says what happens
	return own
}

// pagesWhileWriting walks pages while items come and go between the requests.
func (w *world) pagesWhileWriting() {
	r := newReader(w.t, w.writing(), w.index, w.options)
	w.check(slices.Concat(pages(w.t, r, w.q, nil)...))
}

// streamWhileWriting does the same in one stream.
func (w *world) streamWhileWriting() {
	w.q.Limit = 0
	r := newReader(w.t, w.writing(), w.index, w.options)
	all := expect.Value(table.Collect(r.All(w.t.Context(), w.q)))(w.t)
	w.check(ids(all))
}

// check looks at the result of a walk during which items came and went: in
// order, nothing twice, nothing that never was, and all that was always there.
func (w *world) check(got []string) {
	t := w.t
	seen := map[string]int{}
	for i, id := range got {
		e, ok := w.ever[id]
		if !ok || !w.q.Range.Contains(e.sk) {
			t.Errorf("%q: not in the range", id)
			continue
		}
		if i > 0 && cmp.Compare(w.ever[got[i-1]].sk, e.sk) == map[bool]int{true: 1, false: -1}[!w.q.Descending] {
			t.Errorf("%q comes after %q", id, got[i-1])
		}
		seen[id]++
	}
	most := 1
	if w.options.Dedupe == nil {
		most = w.copies
	}
	for id, n := range seen {
		if n > most {
			t.Errorf("%q comes %d times", id, n)
		}
	}
	for id, e := range w.always {
		if w.q.Range.Contains(e.sk) && seen[id] == 0 {
			t.Errorf("%q is lost", id)
		}
	}
}
