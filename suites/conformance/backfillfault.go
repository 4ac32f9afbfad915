package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

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
		opts.MaxAttempts = 1
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
			source = h.newTable(t, schema.Table{PKType: kind, SKType: kind})
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

// backfillSlow has items that take 15 seconds each by the table's clock, and looks at
// the lease with each.
func backfillSlow(t *testing.T, h Harness) {
	var clock atomic.Int64
	opts := options()
	opts.Now = func() time.Time { return now.Add(time.Duration(clock.Load())) }
	tbl := h.newTableWith(t, h.Client(t, promptRetries), appCore(), opts)
	source := h.newTable(t, schema.Table{PK: "id", SimpleKey: true})
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
	source, target := h.newTable(t, schema.Table{PK: "id", SimpleKey: true}), h.newTable(t, appCore())
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
