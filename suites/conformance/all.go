package conformance

import (
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
)

func allTests() tests {
	return tests{
		"sends requests as it is ranged over": allLazy,
		"a limit asks for no more":            allLimit,
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
