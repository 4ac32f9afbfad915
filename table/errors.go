package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/internal/response"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
)

// The kinds of failure. Test for them with [errors.Is]; the typed errors
// [*Error] and [*TxError] carry the details, and the SDK's own error is reachable
// with [errors.As]. An operation that an engine for tests does not have is
// [schema.ErrUnsupported].
var (
	// ErrNotFound means that the item under the key is missing or expired.
	ErrNotFound = errors.New("item not found")
	// ErrWrongType means that the item under the key is not of the requested type.
	ErrWrongType = errors.New("item is of another type")
	// ErrExists means that a Create or CheckMissing found a live item under its key. Nothing
	// was written.
	ErrExists = errors.New("item exists already")
	// ErrConditionFailed means that the condition of a write did not hold.
	// Nothing was written.
	ErrConditionFailed = errors.New("condition failed")
	// ErrConflict means that another write was faster: a transaction on the
	// same item, or, as ErrStale, a newer version of it. Nothing was written;
	// read again and try again, for example with [Table.Retry].
	ErrConflict = errors.New("conflict with another write")
	// ErrStale means that an item is at another version than a write expected:
	// see [Op.IfVersion]. It matches ErrConflict too, but does not pass as other
	// conflicts do: the same write never succeeds, and a new one must be made
	// from what is stored now.
	ErrStale error = staleSentinel{}
	// ErrThrottled means that DynamoDB refused for lack of capacity, retries
	// included. Nothing was written by the refused request. AWS: "Error handling with
	// DynamoDB", Amazon DynamoDB Developer Guide.
	ErrThrottled = errors.New("throttled")
	// ErrTooLarge means that an item, a transaction or the number of its operations
	// is over a DynamoDB limit. Nothing was written. It is found before anything is
	// sent, unless an update makes a stored item too large. In most Regions a single update
	// can write some 20 bytes for each clause less: DynamoDB charges it for its expression.
	// Seen: paritysuite/dynamodb-conformance, limits/itemSizeBySurface.test.ts.
	ErrTooLarge = errors.New("over a size limit")
	// ErrOutcomeUnknown means that a write may or may not take effect: an attempt
	// got no response, and may still be in flight. Read to find out, or repeat the
	// write if it is idempotent.
	ErrOutcomeUnknown = errors.New("outcome of the write is unknown")
	// ErrNewerShape means that a newer program has written the item, in a shape that
	// does not admit this one: see package repo. Nothing was written.
	ErrNewerShape = errors.New("item has a newer shape than this program may touch")
	// ErrLimit means that the number of a counter would pass its Min or Max: see Counter of
	// package repo. Nothing was written. [FailedOp] finds it by the name of the counter, after
	// the type of the entity: "TICKET seats". It is reported only if nothing else failed.
	ErrLimit = errors.New("over the limit of a counter")
	// ErrUncounted means that the item in which a counter counts is missing or expired, or of
	// another type than the counter's Owner, or that its attribute has no number: then the error
	// says how to repair it. Nothing was written. It is reported only if nothing else failed.
	ErrUncounted = errors.New("the item that counts is missing, or cannot count")
	// ErrInvalid means that an argument is invalid: a key, a query, a write, a
	// cursor, a schema, the description of an entity or an index. Every such error
	// of the module matches it. Nothing was written, and nothing sent but reads: Save and
	// Update of package repo read before they know what they write.
	ErrInvalid = keys.ErrInvalid
)

// staleSentinel says once what it is, and not that it is a conflict too.
type staleSentinel struct{}

func (staleSentinel) Error() string { return "stale version" }

func (staleSentinel) Unwrap() error { return ErrConflict }

// The kinds of invalid input.
var (
	errInvalidQuery = fmt.Errorf("%w query", ErrInvalid)
	errInvalidOp    = fmt.Errorf("%w operation", ErrInvalid)
)

