package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
)

func TestAGroupOverHTTP(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := newWorld(t, a, "ana", "bob", "eva")
	group := "/groups/" + w.group
	a.is(t, http.StatusOK, "ana", "PATCH "+group, `{"description":"What we eat"}`)
	for range 2 {
		a.is(t, http.StatusNoContent, "bob", "PUT "+group+"/membership", "")
	}
	has := func(user, request string, parts ...string) {
		t.Helper()
		got := a.is(t, http.StatusOK, user, request, "")
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s of %s: %s, want %s", request, user, got, part)
			}
		}
	}
	has("eva", "GET "+group, `"name":"Cooks","description":"What we eat","memberCount":2`)
	has("bob", "GET "+group+"/membership", `"role":"member"`)
	has("bob", "GET /me", `"postCount":0,"groupCount":1`)

	// Members do what members may, and strangers nothing.
	for request, body := range map[string]string{
		"PATCH " + group: `{"name":"Chefs"}`, "DELETE " + group: "", "PUT " + group + "/members/bob": `{"role":"owner"}`,
		"PUT " + group + "/members/ana": `{"role":"member"}`,
	} {
		a.is(t, http.StatusForbidden, "bob", request, body)
		a.is(t, http.StatusNotFound, "eva", request, body)
	}
	for _, request := range []string{"DELETE " + group + "/membership", "GET " + group + "/membership", "GET " + group + "/members"} {
		a.is(t, http.StatusNotFound, "eva", request, "")
	}
	has("ana", "GET "+group, `"name":"Cooks"`)

	// A group keeps an owner.
	if got := a.is(t, http.StatusConflict, "ana", "DELETE "+group+"/membership", ""); !strings.Contains(got, "last_owner") {
		t.Error(got)
	}
	a.is(t, http.StatusConflict, "ana", "PUT "+group+"/members/ana", `{"role":"member"}`)
	a.is(t, http.StatusBadRequest, "ana", "PUT "+group+"/members/bob", `{"role":"boss"}`)
	a.is(t, http.StatusNotFound, "ana", "PUT "+group+"/members/eva", `{"role":"owner"}`)
	for range 2 {
		a.is(t, http.StatusNoContent, "ana", "PUT "+group+"/members/bob", `{"role":"owner"}`)
	}
	status := make([]int, 2)
	check.Together(2, func(i int) { status[i], _ = a.do(t, []string{"ana", "bob"}[i], "DELETE "+group+"/membership", "") })
	check.Equal(t, "statuses of two owners who leave", status[0]+status[1], http.StatusNoContent+http.StatusConflict)
	left := "bob"
	if status[0] == http.StatusConflict {
		left = "ana"
	}
	has("eva", "GET "+group, `"memberCount":1`)
	has(left, "GET "+group+"/members", `"role":"owner"`)

	a.is(t, http.StatusBadRequest, left, "PATCH "+group, `{"name":""}`)
	a.is(t, http.StatusNoContent, left, "DELETE "+group, "")
	a.is(t, http.StatusNotFound, left, "GET "+group, "")
	a.is(t, http.StatusNotFound, left, "PUT "+group+"/membership", "")
	a.is(t, http.StatusNotFound, left, "DELETE "+group+"/membership", "")
}

// PUT /me is the whole profile, PATCH /me a part of it.
func TestAProfileIsPutAsAWholeAndPatchedInParts(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	is := func(request, body, want string) {
		t.Helper()
		if got := a.is(t, http.StatusOK, "ana", request, body); !strings.Contains(got, want) {
			t.Errorf("%s %s: %s, want %s", request, body, got, want)
		}
	}
	const whole = `{"email":"ana@example.com","name":"Ana","avatar":"https://example.com/a.png"}`
	is("PUT /me", whole, whole[1:len(whole)-1])
	created := a.is(t, http.StatusOK, "ana", "GET /me", "")
	is("PATCH /me", `{"name":"Anna"}`, `"email":"ana@example.com","name":"Anna","avatar":"https://example.com/a.png"`)
	is("PATCH /me", `{"avatar":""}`, `"name":"Anna","createdAt"`)
	is("PATCH /me", `{"email":"Anna@example.com"}`, `"email":"anna@example.com","name":"Anna","createdAt"`)
	is("PATCH /me", `{}`, `"name":"Anna"`)
	a.is(t, http.StatusBadRequest, "ana", "PATCH /me", `{"name":""}`)
	a.is(t, http.StatusBadRequest, "ana", "PATCH /me", `{"email":"ana"}`)
	for range 2 {
		is("PUT /me", whole, whole[1:len(whole)-1])
		check.Equal(t, "profile", a.is(t, http.StatusOK, "ana", "GET /me", ""), created)
	}
	is("PUT /me", `{"email":"ana@example.com","name":"Ana"}`, `"name":"Ana","createdAt"`)
	a.is(t, http.StatusBadRequest, "ana", "PUT /me", `{"name":"Ana"}`)
}
