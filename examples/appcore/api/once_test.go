package api_test

import (
	"net/http"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table/tabletest"
)

// sameResponse checks that the second response to a POST is a replay of the first.
func sameResponse(t *testing.T, first, again response) {
	t.Helper()
	if again.Status != first.Status || again.Body != first.Body {
		t.Errorf("the second response is %d %s, the first was %d %s", again.Status, again.Body, first.Status, first.Body)
	}
	for _, name := range []string{"Location", "Content-Type"} {
		if f, a := first.Header.Get(name), again.Header.Get(name); f != a {
			t.Errorf("%s is %q, was %q", name, a, f)
		}
	}
	check.Equal(t, "Idempotency-Replayed", again.Header.Get("Idempotency-Replayed"), "true")
}

func TestARepeatedPostGetsTheSameBytes(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	first := a.post(t, ana, "k", eur)
	id := decode[transaction](t, first.Body).ID
	// Whatever has become of the transaction since.
	check.Must(a.service.Approve(t.Context(), id))(t)
	sameResponse(t, first, a.post(t, ana, "k", eur))
	sameResponse(t, first, a.post(t, ana, "k", " {\"currency\": \"EUR\",\n\"amount\": 500} "))

	a.post(t, ana, "k", `{"amount":500,"currency":"USD"}`).is(t, http.StatusConflict)
	a.lists(t, ana, "/transactions", 1)
	if theirs := a.create(t, bruno, "k"); theirs == id {
		t.Error("two users got the same transaction")
	}
}

func TestManyPostsWithOneKeyMakeOneTransaction(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	const posts = 64
	responses := make([]response, posts)
	check.Together(posts, func(i int) { responses[i] = a.post(t, ana, "one", eur) })
	made := 0
	for _, got := range responses {
		if got.Status != http.StatusCreated || got.Body != responses[0].Body {
			t.Errorf("%d %s, another was %d %s", got.Status, got.Body, responses[0].Status, responses[0].Body)
		}
		if got.Header.Get("Idempotency-Replayed") == "" {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d responses were not replayed, want 1", made)
	}
	for _, path := range []string{"/transactions", "/transactions/global"} {
		a.lists(t, ana, path, 1)
	}
}

func TestAPostWhoseResponseWasLostIsRepeated(t *testing.T) {
	t.Parallel()
	for _, fault := range []tabletest.Fault{tabletest.DropResponse(), tabletest.Truncate(), tabletest.Throttle(), tabletest.DropRequest()} {
		a := newApp(t)
		// For longer than the program goes on trying by itself.
		a.faults.Always("TransactWriteItems", fault)
		a.post(t, ana, "k", eur).is(t, http.StatusServiceUnavailable)
		a.faults.Always("TransactWriteItems", nil)
		got := a.post(t, ana, "k", eur)
		got.is(t, http.StatusCreated)
		a.lists(t, ana, "/transactions", 1)
	}
}
