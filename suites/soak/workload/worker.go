package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// operation is one operation of a worker and what the model says of it.
type operation struct {
	name string
	// run carries it out. It may be called again after it has failed.
	run func(context.Context) error
	// want are the refusals that the model expects, one of them; none for
	// success.
	want []error
	// after is what it makes of the items that it writes, if it is executed.
	after state
	// each means that it can be executed for some of its items.
	each bool
	// wary means that a request which got no response leaves it unknown.
	wary bool
	// about are the promises that its response tries, besides those of every operation.
	about []report.Promise
	// verify compares what a read has returned with what it is to return.
	verify func() error
	// settled is told whether it was executed.
	settled func(done bool)
}

// worker does operations on keys of its own, so that its model is exact.
type worker struct {
	*session
	id    int
	model state
	once  map[string]remembered
	// pending is the write during which the engine was killed, if there is one.
	pending *pending
	// evicting is the request whose record is being evicted, if there is one.
	evicting string
	// lot is different for workers whose operations are drawn for another phase.
	lot uint64
	// r is where the operation at hand draws from, op its number, by its name.
	r  *rand.Rand
	op int
	by string
}

// where tells how to get to the operation at hand again.
func (w *worker) where() string {
	return fmt.Sprintf("seed %d, worker %d, operation %d", w.Seed, w.id, w.op)
}

// check reports on a promise. What seems broken while the engine is down is not
// counted: nothing can be read then.
func (w *worker) check(p report.Promise, err error) {
	if err == nil || !w.down.Load() {
		w.report.Check(p, w.where(), err)
	}
}

// checkAll reports on several promises.
func (w *worker) checkAll(all []report.Promise, err error) {
	for _, p := range all {
		w.check(p, err)
	}
}

// reading makes an operation of a read and what it is to return.
func reading[T any](name string, want T, read func(context.Context) (T, error), about ...report.Promise) operation {
	var have T
	return operation{
		name: name, about: about,
		run: func(ctx context.Context) (err error) {
			have, err = read(ctx)
			return err
		},
		verify: func() error { return checker.Equal(have, want) },
	}
}

// errDown means that the engine was killed during an operation.
var errDown = errors.New("the engine is down")

// pending is a write during which the engine was killed.
type pending struct {
	operation
	err error
}

// draw makes the operation number op the one at hand. What it does depends on
// nothing but the seed, the worker, and what the model says.
func (w *worker) draw(op int) {
	w.op, w.by = op, fmt.Sprintf("w%d-%d", w.id, op)
	w.r = rand.New(rand.NewPCG(w.Seed, w.lot|uint64(w.id)<<32|uint64(op)))
}

// faults draws the script of an operation: mostly none.
func (w *worker) faults() []nemesis.Fault {
	if w.r.IntN(3) > 0 {
		return nil
	}
	// What is lost after the fact is the hardest to get right.
	all := append(nemesis.Faults(), nemesis.LostResponse, nemesis.LostResponse, nemesis.ErrorAfter)
	script := make([]nemesis.Fault, w.r.IntN(3)*w.r.IntN(2)) // requests that pass first
	switch n := w.r.IntN(100); {
	case n == 0: // more than anybody mends
		return slices.Repeat(all[w.r.IntN(len(all)):][:1], 40)
	case n < 15: // as many as the SDK gives up after, and nobody knows what has happened
		all = []nemesis.Fault{nemesis.LostResponse, nemesis.ErrorAfter, nemesis.Reset, nemesis.ErrorBefore}
		return []nemesis.Fault{all[w.r.IntN(4)], all[w.r.IntN(4)], all[w.r.IntN(4)]}
	}
	for range 1 + w.r.IntN(3)*w.r.IntN(2) {
		script = append(script, all[w.r.IntN(len(all))])
	}
	return script
}

// do executes an operation and checks it. One that failed, and surely did nothing, it
// repeats without faults.
func (w *worker) do(ctx context.Context, s operation) error {
	failure, err := w.invoke(ctx, s, w.faults())
	if failure == nil || err != nil || errors.Is(failure, table.ErrOutcomeUnknown) || w.r.IntN(2) == 0 {
		return err
	}
	if _, partial := errors.AsType[*table.Error](failure); partial {
		return nil
	}
	again, err := w.invoke(ctx, s, nil)
	if err == nil {
		w.check(report.Class, sameClass(s, failure, again))
	}
	return err
}

