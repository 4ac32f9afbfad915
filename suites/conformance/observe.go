package conformance

import (
	"context"
	"sync"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func observeTests() tests {
	return tests{
		"what was consumed": observeCapacity,
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
