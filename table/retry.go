package table

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/singletable/singletable/keys"
)

// Retry runs do, and runs it again when it fails with [ErrConflict], which
// [ErrStale] matches: do reads what it needs, decides, and writes. All calls
// that do makes with the context it is given share one budget, so that their
// retries do not multiply:
//
//   - Options.MaxAttempts failures in a row (10) that nobody gained from. A
//     stale write is no such failure if it expected another version than the
//     stale write before it, since another writer made progress.
//   - 8 times as many failures in all (80).
//   - Options.MaxElapsed (30 s), after which no retry begins.
//
// Retries wait for random, growing times of at most a second. Within do, Retry
// adds no budget of its own. It returns the last error when the budget is
// spent, and every other error of do at once, also [ErrOutcomeUnknown], since do could
// take effect twice. If the context ends during a wait, the error matches the context's
// too. do must not keep its context.
//
// A nil do is [ErrInvalid].
func (t *Table) Retry(ctx context.Context, do func(context.Context) error) error {
	if do == nil {
		return &Error{Op: "Retry", Table: t.schema.Name, Err: fmt.Errorf("%w: the function is nil", errInvalidOp)}
	}
	b := t.budget(ctx)
	ctx = context.WithValue(ctx, budgetKey{}, b)
	var last *staleError
	for runs := 1; ; runs++ {
		before := b.failures()
		err := do(ctx)
		//mutants:guard a call with an unknown outcome is not repeated | TestRetry | || errors.Is(err, ErrOutcomeUnknown) =>
		if !errors.Is(err, ErrConflict) || errors.Is(err, ErrOutcomeUnknown) {
			return err
		}
		stale, ok := errors.AsType[*staleError](err)
		progress := ok && last != nil && *stale != *last
		last = stale
		if b.failures() == before || progress {
			b.fail(progress)
		}
		if !b.left() {
			return &spentError{runs, err}
		}
		if ended := b.wait(ctx); ended != nil {
			return &spentError{runs, join(err, ended)}
		}
	}
}

// staleError is an [ErrStale] that says which item was expected at which version
// or revision.
type staleError struct {
	key      keys.Key
	version  hasVersion
	revision hasRevision
}

func (e *staleError) Error() string { return ErrStale.Error() }

func (e *staleError) Unwrap() error { return ErrStale }

// budget bounds the retries of one call. It is safe for concurrent use.
type budget struct {
	mu    sync.Mutex
	most  int       // failures in a row without progress
	until time.Time // no retry begins after it
	// failed counts all failures, barren those since the last progress.
	failed, barren int
}

type budgetKey struct{}

func (b *budget) start(o Options) {
	b.most, b.until = o.MaxAttempts, time.Now().Add(o.MaxElapsed)
}

// budget returns that of the enclosing [Table.Retry], or starts a new one.
func (t *Table) budget(ctx context.Context) *budget {
	b, ok := ctx.Value(budgetKey{}).(*budget)
	if !ok {
		b = &budget{}
		b.start(t.options)
	}
	return b
}

// fail counts a failure and reports whether a retry may follow. With progress,
// something was gained all the same: part of a batch, or another writer's write.
func (b *budget) fail(progress bool) bool {
	b.mu.Lock()
	b.failed++
	b.barren++
	if progress {
		b.barren = 0
	}
	b.mu.Unlock()
	return b.left()
}

// left reports whether a retry may follow.
func (b *budget) left() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	//mutants:guard retries are bounded | TestBudget | b.barren < b.most && b.failed < maxPartial*b.most && =>
	return b.barren < b.most && b.failed < maxPartial*b.most && b.inTime()
}

// inTime reports whether a retry may begin now.
func (b *budget) inTime() bool { return time.Now().Before(b.until) }

func (b *budget) failures() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// maxPartial is how many times MaxAttempts there may be failures in all.
const maxPartial = 8

// Backoff before retries: full jitter over an exponentially growing span. AWS:
// "Exponential Backoff And Jitter", AWS Architecture Blog.
const (
	firstDelay = 25 * time.Millisecond
	maxDelay   = 1 * time.Second
)

// wait waits before the next retry. It returns an error if the context or the time ends.
func (b *budget) wait(ctx context.Context) error {
	span := min(firstDelay<<min(max(b.failures()-1, 0), 10), maxDelay)
	return b.pause(ctx, rand.N(span)+1)
}

// errLate means that the time ends before the next retry would begin.
var errLate = errors.New("no time is left for a retry")

// pause waits for a delay. It returns an error if the context ends, or at once if the time ends
// before the delay does.
func (b *budget) pause(ctx context.Context, delay time.Duration) error {
	if delay >= time.Until(b.until) {
		return errLate
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ended(ctx)
	case <-timer.C:
	}
	if !b.inTime() { // the wait took longer, as on a busy machine
		return errLate
	}
	return nil
}

// ended returns nil while the context lives, then its error and its cause.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return join(ctx.Err(), context.Cause(ctx))
}
