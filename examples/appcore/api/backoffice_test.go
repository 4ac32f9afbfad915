package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/internal/check"
)

type user struct {
	ID        string `json:"userId"`
	Email     string `json:"email"`
	Name      string `json:"name"`
	CreatedAt string `json:"createdAt"`
}

const anaGarcia = `{"userId":"u-123","email":" Ana.Garcia@Mail.com","name":"Ana García"}`

// office sends a request of a user to an endpoint of the back office.
func (a *app) office(tb testing.TB, user, method, path, body string) response {
	tb.Helper()
	return a.do(tb, request{Method: method, Path: "/backoffice/" + path, User: user, Body: body})
}

func TestTheBackOfficeRegistersUsers(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	first := a.office(t, staff, http.MethodPost, "users", anaGarcia)
	first.is(t, http.StatusCreated)
	u := decode[user](t, first.Body)
	check.Equal(t, "registered", u, user{ID: ana, Email: "ana.garcia@mail.com", Name: "Ana García", CreatedAt: u.CreatedAt})
	a.office(t, staff, http.MethodPost, "users", anaGarcia).is(t, http.StatusOK, first.Body)

	changed := a.office(t, staff, http.MethodPatch, "users/"+ana, `{"email":"ana@mail.com"}`)
	changed.is(t, http.StatusOK)
	u.Email = "ana@mail.com"
	check.Equal(t, "changed", decode[user](t, changed.Body), u)
	a.office(t, staff, http.MethodGet, "users/"+ana, "").is(t, http.StatusOK, changed.Body)
	a.office(t, staff, http.MethodPost, "users", strings.ReplaceAll(anaGarcia, ana, bruno)).is(t, http.StatusCreated)
}

func TestTheBackOfficeApprovesAnyonesTransactions(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	id := a.create(t, ana, "k")
	responses := make([]response, 2)
	check.Together(len(responses), func(i int) {
		responses[i] = a.office(t, staff, http.MethodPost, "transactions/"+id+"/approve", "")
	})
	for _, got := range append(responses, a.office(t, staff, http.MethodPost, "transactions/"+id+"/approve", "")) {
		got.is(t, http.StatusOK)
		tx := decode[transaction](t, got.Body)
		check.Equal(t, "approved", []string{tx.ID, tx.User, tx.Status}, []string{id, ana, "COMPLETED"})
		check.Equal(t, "ETag", got.Header.Get("ETag"), a.etag(t, ana, id))
	}
	a.lists(t, ana, "/notifications", 1)
	a.lists(t, staff, "/notifications", 0)
}

func TestEveryRefusalOfTheBackOfficeHasItsStatus(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.office(t, staff, http.MethodPost, "users", anaGarcia).is(t, http.StatusCreated)
	a.office(t, staff, http.MethodPost, "users", `{"userId":"u-456","email":"bruno@mail.com","name":"Bruno"}`).is(t, http.StatusCreated)
	long := strings.Repeat("x", 64<<10)
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", "users", `{}`, 400, "invalid_userId"},
		{"POST", "users", `{"userId":"..","email":"a@b","name":"n"}`, 400, "invalid_userId"},
		{"POST", "users", `{"userId":7,"email":"a@b","name":"n"}`, 400, "invalid_userId"},
		{"POST", "users", `{"userId":"u-1","email":"a@b"}`, 400, "invalid_name"},
		{"POST", "users", `{"userId":"u-1","email":["a@b"],"name":"n"}`, 400, "invalid_email"},
		{"POST", "users", `{"userId":"u-1","email":null,"name":"n"}`, 400, "invalid_email"},
		{"POST", "users", `{"userId":"u-1","email":"a@b@c","name":"n"}`, 400, "invalid_email"},
		{"POST", "users", `{"userId":"u-1","email":"` + long[:60<<10] + `@b","name":"n"}`, 400, "invalid_email"},
		{"POST", "users", `{"userId":"u-1","email":"` + long + `@b","name":"n"}`, 413, "body_too_large"},
		{"POST", "users", `{"userId":"u-1","email":"a@b","name":"n","role":"backoffice"}`, 400, "unknown_field"},
		{"POST", "users", strings.ReplaceAll(anaGarcia, "Ana G", "Another G"), 409, "user_exists"},
		{"POST", "users", strings.ReplaceAll(anaGarcia, "u-123", "u-789"), 409, "email_taken"},
		{"PATCH", "users/u-123", `{"email":"BRUNO@mail.com"}`, 409, "email_taken"},
		{"PATCH", "users/u-123", `{"email":""}`, 400, "invalid_email"},
		{"PATCH", "users/u-123", `{"name":"x"}`, 400, "unknown_field"},
		{"GET", "users/u-none", "", 404, "not_found"},
		{"GET", "users/%ff", "", 404, "not_found"},
		{"GET", "users/u-123%23PROFILE", "", 404, "not_found"},
		{"PATCH", "users/u-none", `{"email":"new@mail.com"}`, 404, "not_found"},
		{"PATCH", "users/%ff", `{"email":"new@mail.com"}`, 404, "not_found"},
		{"PATCH", "users/u-123%23PROFILE", `{"email":"new@mail.com"}`, 404, "not_found"},
		{"POST", "transactions/tx-none/approve", "", 404, "not_found"},
		{"POST", "transactions/%ff/approve", "", 404, "not_found"},
		{"POST", "transactions/" + long[:4000] + "/approve", "", 404, "not_found"},
		{"GET", "users", "", 405, "method_not_allowed"},
		{"DELETE", "users/u-123", "", 405, "method_not_allowed"},
	} {
		a.office(t, staff, c.method, c.path, c.body).refused(t, c.status, c.code, c.method, c.path, c.body)
	}
}

// The role comes from the groups of the user pool, by their exact names, and is
// checked before anything is read.
func TestEndpointsNeedTheirRole(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	id := a.create(t, ana, "k")
	i := check.Must(issuer())(t)
	before := len(a.faults.Requests())
	for _, groups := range []any{
		nil,
		[]string{},
		"backoffice", "[backoffice]",
		[]string{"BackOffice"},
		[]string{"backoffice "},
		[]string{"backoffice,auditor"},
		[]any{"backoffice", 1},
		map[string]bool{"backoffice": true},
		[]string{"users"},
	} {
		header := http.Header{"Authorization": {"Bearer " + tokenWith(t, i, "cognito:groups", groups)}}
		for _, route := range api.Routes() {
			if len(route.Roles) == 0 {
				continue
			}
			got := a.do(t, request{Method: route.Method, Path: strings.Replace(route.Path, "{id}", id, 1), Header: header, Body: "no JSON"})
			got.refused(t, http.StatusForbidden, "insufficient_role", route.Name, groups)
			check.Equal(t, "WWW-Authenticate", got.Header.Get("WWW-Authenticate"), "")
		}
	}
	check.Equal(t, "requests to DynamoDB", len(a.faults.Requests()), before)
	// An auditor reads the list of all, and that is all.
	a.get(t, ana, "/transactions/global").is(t, http.StatusOK)
	a.get(t, staff, "/transactions/global").is(t, http.StatusOK)
	a.office(t, ana, http.MethodPost, "transactions/"+id+"/approve", "").is(t, http.StatusForbidden)
	a.office(t, ana, http.MethodPost, "users", anaGarcia).is(t, http.StatusForbidden)
	a.office(t, "", http.MethodPost, "users", anaGarcia).is(t, http.StatusUnauthorized)
	// The staff has no rights to what is the users'.
	a.get(t, staff, "/transactions/"+id).is(t, http.StatusForbidden)
}
