package lease_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/lease"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var (
	spec = schema.Table{Name: "any"}
	key  = keys.Key{PK: "REPORT#nightly", SK: "LEASE"}
	item = keys.Key{PK: "REPORT#nightly", SK: "RESULT"}
)

// process is a program with a clock and faults of its own.
type process struct {
	*lease.Lock
	table  *table.Table
	faults *tabletest.Faults
	ahead  atomic.Int64 // of the real time
}

func newProcess(t *testing.T, tbl *table.Table) *process {
	t.Helper()
	p := &process{faults: &tabletest.Faults{}}
	now := func() time.Time { return noon.Add(time.Duration(p.ahead.Load())) }
	client := tabletest.Client(t, p.faults.Install, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	p.table = expect.Value(table.New(client, tbl.Schema(), &table.Options{Now: now}))(t)
	p.Lock = expect.Value(lease.New(p.table, key, nil))(t)
	return p
}

var noon = time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)

func (p *process) pass(d time.Duration) { p.ahead.Add(int64(d)) }

func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	a, b := newProcess(t, tbl), newProcess(t, tbl)
	ctx := t.Context()
	first := expect.Value(a.Acquire(ctx))(t)
	expect.Equal(t, "number", first.Number(), 1)
	expect.Equal(t, "until", first.Until(), noon.Add(time.Minute))
	expect.Err(t, expect.ErrOf(b.Acquire(ctx)), lease.ErrHeld)
	expect.Err(t, expect.ErrOf(a.Acquire(ctx)), lease.ErrHeld) // a holder of its own

	write := func(l *lease.Lease, by string) error {
		return tbl.Transact(ctx, l.Check(), table.Put(item, map[string]string{"by": by}))
	}
	expect.OK(t, write(first, "a"))
	for _, p := range []*process{a, b} {
		p.pass(50 * time.Second)
	}
	expect.OK(t, first.Renew(ctx))
	for _, p := range []*process{a, b} {
		p.pass(50 * time.Second)
	}
	expect.Err(t, expect.ErrOf(b.Acquire(ctx)), lease.ErrHeld)

	// a is stopped, and goes on after b has taken the lease.
	b.pass(11 * time.Second)
	second := expect.Value(b.Acquire(ctx))(t)
	expect.Equal(t, "number", second.Number(), 2)
	expect.Err(t, first.Renew(ctx), lease.ErrLost)
	err := write(first, "a")
	if op, failed := table.FailedOp(err, "lease"); !failed || !errors.Is(op, table.ErrConditionFailed) {
		t.Errorf("a write of the former holder: %v", err)
	}
	expect.OK(t, first.Release(ctx)) // which is not the other's
	expect.OK(t, write(second, "b"))

	expect.OK(t, second.Release(ctx))
	expect.Err(t, second.Renew(ctx), lease.ErrLost)
	expect.Err(t, write(second, "b"), table.ErrConditionFailed)
	third := expect.Value(a.Acquire(ctx))(t)
	expect.Equal(t, "number", third.Number(), 3)
}

// The lease of a process whose clock is far ahead is free once it has stood still for a life.
func TestAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	a, b := newProcess(t, tbl), newProcess(t, tbl)
	a.pass(time.Hour)
	expect.Value(a.Acquire(t.Context()))(t)
	for range 3 {
		expect.Err(t, expect.ErrOf(b.Acquire(t.Context())), lease.ErrHeld)
		b.pass(25 * time.Second)
	}
	taken := expect.Value(b.Acquire(t.Context()))(t)
	expect.Equal(t, "number", taken.Number(), 2)
}

// A response that is lost takes nothing away, and no number is there twice.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	for _, fault := range []tabletest.Fault{tabletest.DropResponse(), tabletest.DropRequest(), tabletest.Throttle()} {
		tbl := tabletest.New(t, spec, nil)
		a := newProcess(t, tbl)
		numbers := map[int64]bool{}
		for n := range 4 { // requests of a life
			a.faults.Next("", append(make([]tabletest.Fault, n), fault)...)
			held, err := a.Acquire(t.Context())
			if err == nil {
				err = errors.Join(held.Renew(t.Context()), held.Release(t.Context()))
				if numbers[held.Number()] {
					t.Errorf("number %d is there twice", held.Number())
				}
				numbers[held.Number()] = true
			}
			a.faults.Next("")
			a.pass(2 * time.Minute)
			again := expect.Value(a.Acquire(t.Context()))(t)
			if numbers[again.Number()] {
				t.Errorf("number %d is there twice, after %v", again.Number(), err)
			}
			numbers[again.Number()] = true
			expect.OK(t, again.Release(t.Context()))
		}
	}
}

