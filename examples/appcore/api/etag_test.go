package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table/tabletest"
)

// patch sends a note for a transaction, with an If-Match unless that is empty.
func (a *app) patch(tb testing.TB, user, id, ifMatch, body string) response {
	tb.Helper()
	r := request{Method: http.MethodPatch, Path: "/transactions/" + id, User: user, Body: body}
	if ifMatch != "" {
		r.Header = http.Header{"If-Match": {ifMatch}}
	}
	return a.do(tb, r)
}

func (a *app) etag(tb testing.TB, user, id string) string {
	tb.Helper()
	return a.get(tb, user, "/transactions/"+id).Header.Get("ETag")
}

func TestAChangeHonoursIfMatch(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	id := a.create(t, ana, "k")
	seen := a.etag(t, ana, id)
	if len(seen) < 3 || seen[0] != '"' || seen[len(seen)-1] != '"' {
		t.Fatalf("ETag is %s", seen)
	}
	first := a.patch(t, ana, id, seen, `{"note":"first"}`)
	if first.Status != http.StatusOK || decode[transaction](t, first.Body).Note != "first" {
		t.Fatalf("%d %s", first.Status, first.Body)
	}
	now := a.get(t, ana, "/transactions/"+id)
	if tag := now.Header.Get("ETag"); now.Body != first.Body || tag != first.Header.Get("ETag") || tag == seen {
		t.Errorf("%s %s after a change that returned %s %s", tag, now.Body, first.Header.Get("ETag"), first.Body)
	}

	// Somebody who has seen the former one.
	a.patch(t, ana, id, seen, `{"note":"second"}`).is(t, http.StatusPreconditionFailed)
	// An approval is a change as well.
	check.Must(a.service.Approve(t.Context(), id))(t)
	a.patch(t, ana, id, first.Header.Get("ETag"), `{"note":"second"}`).is(t, http.StatusPreconditionFailed)
	for _, path := range []string{"/transactions", "/transactions/global"} {
		p := decode[page[transaction]](t, a.get(t, ana, path).Body)
		if len(p.Items) != 1 || p.Items[0].Note != "first" || p.Items[0].Status != "COMPLETED" {
			t.Errorf("%s: %+v", path, p.Items)
		}
	}
	if got := a.patch(t, ana, id, "*", `{"note":""}`); got.Status != http.StatusOK || strings.Contains(got.Body, "note") {
		t.Errorf("whatever is stored: %d %s", got.Status, got.Body)
	}
}

// The client cannot tell, and finds out by the next GET.
func TestAChangeWhoseResponseWasLost(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	id := a.create(t, ana, "k")
	seen := a.etag(t, ana, id)
	a.faults.Always("TransactWriteItems", tabletest.DropResponse())
	a.patch(t, ana, id, seen, `{"note":"n"}`).is(t, http.StatusServiceUnavailable)
	a.faults.Always("TransactWriteItems", nil)
	a.patch(t, ana, id, seen, `{"note":"n"}`).is(t, http.StatusPreconditionFailed)
	if got := decode[transaction](t, a.get(t, ana, "/transactions/"+id).Body); got.Note != "n" {
		t.Errorf("stored: %+v", got)
	}
}

// refusedPatches are changes to ana's transaction that are refused.
func refusedPatches(id string) []refusal {
	patch := func(user, id, body string, ifMatch ...string) request {
		return request{Method: http.MethodPatch, Path: "/transactions/" + id, User: user, Body: body, Header: http.Header{"If-Match": ifMatch}}
	}
	const note = `{"note":"n"}`
	return []refusal{
		{"no If-Match", patch(ana, id, note), 428, "missing_if_match"},
		{"empty If-Match", patch(ana, id, note, ""), 428, "missing_if_match"},
		{"two ETags", patch(ana, id, note, `"a"`, `"b"`), 400, "invalid_if_match"},
		{"two ETags, joined", patch(ana, id, note, `"a", "b"`), 400, "invalid_if_match"},
		{"an ETag without quotes", patch(ana, id, note, "a"), 400, "invalid_if_match"},
		{"an empty ETag", patch(ana, id, note, `""`), 400, "invalid_if_match"},
		{"a weak ETag", patch(ana, id, note, `W/"a"`), 400, "invalid_if_match"},
		{"another ETag", patch(ana, id, note, `"a"`), 412, "changed"},
		{"no such transaction to change", patch(ana, "tx-none", note, "*"), 404, "not_found"},
		{"an id to change that cannot be", patch(ana, "%ff", note, "*"), 404, "not_found"},
		{"another user's transaction to change", patch(bruno, id, note, "*"), 403, "forbidden"},
		{"a field that cannot be changed", patch(ana, id, `{"amount":1}`, "*"), 400, "unknown_field"},
		{"note too long", patch(ana, id, `{"note":"`+strings.Repeat("x", 1001)+`"}`, "*"), 400, "invalid_note"},
		{"no note", patch(ana, id, `{}`, "*"), 400, "invalid_note"},
		{"note null", patch(ana, id, `{"note":null}`, "*"), 400, "invalid_note"},
		{"note no text", patch(ana, id, `{"note":1}`, "*"), 400, "invalid_note"},
	}
}
