package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func backfillTests() tests {
	return tests{
		"brings every item over":                      backfills,
		"continues after a kill at any request":       backfillKilled,
		"continues in the middle of a segment":        backfillContinued,
		"sets aside what it cannot bring over":        backfillAside,
		"a refusal of the service is not about items": backfillRefused,
		"writers win":                              backfillWriters,
		"processes share the segments":             backfillShared,
		"copies another table":                     backfillMapped,
		"keeps to its budget":                      backfillBudget,
		"keeps its lease through a slow page":      backfillSlow,
		"continues on a later page":                backfillPages,
		"takes a lease of a clock that was ahead":  backfillSkew,
		"a Map that fails or panics loses nothing": backfillFailingMap,
		"refuses an invalid job":                   backfillInvalid,
		"transfers an export":                      transfers,
	}
}

func customerName(i int) (id, email, first, last string) {
	return fmt.Sprintf("c-%03d", i), fmt.Sprintf("c%d@x", i), fmt.Sprintf("First%d", i), fmt.Sprintf("Last%d", i)
}

// seedCustomers stores n customers of shape 0, and items of other types.
func seedCustomers(t *testing.T, tbl *table.Table, n int) {
	t.Helper()
	r := newRepo(t, tbl, customer0Entity)
	for i := range n {
		id, email, first, last := customerName(i)
		must(t, r.Create(t.Context(), &customer0{ID: id, Email: email, Name: first + " " + last, Months: "12 months", Fax: "1"}))
	}
	for i := range 5 {
		must(t, tbl.Do(t.Context(), table.Put(txKey(i), note{Type: "OTHER", N: i})))
	}
}

// wantCustomers checks that n customers have the present shape.
func wantCustomers(t *testing.T, what string, tbl *table.Table, n int) {
	t.Helper()
	r := newRepo(t, tbl, customerEntity)
	for i := range n {
		id, email, first, last := customerName(i)
		c := expect.Value(r.Consistent().Get(t.Context(), accountKey(id)))(t)
		equal(t, what, c, customer{ID: id, Email: email, First: first, Last: last, Months: 12, Tier: "basic", Revision: c.Revision})
		wantShape(t, what, tbl, c)
	}
	for i := range 5 {
		stored(t, tbl, txKey(i), note{Type: "OTHER", N: i})
	}
}

func customerJob(t *testing.T, tbl *table.Table) backfill.Job {
	t.Helper()
	return backfill.Job{Name: "shape 5", Table: tbl, Entities: []backfill.Entity{newRepo(t, tbl, customerEntity)}, Segments: 3, Concurrency: 2}
}

func backfills(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedCustomers(t, tbl, 20)
	job := customerJob(t, tbl)
	before := expect.Value(table.ScanPage[table.Item](t.Context(), tbl, table.Scan{Limit: 1000}))(t)
	dry := expect.Value(job.DryRun(t.Context()))(t)
	equal(t, "would change", dry.Changed, 20)
	equal(t, "matched", dry.Matched, 40)
	if dry.Complete() || dry.WriteUnits != 20*2*2 || dry.ReadUnits <= 0 {
		t.Errorf("dry run: %v", dry)
	}
	equal(t, "items after the dry run", len(expect.Value(table.ScanPage[table.Item](t.Context(), tbl, table.Scan{Limit: 1000}))(t).Items), len(before.Items))

	var last backfill.Progress
	job.Progress = func(p backfill.Progress) { last = p }
	report := expect.Value(job.Run(t.Context()))(t)
	equal(t, "changed", report.Changed, 20)
	equal(t, "progress", last.Report, report)
	if !h.Capabilities.WrongTransactionCapacity && report.WriteUnits < 20*2*2 {
		t.Errorf("%v", report)
	}
	wantCustomers(t, "brought over", tbl, 20)
	if done := expect.Value(job.DryRun(t.Context()))(t); !done.Complete() || done.Current != 40 {
		t.Errorf("verified: %v", done)
	}
	// A finished job is finished, until it is forgotten.
	patched(t, tbl, accountKey("c-003"), table.Item{"gsi1sk": str("X")})
	equal(t, "run again", expect.Value(job.Run(t.Context()))(t), report)
	must(t, backfill.Forget(t.Context(), tbl, job.Name))
	equal(t, "run after Forget", expect.Value(job.Run(t.Context()))(t).Changed, 1)
	wantCustomers(t, "run after Forget", tbl, 20)
}

