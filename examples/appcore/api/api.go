// Package api serves the application of package core over HTTP: a plain
// [http.Handler] for any server, or for Lambda.
//
// A handler parses a request, calls one method of the service, and writes the
// response. Errors go to one place, errors.go, that knows their statuses.
package api

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/refresh"
)

// CursorKeys sees to it that the service seals and opens cursors with the current keys. An
// error that matches [core.ErrUnavailable] means that there are none for now.
type CursorKeys func(ctx context.Context) error

// API is the application behind HTTP. Get one from [New].
type API struct {
	service *core.Service
	keys    CursorKeys
	guard   auth.Guard
	log     *slog.Logger
	newest  *refresh.Value[[]byte]
}

// Options configures an [API]. The zero value limits no user.
type Options struct {
	// Limiter limits the requests of each user. Nil means no limits.
	Limiter *httpapi.Limiter
	// Now is the clock by which the list of the newest transactions ages. Nil means
	// [time.Now].
	Now func() time.Time
}

// New returns the API of the service. Keys is called before each list is read. Requests are
// logged to log. Options may be nil.
func New(service *core.Service, keys CursorKeys, by auth.Authenticator, log *slog.Logger, options *Options) *API {
	var o Options
	if options != nil {
		o = *options
	}
	a := &API{service: service, keys: keys, guard: auth.Guard{By: by, Limiter: o.Limiter}, log: log}
	a.newest = refresh.New(a.readNewest, refresh.Options{TTL: newestFor, Limit: newestFor, Pause: -1, Now: o.Now})
	return a
}

// endpoint serves a request of an authenticated user.
type endpoint func(a *API, w http.ResponseWriter, r *http.Request, user string) error

// Route is one endpoint. Name is what its Lambda function is called.
type Route struct {
	Name, Method, Path string
	// List means that the endpoint reads a list, and so needs the cursor keys.
	List bool
	// Roles are the groups one of which the user must be in. Empty means any user.
	Roles []string
	serve endpoint
}

// The groups of the user pool that an endpoint can require.
const (
	// BackOffice registers users and approves transactions.
	BackOffice = "backoffice"
	// Auditor sees the transactions of all users.
	Auditor = "auditor"
)

// Routes are the endpoints of the API.
func Routes() []Route {
	backOffice := []string{BackOffice}
	return []Route{
		{Name: "listTransactions", Method: http.MethodGet, Path: "/transactions", List: true, serve: listing(core.DefaultLimit, (*core.Service).Transactions, transactionOf)},
		{Name: "getTransaction", Method: http.MethodGet, Path: "/transactions/{id}", serve: (*API).getTransaction},
		{Name: "patchTransaction", Method: http.MethodPatch, Path: "/transactions/{id}", serve: (*API).patchTransaction},
		{
			Name: "newestTransactions", Method: http.MethodGet, Path: "/transactions/global", List: true, Roles: []string{BackOffice, Auditor},
			serve: (*API).newestTransactions,
		},
		{Name: "createTransaction", Method: http.MethodPost, Path: "/transactions", serve: (*API).createTransaction},
		{Name: "listNotifications", Method: http.MethodGet, Path: "/notifications", List: true, serve: listing(core.DefaultLimit, (*core.Service).Notifications, notificationOf)},
		{Name: "patchNotification", Method: http.MethodPatch, Path: "/notifications/{id}", serve: (*API).patchNotification},
		{Name: "registerUser", Method: http.MethodPost, Path: "/backoffice/users", Roles: backOffice, serve: (*API).registerUser},
		{Name: "getUser", Method: http.MethodGet, Path: "/backoffice/users/{id}", Roles: backOffice, serve: (*API).getUser},
		{Name: "patchUser", Method: http.MethodPatch, Path: "/backoffice/users/{id}", Roles: backOffice, serve: (*API).patchUser},
		{Name: "approveTransaction", Method: http.MethodPost, Path: "/backoffice/transactions/{id}/approve", Roles: backOffice, serve: (*API).approveTransaction},
	}
}

// Handler returns the handler of all endpoints, of health checks, of the
// documentation, and of further patterns of [http.ServeMux] that need no token. More may be nil.
func (a *API) Handler(more map[string]http.Handler) http.Handler {
	endpoints := a.endpoints(Routes())
	maps.Copy(endpoints, documentation())
	server := a.server()
	server.Ready = a.ready
	return server.Handler(endpoints, more)
}

// HandlerOf returns the handler of the one endpoint with that name. It gets the
// cursor keys if the endpoint needs them.
func (a *API) HandlerOf(ctx context.Context, name string) (http.Handler, error) {
	for _, r := range Routes() {
		if r.Name != name {
			continue
		}
		if r.List {
			if err := a.keys(ctx); err != nil {
				return nil, err
			}
		}
		return a.server().Handler(a.endpoints([]Route{r}), nil), nil
	}
	return nil, fmt.Errorf("there is no endpoint %q", name)
}

func (a *API) server() httpapi.Server {
	return httpapi.Server{Log: a.log, Known: failures, Again: again}
}

func (a *API) endpoints(routes []Route) map[string]httpapi.Endpoint {
	endpoints := map[string]httpapi.Endpoint{}
	for _, r := range routes {
		endpoints[r.Method+" "+r.Path] = httpapi.For(a.guard.User, func(w http.ResponseWriter, request *http.Request, user string) error {
			return r.serve(a, w, request, user)
		}, r.Roles...)
	}
	return endpoints
}

// ready returns nil if users can be told apart and lists can be read. It does not
// ask DynamoDB: an outage there must not take every process out of service.
func (a *API) ready(ctx context.Context) error {
	if err := a.guard.By.Ready(ctx); err != nil {
		return err
	}
	return a.keys(ctx)
}
