package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/shop/api"
	"github.com/singletable/singletable/table/tabletest"
)

func TestShoppingFromSignUpToDelivery(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.do(t, "", "POST", "/users", `{"email":"Carla@Example.com","name":"Carla","password":"secret-1"}`).is(t, http.StatusAccepted)
	a.do(t, "", "POST", "/sessions", `{"email":"carla@example.com","password":"secret-1"}`).is(t, http.StatusUnauthorized, "login_failed")
	got := a.do(t, "", "POST", "/sessions", `{"email":"carla@example.com","password":"secret-1","code":"`+a.mails.code(t, "carla@example.com")+`"}`)
	carla := a.session(t, "carla", got)
	check.Equal(t, "e-mail and role", carla.Email+" "+carla.Role, "carla@example.com customer")
	a.do(t, "carla", "GET", "/users/"+carla.UserID, "").is(t, http.StatusOK)

	check.Equal(t, "a category", a.do(t, "", "GET", "/categories/home", "").Body, `{"slug":"home","name":"Home","description":"For the rooms you live in."}`+"\n")
	if got := a.do(t, "", "GET", "/categories/home/products?limit=1", ""); !strings.Contains(got.Body, `"name":"Desk lamp"`) || !strings.Contains(got.Body, `"lastKey":`) {
		t.Errorf("products: %+v", got)
	}
	if got := a.do(t, "", "GET", "/products?name=desk+l", ""); !strings.Contains(got.Body, `"productId":"p-lamp"`) {
		t.Errorf("search: %+v", got)
	}
	a.do(t, "", "GET", "/products/p-lamp", "").is(t, http.StatusOK)
	a.do(t, "", "GET", "/products/p-bin", "").is(t, http.StatusNotFound) // not active
	if got := a.do(t, "", "GET", "/products/p-lamp/similar", ""); !strings.HasPrefix(got.Body, `{"items":[{"productId":"p-desk","name":"Desk, oak"`) || strings.Contains(got.Body, "p-lamp") {
		t.Errorf("similar products: %+v", got)
	}
	a.do(t, "", "GET", "/products/p-bin/similar", "").is(t, http.StatusNotFound)

	a.fill(t, "carla", "p-lamp", "p-lamp", "p-bowl", "p-spade")
	a.do(t, "carla", "DELETE", "/cart/items/p-spade", "").is(t, http.StatusNoContent)
	if got := a.do(t, "carla", "GET", "/cart", ""); !strings.HasPrefix(got.Body,
		`{"items":[{"productId":"p-bowl","name":"Bowl","quantity":1,"price":900},{"productId":"p-lamp","name":"Desk lamp","quantity":2,"price":4900}],"cartRevision":"`) {
		t.Errorf("the cart: %s", got.Body)
	}
	placed := a.checkOut(t, "carla", "k", a.cart(t, "carla"))
	placed.is(t, http.StatusCreated)
	if want := `"total":10700,"items":[{"productId":"p-bowl","name":"Bowl","quantity":1,"price":900,"subtotal":900},` +
		`{"productId":"p-lamp","name":"Desk lamp","quantity":2,"price":4900,"subtotal":9800}]}`; !strings.Contains(placed.Body, want) {
		t.Errorf("the order: %s", placed.Body)
	}
	path := placed.Header.Get("Location")
	check.Equal(t, "the order by id", a.do(t, "carla", "GET", path, "").Body, placed.Body)
	for _, status := range []string{"PAID", "SHIPPED", "DELIVERED"} {
		a.do(t, eva, "PATCH", "/admin"+path, `{"status":"`+status+`"}`).is(t, http.StatusOK)
	}
	a.do(t, eva, "PATCH", "/admin"+path, `{"status":"PAID"}`).is(t, http.StatusConflict, "invalid_status")
	if got := a.do(t, "carla", "GET", "/orders", ""); !strings.Contains(got.Body, `"status":"DELIVERED"`) {
		t.Errorf("the list: %+v", got)
	}
}

