// Package api serves the system of package core over HTTP. The tenant of a request is
// that of its access token, and nothing else in the request can name one.
//
// A handler parses a request, calls one method of the caller's [core.Tenant], and writes
// the response. Errors go to one place, errors.go, that knows their statuses.
package api

import (
	"log/slog"
	"net"
	"net/http"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
)

// API is the system behind HTTP. Get one from [New].
type API struct {
	service *core.Service
	model   *readmodel.Model
	guard   auth.Guard
	log     *slog.Logger
}

// New returns the API of a service and its read model. Requests are logged to log.
func New(service *core.Service, model *readmodel.Model, by auth.Authenticator, log *slog.Logger) *API {
	return &API{service: service, model: model, guard: auth.Guard{By: by}, log: log}
}

// call is a request of a user of a tenant.
type call struct {
	*http.Request
	w      http.ResponseWriter
	api    *API
	tenant core.Tenant
	// name is the name of the tenant, for the read model.
	name string
}

func (c call) ok(v any) error { return httpapi.WriteJSON(c.w, http.StatusOK, v) }

// Handler returns the handler of all endpoints, of health checks, and of further patterns
// of [http.ServeMux] that need no token. More may be nil.
func (a *API) Handler(more map[string]http.Handler) http.Handler {
	endpoints := map[string]httpapi.Endpoint{}
	for pattern, serve := range map[string]func(call) error{
		"POST /records":           publish,
		"GET /records":            list,
		"GET /record":             get,
		"GET /record/version":     version,
		"GET /record/versions":    versions,
		"GET /record/commands":    commands,
		"POST /orders":            placeOrder,
		"GET /catalogue":          catalogue,
		"POST /catalogue/rebuild": rebuild,
		"POST /imports":           importRows,
		"GET /imports/rejected":   rejected,
		"GET /tasks":              tasks,
		"GET /task":               task,
		"POST /task/cancel":       cancel,
		"GET /search":             search,
		"GET /counts":             counts,
	} {
		endpoints[pattern] = httpapi.For(a.call, func(_ http.ResponseWriter, _ *http.Request, c call) error { return serve(c) })
	}
	return httpapi.Server{Log: a.log, Special: invalid, Known: failures, Again: again, Ready: a.guard.By.Ready}.Handler(endpoints, more)
}

// call returns the request as one of the user and the tenant of its access token.
func (a *API) call(w http.ResponseWriter, r *http.Request, roles ...string) (call, error) {
	identity, err := a.guard.Identify(w, r, roles...)
	if err != nil {
		return call{}, err
	}
	if identity.Tenant == "" {
		return call{}, errNoTenant
	}
	key, err := httpapi.IdempotencyKey(r.Header)
	if err != nil {
		return call{}, err
	}
	ip, _, _ := net.SplitHostPort(r.RemoteAddr)
	caller := core.Caller{Tenant: identity.Tenant, User: identity.User, IP: ip, Source: r.Pattern, RequestID: key}
	return call{Request: r, w: w, api: a, tenant: a.service.As(caller), name: identity.Tenant}, nil
}
