package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
)

// invalid returns what a client gets to see of an invalid request.
func invalid(err error) *httpapi.Failure {
	if e, ok := errors.AsType[*core.InvalidError](err); ok {
		return &httpapi.Failure{Status: http.StatusBadRequest, Code: e.Code, Message: e.Message}
	}
	return nil
}

// failures is the one place that says which error is which status.
var failures = slices.Concat(auth.Failures(), []httpapi.Known{
	httpapi.On(core.ErrForbidden, http.StatusForbidden, "forbidden", "this belongs to another user"),
	httpapi.On(core.ErrNotFound, http.StatusNotFound, "not_found", "there is nothing here"),
	httpapi.On(core.ErrChanged, http.StatusPreconditionFailed, "changed", "this has changed since you read it; read it again"),
	httpapi.On(core.ErrUserExists, http.StatusConflict, "user_exists", "this userId has another email or name"),
	httpapi.On(core.ErrEmailTaken, http.StatusConflict, "email_taken", "this email is another user's"),
	httpapi.On(core.ErrPayloadMismatch, http.StatusConflict, "idempotency_key_reused", "this Idempotency-Key was used for another request"),
	httpapi.Later(core.ErrUnavailable),
})

const again = "try again in a moment; repeat a POST with the same Idempotency-Key"
