package api_test

import (
	"crypto/rand"
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/table/tabletest"
)

// sameAnswer checks that two answers to a POST differ in what they must only.
func sameAnswer(t *testing.T, first, again answer) {
	t.Helper()
	if again.Status != first.Status || again.Body != first.Body {
		t.Errorf("the second answer is %d %s, the first was %d %s", again.Status, again.Body, first.Status, first.Body)
	}
	for _, name := range []string{"Location", "Content-Type"} {
		if f, a := first.Header.Get(name), again.Header.Get(name); f != a {
			t.Errorf("%s is %q, was %q", name, a, f)
		}
	}
	if replayed := again.Header.Get("Idempotency-Replayed"); replayed != "true" {
		t.Errorf("Idempotency-Replayed is %q", replayed)
	}
}

func TestARepeatedPostGetsTheSameBytes(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	first := a.post(t, ana, "k", eur)
	id := decode[transaction](t, first.Body).ID
	// Whatever has become of the transaction since.
	if _, err := a.service.Approve(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	sameAnswer(t, first, a.post(t, ana, "k", eur))
	sameAnswer(t, first, a.post(t, ana, "k", " {\"currency\": \"EUR\",\n\"amount\": 500} "))

	if other := a.post(t, ana, "k", `{"amount":500,"currency":"USD"}`); other.Status != http.StatusConflict {
		t.Errorf("another body: status %d", other.Status)
	}
	if p := decode[page[transaction]](t, a.get(t, ana, "/transactions").Body); len(p.Items) != 1 {
		t.Errorf("there are %d transactions", len(p.Items))
	}
}

func TestKeysOfTwoUsersAreTwoKeys(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	mine, theirs := a.create(t, ana, "k"), a.create(t, bruno, "k")
	if mine == theirs {
		t.Error("two users got the same transaction")
	}
}

func TestManyPostsWithOneKeyMakeOneTransaction(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	const posts = 64
	answers := make([]answer, posts)
	var wg sync.WaitGroup
	for i := range posts {
		wg.Go(func() { answers[i] = a.post(t, ana, "one", eur) })
	}
	wg.Wait()
	made := 0
	for _, got := range answers {
		if got.Status != http.StatusCreated || got.Body != answers[0].Body {
			t.Errorf("%d %s, another was %d %s", got.Status, got.Body, answers[0].Status, answers[0].Body)
		}
		if got.Header.Get("Idempotency-Replayed") == "" {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d answers were not replayed, want 1", made)
	}
	for _, path := range []string{"/transactions", "/transactions/global"} {
		if p := decode[page[transaction]](t, a.get(t, ana, path).Body); len(p.Items) != 1 {
			t.Errorf("%s: there are %d transactions", path, len(p.Items))
		}
	}
}

func TestAPostWhoseAnswerWasLostIsRepeated(t *testing.T) {
	t.Parallel()
	for i, fault := range []tabletest.Fault{tabletest.DropResponse(), tabletest.Truncate(), tabletest.Throttle(), tabletest.DropRequest()} {
		a := newApp(t)
		// For longer than the program goes on trying by itself.
		a.faults.Always("TransactWriteItems", fault)
		if got := a.post(t, ana, "k", eur); got.Status != http.StatusServiceUnavailable {
			t.Errorf("fault %d: status %d: %s", i, got.Status, got.Body)
		}
		a.faults.Always("TransactWriteItems", nil)
		got := a.post(t, ana, "k", eur)
		if got.Status != http.StatusCreated {
			t.Errorf("fault %d: status %d: %s", i, got.Status, got.Body)
		}
		if p := decode[page[transaction]](t, a.get(t, ana, "/transactions").Body); len(p.Items) != 1 {
			t.Errorf("fault %d: there are %d transactions", i, len(p.Items))
		}
	}
}

func TestARestartForgetsNothing(t *testing.T) {
	t.Parallel()
	options := &tabletest.Options{Path: filepath.Join(t.TempDir(), "data.db")}
	schema := core.Schema("AppCore-" + rand.Text()) // the engine may not be ours alone
	start := func() (*tabletest.Engine, *app) {
		engine, err := tabletest.Start(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { engine.Close() })
		if err := schema.Ensure(t.Context(), engine.Client()); err != nil {
			t.Fatal(err)
		}
		return engine, startApp(t, engine.Client(), schema)
	}

	engine, a := start()
	first := a.post(t, ana, "k", eur)
	if first.Status != http.StatusCreated {
		t.Fatalf("status %d: %s", first.Status, first.Body)
	}
	a.post(t, ana, "k-2", eur)
	lastKey := decode[page[transaction]](t, a.get(t, ana, "/transactions?limit=1").Body).LastKey
	a.Close()
	engine.Close() // kills the process

	engine, a = start()
	sameAnswer(t, first, a.post(t, ana, "k", eur))
	rest := decode[page[transaction]](t, a.get(t, ana, "/transactions?limit=5&lastKey="+lastKey).Body)
	if len(rest.Items) != 1 {
		t.Errorf("the page after the restart has %d transactions, want 1", len(rest.Items))
	}
	if _, err := engine.Client().DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &schema.Name}); err != nil {
		t.Error(err)
	}
}