func TestAnAdminChangesTheCatalogue(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.do(t, eva, "POST", "/admin/categories", `{"slug":"toys","name":"Toys"}`).is(t, http.StatusCreated)
	a.do(t, eva, "POST", "/admin/categories", `{"slug":"toys","name":"Toys"}`).is(t, http.StatusConflict, "exists")
	got := a.do(t, eva, "POST", "/admin/products", `{"name":"A kite","category":"toys","price":1500,"stock":4,"active":true}`)
	got.is(t, http.StatusCreated)
	id := decode[struct{ ProductID string }](t, got).ProductID
	a.do(t, eva, "PATCH", "/admin/products/"+id, `{"price":1400,"addStock":-1}`).is(t, http.StatusOK)
	if got := a.do(t, eva, "GET", "/admin/products?limit=1", ""); !strings.Contains(got.Body, `{"productId":"`+id+`","name":"A kite","category":"toys","price":1400,"stock":3,"active":true}`) {
		t.Errorf("the first of all products: %+v", got)
	}
	a.do(t, eva, "PATCH", "/admin/products/"+id, `{"category":"none"}`).is(t, http.StatusConflict, "no_category")
	a.do(t, eva, "PATCH", "/admin/products/"+id, `{"addStock":-9}`).is(t, http.StatusBadRequest, "invalid_product")
	a.do(t, eva, "PATCH", "/admin/products/"+id, `{"active":false}`).is(t, http.StatusOK)
	a.do(t, "", "GET", "/products/"+id, "").is(t, http.StatusNotFound)
	inactive := decode[struct{ Items []struct{ ProductID string } }](t, a.do(t, eva, "GET", "/admin/products?active=false", ""))
	check.Equal(t, "inactive products", fmt.Sprint(inactive.Items), "[{"+id+"} {p-bin}]")
	a.do(t, eva, "GET", "/users/u-ana", "").is(t, http.StatusOK)
}

func TestAnOrderNamesThePieceThatRanOut(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.fill(t, ana, "p-lamp", "p-lamp", "p-lamp", "p-lamp", "p-bowl")
	got := a.checkOut(t, ana, "k", a.cart(t, ana))
	got.is(t, http.StatusConflict, "out_of_stock")
	if !strings.Contains(got.Body, "Desk lamp (4 wanted, 3 left)") {
		t.Error(got.Body)
	}
	a.do(t, ana, "DELETE", "/cart/items/p-lamp", "")
	a.checkOut(t, ana, "k", a.cart(t, ana)).is(t, http.StatusCreated) // the key was not used up
	a.checkOut(t, ana, "k-2", a.cart(t, ana)).is(t, http.StatusConflict, "empty_cart")
}

// The revision in a request is that of the cart which the user has seen: the order is of
// that one, or refused.
func TestAnOrderIsOfTheCartThatTheUserSaw(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.fill(t, ana, "p-lamp", "p-lamp")
	seen := a.cart(t, ana)
	a.do(t, eva, "PATCH", "/admin/products/p-lamp", `{"price":5000}`).is(t, http.StatusOK)
	a.checkOut(t, ana, "k", seen).is(t, http.StatusConflict, "cart_changed")
	if got := a.do(t, ana, "GET", "/cart", ""); !strings.Contains(got.Body, `"quantity":2,"price":5000`) {
		t.Errorf("the cart: %s", got.Body)
	}
	seen = a.cart(t, ana)
	a.fill(t, ana, "p-bowl") // in another tab
	a.checkOut(t, ana, "k", seen).is(t, http.StatusConflict, "cart_changed")
	a.do(t, ana, "DELETE", "/cart/items/p-bowl", "").is(t, http.StatusNoContent)
	for _, body := range []string{"", `{}`, `{"cartRevision":null}`, `{"cartRevision":""}`, `{"cartRevision":1}`, `{"total":10000}`} {
		a.checkOut(t, ana, "k", body).is(t, http.StatusBadRequest)
	}
	a.checkOut(t, ana, "k", seen).is(t, http.StatusCreated) // it is the same cart again
	a.fill(t, ana, "p-bowl")
	seen = a.cart(t, ana)
	a.do(t, eva, "PATCH", "/admin/products/p-bowl", `{"active":false}`).is(t, http.StatusOK)
	a.checkOut(t, ana, "k-2", seen).is(t, http.StatusConflict, "cart_changed")
	if got := a.do(t, ana, "GET", "/cart", ""); strings.Contains(got.Body, "price") {
		t.Errorf("what is not sold has a price: %s", got.Body)
	}
	got := a.checkOut(t, ana, "k-2", a.cart(t, ana))
	got.is(t, http.StatusConflict, "not_sold")
	if !strings.Contains(got.Body, "not sold: Bowl") {
		t.Error(got.Body)
	}
}

