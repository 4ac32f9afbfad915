package backfill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

const (
	// hotItems is how many orders are written while the job runs.
	hotItems = 1000
	// writers is how many programs of each release write.
	writers = 2
	// jobs is how many processes run the job at once, and kills how often one of them
	// is killed altogether.
	jobs, kills = 2, 8
)

// trial runs a job with concurrent writers, all of which are killed now and then.
type trial struct {
	engine *tabletest.Engine
	schema schema.Table
	items  int
	seed   uint64

	// skew is by how much the clocks are ahead. It grows with each kill of a job, so
	// that nobody waits for a dead process's lease.
	skew atomic.Int64
	// applied are the writes of hot items that were confirmed, and unknown those of
	// which the writer has died or did not hear.
	applied, unknown [hotItems]atomic.Int64

	writes, refused, conflicts, deaths, killed, reads, wrong atomic.Int64
}

func try(ctx context.Context, engine *tabletest.Engine, items int, seed uint64) error {
	spec, _, err := fill(ctx, engine, items)
	if err != nil {
		return err
	}
	defer drop(ctx, engine, spec)
	t := &trial{engine: engine, schema: spec, items: items, seed: seed}
	peak := watchHeap()
	begun := time.Now()
	err = t.run(ctx)
	took, most := time.Since(begun), peak()
	lost, wrong, again := 0, 0, error(nil)
	if err == nil {
		lost, wrong, again = t.inspect(ctx)
		err = again
	}
	fmt.Printf("\nTrial of %d items (seed %d) in %v, %.1f MB of heap at most:\n", items, seed, took.Round(time.Millisecond), float64(most)/(1<<20))
	fmt.Printf("%d kills of the job and %d of writers; %d writes, %d refused to the former release, %d conflicts; %d reads\n",
		t.killed.Load(), t.deaths.Load(), t.writes.Load(), t.refused.Load(), t.conflicts.Load(), t.reads.Load())
	wrong += int(t.wrong.Load())
	fmt.Printf("%d lost, %d read wrongly\n", lost, wrong)
	if err == nil && lost+wrong > 0 {
		err = errors.New("the trial has failed")
	}
	if err == nil {
		err = verified(ctx, engine, spec, items)
	}
	if err == nil {
		fmt.Println("complete by a dry run")
	}
	return err
}

func (t *trial) random(n uint64) *rand.Rand { return rand.New(rand.NewPCG(t.seed, n)) }

// mortal is the transport of a process that dies after some requests. The last one may
// reach the engine.
type mortal struct {
	next interface {
		Do(*http.Request) (*http.Response, error)
	}
	left  atomic.Int64
	sends bool
	die   context.CancelFunc
}

var errDead = errors.New("the process was killed")

func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	left := m.left.Add(-1)
	if left >= 0 {
		return m.next.Do(r)
	}
	if left == -1 && m.sends {
		if response, err := m.next.Do(r); err == nil {
			response.Body.Close()
		}
	}
	m.die()
	return nil, errDead
}

// process returns the table as a new process sees it, which dies after some requests.
// Its context ends then.
func (t *trial) process(ctx context.Context, requests int64, sends bool) (context.Context, *table.Table, error) {
	ctx, die := context.WithCancel(ctx)
	m := &mortal{sends: sends, die: die}
	m.left.Store(requests)
	client := t.engine.Client(func(o *dynamodb.Options) { m.next, o.HTTPClient = o.HTTPClient, m })
	tbl, err := table.New(client, t.schema, &table.Options{Now: func() time.Time { return time.Now().Add(time.Duration(t.skew.Load())) }})
	return ctx, tbl, err
}

func (t *trial) run(ctx context.Context) error {
	writing, stop := context.WithCancel(ctx)
	defer stop()
	var group, job sync.WaitGroup
	var mu sync.Mutex
	var failed error
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, err)
	}
	for w := range writers {
		group.Go(func() { fail(t.write(writing, t.random(uint64(w)), false)) })
		group.Go(func() { fail(t.write(writing, t.random(uint64(writers+w)), true)) })
	}
	for j := range jobs {
		job.Go(func() { fail(t.job(ctx, t.random(uint64(100+j)))) })
	}
	job.Wait()
	stop()
	group.Wait()
	return failed
}

