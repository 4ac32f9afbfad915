// Package api serves the shop over HTTP: a plain [http.Handler] for any server, or for
// Lambda.
//
// A handler parses a request, calls one method of the shop, and writes the response.
// Errors go to one place, errors.go, that knows their statuses.
package api

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/shop/mail"
	"github.com/singletable/singletable/examples/shop/page"
	"github.com/singletable/singletable/examples/shop/session"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table"
)

// API is the shop behind HTTP. Get one from [New].
type API struct {
	Options
	shop     *store.Shop
	sessions *session.Sessions
}

// Options configures an [API]. Mail and Log must be set.
type Options struct {
	// Mail sends mails.
	Mail mail.Send
	// MailTime is how long a request takes that mails a code if there is such a user, so
	// that its time does not tell. A mail that takes longer is not sent. Zero waits for the
	// mail, and hides nothing.
	MailTime time.Duration
	// Proxy means that the server is behind a proxy that adds the address of its client to
	// X-Forwarded-For. Without one, a client could say what it likes there.
	Proxy bool
	// Log gets a line for each request.
	Log *slog.Logger
}

// New returns the API of a shop.
func New(shop *store.Shop, sessions *session.Sessions, o Options) *API {
	return &API{Options: o, shop: shop, sessions: sessions}
}

// endpoint serves a request. Who is the user whose token it has, zero without one.
type endpoint func(a *API, w http.ResponseWriter, r *http.Request, who store.User) error

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
		{"POST", "/codes", Anyone, (*API).forgotPassword},
		{"POST", "/passwords", Anyone, (*API).setPassword},
		{"GET", "/categories", Anyone, (*API).categories},
		{"GET", "/categories/{slug}", Anyone, (*API).category},
		{"GET", "/categories/{slug}/products", Anyone, (*API).productsOf},
		{"GET", "/products", Anyone, (*API).search},
		{"GET", "/products/{id}", Anyone, (*API).product},
		{"GET", "/products/{id}/similar", Anyone, (*API).similar},

		{"GET", "/users/{id}", Users, (*API).user},
		{"GET", "/cart", Users, (*API).cart},
		{"POST", "/cart/items", Users, (*API).addToCart},
		{"DELETE", "/cart/items/{id}", Users, (*API).removeFromCart},
		{"POST", "/orders", Users, (*API).checkOut},
		{"GET", "/orders", Users, (*API).orders},
		{"GET", "/orders/{id}", Users, (*API).order},

		{"GET", "/admin/products", Admins, (*API).allProducts},
		{"POST", "/admin/products", Admins, (*API).addProduct},
		{"PATCH", "/admin/products/{id}", Admins, (*API).patchProduct},
		{"POST", "/admin/categories", Admins, (*API).addCategory},
		{"PATCH", "/admin/orders/{id}", Admins, (*API).patchOrder},
		{"GET", "/admin/audits", Admins, (*API).audits},
		{"GET", "/admin/low-stock", Admins, (*API).lowStocks},
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
	return httpapi.Server{Log: a.Log, Known: failures, Again: again}.Handler(endpoints, page.Handlers())
}

// endpoint returns the endpoint of a route.
func (a *API) endpoint(route Route) httpapi.Endpoint {
	serve := func(w http.ResponseWriter, r *http.Request, who store.User) error {
		err := route.serve(a, w, r, who)
		if errors.Is(err, store.ErrAttempts) {
			w.Header().Set("Retry-After", strconv.Itoa(int(store.AttemptWindow.Seconds())))
		}
		return err
	}
	switch route.Access {
	case Anyone:
		return func(w http.ResponseWriter, r *http.Request) error { return serve(w, r, store.User{}) }
	case Admins:
		return httpapi.For(a.identify, serve, string(store.Admin))
	}
	return httpapi.For(a.identify, serve)
}

// identify returns the user whose token a request carries, if the user has one of the
// roles. It reads the user each time: a new password ends a session at once, and a role
// counts at once.
func (a *API) identify(_ http.ResponseWriter, r *http.Request, roles ...string) (store.User, error) {
	token, err := httpapi.Bearer(r.Header)
	if err != nil {
		return store.User{}, err
	}
	of, err := a.sessions.Verify(token)
	if err != nil {
		return store.User{}, err
	}
	who, err := a.shop.UserOf(r.Context(), of.User, of.Generation)
	switch {
	case errors.Is(err, table.ErrNotFound):
		return who, session.ErrUnauthorized
	case err == nil && len(roles) > 0 && !slices.Contains(roles, string(who.Role)):
		return who, httpapi.ErrRole
	}
	return who, err
}
