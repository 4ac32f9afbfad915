// Package growth measures whether operations stay as cheap as a table grows and as a
// walk gets deeper, and how much memory the long ones hold. It prints a table in
// Markdown. Times are of the client and the local engine together; units and requests
// are DynamoDB's. With -write, docs/performance.md gets a picture of it.
//
//	go run ./suites/benchmarks growth -items 10000,100000,1000000 -write
package growth

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/suites/benchmarks/figure"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// picture is what docs/performance.md shows.
const picture = "docs/growth.svg"

// Command measures as its flags say.
func Command(flags *flag.FlagSet) func(context.Context) error {
	items := flags.String("items", "10000,100000", "how many items the table has")
	write := flags.Bool("write", false, "write "+picture)
	return func(ctx context.Context) error { return run(ctx, strings.Split(*items, ","), *write) }
}

func run(ctx context.Context, sizes []string, write bool) error {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	var results []result
	for _, text := range sizes {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		s := &subject{n: n}
		if s.tbl, err = newTable(ctx, engine, n); err != nil {
			return err
		}
		if s.reader, err = shard.New[record](s.tbl, index, nil); err != nil {
			return err
		}
		if s.repo, err = repo.New(s.tbl, entity); err != nil {
			return err
		}
		if err := s.fill(ctx); err != nil {
			return err
		}
		if err := s.operations(ctx); err != nil {
			return err
		}
		if err := s.memory(ctx); err != nil {
			return err
		}
		results = append(results, s.results...)
	}
	fmt.Print(markdown(results))
	if !write {
		return nil
	}
	return os.WriteFile(picture, draw(results), 0o644)
}

// result is what an operation costs on a table of some items. Without a median it is
// about memory alone.
type result struct {
	items             int
	name              string
	low, median, high float64 // milliseconds
	units, requests   float64
	held              string
}

// markdown returns the results as a table: a row for each operation, with a column for
// each size of the table.
func markdown(results []result) string {
	rows := [][]string{{"ms, median (10 % to 90 %)"}}
	of := map[string][]result{}
	for _, r := range results {
		if of[r.name] == nil {
			rows = append(rows, []string{r.name})
		}
		of[r.name] = append(of[r.name], r)
	}
	for _, r := range of[results[0].name] {
		rows[0] = append(rows[0], fmt.Sprintf("%d items", r.items))
	}
	align := "|---|" + strings.Repeat("---:|", len(rows[0])+1)
	rows[0] = append(rows[0], "units", "requests")
	for i, row := range rows[1:] {
		var units, requests []string
		for _, r := range of[row[0]] {
			cell := r.held
			if r.median > 0 {
				cell = fmt.Sprintf("%.2f (%.2f to %.2f)", r.median, r.low, r.high)
				units, requests = append(units, fmt.Sprintf("%.2f", r.units)), append(requests, fmt.Sprintf("%.2f", r.requests))
			}
			row = append(row, cell)
		}
		rows[i+1] = append(row, strings.Join(slices.Compact(units), ", "), strings.Join(slices.Compact(requests), ", "))
	}
	return figure.Table(align, rows...)
}

// draw returns a picture with a line for each operation: the median over the number of
// items.
func draw(results []result) []byte {
	var lines []figure.Line
	for _, r := range results {
		if r.median == 0 {
			continue
		}
		i := slices.IndexFunc(lines, func(l figure.Line) bool { return l.Name == r.name })
		if i < 0 {
			i = len(lines)
			lines = append(lines, figure.Line{Name: r.name})
		}
		lines[i].Points = append(lines[i].Points, [2]float64{float64(r.items), r.median})
	}
	return figure.Picture{
		Title: "Time of an operation, by the size of the table",
		Note:  "median in milliseconds, client and local engine together",
		X:     "number of items, log scale",
		Base:  10, Width: 446, Heights: []float64{336},
		Rows: [][]figure.Panel{{{Lines: lines}}},
	}.SVG()
}

// record is an item of about 200 bytes.
type record struct {
	Type           string `dynamodbav:"entityType"`
	N              int
	ID, Note       string
	At             time.Time
	GSI1PK, GSI1SK string
	Revision       string `dynamodbav:",omitempty"`
}

// entity gives items a revision that have none, which is what a step of a backfill
// writes.
var entity = repo.Entity[record]{Type: "TX", Version: "Revision", Key: func(r record) keys.Key { return key(r.N) }}

// All items have one partition key, so that walks can be deep, and an index over 16
// shards has all of them.
var (
	index     = shard.Index{Index: "GSI1", Prefix: "GLOBAL", Shards: 16}
	partition = keys.User.PK("all")
	begun     = time.Date(2024, time.January, 15, 12, 0, 0, 0, time.UTC)
)

func newTable(ctx context.Context, engine *tabletest.Engine, n int) (*table.Table, error) {
	spec := schema.Table{Name: fmt.Sprint("growth-", n), Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		return nil, err
	}
	return table.New(engine.Client(), spec, &table.Options{Observe: count})
}

// cost is what the requests of the operation at hand have consumed.
var cost struct {
	sync.Mutex
	units    float64
	requests int
}