// job runs the job until it is done, and is killed on the way.
func (t *trial) job(ctx context.Context, random *rand.Rand) error {
	for n := 1; ; n++ {
		requests := int64(1) << 60
		if n <= kills/jobs {
			requests = random.Int64N(int64(t.items) / kills)
		}
		alive, tbl, err := t.process(ctx, requests, random.IntN(2) == 0)
		if err != nil {
			return err
		}
		job, err := newJob(tbl)
		if err != nil {
			return err
		}
		report, err := job.Run(alive)
		switch {
		case err == nil && report.SetAside == 0:
			return nil
		case err == nil:
			return fmt.Errorf("set aside: %v", report)
		case alive.Err() == nil || ctx.Err() != nil:
			return err
		}
		t.killed.Add(1)
		t.skew.Add(int64(2 * time.Minute))
	}
}

// write adds to hot items as a program of the present or of the first release, again
// and again in new processes, until ctx ends.
func (t *trial) write(ctx context.Context, random *rand.Rand, present bool) error {
	for ctx.Err() == nil {
		alive, tbl, err := t.process(context.WithoutCancel(ctx), 100+random.Int64N(1000), random.IntN(2) == 0)
		if err != nil {
			return err
		}
		orders, err := openOrders(tbl)
		if err != nil {
			return err
		}
		orders0, err := openOrders0(tbl)
		if err != nil {
			return err
		}
		for alive.Err() == nil && ctx.Err() == nil {
			hot := random.IntN(hotItems)
			i := hot * (t.items / hotItems)
			key := orderKey(orderID(i))
			if present {
				o, err := orders.Get(alive, key)
				if err == nil {
					t.reads.Add(1)
					if !right(o, i) {
						t.wrong.Add(1)
					}
				}
				_, err = orders.Update(alive, key, func(o *order) error { o.N++; return nil })
				t.count(hot, err)
			} else {
				_, err = orders0.Update(alive, key, func(o *order0) error { o.N++; return nil })
				t.count(hot, err)
			}
		}
		if ctx.Err() == nil {
			t.deaths.Add(1)
		}
	}
	return nil
}

func (t *trial) count(hot int, err error) {
	switch {
	case err == nil:
		t.writes.Add(1)
		t.applied[hot].Add(1)
	case errors.Is(err, table.ErrNewerShape):
		t.refused.Add(1)
	case errors.Is(err, table.ErrConflict):
		t.conflicts.Add(1)
	default:
		t.unknown[hot].Add(1)
	}
}

// right reports whether the ith order was read as it should be, except for N.
func right(o order, i int) bool {
	want := wanted(i)
	want.N, want.Revision = o.N, o.Revision
	return o == want && o.Revision != ""
}

// inspect reads the whole table as the present release does.
func (t *trial) inspect(ctx context.Context) (lost, wrong int, err error) {
	tbl, err := table.New(t.engine.Client(), t.schema, nil)
	if err != nil {
		return 0, 0, err
	}
	orders, err := openOrders(tbl)
	if err != nil {
		return 0, 0, err
	}
	// The job's own items are in the table, too.
	if err := backfill.Forget(ctx, tbl, "orders"); err != nil {
		return 0, 0, err
	}
	found := 0
	var start table.Item
	for {
		page, err := table.ScanRows[order](ctx, orders.View(), table.Scan{Consistent: true, Limit: 1000}, start)
		if err != nil {
			return 0, 0, err
		}
		for _, row := range page.Rows {
			var i int
			if _, err := fmt.Sscanf(row.Value.ID, "o-%d", &i); row.Err != nil || err != nil || !right(row.Value, i) {
				wrong++
				continue
			}
			found++
			if hot := i / (t.items / hotItems); i%(t.items/hotItems) == 0 && hot < hotItems {
				least := t.applied[hot].Load()
				if n := int64(row.Value.N); n < least || n > least+t.unknown[hot].Load() {
					lost++
				}
			}
		}
		if start = page.Next; start == nil {
			return lost + t.items - found - wrong, wrong, nil
		}
	}
}
