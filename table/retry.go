package table

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/response"
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

// Expected returns what tells two such errors apart. Package idempotency finds it by its method.
func (e *staleError) Expected() any { return *e }

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

// attempts watches the attempts that the SDK makes for one request, and bounds
// them by a budget. The SDK itself returns the error of the last attempt only,
// which does not tell whether an earlier one took effect.
//
// It is used by one call at a time.
type attempts struct {
	*budget
	// own is the budget of a request that shares none.
	own budget
	// observe, if set, is told the error of each attempt.
	observe func(error)
	// errors counts attempts that ended with an error.
	errors int32
	// unsettled is set once an attempt ended without telling whether it took
	// effect, and silent once DynamoDB itself has not responded to one, so that
	// it may still be in flight.
	unsettled, silent bool
	// once forbids the SDK to repeat an attempt that may have taken effect.
	once bool
	// watching is set once the SDK's client has taken the option.
	watching bool
}

func (t *Table) attempts(ctx context.Context) *attempts {
	a := &attempts{}
	if shared, ok := ctx.Value(budgetKey{}).(*budget); ok {
		a.budget = shared
	} else {
		a.own.start(t.options)
		a.budget = &a.own
	}
	return a
}

// outcome marks an error after which nobody knows what happened.
func (a *attempts) outcome(err error) error {
	if a.unsettled || !a.watching && !settled(err) {
		//mutants:guard a lost response makes the outcome unknown | TestOutcomeOfAResponse | "%w: %w", ErrOutcomeUnknown, => "%w",
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return err
}

// listen sets the retryer of a call of the SDK's client.
func (a *attempts) listen(o *dynamodb.Options) {
	if o.Retryer == nil {
		return // not the SDK's client
	}
	v2, ok := o.Retryer.(aws.RetryerV2)
	if !ok {
		v2 = plainRetryer{o.Retryer}
	}
	a.watching = true
	o.Retryer = &watchedRetryer{RetryerV2: v2, attempts: a}
}

// watchedRetryer is the client's own retryer, listened to.
type watchedRetryer struct {
	aws.RetryerV2
	attempts *attempts
}

// IsErrorRetryable is asked by the SDK after each failed attempt.
func (r *watchedRetryer) IsErrorRetryable(err error) bool {
	a := r.attempts
	a.errors++
	if a.observe != nil {
		a.observe(err)
	}
	if !settled(err) {
		//mutants:guard an attempt with a lost response settles nothing | TestRepo/revision/Update,_Update$ ./suites/schedules
		a.unsettled = true
		a.silent = a.silent || !responded(err)
		if a.once {
			return false
		}
	}
	if isInProgress(err) {
		return false // Table.transact has delays of its own
	}
	// The SDK does not repeat requests whose response cannot be read.
	return (r.RetryerV2.IsErrorRetryable(err) || response.Garbled(err)) && a.fail(false) &&
		time.Until(a.until) > response.RetryAfter(err)
}

// GetRetryToken is the client's. Its error has the numbers of the SDK's tokens only.
func (r *watchedRetryer) GetRetryToken(ctx context.Context, cause error) (func(error) error, error) {
	release, err := r.RetryerV2.GetRetryToken(ctx, cause)
	if errors.As(err, new(ratelimit.QuotaExceededError)) {
		err = &withheld{fmt.Sprintf("no retry after attempt %d, since failures have used up the retries of the client", r.attempts.errors), err}
	}
	return release, err
}

// RetryDelay is the client's, within the budget's time. The SDK adds to it what the
// response asks for.
func (r *watchedRetryer) RetryDelay(attempt int, cause error) (time.Duration, error) {
	delay, err := r.RetryerV2.RetryDelay(attempt, cause)
	// At the very end of the time, and after it, no retry begins.
	left := time.Until(r.attempts.until) - response.RetryAfter(cause) - time.Millisecond
	return max(min(delay, left), 0), err
}

// plainRetryer makes a RetryerV2 of a Retryer as the SDK itself does.
type plainRetryer struct{ aws.Retryer }

func (r plainRetryer) GetAttemptToken(context.Context) (func(error) error, error) {
	return r.GetInitialToken(), nil
}

// settled reports whether err proves that the request changed nothing in the
// table.
func settled(err error) bool {
	var connection *net.OpError
	var operation *smithy.OperationError
	api, status := response.Of(err)
	switch {
	case isInProgress(err):
		//mutants:guard a transaction in progress settles nothing | TestTransactionInProgress | false => true
		return false // an earlier attempt may still take effect
	case errors.Is(err, response.ErrDamaged):
		//mutants:guard a response with a wrong checksum settles nothing | TestDamagedWrites | false => true
		return false // it may have said that
	case status != 0:
		// A refusal settles it, a failure and an unreadable success do not. Nor
		// does the timeout of a proxy.
		//mutants:guard a status of 500 settles nothing | TestRepo/revision/Update,_Update$ ./suites/schedules | status < 500 => status <= 500
		return status >= 300 && status < 500 && status != response.StatusRequestTimeout
	case api != nil:
		return api.ErrorFault() == smithy.FaultClient
	case errors.As(err, &connection) && connection.Op == "dial":
		return true
	case errors.As(err, &operation) && operation.Service() != dynamodb.ServiceID:
		return true // no credentials, for example
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.As(err, new(*smithyhttp.RequestSendError)), errors.As(err, new(*smithy.DeserializationError)):
		return false
	}
	// What is left comes from the SDK's own preparations if it is an error of
	// the SDK, and from an unknown client otherwise.
	return operation != nil
}

// isInProgress reports whether DynamoDB still works on the transaction.
func isInProgress(err error) bool {
	api, _ := response.Of(err)
	return api != nil && api.ErrorCode() == response.CodeInProgress
}

// responded reports whether err is DynamoDB's own response.
func responded(err error) bool {
	api, _ := response.Of(err)
	return api != nil
}

// recovery paces the attempts of a transaction that DynamoDB says is in progress. The
// zero value is that of a transaction of which it has not said so.
//
// An attempt that begins 5 seconds or more after the first one makes DynamoDB finish the
// transaction. The first response that says so comes after the first attempt, so the
// time counts from there. AWS: TransactionInProgressException, TransactWriteItems, Amazon
// DynamoDB API Reference.
type recovery struct {
	first time.Time // response
	// delay is the greatest one before the next attempt.
	delay time.Duration
	// late means that the attempt before began late enough.
	late bool
}

const (
	recoveryTime       = 5 * time.Second
	firstRecoveryDelay = 500 * time.Millisecond
)

// again reports whether the transaction is to be sent again: until an attempt began
// late enough, within the time of the budget.
func (r *recovery) again(b *budget) bool { return !r.late && b.inTime() }

// wait waits before the next attempt, twice as long each time. It returns an error if
// the context or the time ends.
func (r *recovery) wait(ctx context.Context, b *budget) error {
	if r.first.IsZero() {
		r.first, r.delay = time.Now(), firstRecoveryDelay
	}
	delay := r.delay - rand.N(r.delay/2)
	if left := recoveryTime - time.Since(r.first); delay >= left {
		delay, r.late = max(left, 0)+rand.N(firstRecoveryDelay)+1, true
	}
	r.delay *= 2
	return b.pause(ctx, delay)
}
