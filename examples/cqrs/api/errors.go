package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// errNoTenant means that the user of a request belongs to no tenant.
var errNoTenant = errors.New("the token names no tenant")

// invalid returns what a client gets to see of an invalid request.
func invalid(err error) *httpapi.Failure {
	if errors.Is(err, core.ErrInvalid) { // its text is of this program, without keys
		return &httpapi.Failure{Status: http.StatusBadRequest, Code: "invalid_request", Message: err.Error()}
	}
	return nil
}

// failures is the one place that says which error is which status.
var failures = []httpapi.Known{
	httpapi.On(auth.ErrUnauthorized, http.StatusUnauthorized, "unauthorized", "a valid access token is required"),
	httpapi.On(auth.ErrScope, http.StatusForbidden, "insufficient_scope", "the access token lacks the scope that this API requires"),
	httpapi.On(errNoTenant, http.StatusForbidden, "no_tenant", "the user belongs to no tenant"),
	httpapi.On(idempotency.ErrInvalidRequest, http.StatusBadRequest, "invalid_idempotency_key", "an Idempotency-Key has 1 to 255 bytes"),
	httpapi.On(idempotency.ErrPayloadMismatch, http.StatusConflict, "idempotency_key_reused", "this Idempotency-Key was used for another command"),
	httpapi.On(paginate.ErrInvalidCursor, http.StatusBadRequest, "invalid_last_key", "lastKey is not of this list"),
	httpapi.On(keys.ErrInvalid, http.StatusBadRequest, "invalid_name", "a code or an id is empty, too long or no text"),
	httpapi.On(core.ErrNoParent, http.StatusConflict, "no_parent", "the parent does not exist"),
	httpapi.On(core.ErrOtherSource, http.StatusConflict, "other_rows", "this id was used for an import of other rows"),
	httpapi.On(core.ErrNotRunning, http.StatusConflict, "not_running", "the task is not running"),
	httpapi.On(core.ErrUsedUp, http.StatusConflict, "used_up", "there are no numbers left"),
	httpapi.On(table.ErrStale, http.StatusConflict, "stale", "the record is at another version; read it again"),
	httpapi.On(table.ErrExists, http.StatusConflict, "exists", "this id is used already"),
	httpapi.On(table.ErrNotFound, http.StatusNotFound, "not_found", "there is nothing here"),
	httpapi.On(table.ErrWrongType, http.StatusNotFound, "not_found", "there is nothing here"),
	httpapi.On(table.ErrTooLarge, http.StatusRequestEntityTooLarge, "too_large", "this is too large"),
	httpapi.On(auth.ErrUnavailable, http.StatusServiceUnavailable, "unavailable", again),
	httpapi.On(readmodel.ErrNotBuilt, http.StatusServiceUnavailable, "unavailable", again),
	httpapi.On(table.ErrConflict, http.StatusServiceUnavailable, "unavailable", again),
	httpapi.On(table.ErrThrottled, http.StatusServiceUnavailable, "unavailable", again),
	httpapi.On(table.ErrOutcomeUnknown, http.StatusServiceUnavailable, "unavailable", again),
	httpapi.On(context.DeadlineExceeded, http.StatusServiceUnavailable, "unavailable", again),
}

const again = "try again in a moment; repeat a command with the same Idempotency-Key"
