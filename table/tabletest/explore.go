package tabletest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Case describes two or three operations that run concurrently, and what must
// hold after them. [Explore] runs it.
type Case struct {
	// Schema is the schema of the table. Explore creates it under another name,
	// which [Run].Schema has.
	Schema schema.Table
	// Options are those of the table that [Run.Table] returns. Nil means the defaults.
	Options *table.Options
	// Setup prepares one run: it stores what the operations need, under keys that
	// contain [Run].ID, and calls [Run.Go] and [Run.Check]. It is called once for
	// each schedule. An error ends the test.
	Setup func(ctx context.Context, r *Run) error
	// Allow reports whether an operation may return err although the operations
	// run one after the other and no request fails. Nil allows no error.
	Allow func(err error) bool
	// Faults is the largest number of faults in a schedule. Zero means 2, and a
	// negative number means none.
	Faults int
	// Limit bounds the schedules that run in order for each number of faults, with
	// and without the SDK's retries. Zero means 250. If these are not all, as many
	// again are drawn at random, the same ones each time. A schedule that turns out to be like
	// an earlier one counts, so the report can have fewer. A small limit finds less: run the
	// default before a release.
	Limit int
	// Replay is the schedule of a failure. If it is set, nothing else runs.
	Replay string
}

// Run is one run of a [Case].
type Run struct {
	// ID is different in each run, since all runs share the table. Make each key of the run
	// with it, except for keys made of random values.
	ID string
	// Client is for Setup and the invariant. Its requests pass at once.
	Client *dynamodb.Client
	// Schema is the case's, with the name of the table.
	Schema schema.Table

	options    *table.Options
	operations []func(context.Context, *dynamodb.Client) error
	invariant  func(ctx context.Context, errs []error) error
}

// Table returns the table of the run over a client: that of an operation, or [Run].Client.
// A service of the case's own takes it in one line: shop.New(r.Table(client)).
func (r *Run) Table(client *dynamodb.Client) *table.Table {
	t, err := table.New(client, r.Schema, r.options)
	if err != nil {
		panic(err) // Explore has made this table before
	}
	return t
}

// Go adds an operation, which runs after Setup. It sends its requests through the
// client that it is given, and nothing else. The first operation is A in a
// schedule, the second B.
func (r *Run) Go(operation func(ctx context.Context, client *dynamodb.Client) error) {
	r.operations = append(r.operations, operation)
}

// Check sets the invariant, which runs when all operations have returned and all
// requests have arrived. errs has the errors of the operations in their order. An
// error of it is a violation.
func (r *Run) Check(invariant func(ctx context.Context, errs []error) error) {
	r.invariant = invariant
}

const (
	defaultFaults = 2
	defaultLimit  = 250
	// maxKind is how long an error's text in a report may be.
	maxKind = 40
)

