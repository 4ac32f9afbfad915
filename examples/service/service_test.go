package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

const projects = "/tenants/acme/projects"

// caller sends a request with headers, "Name: value" each.
type caller func(method, path, body string, headers ...string) *httptest.ResponseRecorder

// start returns the caller of a service with an empty table, whose requests can get faults.
func start(t *testing.T, faults *tabletest.Faults) caller {
	t.Helper()
	client := tabletest.Client(t, faults.Install)
	s, err := newService(tabletest.NewWith(t, client, Schema, &table.Options{MaxAttempts: 2}))
	if err != nil {
		t.Fatal(err)
	}
	return func(method, path, body string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		for _, header := range headers {
			name, value, _ := strings.Cut(header, ": ")
			r.Header.Add(name, value)
		}
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, r)
		return w
	}
}

func is(t *testing.T, got *httptest.ResponseRecorder, status int, text string) {
	t.Helper()
	if got.Code != status || !strings.Contains(got.Body.String(), text) {
		t.Errorf("%d %s, want %d and %s", got.Code, got.Body, status, text)
	}
}

func TestCreateTakesEffectOnce(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	call := start(t, &faults)
	const body = `{"slug": "site", "name": "Website"}`
	faults.Always("", tabletest.DropResponse())
	is(t, call("POST", projects, body, "Idempotency-Key: k-1"), 503, "unavailable") // though it is stored
	faults.Always("", nil)
	first := call("POST", projects, body, "Idempotency-Key: k-1")
	is(t, first, 201, `"slug":"site"`)
	again := call("POST", projects, body, "Idempotency-Key: k-1")
	is(t, again, 201, first.Body.String())
	is(t, call("GET", again.Header().Get("Location"), ""), 200, first.Body.String())
	is(t, call("POST", projects, `{"slug": "site", "name": "Site"}`, "Idempotency-Key: k-1"), 422, "idempotency_key_reused")
	is(t, call("POST", projects, body, "Idempotency-Key: k-2"), 409, "slug_taken")
	is(t, call("POST", projects, body), 400, "invalid_idempotency_key")
	is(t, call("POST", projects, `{"slug": "Site"}`, "Idempotency-Key: k-3"), 400, "invalid_slug")
	is(t, call("POST", "/tenants/other/projects", body, "Idempotency-Key: k-1"), 201, `"slug":"site"`)
}

func TestPatchExpectsTheETag(t *testing.T) {
	t.Parallel()
	call := start(t, new(tabletest.Faults))
	is(t, call("POST", projects, `{"slug": "shop", "name": "Shop"}`, "Idempotency-Key: k-1"), 201, "shop")
	created := call("POST", projects, `{"slug": "site", "name": "Site"}`, "Idempotency-Key: k-2")
	path, seen := created.Header().Get("Location"), "If-Match: "+created.Header().Get("ETag")
	is(t, call("PATCH", path, `{"name": "A"}`), 428, "missing_if_match")
	is(t, call("PATCH", path, `{"name": "A"}`, `If-Match: W/"x"`), 400, "invalid_if_match")
	is(t, call("PATCH", path, `{"nam": "A"}`, seen), 400, "invalid_body")
	is(t, call("PATCH", path, `{"slug": "shop"}`, seen), 409, "slug_taken")
	changed := call("PATCH", path, `{"slug": "home"}`, seen)
	is(t, changed, 200, `"slug":"home","name":"Site"`)
	is(t, call("PATCH", path, `{"name": "A"}`, seen), 412, "changed")
	is(t, call("PATCH", path, `{"name": "A"}`, "If-Match: "+changed.Header().Get("ETag")), 200, `"name":"A"`)
	is(t, call("PATCH", path, `{"name": "B"}`, "If-Match: *"), 200, `"name":"B"`)
	is(t, call("PATCH", projects+"/none", `{"name": "B"}`, "If-Match: *"), 404, "not_found")
}

func TestListHasPages(t *testing.T) {
	t.Parallel()
	call := start(t, new(tabletest.Faults))
	for i := range 21 {
		is(t, call("POST", projects, fmt.Sprintf(`{"slug": "p-%d", "name": "P"}`, i), fmt.Sprintf("Idempotency-Key: %d", i)), 201, "")
	}
	var page struct {
		Items []Project
		Next  string
	}
	first := call("GET", projects, "")
	if err := json.Unmarshal(first.Body.Bytes(), &page); err != nil || len(page.Items) != 20 {
		t.Fatal(err, first.Body)
	}
	is(t, call("GET", projects+"?cursor="+page.Next, ""), 200, `"next":""`)
	is(t, call("GET", "/tenants/other/projects?cursor="+page.Next, ""), 400, "invalid_cursor")
	is(t, call("GET", "/tenants/other/projects", ""), 200, `"items":[]`)
}

func TestServeFinishesRequests(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() {
		stopped <- serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cancel()
			w.WriteHeader(http.StatusNoContent)
		}))
	}()
	response, err := http.Get("http://" + listener.Addr().String())
	if err != nil || response.StatusCode != http.StatusNoContent {
		t.Fatal(response, err)
	}
	defer response.Body.Close()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