// killed lets a number of requests through, and no more.
type killed struct {
	left atomic.Int64
}

var errKilled = errors.New("the process was killed")

func (k *killed) fault(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if k.left.Add(-1) < 0 {
		return nil, errKilled
	}
	return next.RoundTrip(r)
}

func backfillKilled(t *testing.T, h Harness) {
	const customers = 11 // 27 items, on two pages
	for after := 0; ; after += 3 {
		var clock atomic.Int64
		opts := options()
		opts.Now = func() time.Time { return now.Add(time.Duration(clock.Load())) }
		tbl := h.newTableWith(t, h.Client(t, promptRetries), appCore(), opts)
		seedCustomers(t, tbl, customers)
		faults := &tabletest.Faults{}
		opts.MaxAttempts, opts.SDKDecoding = 1, h.SDKDecoding
		dying := expect.Value(table.New(h.Client(t, promptRetries, faults.Install), tbl.Schema(), opts))(t)
		var kill killed
		kill.left.Store(int64(after))
		for _, operation := range append(itemRequests, "Scan") {
			faults.Always(operation, kill.fault)
		}
		ctx, cancel := context.WithCancel(t.Context())
		job := customerJob(t, dying)
		job.Segments, job.ReadUnits = 1, 1e9 // whose first page is short
		go func() {                          // a dead process does not retry
			for kill.left.Load() >= 0 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		_, err := job.Run(ctx)
		cancel()
		clock.Add(int64(2 * time.Minute)) // after which its leases are free
		again := customerJob(t, tbl)
		again.Segments = 1
		report := expect.Value(again.Run(t.Context()))(t)
		wantCustomers(t, fmt.Sprintf("killed after %d requests", after), tbl, customers)
		equal(t, "segments", report.SegmentsDone, report.Segments)
		if err == nil {
			if after < 10 {
				t.Errorf("a run of %d requests", after)
			}
			return
		}
	}
}

// backfillContinued kills jobs after the first page of a segment, over keys of all
// types.
func backfillContinued(t *testing.T, h Harness) {
	const items = 1100 // more than two pages
	target := h.newTable(t, appCore())
	for _, kind := range []types.ScalarAttributeType{"S", "N", "B"} {
		var source *table.Table
		if kind == "S" {
			source = h.newTable(t, appCore())
		} else {
			source = h.newTable(t, table.Schema{PKType: kind, SKType: kind})
		}
		ops := make([]table.Op, items)
		for i := range ops {
			text := fmt.Sprint(1 + i)
			ops[i] = table.Put(keys.Key{PK: keys.PK(text), SK: keys.SK(text)}, nil)
		}
		must(t, source.BatchWrite(t.Context(), ops...))
		ctx, kill := context.WithCancel(t.Context())
		seen := map[keys.Key]int{}
		job := backfill.Job{
			Name: "keys of type " + string(kind), Table: target, Source: source, Segments: 1,
			Map: func(_ context.Context, item table.Item) ([]table.Op, error) {
				seen[source.KeyOf("", item)]++
				return nil, nil
			},
			Progress: func(backfill.Progress) { kill() },
		}
		wantErr(t, expect.ErrOf(job.Run(ctx)), context.Canceled)
		first := len(seen)
		if first == 0 || first == items {
			t.Fatalf("%s: killed after %d items", kind, first)
		}
		job.Progress = nil
		report := expect.Value(job.Run(t.Context()))(t)
		equal(t, string(kind)+": scanned", report.Scanned, items)
		for key, n := range seen {
			if n != 1 {
				t.Errorf("%s: %v was read %d times", kind, key, n)
			}
		}
		equal(t, string(kind)+": items", len(seen), items)
	}
}

func backfillAside(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedCustomers(t, tbl, 6)
	patched(t, tbl, accountKey("c-001"), table.Item{"months": str("secret")})                                  // does not convert
	patched(t, tbl, accountKey("c-002"), table.Item{"email": str("c3@x")})                                     // another one's copy
	patched(t, tbl, accountKey("c-004"), table.Item{"months": mapOf(table.Item{"secret": str("x")})})          // does not decode
	must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "SECRET", SK: "S"}, raw(t, tbl, accountKey("c-005"))))) // under no key of its
	before := map[keys.Key]table.Item{}
	for _, key := range []keys.Key{accountKey("c-001"), accountKey("c-002"), accountKey("c-004"), {PK: "SECRET", SK: "S"}} {
		before[key] = raw(t, tbl, key)
	}
	job := customerJob(t, tbl)
	dry := expect.Value(job.DryRun(t.Context()))(t)
	report := expect.Value(job.Run(t.Context()))(t)
	// The stray copy of c-002 is under the key that its entity does not give any more.
	equal(t, "set aside", report.SetAside, 5)
	equal(t, "set aside in a dry run", dry.SetAside, 5)
	found := map[keys.Key]string{}
	for a, err := range backfill.SetAside(t.Context(), tbl, job.Name) {
		must(t, err)
		found[a.Key] = a.Reason
		equal(t, "type", a.Type, customerType)
		if a.Reason == "" || strings.Contains(a.Reason, "secret") || strings.Contains(a.Reason, "SECRET") || !a.At.Equal(now) {
			t.Errorf("%+v", a)
		}
	}
	for key, item := range before {
		if found[key] == "" {
			t.Errorf("%v is not set aside", key)
		}
		equal(t, "item", diffItems(item, raw(t, tbl, key)), "")
	}
	equal(t, "reports", len(found), 5)
	wantShape(t, "others", tbl, expect.Value(newRepo(t, tbl, customerEntity).Consistent().Get(t.Context(), accountKey("c-005")))(t))

	// When the cause is gone, the job can be run again.
	patched(t, tbl, accountKey("c-001"), table.Item{"months": str("12 months")})
	must(t, backfill.Forget(t.Context(), tbl, job.Name))
	equal(t, "set aside again", expect.Value(job.Run(t.Context()))(t).SetAside, 4)
}