func TestAKeyIsForOneCart(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.fill(t, ana, "p-bowl")
	cart := a.cart(t, ana)
	placed := a.checkOut(t, ana, "k", cart)
	placed.is(t, http.StatusCreated)
	// The same product at the same price, and still another cart.
	a.fill(t, ana, "p-bowl")
	a.checkOut(t, ana, "k", a.cart(t, ana)).is(t, http.StatusUnprocessableEntity, "idempotency_key_reused")
	again := a.checkOut(t, ana, "k", cart)
	again.is(t, http.StatusCreated)
	check.Equal(t, "the retry", again.Body, placed.Body)
	check.Equal(t, "replayed", again.Header.Get("Idempotency-Replayed"), "true")
	if got := a.do(t, ana, "GET", "/cart", ""); !strings.Contains(got.Body, "p-bowl") {
		t.Errorf("the other cart: %s", got.Body)
	}
	list := decode[struct{ Items []any }](t, a.do(t, ana, "GET", "/orders", ""))
	check.Equal(t, "orders", len(list.Items), 1)
}

func TestACheckoutWithOneKeyIsOneOrder(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.fill(t, ana, "p-bowl")
	a.fill(t, bruno, "p-bowl")
	responses := make([]response, 16)
	cart := a.cart(t, ana)
	check.Together(len(responses), func(i int) { responses[i] = a.checkOut(t, ana, "k", cart) })
	first := 0
	location := ""
	for _, got := range responses {
		if got.Status == http.StatusServiceUnavailable {
			continue
		}
		got.is(t, http.StatusCreated)
		if location == "" {
			location = got.Header.Get("Location")
		}
		check.Equal(t, "location", got.Header.Get("Location"), location)
		if got.Header.Get("Idempotency-Replayed") == "" {
			first++
		}
	}
	check.Equal(t, "orders that were not replayed", first, 1)
	mine := a.checkOut(t, ana, "k", cart)
	check.Equal(t, "the order again", mine.Header.Get("Location"), location)
	theirs := a.checkOut(t, bruno, "k", a.cart(t, bruno)) // the key of another user is another one
	theirs.is(t, http.StatusCreated)
	if theirs.Header.Get("Location") == location {
		t.Error("two users have one order")
	}
	// A response that was lost, for longer than the program repeats by itself.
	a.fill(t, ana, "p-spade")
	cart = a.cart(t, ana)
	a.faults.Always("TransactWriteItems", tabletest.DropResponse())
	a.checkOut(t, ana, "lost", cart).is(t, http.StatusServiceUnavailable, "unavailable")
	a.faults.Always("TransactWriteItems", nil)
	a.checkOut(t, ana, "lost", cart).is(t, http.StatusCreated)
	list := decode[struct{ Items []any }](t, a.do(t, ana, "GET", "/orders", ""))
	check.Equal(t, "orders", len(list.Items), 2)
}

