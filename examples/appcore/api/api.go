// Package api answers HTTP for the application of package core: a plain
// [http.Handler], whatever server or Lambda runs it.
//
// A handler takes a request apart, calls one method of the service, and writes
// the answer. Errors go to one place, errors.go, that knows their statuses.
package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/singletable/singletable/examples/appcore/core"
)

// Authenticator finds out who has sent a request. [auth.Verifier] is one, and
// its errors are those that this package knows.
type Authenticator interface {
	Verify(ctx context.Context, token string) (userID string, err error)
}

// API is the application behind HTTP. Get one from [New].
type API struct {
	service *core.Service
	auth    Authenticator
	log     *slog.Logger
}

// New returns the API of the service. Requests are logged to log.
func New(service *core.Service, auth Authenticator, log *slog.Logger) *API {
	return &API{service: service, auth: auth, log: log}
}

// endpoint answers a request of an authenticated user.
type endpoint func(a *API, w http.ResponseWriter, r *http.Request, user string) error

// Route is one endpoint. Name is what its Lambda function is called.
type Route struct {
	Name, Method, Path string
	serve              endpoint
}

// Routes are the endpoints of the API.
func Routes() []Route {
	return []Route{
		{"listTransactions", http.MethodGet, "/transactions", (*API).listTransactions},
		{"getTransaction", http.MethodGet, "/transactions/{id}", (*API).getTransaction},
		{"newestTransactions", http.MethodGet, "/transactions/global", (*API).newestTransactions},
		{"createTransaction", http.MethodPost, "/transactions", (*API).createTransaction},
		{"listNotifications", http.MethodGet, "/notifications", (*API).listNotifications},
	}
}

// Handler returns the handler of all endpoints.
func (a *API) Handler() http.Handler { return a.handler(Routes()) }

// HandlerOf returns the handler of the one endpoint with that name.
func (a *API) HandlerOf(name string) (http.Handler, error) {
	for _, r := range Routes() {
		if r.Name == name {
			return a.handler([]Route{r}), nil
		}
	}
	return nil, fmt.Errorf("there is no endpoint %q", name)
}

func (a *API) handler(routes []Route) http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle(r.Method+" "+r.Path, a.authenticated(r.serve))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if allowed := allowedMethods(mux, r); len(allowed) > 0 {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			a.fail(w, r, errMethod)
			return
		}
		a.fail(w, r, core.ErrNotFound)
	})
	return a.observed(a.recovered(mux))
}

// allowedMethods returns the methods that the path of a request has.
func allowedMethods(mux *http.ServeMux, r *http.Request) (allowed []string) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
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
