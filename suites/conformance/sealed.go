package conformance

import (
	"errors"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

func sealedTests() tests {
	return tests{
		"tokens hold the longest keys that there are": sealedLongest,
	}
}

// walk reads pages of one item and returns how often each number came, in
// order.
func walk(t *testing.T, tbl *table.Table, q table.Query) []int {
	t.Helper()
	q.Limit = 1
	return joined(pages(t, tbl, q, nil))
}

// tokenOf returns a cursor that a table with the codec issues for a query.
func tokenOf(t *testing.T, tbl *table.Table, q table.Query) string {
	t.Helper()
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
	if page.Next == "" {
		t.Fatal("no token")
	}
	return page.Next
}

// wantReason checks why a token is refused.
func wantReason(t *testing.T, tbl *table.Table, q table.Query, want paginate.Reason) {
	t.Helper()
	_, err := table.QueryPage[note](t.Context(), tbl, q)
	refused, ok := errors.AsType[*paginate.Error](err)
	if !ok || !errors.Is(err, paginate.ErrInvalidCursor) {
		t.Fatalf("error %v, want a refused token", err)
	}
	equal(t, "reason", refused.Reason, want)
}

func sealedLongest(t *testing.T, h Harness) {
	tbl, _ := h.withFaults(t, appCore(), sealedOptions(t))
	for i := range 3 {
		key := keys.Key{
			PK: keys.PK(strings.Repeat("p", keys.MaxPK-1) + string(rune('0'+i))),
			SK: keys.SK(strings.Repeat("s", keys.MaxSK-1) + string(rune('0'+i))),
		}
		must(t, tbl.Do(t.Context(), table.Put(key, note{
			N: i, GSI1PK: strings.Repeat("g", keys.MaxPK), GSI1SK: strings.Repeat("h", keys.MaxSK-1) + string(rune('0'+i)),
		})))
	}
	q := table.Query{Index: "GSI1", PK: keys.PK(strings.Repeat("g", keys.MaxPK))}
	equal(t, "items", walk(t, tbl, q), span(0, 2))
}