// sameClass checks that the class of a failure said what its repetition did.
func sameClass(s operation, failure, again error) error {
	switch class := table.Classify(failure); {
	case class == table.Permanent && again == nil:
		return fmt.Errorf("%s: %w is permanent, and was repeated with success", s.name, failure)
	case class == table.Transient && again != nil && len(s.want) == 0:
		return fmt.Errorf("%s: %w is transient, and was repeated with %w", s.name, failure, again)
	case class != table.Transient && !matches(failure, s.want):
		return fmt.Errorf("%s: %w is %v, after a fault that passes", s.name, failure, class)
	}
	return nil
}

// invoke runs an operation under faults and checks it. It returns the operation's error,
// and the error that ends the worker.
func (w *worker) invoke(ctx context.Context, s operation, script []nemesis.Fault) (failure, end error) {
	met, err := w.try(ctx, s.name, script, s.run)
	if ctx.Err() != nil {
		return err, ctx.Err()
	}
	if down := w.down.Load(); down && err != nil {
		if s.after != nil {
			w.pending = &pending{s, err}
		}
		return err, errDown
	}
	w.checkResponse(s, met, err)
	if s.after != nil {
		return err, w.checkState(ctx, s, err)
	}
	if err == nil && s.verify != nil {
		w.checkAll(s.about, wrap(s.name, s.verify()))
	}
	return err, nil
}

// checkResponse looks at whether the operation gave the response that the model
// says, as far as the faults allow.
func (w *worker) checkResponse(s operation, met []nemesis.Fault, err error) {
	unknown := errors.Is(err, table.ErrOutcomeUnknown)
	expected := len(s.want) == 0 && err == nil || matches(err, s.want) && !unknown
	var complaint error
	if !expected {
		complaint = fmt.Errorf("%s: %w, want %v, after %q", s.name, orNone(err), s.want, met)
	}
	// A refusal after an attempt without a response settles nothing.
	lost := unknown && (s.wary && nemesis.Unsettling(met) || len(s.want) > 0 && nemesis.Silencing(met))
	judged := true
	switch {
	case len(met) == 0:
		w.check(report.Explained, complaint)
	case nemesis.Passing(met) && !lost:
		w.check(report.Mended, complaint)
	default:
		judged = false
	}
	if judged {
		w.checkAll(s.about, complaint)
	}
	if s.after == nil {
		return
	}
	refusal := errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrConditionFailed)
	if !unknown && (err == nil || refusal) {
		w.check(report.Predicted, complaint)
	}
}

// matches reports whether err is one of several.
func matches(err error, any []error) bool {
	return slices.ContainsFunc(any, func(want error) bool { return errors.Is(err, want) })
}

func orNone(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// checkState looks at what a write has left behind, and makes the model agree.
func (w *worker) checkState(ctx context.Context, s operation, err error) error {
	ks := slices.Collect(maps.Keys(s.after))
	got, readErr := w.read(ctx, ks)
	if readErr != nil && w.down.Load() {
		w.pending = &pending{s, err}
		return errDown
	}
	if readErr != nil {
		return readErr
	}
	before := make(state, len(ks))
	for _, k := range ks {
		before[k] = w.model[k]
	}
	notDone, notAsGiven := differ(got, before), differ(got, s.after)
	switch batch, partial := errors.AsType[*table.Error](err); {
	case err == nil:
		w.check(report.Stored, wrap(s.name, notAsGiven))
		if slices.ContainsFunc(ks, foreign) {
			w.check(report.Foreign, wrap(s.name, notAsGiven))
		}
	case partial && s.each:
		w.check(report.Settled, wrap(s.name, settledEach(got, before, s.after, batch.Remaining)))
	case errors.Is(err, table.ErrOutcomeUnknown):
		if notAsGiven == nil {
			notDone = nil
		}
		w.check(report.Settled, wrap(s.name, notDone))
	default:
		w.check(report.Refused, wrap(fmt.Sprintf("%s (%v)", s.name, err), notDone))
	}
	if s.settled != nil {
		s.settled(notAsGiven == nil)
	}
	maps.Copy(w.model, got)
	return nil
}

// settledEach checks that each item is as before or after, and those that do not
// remain to be done as after.
func settledEach(got, before, after state, remaining []keys.Key) error {
	for k := range after {
		one := state{k: got[k]}
		undone := differ(one, state{k: before[k]})
		done := differ(one, state{k: after[k]})
		if done != nil && (undone != nil || !slices.Contains(remaining, k)) {
			return done
		}
	}
	return nil
}

func wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
