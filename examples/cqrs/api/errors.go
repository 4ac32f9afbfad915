package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/singletable/singletable/examples/appcore/auth"
	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// errNoTenant means that the user of a request belongs to no tenant.
var errNoTenant = errors.New("the token names no tenant")

// failureOf is the one place that says which error is which status. What it does not know
// is a fault of the server, of which the client learns nothing.
func failureOf(err error) *httpapi.Failure {
	for _, known := range []struct {
		err           error
		status        int
		code, message string
	}{
		{auth.ErrUnauthorized, http.StatusUnauthorized, "unauthorized", "a valid access token is required"},
		{auth.ErrScope, http.StatusForbidden, "insufficient_scope", "the access token lacks the scope that this API requires"},
		{errNoTenant, http.StatusForbidden, "no_tenant", "the user belongs to no tenant"},
		{idempotency.ErrInvalidRequest, http.StatusBadRequest, "invalid_idempotency_key", "an Idempotency-Key has 1 to 255 bytes"},
		{idempotency.ErrPayloadMismatch, http.StatusConflict, "idempotency_key_reused", "this Idempotency-Key was used for another command"},
		{core.ErrInvalid, http.StatusBadRequest, "invalid_request", ""},
		{keys.ErrInvalid, http.StatusBadRequest, "invalid_name", "a code or an id is empty, too long or no text"},
		{paginate.ErrInvalidCursor, http.StatusBadRequest, "invalid_last_key", "lastKey is not of this list"},
		{core.ErrNoParent, http.StatusConflict, "no_parent", "the parent does not exist"},
		{core.ErrOtherSource, http.StatusConflict, "other_rows", "this id was used for an import of other rows"},
		{core.ErrNotRunning, http.StatusConflict, "not_running", "the task is not running"},
		{core.ErrUsedUp, http.StatusConflict, "used_up", "there are no numbers left"},
		{table.ErrStale, http.StatusConflict, "stale", "the record is at another version; read it again"},
		{table.ErrExists, http.StatusConflict, "exists", "this id is used already"},
		{table.ErrNotFound, http.StatusNotFound, "not_found", "there is nothing here"},
		{auth.ErrUnavailable, http.StatusServiceUnavailable, "unavailable", again},
		{readmodel.ErrNotBuilt, http.StatusServiceUnavailable, "unavailable", again},
		{table.ErrConflict, http.StatusServiceUnavailable, "unavailable", again},
		{table.ErrThrottled, http.StatusServiceUnavailable, "unavailable", again},
		{table.ErrOutcomeUnknown, http.StatusServiceUnavailable, "unavailable", again},
		{context.DeadlineExceeded, http.StatusServiceUnavailable, "unavailable", again},
	} {
		if !errors.Is(err, known.err) {
			continue
		}
		if known.message == "" {
			known.message = err.Error() // of this program, without keys
		}
		return &httpapi.Failure{Status: known.status, Code: known.code, Message: known.message}
	}
	if table.Classify(err) == table.Transient {
		return &httpapi.Failure{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: again}
	}
	return nil
}

const again = "try again in a moment; repeat a command with the same Idempotency-Key"