// Of processes that take turns, each sees a greater number than all before.
func TestNumbersGrow(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	var last atomic.Int64
	var turns sync.WaitGroup
	for range 4 {
		p := newProcess(t, tbl)
		turns.Go(func() {
			for done := 0; done < 5; {
				held, err := p.Acquire(t.Context())
				if errors.Is(err, lease.ErrHeld) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if before := last.Swap(held.Number()); before >= held.Number() {
					t.Errorf("number %d after %d", held.Number(), before)
				}
				if err := held.Release(t.Context()); err != nil {
					t.Error(err)
				}
				done++
			}
		})
	}
	turns.Wait()
	if last.Load() < 20 {
		t.Errorf("the last number is %d", last.Load())
	}
}

// hold holds the next request back until release is closed. It closes began when the request
// is on its way.
func hold(began chan<- struct{}, release <-chan struct{}) tabletest.Fault {
	block := tabletest.Block(release)
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		close(began)
		return block(r, next)
	}
}

// A call waits for the request of another call no longer than its own context lasts.
func TestACallThatHangsHoldsNoOtherUp(t *testing.T) {
	t.Parallel()
	p := newProcess(t, tabletest.New(t, spec, nil))
	began, release := make(chan struct{}), make(chan struct{})
	p.faults.Next("GetItem", hold(began, release))
	slow := make(chan error, 1)
	go func() { slow <- expect.ErrOf(p.Acquire(t.Context())) }()
	<-began
	held := expect.Value(p.Acquire(t.Context()))(t)
	close(release)
	expect.Err(t, <-slow, lease.ErrHeld)

	began, release = make(chan struct{}), make(chan struct{})
	p.faults.Next("UpdateItem", hold(began, release))
	p.pass(time.Second)
	go func() { slow <- held.Renew(t.Context()) }()
	<-began
	expect.Equal(t, "until", held.Until(), noon.Add(time.Minute))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	expect.Err(t, held.Renew(ended), context.Canceled)
	expect.Err(t, held.Release(ended), context.Canceled)
	close(release)
	expect.OK(t, <-slow)

	// A release that was begun ends the lease for its holder, and is repeated.
	expect.Equal(t, "until", held.Until(), time.Time{})
	expect.Err(t, held.Renew(t.Context()), lease.ErrLost)
	expect.OK(t, held.Release(t.Context()))
	expect.Equal(t, "number", expect.Value(p.Acquire(t.Context()))(t).Number(), 2)
}

// An entity of the program can have the type of leases. Its item is not taken for one.
func TestAnEntityIsNoLease(t *testing.T) {
	t.Parallel()
	p := newProcess(t, tabletest.New(t, spec, nil))
	car := map[string]string{"entityType": "LEASE", "car": "c-1"}
	expect.OK(t, p.table.Do(t.Context(), table.Put(key, car)))
	expect.Err(t, expect.ErrOf(p.Acquire(t.Context())), table.ErrWrongType)
	stored := expect.Value(table.Get[map[string]string](t.Context(), p.table, key))(t)
	expect.Equal(t, "attributes", len(stored), 4)
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	named := expect.Value(table.New(tabletest.Client(t), schema.Table{Name: "any", TypeAttribute: "leaseOwner"}, nil))(t)
	for name, err := range map[string]error{
		"no table":  expect.ErrOf(lease.New(nil, key, nil)),
		"no key":    expect.ErrOf(lease.New(tbl, keys.Key{}, nil)),
		"no life":   expect.ErrOf(lease.New(tbl, key, &lease.Options{Life: time.Millisecond})),
		"its type":  expect.ErrOf(lease.New(named, key, nil)),
		"less life": expect.ErrOf(lease.New(tbl, key, &lease.Options{Life: -time.Minute})),
	} {
		if !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func Example() {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		panic(err)
	}
	defer engine.Close()
	spec := schema.Table{Name: "Reports-" + rand.Text()}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		panic(err)
	}
	t, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		panic(err)
	}

	lock, err := lease.New(t, keys.Key{PK: "REPORT#nightly", SK: "LEASE"}, nil)
	if err != nil {
		panic(err)
	}
	held, err := lock.Acquire(ctx)
	if err != nil {
		panic(err) // or, for lease.ErrHeld, another process is at it
	}
	_, err = lock.Acquire(ctx)
	fmt.Println("another one:", errors.Is(err, lease.ErrHeld))

	fmt.Println("send with the fencing number", held.Number())
	until := held.Until()
	if err := held.Renew(ctx); errors.Is(err, lease.ErrLost) {
		panic(err) // stop: another process has it
	}
	fmt.Println("held for longer:", held.Until().After(until))
	result := table.Put(keys.Key{PK: "REPORT#nightly", SK: "RESULT"}, map[string]string{"status": "sent"})
	fmt.Println("store, if the lease is still ours:", t.Transact(ctx, held.Check(), result))
	fmt.Println("release:", held.Release(ctx))
	// Output:
	// another one: true
	// send with the fencing number 1
	// held for longer: true
	// store, if the lease is still ours: <nil>
	// release: <nil>
}