func backfillRefused(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seedCustomers(t, tbl, 3)
	faults.Always("TransactWriteItems", tabletest.Status(400, "AccessDeniedException", "Injected."))
	job := customerJob(t, tbl)
	report, err := job.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), job.Name) {
		t.Errorf("%v, %v", report, err)
	}
	equal(t, "set aside", report.SetAside, 0)
	faults.Always("TransactWriteItems", nil)
	must(t, expect.ErrOf(job.Run(t.Context())))
	wantCustomers(t, "after the refusal", tbl, 3)
}

func backfillWriters(t *testing.T, h Harness) {
	const customers, writers = 12, 3
	tbl := h.newTable(t, appCore())
	seedCustomers(t, tbl, customers)
	r0, r5 := newRepo(t, tbl, customer0Entity), newRepo(t, tbl, customerEntity)
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var counts [customers]atomic.Int64
	for w := range writers {
		group.Go(func() {
			for i := w; ctx.Err() == nil; i++ {
				n := i % customers
				id, _, _, _ := customerName(n)
				// An old program writes until the item has the new shape.
				_, err := r0.Update(context.Background(), accountKey(id), func(c *customer0) error {
					var months int
					_, err := fmt.Sscan(c.Months, &months)
					c.Months = fmt.Sprintf("%d months", months+1)
					return err
				})
				if errors.Is(err, table.ErrNewerShape) {
					_, err = r5.Update(context.Background(), accountKey(id), func(c *customer) error { c.Months++; return nil })
				}
				switch {
				case err == nil:
					counts[n].Add(1)
				case !errors.Is(err, table.ErrConflict):
					t.Error(err)
				}
			}
		})
	}
	job := customerJob(t, tbl)
	_, err := job.Run(t.Context())
	stop()
	group.Wait()
	must(t, err)
	for i := range customers {
		id, _, _, _ := customerName(i)
		must(t, expect.ErrOf(r5.Refresh(t.Context(), accountKey(id)))) // if it was set aside as busy
		c := expect.Value(r5.Consistent().Get(t.Context(), accountKey(id)))(t)
		equal(t, "months", c.Months, 12+int(counts[i].Load()))
		wantShape(t, "with writers", tbl, c)
	}
}