// Every endpoint is called without a token, with a bad one, and by a customer.
func TestEveryEndpointChecksTokenAndRole(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	order := a.order(t, ana, "k")
	a.tokens["cut"] = a.tokens[eva][:len(a.tokens[eva])-2] // package session tests what a good token is
	guarded := 0
	for _, r := range api.Routes() {
		if r.Access == api.Anyone {
			continue
		}
		guarded++
		path := strings.ReplaceAll(r.Path, "/orders/{id}", order)
		for _, bad := range []string{"", "cut"} {
			a.do(t, bad, r.Method, path, `{}`).is(t, http.StatusUnauthorized, "unauthorized")
		}
		if r.Access == api.Admins {
			a.do(t, ana, r.Method, path, `{"status":"PAID"}`).is(t, http.StatusForbidden, "insufficient_role")
		}
		for _, good := range []string{ana, eva} {
			got := a.do(t, good, r.Method, path, "none")
			refused := got.Status == http.StatusUnauthorized || got.Status == http.StatusForbidden
			check.Equal(t, good+" is refused "+r.Method+" "+path, refused, good == ana && r.Access == api.Admins)
		}
	}
	check.Equal(t, "endpoints that need a token", guarded, 14)
	if got := a.do(t, ana, "GET", order, ""); !strings.Contains(got.Body, `"status":"PLACED"`) {
		t.Errorf("a refused request changed the order: %s", got.Body)
	}
	for _, body := range []string{
		`{"email":"mallory@example.com","name":"Mallory","password":"secret-1","role":"admin"}`,
		`{"email":"mallory@example.com","name":"Mallory","password":"secret-1","userId":"u-ana"}`,
	} {
		a.do(t, "", "POST", "/users", body).is(t, http.StatusBadRequest, "unknown_field")
	}
}

func TestUsersDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	orders := []string{a.order(t, ana, "1"), a.order(t, ana, "2")}
	a.order(t, bruno, "1")
	a.order(t, bruno, "2")
	a.fill(t, ana, "p-spade")
	for _, path := range []string{orders[0], "/users/u-ana", "/orders/none", "/users/none", "/orders/%ff", "/users/" + strings.Repeat("x", 3000)} {
		got := a.do(t, bruno, "GET", path, "")
		got.is(t, http.StatusNotFound, "not_found")
	}
	if got := a.do(t, bruno, "GET", "/cart", ""); !strings.HasPrefix(got.Body, `{"items":[],`) {
		t.Errorf("bruno's cart: %s", got.Body)
	}
	a.do(t, bruno, "DELETE", "/cart/items/p-spade", "").is(t, http.StatusNoContent)
	if got := a.do(t, ana, "GET", "/cart", ""); !strings.Contains(got.Body, "p-spade") {
		t.Errorf("ana's cart: %s", got.Body)
	}
	for _, user := range []string{ana, bruno} {
		got := a.do(t, user, "GET", "/orders", "")
		if id := strings.TrimPrefix(orders[0], "/orders/"); strings.Contains(got.Body, id) != (user == ana) {
			t.Errorf("orders of %s: %s", user, got.Body)
		}
	}
	next := decode[struct{ LastKey string }](t, a.do(t, ana, "GET", "/orders?limit=1", "")).LastKey
	a.do(t, ana, "GET", "/orders?limit=1&lastKey="+next, "").is(t, http.StatusOK)
	a.do(t, bruno, "GET", "/orders?limit=1&lastKey="+next, "").is(t, http.StatusBadRequest, "invalid_cursor")
	a.do(t, eva, "GET", "/admin/products?lastKey="+next, "").is(t, http.StatusBadRequest, "invalid_cursor")
	a.do(t, eva, "GET", orders[0], "").is(t, http.StatusOK) // an admin
}