// count observes. A page over shards sends several requests at once.
func count(_ context.Context, e table.Event) {
	cost.Lock()
	defer cost.Unlock()
	cost.units += e.Capacity
	cost.requests++
}

// subject is a table of n items.
type subject struct {
	n      int
	tbl    *table.Table
	reader *shard.Reader[record]
	repo   *repo.Repo[record]
	next   int // number of the next item to create

	results []result
}

func key(i int) keys.Key { return keys.Key{PK: partition, SK: keys.Tx.SK(keys.Int(i, 9))} }

func (s *subject) record(i int) record {
	r := record{Type: "TX", N: i, ID: fmt.Sprintf("tx-%09d", i), Note: strings.Repeat("x", 80), At: begun.Add(time.Duration(i) * time.Second)}
	k := index.Key(r.ID, keys.None.SK(keys.Time(r.At), keys.Str(r.ID)))
	r.GSI1PK, r.GSI1SK = string(k.PK), string(k.SK)
	return r
}

// fill stores the items, and measures the memory that BatchWrite holds.
func (s *subject) fill(ctx context.Context) error {
	const step = 5000
	for from := 0; from < s.n; from += step {
		ops := make([]table.Op, 0, step)
		for i := from; i < min(from+step, s.n); i++ {
			ops = append(ops, table.Put(key(i), s.record(i)))
		}
		if err := s.tbl.BatchWrite(ctx, ops...); err != nil {
			return err
		}
	}
	s.next = s.n
	return nil
}

const repeats = 200

// operations measures each operation many times.
func (s *subject) operations(ctx context.Context) error {
	at := func(i int) int { return i * 7919 % s.n }
	var deep table.Query
	page := func(q *table.Query) func(int) error {
		return func(int) error {
			p, err := table.QueryPage[record](ctx, s.tbl, *q)
			q.After = p.Next
			return err
		}
	}
	shards := shard.Query{Limit: 10, Descending: true}
	shardPage := func(int) error {
		p, err := s.reader.Page(ctx, shards)
		shards.After = p.Next
		return err
	}
	for _, o := range []struct {
		name string
		skip int // calls before those that are measured
		call func(i int) error
	}{
		{"Get", 0, func(i int) error {
			_, err := table.Get[record](ctx, s.tbl, key(at(i)))
			return err
		}},
		{"Create", 0, func(int) error {
			s.next++
			return s.tbl.Do(ctx, table.Create(key(s.next), s.record(s.next)))
		}},
		{"backfill of an item", 0, func(i int) error {
			_, err := s.repo.Refresh(ctx, key(at(i)))
			return err
		}},
		{"page of 10, depth 1", 0, func(i int) error {
			_, err := table.QueryPage[record](ctx, s.tbl, table.Query{PK: partition, Limit: 10})
			return err
		}},
		{"page of 10, depth 100", 100, page(&deep)},
		{"page of 10, depth 1,000", 1000 - 100 - 2*repeats, page(&deep)},
		{"page of 10 over 16 shards, depth 1", 0, func(int) error {
			_, err := s.reader.Page(ctx, shard.Query{Limit: 10, Descending: true})
			return err
		}},
		{"page of 10 over 16 shards, depth 100", 100, shardPage},
	} {
		deep.PK, deep.Limit = partition, 10
		for i := range o.skip {
			if err := o.call(i); err != nil {
				return err
			}
		}
		cost.units, cost.requests = 0, 0
		var took []float64
		for i := range repeats {
			start := time.Now()
			if err := o.call(i); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			took = append(took, float64(time.Since(start).Microseconds())/1000)
		}
		slices.Sort(took)
		s.results = append(s.results, result{
			items: s.n, name: o.name, low: took[repeats/10], median: took[repeats/2], high: took[repeats*9/10],
			units: cost.units / repeats, requests: float64(cost.requests) / repeats,
		})
	}
	return nil
}

// memory prints the most bytes that long reads hold, for each item.
func (s *subject) memory(ctx context.Context) error {
	before := held()
	most, i := uint64(0), 0
	for _, err := range table.All[record](ctx, s.tbl, table.Query{PK: partition}) {
		if err != nil {
			return err
		}
		if i++; i%(s.n/10) == 0 {
			most = max(most, held()-min(before, held()))
		}
	}
	s.results = append(s.results, result{items: s.n, name: "`All` holds", held: fmt.Sprintf("%d KB", most>>10)})
	all, err := table.Collect(table.All[record](ctx, s.tbl, table.Query{PK: partition}))
	if err != nil {
		return err
	}
	s.results = append(s.results, result{items: s.n, name: "`Collect` holds for each item", held: fmt.Sprintf("%d bytes", (held()-before)/uint64(len(all)))})
	runtime.KeepAlive(all)
	const batch = 10_000
	ks := make([]keys.Key, batch)
	for i := range ks {
		ks[i] = key(i)
	}
	before = held()
	found, err := table.BatchGet[record](ctx, s.tbl, ks)
	if err != nil {
		return err
	}
	s.results = append(s.results, result{items: s.n, name: fmt.Sprintf("`BatchGet` of %d holds for each item", batch), held: fmt.Sprintf("%d bytes", (held()-before)/uint64(len(found)))})
	runtime.KeepAlive(found)
	return nil
}

// held returns the bytes of the heap that are in use.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