// Error is what the functions of this package return when they fail: which
// operation on which table, and why. Err holds one of the sentinels above where
// one fits, and the SDK's error where there is one.
//
// If a call of several operations fails for some of them, further Errors inside say for
// which ones. They have an OpNumber, and no table. [FailedOp] finds them.
type Error struct {
	// Op is the operation: Get, QueryPage, Create, Transact, …
	Op string
	// OpNumber is its place among the operations of the call, from 1; 0 if it runs alone.
	OpNumber int
	// Name is the name given to the write with [Op.WithName]; often empty.
	Name string
	// Table and Index are where it happened; Index is empty for the table.
	Table, Index string
	// Key is the item's key in the table, where the error is about one item: also
	// of an item that a query has found and that cannot be decoded. A query
	// that fails as a whole has its partition key here. Keys are not part of the
	// message, since they hold personal data.
	Key keys.Key
	// IndexKey is the key in Index of the item that a query has found, or the
	// partition key of a query of an index; zero without an index.
	IndexKey keys.Key
	// Stored is the item that made a condition fail, where the engine returned it and
	// no middleware may have to decrypt it: see "Values" in the package documentation.
	Stored Item
	// Remaining are the keys of a batch that were not read, or are not known to have
	// been written. It is safe to give them to the same call again.
	Remaining []keys.Key
	// Err is the cause; never nil. If DynamoDB kept leaving parts of a batch out, it is
	// [ErrThrottled].
	Err error
}

// Error describes the failure in one line, without key values.
func (e *Error) Error() string {
	if e == nil {
		return "no error"
	}
	var b strings.Builder
	name := ""
	if e.Name != "" {
		name = fmt.Sprintf(" %q", e.Name)
	}
	if e.OpNumber > 0 {
		fmt.Fprintf(&b, "op %d (%s%s)", e.OpNumber, e.Op, name)
	} else {
		fmt.Fprintf(&b, "singletable: %s%s", e.Op, name)
	}
	if e.Table != "" {
		b.WriteString(" on table " + e.Table)
	}
	if e.Index != "" {
		b.WriteString(", index " + e.Index)
	}
	if len(e.Remaining) > 0 {
		fmt.Fprintf(&b, ": %d keys remain", len(e.Remaining))
	}
	// The SDK joins some errors line by line.
	b.WriteString(": " + strings.ReplaceAll(e.Err.Error(), "\n", "; "))
	return b.String()
}

// Unwrap returns the cause.
// Unwrap returns the cause; nil for a nil error, as FailedOp returns it, so that errors.Is takes it.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// joinedError is several errors in one line.
type joinedError struct{ errs []error }

// join returns the errors as one, without those that say nothing new. It is nil
// if all of them are.
func join(errs ...error) error {
	var j joinedError
	for _, err := range errs {
		known := func(have error) bool { return errors.Is(have, err) || have.Error() == err.Error() }
		if err != nil && !slices.ContainsFunc(j.errs, known) {
			j.errs = append(j.errs, err)
		}
	}
	switch len(j.errs) {
	case 0:
		return nil
	case 1:
		return j.errs[0]
	}
	return &j
}

func (e *joinedError) Error() string {
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e *joinedError) Unwrap() []error { return e.errs }

// explain puts the sentinel that fits before an error of the SDK.
func explain(err error) error {
	// These know better: what the SDK's error alone means, such as that nothing
	// was written, may not be true.
	if errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrExists) {
		return err
	}
	api, status := response.Of(err)
	var kind error
	switch {
	case api != nil && outgrown(api.ErrorCode(), api.ErrorMessage()), status == response.StatusTooLarge:
		kind = ErrTooLarge
	case api != nil:
		kind = kindOf(api.ErrorCode())
	}
	if kind == nil && status == response.StatusTooManyRequests {
		kind = ErrThrottled
	}
	if kind != nil && !errors.Is(err, kind) {
		return fmt.Errorf("%w: %w", kind, err)
	}
	return err
}

// kindOf returns the sentinel for an error code of DynamoDB or the code of a
// cancellation reason, nil if the code has no sentinel. The codes with the
// ending "Exception" are those of whole requests.
func kindOf(code string) error {
	if response.Throttled(code) {
		return ErrThrottled
	}
	switch strings.TrimSuffix(code, "Exception") {
	case "ConditionalCheckFailed":
		return ErrConditionFailed
	case "TransactionConflict", "ReplicatedWriteConflict":
		return ErrConflict
	case "ItemCollectionSizeLimitExceeded":
		return ErrTooLarge
	case "UnknownOperation":
		return schema.ErrUnsupported
	}
	return nil
}

// unexplainedError is a failed condition of several possible reasons, after which the
// item could not be read. It has the class of the read: nobody knows more.
type unexplainedError struct{ cause, read error }

func (e *unexplainedError) Error() string {
	return fmt.Sprintf("%v, and the item that tells why cannot be read: %v", ErrConditionFailed, e.read)
}

