package tabletest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/table"
)

// execution runs a case under one schedule. It holds each request of the
// operations until the schedule names it.
type execution struct {
	world      *world
	run        *Run
	retries    bool
	operations []*operation
	steps      []step
	sent       []string // what became of the request of each step
	faults     int
	// abandoned is set if the chooser has left the schedule.
	abandoned bool
	failure   error
	// moved is sent to when an operation sends a request or returns.
	moved chan struct{}
	// over is set when requests are no longer held. It is guarded by mu, and so
	// are the operations' fields.
	over bool
	mu   sync.Mutex
}

// operation is one that runs.
type operation struct {
	number int
	cancel context.CancelFunc
	sent   int
	// waiting are its requests that are held, late those that were delayed. A
	// late one that has arrived is nil.
	waiting, late []*message
	// returned is set if it is done by returning.
	done, returned bool
	err            error
}

// String returns the operation's letter.
func (o *operation) String() string { return string(rune('A' + o.number)) }

// message is a request on its way.
type message struct {
	request  *http.Request
	body     []byte
	touches  footprint
	response chan result // holds one
}

type result struct {
	response *http.Response
	err      error
}

const (
	// maxSteps is how many requests a run may have.
	maxSteps = 400
	// maxPause is how long an operation may do something else than requests.
	maxPause = time.Hour
)

var (
	errAbandoned = errors.New("tabletest: the run is over")
	errGone      = errors.New("the operation has ended its goroutine")
	errBlocked   = errors.New("an operation neither sends a request nor returns")
	errEndless   = errors.New("the operations send requests without end")
)

func newExecution(w *world, options *table.Options, retries bool) *execution {
	w.runs++
	return &execution{
		world:   w,
		retries: retries,
		run:     &Run{ID: fmt.Sprintf("run%06d", w.runs), Schema: w.schema, options: options},
	}
}

// execute runs the case in a bubble.
func (x *execution) execute(t *testing.T, setup func(context.Context, *Run) error, c chooser) {
	synctest.Test(t, func(t *testing.T) {
		x.run.Client = x.world.client(x.world.RoundTrip, true)
		if err := setup(t.Context(), x.run); err != nil {
			x.failure = fmt.Errorf("the case's Setup: %w", err)
			return
		}
		if len(x.run.operations) == 0 || x.run.invariant == nil {
			x.failure = errors.New("the case's Setup calls no Run.Go or no Run.Check")
			return
		}
		x.moved = make(chan struct{}, 1)
		for _, f := range x.run.operations {
			x.start(t.Context(), f)
		}
		x.failure = x.follow(c)
		x.end()
		if x.failure != nil || x.abandoned {
			return
		}
		errs := make([]error, len(x.operations))
		for i, o := range x.operations {
			if errs[i] = o.err; !o.returned {
				x.failure = o.err
				return
			}
		}
		x.failure = x.run.invariant(t.Context(), errs)
	})
}

// start runs an operation with a client of its own.
func (x *execution) start(ctx context.Context, f func(context.Context, *dynamodb.Client) error) {
	o := &operation{number: len(x.operations)}
	x.operations = append(x.operations, o)
	ctx, o.cancel = context.WithCancel(ctx)
	client := x.world.client(func(r *http.Request) (*http.Response, error) { return x.hold(o, r) }, x.retries)
	go func() {
		err := errGone
		returned := false
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			x.mu.Lock()
			o.done, o.err, o.returned = true, err, returned
			x.mu.Unlock()
			x.move()
		}()
		err = f(ctx, client)
		returned = true
	}()
}

func (x *execution) move() {
	select {
	case x.moved <- struct{}{}:
	default:
	}
}

// hold keeps a request until it has a response.
func (x *execution) hold(o *operation, r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	m := &message{
		request: r, body: body, response: make(chan result, 1),
		touches: footprintOf(operationName(r), body, x.world.schema),
	}
	x.mu.Lock()
	if x.over {
		x.mu.Unlock()
		return nil, errAbandoned
	}
	o.sent++
	o.waiting = append(o.waiting, m)
	// Concurrent requests of one operation arrive in any order.
	slices.SortStableFunc(o.waiting, func(a, b *message) int { return bytes.Compare(a.body, b.body) })
	x.mu.Unlock()
	x.move()
	select {
	case a := <-m.response:
		return a.response, a.err
	case <-r.Context().Done():
		x.mu.Lock()
		o.waiting = slices.DeleteFunc(o.waiting, func(w *message) bool { return w == m })
		x.mu.Unlock()
		return nil, r.Context().Err()
	}
}