func backfillShared(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedCustomers(t, tbl, 20)
	var group sync.WaitGroup
	var total atomic.Int64
	for range 3 {
		group.Go(func() {
			job := customerJob(t, tbl)
			job.Segments, job.Concurrency = 8, 2
			var own int64
			seen := map[int]int64{}
			job.Progress = func(p backfill.Progress) { own, seen[p.Segment] = p.Scanned, p.Scanned }
			report, err := job.Run(t.Context())
			if err != nil || report.Changed != 20 || report.SegmentsDone != 8 {
				t.Errorf("%v, %v", report, err)
			}
			total.Add(own)
		})
	}
	group.Wait()
	wantCustomers(t, "shared", tbl, 20)
	// Nobody has walked a segment of another one.
	equal(t, "items read", total.Load(), expect.Value(customerJobOf(t, tbl, 8).Run(t.Context()))(t).Scanned)
	must(t, expect.ErrOf(customerJobOf(t, tbl, 8).Run(t.Context())))
	_, err := customerJobOf(t, tbl, 4).Run(t.Context())
	wantErr(t, err, table.ErrInvalid)
}

func customerJobOf(t *testing.T, tbl *table.Table, segments int) backfill.Job {
	job := customerJob(t, tbl)
	job.Segments = segments
	return job
}

func backfillMapped(t *testing.T, h Harness) {
	schema := table.Schema{PK: "id", SimpleKey: true, PKType: "N"}
	source, target := h.newTable(t, schema), h.newTable(t, appCore())
	for i := range 10 {
		must(t, source.Do(t.Context(), table.Put(keys.Key{PK: keys.PK(fmt.Sprint(i))}, table.Item{"n": num(fmt.Sprint(i * i)), "v": num("1")})))
	}
	newer := table.Item{"n": num("1000"), "v": num("2")}
	must(t, target.Do(t.Context(), table.Put(accountKey("3"), newer)))
	failing := errors.New("is not wanted")
	job := backfill.Job{Name: "numbers", Table: target, Source: source, Map: func(_ context.Context, item table.Item) ([]table.Op, error) {
		id := string(source.KeyOf("", item).PK)
		switch id {
		case "5":
			return nil, nil
		case "6":
			return nil, failing
		}
		older := expression.Name("v").AttributeNotExists().Or(expression.Name("v").LessThan(expression.Value(item["v"])))
		copied := maps.Clone(item)
		delete(copied, "id")
		return []table.Op{table.Put(accountKey(id), copied).If(older)}, nil
	}}
	report := expect.Value(job.Run(t.Context()))(t)
	equal(t, "counts", [3]int64{report.Changed, report.Current, report.SetAside}, [3]int64{7 + 0, 2, 1})
	equal(t, "newer", diffItems(table.Item{"n": newer["n"]}, table.Item{"n": raw(t, target, accountKey("3"))["n"]}), "")
	equal(t, "copied", diffItems(table.Item{"n": num("81")}, table.Item{"n": raw(t, target, accountKey("9"))["n"]}), "")
	for a, err := range backfill.SetAside(t.Context(), target, job.Name) {
		must(t, err)
		equal(t, "aside", a.Key, keys.Key{PK: "6"})
	}
}

// backfillBudget runs a job by the clock of a bubble, in which requests take no
// time.
func backfillBudget(t *testing.T, h Harness) {
	plain := h.newTable(t, appCore())
	type single struct {
		ID       string `dynamodbav:"id"`
		N        int    `dynamodbav:"n"`
		Text     string `dynamodbav:"text"`
		Revision string `dynamodbav:"revision"`
	}
	e := repo.Entity[single]{Type: "SINGLE", Version: "revision", Key: func(s single) keys.Key { return accountKey(s.ID) }}
	old := newRepo(t, plain, e)
	for i := range 60 {
		must(t, old.Create(t.Context(), &single{ID: fmt.Sprint(i), Text: strings.Repeat("x", 1500)}))
	}
	e.Upgrades = []repo.Upgrade{repo.Default("n", 7)}
	var x outside
	client := h.prompt(t, promptRetries, x.install(t))
	opts := options()
	opts.SDKDecoding = h.SDKDecoding
	tbl := expect.Value(table.New(client, plain.Schema(), opts))(t)
	r := newRepo(t, tbl, e)
	for _, tt := range []struct {
		reads, writes float64
	}{{0, 20}, {20, 0}} {
		synctest.Test(t, func(t *testing.T) {
			job := backfill.Job{
				Name: fmt.Sprint(tt), Table: tbl, Entities: []backfill.Entity{r}, Segments: 4, Concurrency: 4,
				ReadUnits: tt.reads, WriteUnits: tt.writes,
			}
			begun := time.Now()
			report := expect.Value(job.Run(t.Context()))(t)
			spent, rate := report.WriteUnits, tt.writes
			if tt.reads > 0 {
				spent, rate = report.ReadUnits, tt.reads
			}
			// The last of the debt is not waited for.
			took := time.Since(begun).Seconds()
			if least := spent/rate*0.9 - 1; took < least || took > spent/rate*1.1+1 {
				t.Errorf("%v units at %v a second in %.1f s: %v", spent, rate, took, report)
			}
		})
	}
}