func (e *unexplainedError) Unwrap() []error { return []error{ErrConditionFailed, e.cause, e.read} }

// withheld replaces the text of an error, which may quote values or says nothing more.
// The error itself is reachable with errors.As.
type withheld struct {
	text string
	err  error
}

func (e *withheld) Error() string { return e.text }

func (e *withheld) Unwrap() error { return e.err }

// withholdResponse removes what an error of the client quotes of a response that
// cannot be read. It keeps the text of network errors.
func withholdResponse(err error) error {
	if err == nil {
		return nil
	}
	var unread *smithy.DeserializationError
	var network net.Error
	switch {
	case !errors.As(err, &unread) || unread.Err == nil:
		return err
	case errors.Is(unread.Err, io.ErrUnexpectedEOF), errors.Is(unread.Err, response.ErrSize), errors.Is(unread.Err, response.ErrDamaged), errors.As(unread.Err, &network),
		errors.Is(unread.Err, context.Canceled), errors.Is(unread.Err, context.DeadlineExceeded):
		return err
	}
	const instead = "the response cannot be read"
	before, after, found := strings.Cut(err.Error(), unread.Err.Error())
	if !found {
		return &withheld{instead, err}
	}
	return &withheld{before + instead + after, err}
}

// spentError is the error of the last run of [Table.Retry]. The same call may
// succeed later, whatever that run failed with.
type spentError struct {
	runs int
	err  error
}

func (e *spentError) Error() string { return fmt.Sprintf("%v (gave up after %d runs)", e.err, e.runs) }

func (e *spentError) Unwrap() error { return e.err }

func invalid(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", errInvalidQuery, field, fmt.Errorf(format, args...))
}

// reasonNone is the code of a cancellation reason that is no failure of an operation by
// itself. AWS: TransactWriteItems, Amazon DynamoDB API Reference.
const reasonNone = "None"

// passing reports whether a cancelled transaction may succeed as it is: all its
// reasons are conflicts and lack of capacity.
func passing(cancelled *types.TransactionCanceledException) bool {
	found := false
	for _, r := range cancelled.CancellationReasons {
		code := aws.ToString(r.Code)
		if code == "" || code == reasonNone {
			continue
		}
		//mutants:guard a throttled transaction is repeated | TestCancelledTransactions | , ErrThrottled =>
		if !slices.Contains([]error{ErrConflict, ErrThrottled}, kindOf(code)) {
			return false
		}
		found = true
	}
	return found
}

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
	ErrInvalid, ErrLimit, ErrUncounted,
}

// Classify says what the same call, made again with the same arguments, can do
// about the error that it returned:
//
//   - [Transient]: [ErrOutcomeUnknown], [ErrNewerShape], which a newer program can
//     make good, the end of the context, [ErrThrottled],
//     [ErrConflict], every 5xx, 408 and 429, a response that cannot be read,
//     such as a proxy's, a broken connection, and an index that is still being filled.
//   - [Permanent]: a refusal that the arguments or the stored item cause, such as
//     [ErrNotFound], [ErrExists], [ErrConditionFailed], [ErrLimit], [ErrTooLarge] and
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

// outgrown reports whether an error, or a reason of a cancelled transaction, means
// that an update makes a stored item too large. DynamoDB has no code for that. Seen:
// paritysuite/dynamodb-conformance, limits/itemSizeBySurface.test.ts.
func outgrown(code, message string) bool {
	return isValidation(code) && strings.Contains(message, "Item size") && strings.Contains(message, "exceeded the maximum allowed size")
}

// unfit reports whether an error, or such a reason, means that an update does not fit the
// stored item. There is no code for that, either.
func unfit(code, message string) bool {
	return isValidation(code) && slices.ContainsFunc(unfitting, func(part string) bool { return strings.Contains(message, part) })
}

// unfitting are parts of DynamoDB's messages, as public runs on AWS show them. AWS:
// TransactWriteItems, Amazon DynamoDB API Reference.
var unfitting = []string{
	"document path provided in the update expression is invalid",
	"operand in the update expression has an incorrect data type",
	"refers to an attribute that does not exist in the item",
	"Type mismatch for attribute to update",
	"attempted to update the secondary index key",
	"attempted to update a secondary index key",
	"Nesting Levels have exceeded supported limits",
	"Number overflow",
	"Number underflow",
	"more than 38 significant digits",
}

func isValidation(code string) bool {
	return code == "ValidationException" || code == "ValidationError"
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
