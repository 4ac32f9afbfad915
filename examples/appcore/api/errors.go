package api

import (
	"errors"
	"net/http"

	"github.com/singletable/singletable/examples/appcore/auth"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/httpapi"
)

// failureOf is the one place that says which error is which status. What it does
// not know is a fault of the server, of which the client learns nothing.
func failureOf(err error) *httpapi.Failure {
	if e, ok := errors.AsType[*core.InvalidError](err); ok {
		return &httpapi.Failure{Status: http.StatusBadRequest, Code: e.Code, Message: e.Message}
	}
	unavailable := httpapi.Failure{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "try again in a moment; repeat a POST with the same Idempotency-Key"}
	for _, known := range []struct {
		err     error
		failure httpapi.Failure
	}{
		{auth.ErrUnauthorized, httpapi.Failure{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "a valid access token is required"}},
		{auth.ErrScope, httpapi.Failure{Status: http.StatusForbidden, Code: "insufficient_scope", Message: "the access token lacks the scope that this API requires"}},
		{errRole, httpapi.Failure{Status: http.StatusForbidden, Code: "insufficient_role", Message: "this is for users in another group"}},
		{core.ErrForbidden, httpapi.Failure{Status: http.StatusForbidden, Code: "forbidden", Message: "this belongs to another user"}},
		{core.ErrNotFound, httpapi.Failure{Status: http.StatusNotFound, Code: "not_found", Message: "there is nothing here"}},
		{core.ErrChanged, httpapi.Failure{Status: http.StatusPreconditionFailed, Code: "changed", Message: "this has changed since you read it; read it again"}},
		{core.ErrUserExists, httpapi.Failure{Status: http.StatusConflict, Code: "user_exists", Message: "this userId has another email or name"}},
		{core.ErrEmailTaken, httpapi.Failure{Status: http.StatusConflict, Code: "email_taken", Message: "this email is another user's"}},
		{core.ErrPayloadMismatch, httpapi.Failure{Status: http.StatusConflict, Code: "idempotency_key_reused", Message: "this Idempotency-Key was used for another request"}},
		{core.ErrUnavailable, unavailable},
		{auth.ErrUnavailable, unavailable},
	} {
		if errors.Is(err, known.err) {
			return &known.failure
		}
	}
	return nil
}
