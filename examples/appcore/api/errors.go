package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
)

// invalid returns what a client gets to see of an invalid request.
func invalid(err error) *rest.Failure {
	if e, ok := errors.AsType[*core.InvalidError](err); ok {
		return &rest.Failure{Status: http.StatusBadRequest, Code: e.Code, Message: e.Message}
	}
	return nil
}

// failures are the errors of the service and their statuses.
var failures = slices.Concat([]httpapi.Known{invalid}, auth.Failures(), []httpapi.Known{
	httpapi.On(core.ErrForbidden, http.StatusForbidden, "forbidden", "this belongs to another user"),
	httpapi.On(core.ErrNotFound, http.StatusNotFound, "not_found", "there is nothing here"),
	httpapi.On(core.ErrChanged, http.StatusPreconditionFailed, "changed", "this has changed since you read it; read it again"),
	httpapi.On(core.ErrUserExists, http.StatusConflict, "user_exists", "this userId has another email or name"),
	httpapi.On(core.ErrEmailTaken, http.StatusConflict, "email_taken", "this email is another user's"),
	httpapi.On(core.ErrPayloadMismatch, http.StatusConflict, "idempotency_key_reused", "this Idempotency-Key was used for another request"),
	httpapi.Later(core.ErrUnavailable),
	untranslated,
})

// untranslated hides an error of the library that core returns as it is, which is a fault of
// this program: openapi.json has no code for it.
func untranslated(err error) *rest.Failure {
	if rest.FailureOf(err).Status == http.StatusServiceUnavailable {
		return nil
	}
	return rest.Internal
}

const again = "try again in a moment; repeat a POST with the same Idempotency-Key"
