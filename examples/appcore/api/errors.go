package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/singletable/singletable/examples/appcore/auth"
	"github.com/singletable/singletable/examples/appcore/core"
)

var (
	// errMethod means that the path of a request does not have its method.
	errMethod = errors.New("method not allowed")
	// errNoIfMatch means that a change does not say what it is a change of.
	errNoIfMatch = errors.New("no If-Match")
	// errTooLarge means that the body of a request is over maxBody.
	errTooLarge = errors.New("body too large")
	// errSlow means that the body of a request took longer than bodyTime.
	errSlow = errors.New("body too slow")
)

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
		{errSlow, failure{http.StatusRequestTimeout, "body_too_slow", "the body must arrive within 5 seconds"}},
		{errNoIfMatch, failure{http.StatusPreconditionRequired, "missing_if_match", "an If-Match with the ETag of the transaction is required"}},
		{errTooLarge, failure{http.StatusRequestEntityTooLarge, "body_too_large", "the body may have 64 KB at most"}},
		{auth.ErrUnauthorized, failure{http.StatusUnauthorized, "unauthorized", "a valid access token is required"}},
		{auth.ErrScope, failure{http.StatusForbidden, "insufficient_scope", "the access token lacks the scope that this API requires"}},
		{core.ErrForbidden, failure{http.StatusForbidden, "forbidden", "this belongs to another user"}},
		{core.ErrNotFound, failure{http.StatusNotFound, "not_found", "there is nothing here"}},
		{core.ErrChanged, failure{http.StatusPreconditionFailed, "changed", "this has changed since you read it; read it again"}},
		{core.ErrPayloadMismatch, failure{http.StatusConflict, "idempotency_key_reused", "this Idempotency-Key was used for another request"}},
		{core.ErrUnavailable, unavailable},
		{auth.ErrUnavailable, unavailable},
	} {
		if errors.Is(err, known.err) {
			return known.failure
		}
	}
	return failure{http.StatusInternalServerError, "internal", "something went wrong on our side"}
}

// gone is for the log: the client went away before it got a response, which
// canceled the request.
var gone = failure{499, "client_gone", "the client went away"}

// retryAfter is how many seconds a client is to wait when the service is
// unavailable.
const retryAfter = "1"

// fail responds with an error, and hands it to the log.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := failureOf(err)
	// The server cancels a request also if its body is late.
	if errors.Is(r.Context().Err(), context.Canceled) && !errors.Is(err, errSlow) {
		f = gone
	}
	switch f.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusForbidden:
		if errors.Is(err, auth.ErrScope) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
		}
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retryAfter)
	case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	meterOf(r.Context()).fail(err)
	Fail(w, f.status, f.Code, f.Message)
}

// Fail writes the response to a request that failed. It is for handlers around
// and next to those of this package, so that all errors look alike.
func Fail(w http.ResponseWriter, status int, code, message string) {
	failed := failure{Code: code, Message: message}
	_ = writeJSON(w, status, map[string]failure{"error": failed}) // two strings can be encoded
}
