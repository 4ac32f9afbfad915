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
	"net/http"

	"github.com/singletable/singletable/examples/appcore/auth"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/httpapi"
)

// Authenticator finds out which user sent a request. [auth.Verifier] is one, and
// its errors are those that this package knows.
type Authenticator interface {
	Verify(ctx context.Context, token string) (userID string, err error)
	// Ready returns nil if Verify can work.
	Ready(ctx context.Context) error
}

// Lists returns the service to read a list with: the one that has the current
// cursor keys. An error that matches [core.ErrUnavailable] means that there are
// none for now.
type Lists func(ctx context.Context) (*core.Service, error)

// API is the application behind HTTP. Get one from [New].
type API struct {
	service *core.Service
	lists   Lists
	auth    Authenticator
	log     *slog.Logger
}

// New returns the API of the service. Lists are read with the service that lists
// returns. Requests are logged to log.
func New(service *core.Service, lists Lists, auth Authenticator, log *slog.Logger) *API {
	return &API{service: service, lists: lists, auth: auth, log: log}
}

// endpoint serves a request of an authenticated user.
type endpoint func(a *API, w http.ResponseWriter, r *http.Request, user string) error

// Route is one endpoint. Name is what its Lambda function is called.
type Route struct {
	Name, Method, Path string
	// List means that the endpoint reads a list, and so needs the cursor keys.
	List  bool
	serve endpoint
}

// Routes are the endpoints of the API.
func Routes() []Route {
	return []Route{
		{"listTransactions", http.MethodGet, "/transactions", true, listing(core.DefaultLimit, (*core.Service).Transactions, transactionOf)},
		{"getTransaction", http.MethodGet, "/transactions/{id}", false, (*API).getTransaction},
		{"patchTransaction", http.MethodPatch, "/transactions/{id}", false, (*API).patchTransaction},
		{"newestTransactions", http.MethodGet, "/transactions/global", true, listing(core.DefaultNewest, (*core.Service).Newest, transactionOf)},
		{"createTransaction", http.MethodPost, "/transactions", false, (*API).createTransaction},
		{"listNotifications", http.MethodGet, "/notifications", true, listing(core.DefaultLimit, (*core.Service).Notifications, notificationOf)},
	}
}

// Handler returns the handler of all endpoints, of health checks, and of further
// patterns of [http.ServeMux] that need no token. More may be nil.
func (a *API) Handler(more map[string]http.Handler) http.Handler {
	endpoints := a.endpoints(Routes())
	for pattern, handler := range more {
		endpoints[pattern] = func(w http.ResponseWriter, r *http.Request) error {
			handler.ServeHTTP(w, r)
			return nil
		}
	}
	server := a.server()
	server.Ready = a.ready
	return server.Handler(endpoints)
}

// HandlerOf returns the handler of the one endpoint with that name. It gets the
// cursor keys if the endpoint needs them.
func (a *API) HandlerOf(ctx context.Context, name string) (http.Handler, error) {
	for _, r := range Routes() {
		if r.Name != name {
			continue
		}
		if r.List {
			if _, err := a.lists(ctx); err != nil {
				return nil, err
			}
		}
		return a.server().Handler(a.endpoints([]Route{r})), nil
	}
	return nil, fmt.Errorf("there is no endpoint %q", name)
}

func (a *API) server() httpapi.Server { return httpapi.Server{Log: a.log, Failures: failureOf} }

func (a *API) endpoints(routes []Route) map[string]httpapi.Endpoint {
	endpoints := map[string]httpapi.Endpoint{}
	for _, r := range routes {
		endpoints[r.Method+" "+r.Path] = a.authenticated(r.serve)
	}
	return endpoints
}

// ready returns nil if users can be told apart and lists can be read. It does not
// ask DynamoDB: an outage there must not take every process out of service.
func (a *API) ready(ctx context.Context) error {
	if err := a.auth.Ready(ctx); err != nil {
		return err
	}
	_, err := a.lists(ctx)
	return err
}

// authenticated calls the endpoint with the user whose access token the request
// carries.
func (a *API) authenticated(serve endpoint) httpapi.Endpoint {
	return func(w http.ResponseWriter, r *http.Request) error {
		token, err := httpapi.Bearer(r.Header)
		if err != nil {
			return fmt.Errorf("%w: %w", auth.ErrUnauthorized, err)
		}
		user, err := a.auth.Verify(r.Context(), token)
		if err != nil {
			return err
		}
		return serve(a, w, r, user)
	}
}
