package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/singletable/singletable/examples/appcore/auth"
	"github.com/singletable/singletable/examples/appcore/core"
)

// errMethod means that the path of a request does not have its method.
var errMethod = errors.New("method not allowed")

// failure is what a client gets to see of an error.
type failure struct {
	status  int
	Code    string `json:"code"`
	Message string `json:"message"`
}

// failureOf is the one place that says which error is which status. What it does
// not know is a fault of the server, of which the client learns nothing.
func failureOf(err error) failure {
	if e, ok := errors.AsType[*core.InvalidError](err); ok {
		return failure{http.StatusBadRequest, e.Code, e.Message}
	}
	unavailable := failure{http.StatusServiceUnavailable, "unavailable", "try again in a moment; repeat a POST with the same Idempotency-Key"}
	for _, known := range []struct {
		err error
		failure
	}{
		{errMethod, failure{http.StatusMethodNotAllowed, "method_not_allowed", "this path does not have that method"}},
		{errTooLarge, failure{http.StatusRequestEntityTooLarge, "body_too_large", "the body may have 64 KB at most"}},
		{auth.ErrUnauthorized, failure{http.StatusUnauthorized, "unauthorized", "a valid access token is required"}},
		{core.ErrForbidden, failure{http.StatusForbidden, "forbidden", "this belongs to another user"}},
		{core.ErrNotFound, failure{http.StatusNotFound, "not_found", "there is nothing here"}},
		{core.ErrKeyReused, failure{http.StatusConflict, "idempotency_key_reused", "this Idempotency-Key was used for another request"}},
		{core.ErrUnavailable, unavailable},
		{auth.ErrUnavailable, unavailable},
	} {
		if errors.Is(err, known.err) {
			return known.failure
		}
	}
	return failure{http.StatusInternalServerError, "internal", "something went wrong on our side"}
}

// gone is for the log: the client went away before it was answered, and what
// was done for it was broken off.
var gone = failure{499, "client_gone", "the client went away"}

// retryAfter is how many seconds a client is to wait when the service is
// unavailable.
const retryAfter = "1"

// fail answers with an error, and hands it to the log.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := failureOf(err)
	if errors.Is(r.Context().Err(), context.Canceled) {
		f = gone
	}
	switch f.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retryAfter)
	case http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	meterOf(r.Context()).fail(err)
	_ = writeJSON(w, f.status, map[string]failure{"error": f}) // two strings can be encoded
}
