package conformance

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func allTests() tests {
	return tests{
		"sends requests as it is ranged over":          allLazy,
		"ranging again starts over":                    allAgain,
		"a limit asks for no more":                     allLimit,
		"an error comes once and last":                 allError,
		"a bad query is an error without a request":    allInvalid,
		"cancelling ends it promptly and leaves none":  allCancelled,
		"an ended context yields no more of a request": allCancelledInside,
		"two at once over one sequence":                allTwice,
	}
}

// seedLarge stores n transactions of which a request returns five at most.
func seedLarge(t *testing.T, tbl *table.Table, n int) {
	t.Helper()
	for i := range n {
		must(t, tbl.Do(t.Context(), table.Put(txKey(i), map[string]any{"n": i, "text": long(200 << 10)})))
	}
}

func allLazy(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seedLarge(t, tbl, 13)
	seq := table.All[note](t.Context(), tbl, table.Query{PK: user.PK})
	equal(t, "requests before ranging", len(faults.Requests("Query")), 0)
	for v, err := range seq {
		must(t, err)
		if v.N == 2 {
			break
		}
	}
	equal(t, "requests after the break", len(faults.Requests("Query")), 1)
	all := expect.Value(table.Collect(seq))(t)
	equal(t, "items", numbers(all), span(0, 12))
}

func allAgain(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 4)
	seq := table.All[note](t.Context(), tbl, table.Query{PK: user.PK, Limit: 3})
	for range 2 {
		got := expect.Value(table.Collect(seq))(t)
		equal(t, "items", numbers(got), span(0, 2))
	}
	must(t, tbl.Do(t.Context(), table.Delete(txKey(0))))
	got := expect.Value(table.Collect(seq))(t)
	equal(t, "items later", numbers(got), span(1, 3))
}

func allLimit(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seed(t, tbl, 30)
	got := expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK, Limit: 30, Descending: true})))(t)
	equal(t, "items", numbers(got), span(29, 0))
	equal(t, "requests", len(faults.Requests("Query")), 1)
	got = expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK, Limit: 7})))(t)
	equal(t, "items", numbers(got), span(0, 6))
	equal(t, "requests", len(faults.Requests("Query")), 2)
	equal(t, "limit", bodyField(t, faults.Requests("Query")[1], "Limit"), "7")
}

func allError(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seedLarge(t, tbl, 8)
	faults.Next("Query", nil, tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected."))
	items, errs := 0, 0
	for v, err := range table.All[note](t.Context(), tbl, table.Query{PK: user.PK}) {
		switch {
		case err != nil:
			errs++
			equal(t, "item beside the error", v, note{})
			if e, ok := errors.AsType[*table.Error](err); !ok || e.Op != "All" {
				t.Errorf("error %v", err)
			}
		case errs > 0:
			t.Error("an item after the error")
		default:
			items++
		}
	}
	equal(t, "errors", errs, 1)
	if items == 0 || items == 8 {
		t.Errorf("%d items before the error", items)
	}
	faults.Next("Query", nil, tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected."))
	got, err := table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK}))
	if err == nil || got != nil {
		t.Errorf("Collect: %d items, %v", len(got), err)
	}
}

func allInvalid(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	for _, q := range []table.Query{{}, {PK: user.PK, Index: "GSI9"}, {PK: user.PK, Limit: -1}, {PK: user.PK, After: "x"}} {
		n := 0
		for _, err := range table.All[note](t.Context(), tbl, q) {
			n++
			if err == nil {
				t.Errorf("%+v: no error", q)
			}
		}
		equal(t, "yields", n, 1)
	}
	equal(t, "requests", sent(faults), 0)
}

func allCancelled(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seedLarge(t, tbl, 8)
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	faults.Next("Query", nil, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		close(begun)
		return tabletest.Block(nil)(r, next)
	})
	go func() {
		<-begun
		cancel()
	}()
	start := time.Now()
	var last error
	for _, err := range table.All[note](ctx, tbl, table.Query{PK: user.PK}) {
		last = err
	}
	wantErr(t, last, context.Canceled)
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
	equal(t, "requests", len(faults.Requests("Query")), 2)
}

func allCancelledInside(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	items := 0
	var last error
	for _, err := range table.All[note](ctx, tbl, table.Query{PK: user.PK}) {
		if last = err; err == nil {
			items++
			cancel()
		}
	}
	equal(t, "items", items, 1)
	wantErr(t, last, context.Canceled)
	if e, ok := errors.AsType[*table.Error](last); !ok || e.Key != (keys.Key{PK: user.PK}) {
		t.Errorf("error %v", last)
	}
}

func allTwice(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 20)
	seq := table.All[note](t.Context(), tbl, table.Query{PK: user.PK, Limit: 15})
	done := make(chan []int)
	for range 4 {
		go func() {
			got, err := table.Collect(seq)
			if err != nil {
				t.Error(err)
			}
			done <- numbers(got)
		}()
	}
	for range 4 {
		equal(t, "items", <-done, span(0, 14))
	}
}