// follow runs the operations in the chooser's order until all have returned and
// all requests have arrived.
func (x *execution) follow(c chooser) error {
	for {
		if err := x.settle(); err != nil {
			return err
		}
		enabled := x.enabled()
		if len(enabled) == 0 {
			return nil
		}
		if len(x.steps) == maxSteps {
			return errEndless
		}
		s, ok := c.choose(enabled, x.independent)
		if !ok {
			x.abandoned = true
			return nil
		}
		x.take(s)
	}
}

// settle waits until each operation holds a request or has returned.
func (x *execution) settle() error {
	for {
		synctest.Wait()
		x.mu.Lock()
		settled := !slices.ContainsFunc(x.operations, func(o *operation) bool { return !o.done && len(o.waiting) == 0 })
		x.mu.Unlock()
		if settled {
			return nil
		}
		timer := time.NewTimer(maxPause)
		select {
		case <-x.moved:
			timer.Stop()
		case <-timer.C:
			return errBlocked
		}
	}
}

// end makes all operations return.
func (x *execution) end() {
	x.mu.Lock()
	x.over = true
	for _, o := range x.operations {
		o.cancel()
		for _, m := range o.waiting {
			m.response <- result{err: errAbandoned}
		}
		o.waiting = nil
	}
	x.mu.Unlock()
	if err := x.settle(); err != nil {
		x.failure = err
	}
}

// enabled returns the steps that are possible: first those without a fault.
func (x *execution) enabled() []step {
	var all []step
	for _, o := range x.operations {
		for i := range o.waiting {
			all = append(all, step{operation: o.number, nth: i})
		}
		for i, m := range o.late {
			if m != nil {
				all = append(all, step{operation: o.number, nth: i, late: true})
			}
		}
	}
	for _, s := range all {
		if s.late {
			continue
		}
		m := x.message(s)
		for _, f := range faults {
			if f.meets(m) {
				s.fault = f.suffix
				all = append(all, s)
			}
		}
	}
	return all
}

func (x *execution) message(s step) *message {
	o := x.operations[s.operation]
	if s.late {
		return o.late[s.nth]
	}
	return o.waiting[s.nth]
}

// touches returns what the engine does in a step.
func (x *execution) touches(s step) footprint {
	if f := faultOf(s.fault); f != nil && !f.executes {
		return footprint{}
	}
	return x.message(s).touches
}

// independent reports whether two possible steps lead to the same state in either
// order.
func (x *execution) independent(a, b step) bool {
	if a.operation == b.operation && !a.late && !b.late {
		return false
	}
	return !x.touches(a).meets(x.touches(b))
}

// take makes a step.
func (x *execution) take(s step) {
	m, o := x.message(s), x.operations[s.operation]
	var seen string
	engine := roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := x.world.RoundTrip(r)
		seen = status(response, err)
		return response, err
	})
	request := withBody(m.request, m.body)
	if s.late {
		_, _ = engine(request)
		o.late[s.nth] = nil
	} else {
		x.mu.Lock()
		o.waiting = slices.Delete(o.waiting, s.nth, s.nth+1)
		x.mu.Unlock()
		var a result
		if f := faultOf(s.fault); f == nil {
			a.response, a.err = engine(request)
		} else {
			x.faults++
			a.response, a.err = f.fault(m)(request, engine)
			if f.late {
				o.late = append(o.late, m)
			}
			if f.cancels {
				o.cancel()
			}
		}
		m.response <- a
	}
	x.steps = append(x.steps, s)
	x.sent = append(x.sent, fmt.Sprintf("%s %s -> %s", operationName(request), bytes.TrimSpace(m.body), seen))
}

// schedule returns the steps as text.
func (x *execution) schedule() string { return formatSchedule(x.steps, x.retries) }

// outcome tells how the operations ended.
func (x *execution) outcome() string {
	texts := make([]string, len(x.operations))
	for i, o := range x.operations {
		texts[i] = kind(o.err)
	}
	return strings.Join(texts, ", ")
}

// transcript lists the requests of the steps and the errors of the operations.
func (x *execution) transcript() string {
	var b strings.Builder
	for i, s := range x.steps {
		fmt.Fprintf(&b, "%-8s %s\n", s, x.sent[i])
	}
	for _, o := range x.operations {
		fmt.Fprintf(&b, "%v returns %v\n", o, o.err)
	}
	return b.String()
}