// backfillSlow has items that take 15 seconds each by the table's clock, and looks at
// the lease with each.
func backfillSlow(t *testing.T, h Harness) {
	var clock atomic.Int64
	opts := options()
	opts.Now = func() time.Time { return now.Add(time.Duration(clock.Load())) }
	tbl := h.newTableWith(t, h.Client(t, promptRetries), appCore(), opts)
	source := h.newTable(t, table.Schema{PK: "id", SimpleKey: true})
	for i := range 12 {
		must(t, source.Do(t.Context(), table.Put(keys.Key{PK: keys.PK(fmt.Sprint("i", i))}, nil)))
	}
	job := backfill.Job{Name: "slow", Table: tbl, Source: source, Segments: 1, Map: func(ctx context.Context, _ table.Item) ([]table.Op, error) {
		items, err := table.Collect(table.All[table.Item](ctx, tbl.Consistent(), table.Query{PK: "BACKFILL#slow"}))
		if err != nil || len(items) != 1 {
			return nil, fmt.Errorf("%d leases: %w", len(items), err)
		}
		var l struct {
			Until int64 `dynamodbav:"leaseUntil"`
		}
		must(t, items[0].Decode(&l))
		if left := time.UnixMilli(l.Until).Sub(tbl.Now()); left <= 0 {
			t.Errorf("the lease has been free for %v", -left)
		}
		clock.Add(int64(15 * time.Second))
		return nil, nil
	}}
	report := expect.Value(job.Run(t.Context()))(t)
	equal(t, "current", report.Current, 12)
	equal(t, "set aside", report.SetAside, 0)
}

