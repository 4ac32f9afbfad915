package table

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/response"
)

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

// watch sets the retryer of a call of the SDK's client.
func (a *attempts) watch(o *dynamodb.Options) {
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
