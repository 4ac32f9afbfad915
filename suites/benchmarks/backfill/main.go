// Package backfill measures package backfill next to a scan-and-update loop
// that is written with the SDK alone. It then tries it with programs of former
// and present shapes that write at the same time, and kills it and them. It
// prints a table in Markdown and what the trial has found, and fails if
// anything was lost. Times are of the client and the local engine together;
// units are DynamoDB's.
//
//	go run ./suites/benchmarks backfill -items 20000
package backfill

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Command measures and tries as its flags say.
func Command(flags *flag.FlagSet) func(context.Context) error {
	items := flags.Int("items", 20_000, "how many items the table has; at least 10,000")
	rounds := flags.Int("rounds", 2, "how often both are measured")
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "of the kills and the writers")
	return func(ctx context.Context) error { return run(ctx, *items, *rounds, *seed) }
}

func run(ctx context.Context, items, rounds int, seed uint64) error {
	if items < 10*hotItems {
		return fmt.Errorf("-items: %d is less than %d", items, 10*hotItems)
	}
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	fmt.Println("| items | by | items/s | read units | write units | write units / floor | heap, MB at most |\n|---:|---|---:|---:|---:|---:|---:|")
	ways := []struct {
		name string
		do   way
	}{{"backfill", library}, {"SDK loop", loop}}
	for round := range rounds {
		for i := range ways {
			w := ways[(i+round)%len(ways)]
			if err := measure(ctx, engine, w.name, items, w.do); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	return try(ctx, engine, items, seed)
}

// way brings the orders of a table to the present shape and returns what it
// consumed.
type way func(ctx context.Context, engine *tabletest.Engine, spec schema.Table) (units, error)

type units struct{ read, written float64 }

// All ways read and write with as many goroutines, and read as many items at once. A
// segment has more than one page, so that a job is killed and continued in the middle
// of it.
const (
	segments    = 16
	concurrency = 16
	pageSize    = 500
)

// library is package backfill.
func library(ctx context.Context, engine *tabletest.Engine, spec schema.Table) (units, error) {
	var mu sync.Mutex
	var u units
	// The requests for the progress of the job are counted, too.
	observe := func(_ context.Context, e table.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch e.Operation {
		case "Scan", "GetItem", "Query":
			u.read += e.Capacity
		default:
			u.written += e.Capacity
		}
	}
	tbl, err := table.New(engine.Client(), spec, &table.Options{Observe: observe})
	if err != nil {
		return u, err
	}
	job, err := newJob(tbl)
	if err != nil {
		return u, err
	}
	_, err = job.Run(ctx)
	return u, err
}

func newJob(tbl *table.Table) (backfill.Job, error) {
	orders, err := openOrders(tbl)
	return backfill.Job{
		Name: "orders", Table: tbl, Entities: []backfill.Entity{orders}, Segments: segments, Concurrency: concurrency,
	}, err
}

// measure prints what a way takes on a new table.
func measure(ctx context.Context, engine *tabletest.Engine, name string, items int, do way) error {
	spec, floor, err := fill(ctx, engine, items)
	if err != nil {
		return err
	}
	defer drop(ctx, engine, spec)
	peak := watchHeap()
	begun := time.Now()
	u, err := do(ctx, engine, spec)
	took := time.Since(begun)
	most := peak()
	if err != nil {
		return err
	}
	fmt.Printf("| %d | %s | %.0f | %.0f | %.0f | %.3f | %.1f |\n", items, name,
		float64(items)/took.Seconds(), u.read, u.written, u.written/floor, float64(most)/(1<<20))
	return verified(ctx, engine, spec, items)
}

// verified proves with a dry run that the table is complete.
func verified(ctx context.Context, engine *tabletest.Engine, spec schema.Table, items int) error {
	tbl, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		return err
	}
	job, err := newJob(tbl)
	if err != nil {
		return err
	}
	report, err := job.DryRun(ctx)
	if err == nil && (!report.Complete() || report.Current != int64(items)) {
		err = fmt.Errorf("is not complete: %v", report)
	}
	return err
}

// watchHeap returns a function that returns the most bytes that the heap has held
// since, garbage included.
func watchHeap() (peak func() uint64) {
	runtime.GC()
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		var m runtime.MemStats
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				done <- most
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-done
	}
}

var tables int

// fill returns a new table with orders, a third of each shape, and the least number of
// write units that change those which are not of the present one.
func fill(ctx context.Context, engine *tabletest.Engine, items int) (spec schema.Table, floor float64, err error) {
	tables++
	spec = schema.Table{Name: fmt.Sprint("orders-", tables)}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		return spec, 0, err
	}
	tbl, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		return spec, 0, err
	}
	const step = 5000
	for from := 0; from < items; from += step {
		ops := make([]table.Op, 0, step)
		for i := from; i < min(from+step, items); i++ {
			item := stored(i)
			if i%shapes < shapes-1 {
				floor += float64((item.Size() + 1023) / 1024)
			}
			ops = append(ops, table.Put(orderKey(orderID(i)), item))
		}
		if err := tbl.BatchWrite(ctx, ops...); err != nil {
			return spec, 0, err
		}
	}
	return spec, floor, nil
}

func drop(ctx context.Context, engine *tabletest.Engine, spec schema.Table) {
	_, err := engine.Client().DeleteTable(context.WithoutCancel(ctx), &dynamodb.DeleteTableInput{TableName: aws.String(spec.Name)})
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "backfill: the table stays:", err)
	}
}