func backfillPages(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	ops := make([]table.Op, 1100)
	for i := range ops {
		ops[i] = table.Put(txKey(i), note{Type: "OTHER", N: i})
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	job := customerJobOf(t, tbl, 1)
	ctx, stop := context.WithCancel(t.Context())
	job.Progress = func(backfill.Progress) { stop() }
	report, err := job.Run(ctx)
	if !errors.Is(err, context.Canceled) || report.Scanned == 0 || report.Scanned >= 1100 {
		t.Fatalf("first run: %v, %v", report, err)
	}
	var first int64
	job.Progress = func(p backfill.Progress) {
		if first == 0 {
			first = p.Scanned
		}
	}
	before := report.Scanned
	report = expect.Value(job.Run(t.Context()))(t)
	equal(t, "items read in all", report.Scanned, 1100)
	if first <= before {
		t.Errorf("after %d items, the second run began at %d", before, first)
	}
}

// backfillSkew has a process die whose clock was an hour ahead.
func backfillSkew(t *testing.T, h Harness) {
	clock := func(ahead *atomic.Int64) *table.Options {
		opts := options()
		opts.Now = func() time.Time { return now.Add(time.Duration(ahead.Load())) }
		return opts
	}
	var fast, own atomic.Int64
	fast.Store(int64(time.Hour))
	tbl := h.newTableWith(t, h.Client(t, promptRetries), appCore(), clock(&fast))
	seedCustomers(t, tbl, 2)
	other := expect.Value(table.New(h.Client(t, promptRetries), tbl.Schema(), clock(&own)))(t)
	var kill killed
	faults := &tabletest.Faults{}
	opts := clock(&fast)
	opts.MaxAttempts = 1
	dying := expect.Value(table.New(h.Client(t, promptRetries, faults.Install), tbl.Schema(), opts))(t)
	kill.left.Store(6)
	for _, operation := range append(itemRequests, "Scan") {
		faults.Always(operation, kill.fault)
	}
	ctx, cancel := context.WithCancel(t.Context())
	job := customerJobOf(t, dying, 1)
	go func() {
		for kill.left.Load() >= 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := job.Run(ctx)
	cancel()
	if err == nil {
		t.Fatal("the job was not killed")
	}
	ticking, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { // a minute and more while the other process waits
		for ticking.Err() == nil {
			own.Add(int64(10 * time.Second))
			time.Sleep(100 * time.Millisecond)
		}
	}()
	must(t, expect.ErrOf(customerJobOf(t, other, 1).Run(t.Context())))
	wantCustomers(t, "after the skew", tbl, 2)
}

func backfillFailingMap(t *testing.T, h Harness) {
	source, target := h.newTable(t, table.Schema{PK: "id", SimpleKey: true}), h.newTable(t, appCore())
	for _, id := range []string{"ana", "eva", "ida", "err", "panic", "busy"} {
		must(t, source.Do(t.Context(), table.Put(keys.Key{PK: keys.PK(id)}, nil)))
	}
	job := backfill.Job{Name: "users", Table: target, Source: source, Segments: 1, Map: func(_ context.Context, item table.Item) ([]table.Op, error) {
		id := string(source.KeyOf("", item).PK)
		switch id {
		case "err":
			return nil, fmt.Errorf("secret %s", id)
		case "panic":
			panic("secret " + id)
		}
		// All have the same unique value.
		return []table.Op{table.Create(accountKey(id), nil), table.Create(mailKey("same@x"), table.Item{"id": str(id)})}, nil
	}}
	report := expect.Value(job.Run(t.Context()))(t)
	equal(t, "counts", [3]int64{report.Changed, report.Current, report.SetAside}, [3]int64{1, 0, 5})
	for a, err := range backfill.SetAside(t.Context(), target, job.Name) {
		must(t, err)
		if strings.Contains(a.Reason, "secret") {
			t.Errorf("the reason quotes: %s", a.Reason)
		}
	}
	// What was copied before is current.
	must(t, backfill.Forget(t.Context(), target, job.Name))
	report = expect.Value(job.Run(t.Context()))(t)
	equal(t, "counts of another run", [3]int64{report.Changed, report.Current, report.SetAside}, [3]int64{0, 1, 5})
}

func backfillInvalid(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	r := newRepo(t, tbl, customerEntity)
	entities := []backfill.Entity{r}
	number := h.newTable(t, table.Schema{PK: "id", SimpleKey: true})
	before := sent(faults)
	for name, job := range map[string]backfill.Job{
		"no name":        {Table: tbl, Entities: entities},
		"no table":       {Name: "x", Entities: entities},
		"no entities":    {Name: "x", Table: tbl},
		"nil entity":     {Name: "x", Table: tbl, Entities: []backfill.Entity{nil}},
		"twice":          {Name: "x", Table: tbl, Entities: []backfill.Entity{r, r}},
		"simple key":     {Name: "x", Table: number, Entities: entities},
		"source, no map": {Name: "x", Table: tbl, Entities: entities, Source: number},
		"both":           {Name: "x", Table: tbl, Entities: entities, Map: func(context.Context, table.Item) ([]table.Op, error) { return nil, nil }},
		"segments":       {Name: "x", Table: tbl, Entities: entities, Segments: -1},
		"many segments":  {Name: "x", Table: tbl, Entities: entities, Segments: 10_001},
		"name":           {Name: "a\xff", Table: tbl, Entities: entities},
		"other table":    {Name: "x", Table: h.newTable(t, appCore()), Entities: entities},
		"nil repository": {Name: "x", Table: tbl, Entities: []backfill.Entity{(*repo.Repo[customer])(nil)}},
		"units":          {Name: "x", Table: tbl, Entities: entities, WriteUnits: -1},
	} {
		if _, err := job.Run(t.Context()); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := job.DryRun(t.Context()); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, "requests", sent(faults), before)
}
