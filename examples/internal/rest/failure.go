// Package rest is the HTTP of a service that uses the library: the status of each of its
// errors, and the headers ETag, If-Match and Idempotency-Key. The library knows nothing of
// HTTP, and statuses are a service's own choice. So the examples share this package, and
// "singletable new" copies it: change it there as your clients need it.
package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Failure is an error as a client gets to see it.
type Failure struct {
	Status  int    `json:"-"`
	Code    string `json:"code"` // for programs
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// BadRequest returns the error of an invalid request: a response with status 400.
func BadRequest(code, format string, args ...any) error {
	return &Failure{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

// Internal is the failure of a fault of the service: log the error, and say nothing of it.
var Internal = &Failure{http.StatusInternalServerError, "internal", "something went wrong on our side"}

// Fail writes the response to a request that failed: see [FailureOf].
func Fail(w http.ResponseWriter, err error) {
	f, header := FailureOf(err), w.Header()
	if f.Status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "1") // in seconds
	}
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/json")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(map[string]*Failure{"error": f}) // a client that has gone gets nothing
}
