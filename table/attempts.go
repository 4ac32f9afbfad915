package table

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// attempts watches what becomes of the attempts that the SDK makes of one
// write. The SDK itself returns the error of the last attempt only, and with it
// alone nobody can tell whether an earlier one was carried out.
//
// It is used by one call at a time.
type attempts struct {
	// failed counts attempts that ended with an error.
	failed int
	// unsettled is set once an attempt ended without telling whether it was
	// carried out.
	unsettled bool
	// once forbids the SDK to repeat an attempt that may have been carried out.
	once bool
	// watching is set once the SDK's client has taken the option.
	watching bool
}

// unknown reports whether the write that ended with err may have been carried
// out.
func (a *attempts) unknown(err error) bool {
	if a.watching {
		return a.unsettled
	}
	return !settled(err)
}

// watch is an option for a call of the SDK.
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
	r.attempts.failed++
	if settled(err) {
		return r.RetryerV2.IsErrorRetryable(err)
	}
	r.attempts.unsettled = true
	// To the SDK an answer that breaks off in the middle is none to retry.
	return !r.attempts.once && (errors.Is(err, io.ErrUnexpectedEOF) || r.RetryerV2.IsErrorRetryable(err))
}

// plainRetryer makes a RetryerV2 of a Retryer as the SDK itself does.
type plainRetryer struct{ aws.Retryer }

func (r plainRetryer) GetAttemptToken(context.Context) (func(error) error, error) {
	return r.GetInitialToken(), nil
}

// settled reports whether err proves that the request changed nothing in the
// table.
func settled(err error) bool {
	var api smithy.APIError
	var response *smithyhttp.ResponseError
	var sent *smithyhttp.RequestSendError
	var unread *smithy.DeserializationError
	var connection *net.OpError
	switch {
	case errors.As(err, &api):
		// A refusal by DynamoDB settles it, a failure of DynamoDB does not. In
		// progress means that an earlier attempt is being carried out.
		if api.ErrorCode() == "TransactionInProgressException" {
			return false
		}
		if errors.As(err, &response) {
			return response.HTTPStatusCode() < 500
		}
		return api.ErrorFault() == smithy.FaultClient
	case errors.As(err, &connection) && connection.Op == "dial":
		return true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.As(err, &sent), errors.As(err, &response), errors.As(err, &unread):
		return false
	}
	// What is left comes from the SDK's own preparations if it is an error of
	// the SDK, and from an unknown client otherwise.
	var operation *smithy.OperationError
	return errors.As(err, &operation)
}

// Backoff between requests that were refused for passing reasons: full jitter
// over an exponentially growing span. AWS: "Exponential Backoff And Jitter",
// AWS Architecture Blog.
const (
	firstDelay = 25 * time.Millisecond
	maxDelay   = 1 * time.Second
)

// wait sleeps before the next attempt, after attempt failed ones.
func wait(ctx context.Context, attempt int) error {
	span := min(firstDelay<<min(attempt-1, 10), maxDelay)
	timer := time.NewTimer(rand.N(span) + 1)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
