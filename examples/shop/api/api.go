// Package api serves the shop over HTTP: a plain [http.Handler] for any server, or for
// Lambda.
//
// A handler parses a request, calls one method of the shop, and writes the response.
// Errors go to one place, errors.go, that knows their statuses.
package api

import (
	"log/slog"
	"net/http"
	"slices"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/shop/page"
	"github.com/singletable/singletable/examples/shop/session"
	"github.com/singletable/singletable/examples/shop/store"
)

// API is the shop behind HTTP. Get one from [New].
type API struct {
	shop     *store.Shop
	sessions *session.Sessions
	log      *slog.Logger
}

// New returns the API of a shop. Requests are logged to log.
func New(shop *store.Shop, sessions *session.Sessions, log *slog.Logger) *API {
	return &API{shop: shop, sessions: sessions, log: log}
}

// endpoint serves a request. Who is zero for a request without a token.
type endpoint func(a *API, w http.ResponseWriter, r *http.Request, who session.Identity) error

// Access is who may use an endpoint.
type Access int

// An endpoint is for anyone, for all who have logged in, or for admins.
const (
	Anyone Access = iota
	Users
	Admins
)

// Route is one endpoint.
type Route struct {
	Method, Path string
	Access       Access
	serve        endpoint
}

// Routes are the endpoints of the API.
func Routes() []Route {
	return []Route{
		{"POST", "/users", Anyone, (*API).signUp},
		{"POST", "/sessions", Anyone, (*API).logIn},
		{"GET", "/categories", Anyone, (*API).categories},
		{"GET", "/categories/{slug}", Anyone, (*API).category},
		{"GET", "/categories/{slug}/products", Anyone, (*API).productsOf},
		{"GET", "/products", Anyone, (*API).search},
		{"GET", "/products/{id}", Anyone, (*API).product},

		{"GET", "/users/{id}", Users, (*API).user},
		{"GET", "/cart", Users, (*API).cart},
		{"POST", "/cart/items", Users, (*API).addToCart},
		{"DELETE", "/cart/items/{id}", Users, (*API).removeFromCart},
		{"POST", "/orders", Users, (*API).checkOut},
		{"GET", "/orders", Users, (*API).orders},
		{"GET", "/orders/{id}", Users, (*API).order},

		{"GET", "/admin/products", Admins, (*API).activeProducts},
		{"POST", "/admin/products", Admins, (*API).addProduct},
		{"PATCH", "/admin/products/{id}", Admins, (*API).patchProduct},
		{"POST", "/admin/categories", Admins, (*API).addCategory},
		{"PATCH", "/admin/orders/{id}", Admins, (*API).patchOrder},
	}
}

// Handler returns the handler of all endpoints, of the store page, and of a health
// check.
func (a *API) Handler() http.Handler {
	endpoints := map[string]httpapi.Endpoint{"GET /healthz": func(w http.ResponseWriter, _ *http.Request) error {
		return httpapi.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	}}
	for _, route := range Routes() {
		endpoints[route.Method+" "+route.Path] = a.endpoint(route)
	}
	return httpapi.Server{Log: a.log, Special: outOfStock, Known: failures, Again: again}.Handler(endpoints, page.Handlers())
}

// endpoint returns the endpoint of a route.
func (a *API) endpoint(route Route) httpapi.Endpoint {
	serve := func(w http.ResponseWriter, r *http.Request, who session.Identity) error {
		return route.serve(a, w, r, who)
	}
	switch route.Access {
	case Anyone:
		return func(w http.ResponseWriter, r *http.Request) error { return serve(w, r, session.Identity{}) }
	case Admins:
		return httpapi.For(a.identify, serve, string(store.Admin))
	}
	return httpapi.For(a.identify, serve)
}

// identify returns whose token a request carries, if the user has one of the roles.
func (a *API) identify(_ http.ResponseWriter, r *http.Request, roles ...string) (session.Identity, error) {
	token, err := httpapi.Bearer(r.Header)
	if err != nil {
		return session.Identity{}, err
	}
	who, err := a.sessions.Verify(token)
	if err == nil && len(roles) > 0 && !slices.Contains(roles, string(who.Role)) {
		err = httpapi.ErrRole
	}
	return who, err
}
