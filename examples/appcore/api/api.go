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
	"path"
	"strings"

	"github.com/singletable/singletable/examples/appcore/core"
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

// The paths of health checks, which need no token.
const (
	livePath  = "GET /healthz"
	readyPath = "GET /readyz"
)

// Handler returns the handler of all endpoints, of health checks, and of further
// patterns of [http.ServeMux] that need no token. More may be nil.
func (a *API) Handler(more map[string]http.Handler) http.Handler {
	open := maps.Clone(more)
	if open == nil {
		open = map[string]http.Handler{}
	}
	open[livePath] = a.check(func(context.Context) error { return nil })
	open[readyPath] = a.check(a.ready)
	return a.handler(Routes(), open)
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
		return a.handler([]Route{r}, nil), nil
	}
	return nil, fmt.Errorf("there is no endpoint %q", name)
}

func (a *API) handler(routes []Route, open map[string]http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle(r.Method+" "+r.Path, a.authenticated(r.serve))
	}
	for pattern, handler := range open {
		mux.Handle(pattern, handler)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if allowed := allowedMethods(mux, r); len(allowed) > 0 {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			a.fail(w, r, errMethod)
			return
		}
		a.fail(w, r, core.ErrNotFound)
	})
	return a.observed(a.recovered(a.exact(mux)))
}

// exact refuses paths such as //transactions, which a [http.ServeMux] would
// redirect: in a body that is not JSON, and to where no client of an API goes.
func (a *API) exact(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; !strings.HasPrefix(p, "/") || path.Clean(p) != p {
			a.fail(w, r, core.ErrNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
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

// check returns the handler of a health check.
func (a *API) check(healthy func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := healthy(r.Context())
		if err == nil {
			err = writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
		}
		if err != nil {
			a.fail(w, r, err)
		}
	})
}

// allowedMethods returns the methods that the path of a request has.
func allowedMethods(mux *http.ServeMux, r *http.Request) (allowed []string) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch} {
		probe := *r
		probe.Method = method
		if _, pattern := mux.Handler(&probe); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	return allowed
}

// authenticated calls the endpoint with the user whose access token the request
// carries.
func (a *API) authenticated(serve endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := bearer(r.Header)
		var user string
		if err == nil {
			user, err = a.auth.Verify(r.Context(), token)
		}
		if err == nil {
			err = serve(a, w, r, user)
		}
		if err != nil {
			a.fail(w, r, err)
		}
	})
}
