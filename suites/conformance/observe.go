package conformance

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func observeTests() tests {
	return tests{
		"one event for each request":     observeEach,
		"what was consumed":              observeCapacity,
		"attempts that the SDK made":     observeAttempts,
		"requests that the library made": observeRequests,
	}
}

// events collects what is observed.
type events struct {
	mu  sync.Mutex
	all []table.Event
}

func (e *events) observe(_ context.Context, event table.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// take returns the events since the last time.
func (e *events) take() []table.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.all
	e.all = nil
	return all
}

// observed returns a new table and what is observed of it.
func (h Harness) observed(t *testing.T) (*table.Table, *tabletest.Faults, *events) {
	t.Helper()
	var e events
	opts := options()
	opts.Observe = e.observe
	tbl, faults := h.withFaults(t, appCore(), opts)
	return tbl, faults, &e
}

func observeEach(t *testing.T, h Harness) {
	tbl, _, seen := h.observed(t)
	want := map[string]string{
		"Get": "GetItem", "BatchGet": "BatchGetItem", "TransactGet": "TransactGetItems", "QueryPage": "Query", "All": "Query",
		"Put": "PutItem", "Create": "PutItem", "Update": "UpdateItem", "ADD": "UpdateItem", "Delete": "DeleteItem",
		"Check": "TransactWriteItems", "Transact": "TransactWriteItems", "BatchWrite": "BatchWriteItem",
	}
	for call, run := range calls(tbl) {
		err := run(t.Context())
		got := seen.take()
		if len(got) == 0 {
			t.Errorf("%s: no event", call)
			continue
		}
		e := got[0]
		if batch := strings.Contains(e.Operation, "Batch") || strings.Contains(e.Operation, "Transact"); e.Batch > 0 != batch {
			t.Errorf("%s: batch of %d", call, e.Batch)
		}
		if e.Operation != want[call] || e.Table != tbl.Schema().Name || e.Index != "" || e.Attempts != 1 || e.Duration <= 0 {
			t.Errorf("%s: %+v", call, e)
		}
		if (e.Err != nil) != (err != nil && call != "Get" && call != "TransactGet") {
			t.Errorf("%s: event's error %v, error %v", call, e.Err, err)
		}
	}
	must(t, expect.ErrOf(table.QueryPage[note](t.Context(), tbl, table.Query{Index: "GSI1", PK: "G"})))
	equal(t, "index", seen.take()[0].Index, "GSI1")
	// What is refused beforehand is no request.
	wantErr(t, expect.ErrOf(table.Get[note](t.Context(), tbl, keys.Key{})), keys.ErrInvalid)
	equal(t, "events", len(seen.take()), 0)
}

func observeCapacity(t *testing.T, h Harness) {
	tbl, _, seen := h.observed(t)
	item := map[string]string{"text": long(5000)}
	consumed := func(err error) float64 {
		t.Helper()
		must(t, err)
		sum := 0.0
		for _, e := range seen.take() {
			sum += e.Capacity
		}
		return sum
	}
	get := func(tbl *table.Table) error { return expect.ErrOf(table.Get[note](t.Context(), tbl, user)) }
	equal(t, "Put of 5 KB", consumed(tbl.Do(t.Context(), table.Put(user, item))), 5)
	equal(t, "Get of 5 KB", consumed(get(tbl)), 1)
	equal(t, "consistent Get", consumed(get(tbl.Consistent())), 2)
	_, err := table.BatchGet[note](t.Context(), tbl, []keys.Key{user})
	equal(t, "BatchGet", consumed(err), 1)
	page, err := table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, Consistent: true})
	equal(t, "Query", consumed(err), 2)
	equal(t, "Stats of it", page.Stats.Capacity, 2)
	equal(t, "BatchWrite", consumed(tbl.BatchWrite(t.Context(), table.Put(user, item))), 5)
	got := consumed(tbl.Transact(t.Context(), table.Put(user, item)))
	if want := 10.0; got != want && !h.Capabilities.WrongTransactionCapacity {
		t.Errorf("Transact consumed %v, want %v", got, want)
	}
}

func observeAttempts(t *testing.T, h Harness) {
	tbl, faults, seen := h.observed(t)
	server := tabletest.Status(500, "InternalServerError", "Injected.")
	for call, want := range map[string]int{
		"Get": 3, "BatchGet": 3, "TransactGet": 3, "QueryPage": 3, "Put": 3, "Update": 3, "Delete": 3, "Transact": 3, "BatchWrite": 3,
	} {
		faults.Next("", server, tabletest.Throttle())
		_ = calls(tbl)[call](t.Context())
		got := seen.take()
		if len(got) != 1 || got[0].Attempts != want || got[0].Err != nil {
			t.Errorf("%s: %+v", call, got)
		}
	}
	faults.Always("", server)
	for _, call := range []string{"Get", "Put", "Transact"} {
		err := calls(tbl)[call](t.Context())
		got := seen.take()
		if err == nil || len(got) != 1 || got[0].Attempts != 3 || got[0].Err == nil || got[0].Capacity != 0 {
			t.Errorf("%s: %v, %+v", call, err, got)
		}
		equal(t, "class", table.Classify(got[0].Err), table.Transient)
	}
	_ = calls(tbl)["ADD"](t.Context())
	equal(t, "attempts of what is not repeated", seen.take()[0].Attempts, 1)
}

func observeRequests(t *testing.T, h Harness) {
	tbl, faults, seen := h.observed(t)
	faults.Next("TransactWriteItems", tabletest.CancelTransaction("TransactionConflict"), tabletest.Throttle())
	must(t, tbl.Transact(t.Context(), table.Put(user, note{})))
	got := seen.take()
	if len(got) != 2 || got[0].Err == nil || got[1].Err != nil || got[0].Attempts != 1 || got[1].Attempts != 2 {
		t.Errorf("events %+v", got)
	}
	seed(t, tbl, 60)
	batches := seen.take()
	equal(t, "events of 60 writes", len(batches), 3)
	equal(t, "writes in them", batches[0].Batch+batches[1].Batch+batches[2].Batch, 60)
}