func TestEveryRefusalHasItsStatus(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	for _, c := range []struct {
		user, request, body string
		status              int
		code                string
	}{
		{"", "POST /users", `{"email":"ana","name":"Ana","password":"secret-1"}`, 400, "invalid_email"},
		{"", "POST /users", `{"email":"b@example.com","name":"","password":"secret-1"}`, 400, "invalid_name"},
		{"", "POST /users", `{"email":"b@example.com","name":"B","password":"short"}`, 400, "invalid_password"},
		{"", "POST /users", `email=b`, 400, "invalid_json"},
		{"", "POST /codes", `{"email":"ana"}`, 400, "invalid_email"},
		{"", "POST /passwords", `{"code":"","password":"secret-1"}`, 400, "invalid_code"},
		{"", "POST /passwords", `{"code":"x","password":"short"}`, 400, "invalid_code"},
		{"", "POST /sessions", `{"email":"ana@example.com","password":"guessed-1"}`, 401, "login_failed"},
		{"", "POST /sessions", `{"email":"none@example.com","password":"guessed-1"}`, 401, "login_failed"},
		{"", "GET /categories/none", "", 404, "not_found"},
		{"", "GET /categories/home/products?limit=0", "", 400, "invalid_limit"},
		{"", "GET /categories/home/products?limit=101", "", 400, "invalid_limit"},
		{"", "GET /categories/home/products?lastKey=x", "", 400, "invalid_cursor"},
		{"", "GET /products", "", 400, "invalid_name"},
		{"", "PUT /products", "", 405, "method_not_allowed"},
		{"", "GET /nothing", "", 404, "not_found"},
		{ana, "POST /cart/items", `{"productId":"p-bin","quantity":1}`, 409, "not_sold"},
		{ana, "POST /cart/items", `{"productId":"none","quantity":1}`, 409, "not_sold"},
		{ana, "POST /cart/items", `{"productId":"p-lamp","quantity":0}`, 400, "invalid_quantity"},
		{ana, "POST /cart/items", `{"productId":"p-lamp","quantity":10001}`, 400, "invalid_quantity"},
		{ana, "POST /cart/items", `{"productId":"p-lamp","quantity":1.5}`, 400, "invalid_quantity"},
		{ana, "POST /orders", "", 400, "missing_idempotency_key"},
		{eva, "POST /admin/categories", `{"slug":"No","name":"No"}`, 400, "invalid_category"},
		{eva, "POST /admin/products", `{"name":"Kite","category":"none","price":1}`, 409, "no_category"},
		{eva, "POST /admin/products", `{"name":"Kite","category":"home","price":-1}`, 400, "invalid_product"},
		{eva, "POST /admin/products", `{"name":"Kite","category":"home","active":true}`, 400, "invalid_product"}, // not for nothing
		{eva, "PATCH /admin/products/none", `{"price":1}`, 404, "not_found"},
		{eva, "PATCH /admin/orders/none", `{"status":"PAID"}`, 404, "not_found"},
		{eva, "GET /admin/products?active=no", "", 400, "invalid_active"},
		{eva, "GET /admin/audits", "", 400, "invalid_query"},
		{eva, "GET /admin/audits?type=ORDER", "", 400, "invalid_query"},
		{eva, "GET /admin/audits?day=today", "", 400, "invalid_query"},
		{eva, "GET /admin/audits?day=2024-01-15&type=ORDER&id=o", "", 400, "invalid_query"},
		{eva, "GET /admin/audits?day=2024-01-15&id=o", "", 400, "invalid_query"},
		{eva, "GET /admin/audits?day=today&type=ORDER&id=o", "", 400, "invalid_query"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		t.Run(fmt.Sprint(c.request, " ", c.body), func(t *testing.T) {
			a.do(t, c.user, method, path, c.body).is(t, c.status, c.code)
		})
	}
	a.checkOut(t, ana, strings.Repeat("x", 3000), a.cart(t, ana)).is(t, 400, "invalid_idempotency_key")
}

func TestThePageAllowsNothingButItsOwn(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	for _, path := range []string{"/", "/shop.js", "/shop.css"} {
		got := a.do(t, "", "GET", path, "")
		got.is(t, http.StatusOK)
		policy := got.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: policy %q lacks %s", path, policy, want)
			}
		}
		check.Equal(t, "sniffing", got.Header.Get("X-Content-Type-Options"), "nosniff")
	}
	if body := a.do(t, "", "GET", "/shop.js", "").Body; strings.Contains(body, "innerHTML") || strings.Contains(body, "insertAdjacentHTML") {
		t.Error("the script writes HTML")
	}
}
