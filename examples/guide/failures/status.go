// Package failures has the code of docs/errors.md: the HTTP status of an error.
package failures

import (
	"errors"
	"net/http"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// The special errors come before the general ones that they match.
var statuses = []struct {
	err    error
	status int
}{
	{paginate.ErrInvalidCursor, http.StatusBadRequest},
	{idempotency.ErrInvalidRequest, http.StatusBadRequest},
	{idempotency.ErrPayloadMismatch, http.StatusUnprocessableEntity},
	{idempotency.ErrResultGone, http.StatusGone},
	{table.ErrTooLarge, http.StatusRequestEntityTooLarge},
	{table.ErrNotFound, http.StatusNotFound}, // and repo.ErrOrphan
	{table.ErrWrongType, http.StatusNotFound},
	{table.ErrExists, http.StatusConflict},
	{table.ErrStale, http.StatusPreconditionFailed},
	{table.ErrConditionFailed, http.StatusConflict},
	{table.ErrLimit, http.StatusConflict},
	{table.ErrUncounted, http.StatusConflict},
}

// Status returns the HTTP status of an error.
func Status(err error) int {
	for _, known := range statuses {
		if errors.Is(err, known.err) {
			return known.status
		}
	}
	if _, ok := errors.AsType[*keys.Error](err); ok {
		return http.StatusBadRequest // an id that the client has sent
	}
	if table.Classify(err) == table.Transient {
		return http.StatusServiceUnavailable // with Retry-After
	}
	return http.StatusInternalServerError // also table.ErrInvalid: log it, and say nothing of it
}
