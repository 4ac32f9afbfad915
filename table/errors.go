package table

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
)

// The kinds of failure. Test for them with [errors.Is]; the typed errors
// [*Error], [*OpError], [*TxError], [*BatchError] and [*SchemaError] carry the
// details, and the SDK's own error is reachable with [errors.As].
var (
	// ErrNotFound means that there is no item under the key, or an expired one.
	ErrNotFound = errors.New("item not found")
	// ErrWrongType means that the item under the key is of another type than
	// the one asked for.
	ErrWrongType = errors.New("item is of another type")
	// ErrExists means that a Create found a live item under its key. Nothing
	// was written.
	ErrExists = errors.New("item exists already")
	// ErrConditionFailed means that the condition of a write did not hold.
	// Nothing was written.
	ErrConditionFailed = errors.New("condition failed")
	// ErrConflict means that another write was faster: a transaction on the
	// same item, or, as ErrStale, a newer version of it. Nothing was written;
	// read again and try again.
	ErrConflict = errors.New("conflict with another write")
	// ErrStale means that an item is at another version than a write expected:
	// see [Op.AtVersion]. It matches ErrConflict too, but does not pass as other
	// conflicts do: the write must be made anew from what is stored now.
	ErrStale = fmt.Errorf("stale version: %w", ErrConflict)
	// ErrThrottled means that DynamoDB refused for lack of capacity, retries
	// included. Nothing was written by the refused request.
	ErrThrottled = errors.New("throttled")
	// ErrTooLarge means that an item, a transaction or the number of its
	// operations is over a DynamoDB limit. Nothing was sent.
	ErrTooLarge = errors.New("over a size limit")
	// ErrOutcomeUnknown means that a write may or may not have been carried
	// out: its answer never came. Read to find out, or repeat the write if
	// doing it twice does no harm.
	ErrOutcomeUnknown = errors.New("outcome of the write is unknown")
	// ErrInvalidQuery means that a query cannot be right as it stands. Nothing
	// was sent.
	ErrInvalidQuery = errors.New("invalid query")
	// ErrInvalidOp means that a write cannot be right as it stands. Nothing was
	// sent.
	ErrInvalidOp = errors.New("invalid operation")
	// ErrInvalidSchema means that a schema or the options of a table cannot be
	// right as they stand.
	ErrInvalidSchema = errors.New("invalid schema")
	// ErrSchemaMismatch means that the live table is not as the schema says.
	ErrSchemaMismatch = errors.New("table differs from its schema")
)

var errNoClient = fmt.Errorf("%w: the client is nil", ErrInvalidSchema)

// Error is what the functions of this package return when they fail: which
// operation on which table, and why. Err holds one of the sentinels above where
// one fits, and the SDK's error where there is one.
type Error struct {
	// Op is the operation: Get, QueryPage, Create, Transact, …
	Op string
	// Name is the name given to the write with [Op.Named]; often empty.
	Name string
	// Table and Index are where it happened; Index is empty for the table.
	Table, Index string
	// Key is the item's key, where the operation is about one item. It is not
	// part of the message, since keys hold personal data.
	Key keys.Key
	// Err is the cause; never nil.
	Err error
}

// Error describes the failure in one line, without key values.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("singletable: " + e.Op)
	if e.Name != "" {
		fmt.Fprintf(&b, " %q", e.Name)
	}
	b.WriteString(" on table " + e.Table)
	if e.Index != "" {
		b.WriteString(", index " + e.Index)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// SchemaError lists what is wrong with a schema, or where a live table differs
// from it.
type SchemaError struct {
	Table    string
	Problems []string
	// Err is [ErrInvalidSchema] or [ErrSchemaMismatch], with the SDK's error if
	// there is one.
	Err error
}

func schemaError(table string, err error, problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return &SchemaError{Table: table, Problems: problems, Err: err}
}

// Error lists all problems in one line.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("singletable: table %s: %v: %s", e.Table, e.Err, strings.Join(e.Problems, "; "))
}

// Unwrap returns Err.
func (e *SchemaError) Unwrap() error { return e.Err }

// explain puts the sentinel that fits before an error of the SDK.
func explain(err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err
	}
	// These know better: what the SDK's error alone means, such as that nothing
	// was written, may not be true.
	if errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrExists) {
		return err
	}
	if kind := kindOf(api.ErrorCode()); kind != nil && !errors.Is(err, kind) {
		return fmt.Errorf("%w: %w", kind, err)
	}
	return err
}

// kindOf returns the sentinel for an error code of DynamoDB or the code of a
// cancellation reason, nil if there is none. The codes with the ending
// "Exception" are those of whole requests.
func kindOf(code string) error {
	switch strings.TrimSuffix(code, "Exception") {
	case "ConditionalCheckFailed":
		return ErrConditionFailed
	case "TransactionConflict", "ReplicatedWriteConflict":
		return ErrConflict
	case "ProvisionedThroughputExceeded", "Throttling", "ThrottlingError", "RequestLimitExceeded":
		return ErrThrottled
	case "ItemCollectionSizeLimitExceeded":
		return ErrTooLarge
	}
	return nil
}

// Class says what a caller that can try again later, such as a queue consumer,
// should do with an error.
type Class int

const (
	// Unclassified errors may or may not go away: treat them as transient.
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

var (
	transient = []error{ErrConflict, ErrThrottled, ErrOutcomeUnknown, context.DeadlineExceeded, context.Canceled}
	permanent = []error{
		ErrNotFound, ErrWrongType, ErrExists, ErrConditionFailed, ErrTooLarge,
		ErrInvalidQuery, ErrInvalidOp, ErrInvalidSchema, keys.ErrInvalid, paginate.ErrInvalidCursor,
	}
)

// Classify tells whether the call that returned err can succeed if it is made
// again, as far as the error shows. Errors that can be those of the deployment,
// such as a missing table or permission, or a request that does not fit the
// table's keys (ValidationException), are Unclassified: the message at hand must
// not be dropped for them. The end of the context is Transient, also where it is
// the client who has gone. Nil is Unclassified.
func Classify(err error) Class {
	err = explain(err) // it may be the SDK's own, as that of an Event is
	is := func(target error) bool { return errors.Is(err, target) }
	for _, target := range transient {
		if is(target) {
			return Transient
		}
	}
	for _, target := range permanent {
		if is(target) {
			return Permanent
		}
	}
	var unsent *smithyhttp.RequestSendError
	var cancelled *types.TransactionCanceledException
	var api smithy.APIError
	switch {
	case errors.As(err, &cancelled) && passing(cancelled):
		return Transient
	case errors.As(err, &cancelled) && onlyFor(cancelled, ErrConditionFailed):
		return Permanent
	case errors.As(err, &unsent):
		return Transient
	case !errors.As(err, &api):
		return Unclassified
	case api.ErrorFault() == smithy.FaultServer, api.ErrorCode() == "ServiceUnavailable":
		return Transient
	}
	return Unclassified
}