// Explore runs the operations of a case under every order of their requests:
// without a fault, then with every single fault at every request, then with every
// two. It fails the test at the first schedule that violates the invariant, and
// prints the requests of the schedule and a line for [Case].Replay. The package
// documentation describes faults and schedules.
//
// Two orders that differ only in requests on different items have the same result.
// Of these Explore runs one. It logs how many schedules it has run for each number
// of faults, whether these were all, and how the operations ended.
//
// A case that shows nothing fails too: an operation that sends no request, or one
// that returns an error although no other runs at the same time, see [Case].Allow.
//
// Operations run in a bubble of [testing/synctest]. The clock begins in 2000, and
// pauses between retries take no time. They must not hold a mutex during a request,
// must return when their context ends, and must leave no goroutine behind. Apart
// from random values they must send the same requests each time.
func Explore(t *testing.T, c Case) {
	t.Helper()
	report, err := explore(t, c, true)
	if report != "" {
		t.Log(report)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// explorer is one call of Explore.
type explorer struct {
	Case
	t     *testing.T
	world *world
	// reduce leaves out orders with the same result.
	reduce bool
	// length is that of the longest schedule without a fault.
	length int
	bounds []bound
}

// bound counts the schedules with one number of faults.
type bound struct {
	faults, schedules int
	retries, all      bool
	outcomes          map[string]int
}

func explore(t *testing.T, c Case, reduce bool) (report string, err error) {
	t.Helper()
	w, err := newWorld(t, c.Schema)
	if err != nil {
		return "", fmt.Errorf("tabletest: %w", err)
	}
	if _, err := table.New(w.engine.Client(), w.schema, c.Options); err != nil {
		return "", fmt.Errorf("tabletest: Options: %w", err)
	}
	e := &explorer{Case: c, t: t, world: w, reduce: reduce}
	if c.Replay != "" {
		x, err := e.replay()
		if err == nil {
			report = x.transcript()
		}
		return report, err
	}
	if err := e.sequential(); err != nil {
		return "", err
	}
	for faults := range max(cmp.Or(c.Faults, defaultFaults), 0) + 1 {
		for _, retries := range []bool{true, false} {
			if faults == 0 && !retries {
				continue // no request fails
			}
			if err := e.explore(faults, retries); err != nil {
				return e.report(), err
			}
		}
	}
	return e.report(), nil
}

// replay runs the schedule of Replay, and what is left after it in order.
func (e *explorer) replay() (*execution, error) {
	script, retries, err := parseSchedule(e.Replay)
	if err != nil {
		return nil, err
	}
	x, err := e.run(&script, retries)
	if err == nil && len(script.steps) > 0 {
		err = fmt.Errorf("tabletest: Replay: %v is not possible after %q", script.steps[0], x.schedule())
	}
	return x, err
}

// sequential runs the operations one after the other in every order.
func (e *explorer) sequential() error {
	x, err := e.run(&script{}, true)
	if err != nil {
		return err
	}
	for order := range permutations(len(x.operations)) {
		if x, err = e.run(&script{order: order}, true); err != nil {
			return err
		}
		e.length = max(e.length, len(x.steps))
		for i, o := range x.operations {
			if i == order[0] && o.sent == 0 {
				return fmt.Errorf("tabletest: the case shows nothing: operation %v sends no request", o)
			}
			if o.err != nil && (e.Allow == nil || !e.Allow(o.err)) {
				return fmt.Errorf("tabletest: the case shows nothing: operation %v fails in the schedule %q, see Case.Allow: %w", o, x.schedule(), o.err)
			}
		}
	}
	return nil
}

// explore runs the schedules with one number of faults.
func (e *explorer) explore(faults int, retries bool) error {
	e.bounds = append(e.bounds, bound{faults: faults, retries: retries, outcomes: map[string]int{}})
	b := &e.bounds[len(e.bounds)-1]
	seen := map[string]bool{}
	try := func(c chooser) error {
		x, err := e.run(c, retries)
		if err != nil || x.abandoned || x.faults != faults || seen[x.schedule()] {
			return err
		}
		seen[x.schedule()] = true
		b.schedules++
		b.outcomes[x.outcome()]++
		return nil
	}
	limit := cmp.Or(e.Limit, defaultLimit)
	s := &search{faults: faults, reduce: e.reduce}
	for runs := 0; !b.all && runs < limit; runs++ {
		if err := try(s); err != nil {
			return err
		}
		b.all = !s.next() && !s.diverged
	}
	for runs := 0; !b.all && runs < limit; runs++ {
		if err := try(newWalk(faults, e.length, uint64(runs))); err != nil {
			return err
		}
	}
	return nil
}

// run executes one schedule, and returns an error if it violates the invariant.
func (e *explorer) run(c chooser, retries bool) (*execution, error) {
	if err := e.world.refresh(e.t.Context()); err != nil {
		return nil, fmt.Errorf("tabletest: %w", err)
	}
	x := newExecution(e.world, e.Options, retries)
	x.execute(e.t, e.Setup, c)
	if x.failure == nil {
		return x, nil
	}
	return x, fmt.Errorf("tabletest: schedule %q, see Case.Replay: %w\n%s", x.schedule(), x.failure, x.transcript())
}

// report lists the bounds.
func (e *explorer) report() string {
	var b strings.Builder
	b.WriteString("schedules:")
	for _, n := range e.bounds {
		some, retries := "all", ""
		if !n.all {
			some = "not all"
		}
		if n.faults > 0 {
			retries = map[bool]string{true: ", retries", false: ", once"}[n.retries]
		}
		fmt.Fprintf(&b, "\n%d faults%s: %d schedules, %s;", n.faults, retries, n.schedules, some)
		for _, outcome := range slices.Sorted(maps.Keys(n.outcomes)) {
			fmt.Fprintf(&b, " (%s) %d", outcome, n.outcomes[outcome])
		}
	}
	return b.String()
}

// kinds name the errors of a report. The first that matches counts.
var kinds = []struct {
	err  error
	name string
}{
	{nil, "ok"},
	{table.ErrOutcomeUnknown, "unknown"},
	{context.Canceled, "cancelled"},
	{table.ErrExists, "exists"},
	{table.ErrStale, "stale"},
	{table.ErrConflict, "conflict"},
	{table.ErrNotFound, "not found"},
	{table.ErrConditionFailed, "condition"},
	{table.ErrThrottled, "throttled"},
}

// kind returns a short text for an operation's error.
func kind(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	if text := err.Error(); len(text) <= maxKind {
		return text
	}
	return "error"
}

// permutations yields the orders of n things.
func permutations(n int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		var extend func(order []int) bool
		extend = func(order []int) bool {
			if len(order) == n {
				return yield(order)
			}
			for i := range n {
				if !slices.Contains(order, i) && !extend(append(order[:len(order):len(order)], i)) {
					return false
				}
			}
			return true
		}
		extend(nil)
	}
}
