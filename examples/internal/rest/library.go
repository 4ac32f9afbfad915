package rest

import (
	"errors"
	"net/http"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// The special errors come before the general ones that they match.
var failures = []struct {
	err error
	Failure
}{
	{paginate.ErrInvalidCursor, Failure{http.StatusBadRequest, "invalid_cursor", "this list has not given out that cursor to you; start again without it"}},
	{idempotency.ErrInvalidRequest, Failure{http.StatusBadRequest, "invalid_idempotency_key", "an Idempotency-Key has 1 to 255 bytes of text"}},
	{idempotency.ErrPayloadMismatch, Failure{http.StatusUnprocessableEntity, "idempotency_key_reused", "this Idempotency-Key was used for another request"}},
	{idempotency.ErrResultGone, Failure{http.StatusGone, "gone", "this request has succeeded, and what it created was deleted since"}},
	{table.ErrTooLarge, Failure{http.StatusRequestEntityTooLarge, "too_large", "this is too large"}},
	{table.ErrNotFound, Failure{http.StatusNotFound, "not_found", "there is nothing here"}}, // and repo.ErrOrphan
	{table.ErrWrongType, Failure{http.StatusNotFound, "not_found", "there is nothing here"}},
	{table.ErrExists, Failure{http.StatusConflict, "exists", "this exists already"}},
	{table.ErrStale, Failure{http.StatusPreconditionFailed, "changed", "this has changed since you read it; read it again"}},
	{table.ErrConditionFailed, Failure{http.StatusConflict, "conflict", "the state of what is stored does not allow this"}},
	{table.ErrLimit, Failure{http.StatusConflict, "limit", "a limit is reached"}},
	{table.ErrUncounted, Failure{http.StatusConflict, "conflict", "what this belongs to does not exist"}},
}

// InvalidKey is the failure of an id that cannot be in a key.
var InvalidKey = &Failure{http.StatusBadRequest, "invalid", "a name, an id or a path is empty, too long or not text"}

// FailureOf returns what a client gets to see of an error. A *Failure is returned as it is. An
// error after which the same request can succeed is a 503, whatever else it matches.
func FailureOf(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	if table.Classify(err) == table.Transient {
		return &Failure{http.StatusServiceUnavailable, "unavailable", "try again in a moment"}
	}
	for _, known := range failures {
		if errors.Is(err, known.err) {
			return &known.Failure
		}
	}
	if _, ok := errors.AsType[*keys.Error](err); ok {
		return InvalidKey
	}
	return Internal // also table.ErrInvalid
}
