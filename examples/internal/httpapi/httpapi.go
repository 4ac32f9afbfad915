// Package httpapi is what the HTTP services of the examples share: strict JSON in and
// out, one form of errors, one log line for each request with what it cost, health
// checks, and a server that finishes what it has begun.
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"strings"

	"github.com/singletable/singletable/examples/internal/rest"
)

// Endpoint serves a request. Its error becomes the response, so it returns none after
// it has written one.
type Endpoint func(w http.ResponseWriter, r *http.Request) error

// The paths of health checks, which need no token.
const (
	LivePath  = "GET /healthz"
	ReadyPath = "GET /readyz"
)

// Server is a service behind HTTP.
type Server struct {
	// Log gets a line for each request.
	Log *slog.Logger
	// Known are the failures of the service's own errors, the more special ones first. They
	// come before [rest.FailureOf].
	Known []Known
	// Again is the message of every 503: of a [Later] among Known, and of an error
	// of the library that may not last.
	Again string
	// Ready returns nil if the service can work. Nil means always.
	Ready func(context.Context) error
}

// Handler returns the handler of endpoints, named by patterns of [http.ServeMux] with
// their method, of health checks if there is a Ready, and of more, which may be nil.
func (s Server) Handler(endpoints map[string]Endpoint, more map[string]http.Handler) http.Handler {
	all := maps.Clone(endpoints)
	for pattern, handler := range more {
		all[pattern] = func(w http.ResponseWriter, r *http.Request) error {
			handler.ServeHTTP(w, r)
			return nil
		}
	}
	if s.Ready != nil {
		all[LivePath] = s.check(func(context.Context) error { return nil })
		all[ReadyPath] = s.check(s.Ready)
	}
	mux := http.NewServeMux()
	for pattern, serve := range all {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if allowed := allowedMethods(mux, r); len(allowed) > 0 {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			s.fail(w, r, &rest.Failure{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "this path does not have that method"})
			return
		}
		s.fail(w, r, errNoPath)
	})
	return s.observed(s.recovered(s.exact(mux)))
}

// exact refuses paths such as //transactions, which a [http.ServeMux] would
// redirect: in a body that is not JSON, and to where no client of an API goes.
func (s Server) exact(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; !strings.HasPrefix(p, "/") || path.Clean(p) != p {
			s.fail(w, r, errNoPath)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// check returns the endpoint of a health check.
func (s Server) check(healthy func(context.Context) error) Endpoint {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := healthy(r.Context()); err != nil {
			return err
		}
		return WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	}
}

// allowedMethods returns the methods that the path of a request has.
func allowedMethods(mux *http.ServeMux, r *http.Request) (allowed []string) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		probe := *r
		probe.Method = method
		if _, pattern := mux.Handler(&probe); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	return allowed
}

// fail responds with an error, and hands it to the log.
func (s Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := s.failureOf(err)
	// The server cancels a request also if its body is late.
	if errors.Is(r.Context().Err(), context.Canceled) && !errors.Is(err, errSlow) {
		f = gone
	}
	header := w.Header()
	switch f.Status {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", "Bearer")
	case http.StatusForbidden:
		if f.Code == "insufficient_scope" {
			header.Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
		}
	case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		header.Set("Connection", "close") // the rest of the body is not read
	}
	meterOf(r.Context()).fail(err)
	rest.Fail(w, f)
}

// failureOf returns what a client gets to see of an error.
func (s Server) failureOf(err error) *rest.Failure {
	if f, ok := errors.AsType[*rest.Failure](err); ok {
		return f
	}
	f := rest.FailureOf(err)
	for _, known := range s.Known {
		if own := known(err); own != nil {
			f = own
			break
		}
	}
	if f.Status == http.StatusServiceUnavailable {
		return &rest.Failure{Status: f.Status, Code: f.Code, Message: s.Again}
	}
	return f
}

// For returns the endpoint that serves the callers of some roles, or all callers if there
// are none. Identify returns whose request it is, or the error that refuses it.
func For[C any](
	identify func(w http.ResponseWriter, r *http.Request, roles ...string) (C, error),
	serve func(w http.ResponseWriter, r *http.Request, caller C) error, roles ...string,
) Endpoint {
	return func(w http.ResponseWriter, r *http.Request) error {
		caller, err := identify(w, r, roles...)
		if err != nil {
			return err
		}
		return serve(w, r, caller)
	}
}
