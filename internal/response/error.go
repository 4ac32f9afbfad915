package response

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Of returns the error that DynamoDB responded with, nil if it cannot be read, and the
// HTTP status of the response, 0 without one.
func Of(err error) (api smithy.APIError, status int) {
	if errors.As(err, &api) && api.ErrorCode() == codeUnreadable {
		api = nil
	}
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = r.HTTPStatusCode()
	}
	return api, status
}

// codeUnreadable is what the SDK calls an error without a code.
const codeUnreadable = "UnknownError"

// HTTP status codes, also of proxies.
const (
	StatusRequestTimeout  = 408
	StatusTooLarge        = 413
	StatusTooManyRequests = 429
)

// CodeInProgress is the code of a refusal while DynamoDB still works on the same
// transaction.
const CodeInProgress = "TransactionInProgressException"

// Garbled reports whether there was a response that cannot be read, as those of
// proxies, or one that ended early.
func Garbled(err error) bool {
	api, status := Of(err)
	return api == nil && (status != 0 || errors.As(err, new(*smithy.DeserializationError)))
}

// Passes reports whether the same request can succeed later: after the end of a context,
// a 5xx, 408 or 429, a response that cannot be read, or a broken connection. A change of
// the table in progress passes, too.
func Passes(err error) bool {
	api, status := Of(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return true
	case Garbled(err), errors.As(err, new(*smithyhttp.RequestSendError)):
		return true
	case status >= 500, status == StatusRequestTimeout, status == StatusTooManyRequests:
		return true
	case api == nil:
		return false
	}
	return api.ErrorFault() == smithy.FaultServer || Throttled(api.ErrorCode()) || slices.Contains(passing, api.ErrorCode())
}

// RetryAfter returns the least delay before a retry that the response asks for, as far as
// the SDK waits for it: 5 seconds more than it would without. It is 0 for most responses.
func RetryAfter(err error) time.Duration {
	r, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || r.Response == nil || r.Response.Response == nil {
		return 0
	}
	ms, err := strconv.ParseInt(r.Response.Header.Get("X-Amz-Retry-After"), 10, 64)
	if err != nil || ms < 0 {
		return 0
	}
	const most = 5 * time.Second
	return time.Duration(min(ms, most.Milliseconds())) * time.Millisecond
}

// Throttled reports whether the code of an error, or of a reason why a transaction was
// cancelled, says that capacity is missing. The codes of whole requests end in
// "Exception".
func Throttled(code string) bool {
	switch strings.TrimSuffix(code, "Exception") {
	case "ProvisionedThroughputExceeded", "Throttling", "ThrottlingError", "RequestLimitExceeded", "TooManyRequests":
		return true
	}
	return false
}

// passing are the codes of refusals that pass: a transaction or a change of the table in
// progress, credentials that the SDK renews, a clock that it corrects,
// and the API's own words for a failure.
var passing = []string{
	CodeInProgress, "LimitExceededException", "ResourceInUseException", "TableInUseException",
	"ExpiredTokenException", "ExpiredToken", "RequestExpired", "RequestTimeTooSkewed",
	"InternalServerError", "InternalFailure", "ServiceUnavailable", "RequestTimeout", "RequestTimeoutException",
}
