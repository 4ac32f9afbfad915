// Package api serves the system of package core over HTTP. The tenant of a request is
// that of its access token, and nothing else in the request can name one.
//
// A handler parses a request, calls one method of the caller's [core.Tenant], and writes
// the response. Errors go to one place, errors.go, that knows their statuses.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
)

// The roles of users within their tenant: groups of the user pool.
const (
	Reader = "reader" // reads
	Writer = "writer" // reads, and publishes commands
	Admin  = "admin"  // also imports, rebuilds and cancels
)

var (
	admins  = []string{Admin}
	writers = []string{Admin, Writer}
	readers = []string{Admin, Writer, Reader}
)

// route is an endpoint, who may use it, and whether it needs the relational read model, or
// the table.
type route struct {
	serve      func(call) error
	roles      []string
	relational bool
}

// routes are the endpoints by their patterns.
var routes = map[string]route{
	"POST /records":           {publish, writers, false},
	"GET /records":            {list, readers, false},
	"GET /record":             {get, readers, false},
	"GET /record/version":     {version, readers, false},
	"GET /record/versions":    {versions, readers, false},
	"GET /record/commands":    {commands, readers, false},
	"POST /orders":            {placeOrder, writers, false},
	"GET /catalogue":          {catalogue, readers, false},
	"POST /catalogue/rebuild": {rebuild, admins, false},
	"POST /imports":           {importRows, admins, false},
	"GET /imports/rejected":   {rejected, readers, false},
	"GET /tasks":              {tasks, readers, false},
	"GET /task":               {task, readers, false},
	"POST /task/cancel":       {cancel, admins, false},
	"GET /search":             {search, readers, true},
	"GET /counts":             {counts, readers, true},
}

// Routes returns the patterns of the endpoints that need the relational read model, or of
// those that need the table.
func Routes(relational bool) (patterns []string) {
	for pattern, r := range routes {
		if r.relational == relational {
			patterns = append(patterns, pattern)
		}
	}
	slices.Sort(patterns)
	return patterns
}

// CursorKeys sees to it that cursors are sealed and opened with the current keys.
type CursorKeys func(context.Context) error

// Options are what an [API] can do without.
type Options struct {
	// Proxies are the addresses of the proxies whose X-Forwarded-For is trusted.
	Proxies []netip.Prefix
}

// API is the system behind HTTP. Get one from [New].
type API struct {
	service *core.Service
	model   *readmodel.Model
	keys    CursorKeys
	guard   auth.Guard
	log     *slog.Logger
	Options
}

// New returns the API of a service and its read model, which is nil if no relational
// endpoint is served. Keys is called before each list is read. Requests are logged to log.
// Options may be nil.
func New(
	service *core.Service, model *readmodel.Model, keys CursorKeys, by auth.Authenticator, log *slog.Logger, options *Options,
) *API {
	a := &API{service: service, model: model, keys: keys, guard: auth.Guard{By: by}, log: log}
	if options != nil {
		a.Options = *options
	}
	return a
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
	return a.HandlerOf(slices.Concat(Routes(true), Routes(false)), more)
}

// HandlerOf is Handler for some of the [Routes].
func (a *API) HandlerOf(patterns []string, more map[string]http.Handler) http.Handler {
	endpoints := map[string]httpapi.Endpoint{}
	for _, pattern := range patterns {
		r := routes[pattern]
		endpoints[pattern] = httpapi.For(a.call, func(_ http.ResponseWriter, _ *http.Request, c call) error { return r.serve(c) }, r.roles...)
	}
	return httpapi.Server{Log: a.log, Known: failures, Again: again, Ready: a.guard.By.Ready}.Handler(endpoints, more)
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
	key, err := rest.IdempotencyKey(r.Header)
	if err != nil {
		return call{}, err
	}
	caller := core.Caller{
		Tenant: identity.Tenant, User: identity.User, IP: addressOf(r, a.Proxies), Source: r.Pattern, RequestID: key,
	}
	return call{Request: r, w: w, api: a, tenant: a.service.As(caller), name: identity.Tenant}, nil
}
