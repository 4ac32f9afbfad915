package table

import (
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/response"
)

// Class says what a caller that can try again later, such as a queue consumer,
// should do with an error.
type Class int

const (
	// Unclassified errors are not about the call: the same call may succeed once
	// an operator has changed the deployment. Keep the message at hand, retry it
	// as after a transient error, and raise an alarm.
	Unclassified Class = iota
	// Transient errors can go away: the same call may succeed later.
	Transient
	// Permanent errors stay: the same call will fail again.
	Permanent
)

// String returns the name of the class in lower case.
func (c Class) String() string {
	switch c {
	case Transient:
		return "transient"
	case Permanent:
		return "permanent"
	}
	return "unclassified"
}

var permanent = []error{
	ErrNotFound, ErrWrongType, ErrExists, ErrConditionFailed, ErrStale, ErrTooLarge,
	ErrInvalid,
}

// Classify says what the same call, made again with the same arguments, can do
// about the error that it returned:
//
//   - [Transient]: [ErrOutcomeUnknown], [ErrNewerShape], which a newer program can
//     make good, the end of the context, [ErrThrottled],
//     [ErrConflict], every 5xx, 408 and 429, a response that cannot be read,
//     such as a proxy's, a broken connection, and an index that is still being filled.
//   - [Permanent]: a refusal that the arguments or the stored item cause, such as
//     [ErrNotFound], [ErrExists], [ErrConditionFailed], [ErrTooLarge] and
//     everything that is invalid; and an update that the stored item has no place
//     for, or whose sum is no number. It outweighs other causes of the same error:
//     a transaction with a failed condition and a conflict is permanent. So is
//     [ErrStale], unless [Table.Retry] or a function that reads first, such as
//     Update of package repo, has returned it.
//   - [Unclassified]: what neither causes. Missing permissions and tables are of
//     this class, and so is the ValidationException: values that DynamoDB never
//     takes are refused before they are sent, so it is usually a table with
//     other keys, and no reason to drop a message.
//
// Nil and errors of other packages are Unclassified.
func Classify(err error) Class {
	if err == nil {
		return Unclassified
	}
	if unexplained, ok := errors.AsType[*unexplainedError](err); ok {
		return Classify(unexplained.read)
	}
	err = explain(err) // it may be the SDK's own, as that of an Event is
	is := func(target error) bool { return errors.Is(err, target) }
	api, _ := response.Of(err)
	cancelled, _ := errors.AsType[*types.TransactionCanceledException](err)
	switch {
	case is(ErrOutcomeUnknown), is(ErrNewerShape), errors.As(err, new(*spentError)):
		return Transient
	case slices.ContainsFunc(permanent, is), cancelled != nil && hasLasting(cancelled), api != nil && lasting(api.ErrorCode(), api.ErrorMessage()):
		return Permanent
	case is(ErrConflict), is(ErrThrottled), cancelled != nil && passing(cancelled), response.Passes(err), api != nil && unready(api.ErrorCode(), api.ErrorMessage()):
		return Transient
	}
	return Unclassified
}

// lasting reports whether a code of an error, or of a reason of a cancelled transaction,
// says that the same request will fail again.
func lasting(code, message string) bool {
	return slices.Contains(permanent, kindOf(code)) || outgrown(code, message) || unfit(code, message)
}

// unready reports whether an error means that an index is still being filled.
func unready(code, message string) bool {
	return isValidation(code) && strings.Contains(message, "backfilling")
}

// hasLasting reports whether one of the reasons does.
func hasLasting(cancelled *types.TransactionCanceledException) bool {
	return slices.ContainsFunc(cancelled.CancellationReasons, func(r types.CancellationReason) bool {
		return lasting(aws.ToString(r.Code), aws.ToString(r.Message))
	})
}
