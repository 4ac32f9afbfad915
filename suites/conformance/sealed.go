package conformance

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func sealedTests() tests {
	return tests{
		"tokens hold numbers exactly":                 sealedNumbers,
		"tokens hold bytes exactly":                   sealedBytes,
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

func sealedNumbers(t *testing.T, h Harness) {
	spec := schema.Table{
		PKType: types.ScalarAttributeTypeN, SKType: types.ScalarAttributeTypeN,
		Indexes: []schema.Index{{Name: "GSI1", PK: "group", SK: "rank", SKType: types.ScalarAttributeTypeN}},
	}
	tbl, _ := h.withFaults(t, spec, sealedOptions(t))
	ascending := []keys.SK{
		"-99999999999999999999999999999999999999", "-9007199254740993", "-1.5", "0",
		"0.00000000000000000000000000000000000001", "9007199254740992", "9007199254740993",
		"12345678901234567890123456789012345678",
	}
	for i, sk := range ascending {
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "42", SK: sk}, table.Item{
			"n": num(string(rune('0' + i))), "group": str("all"), "rank": num(string(sk)),
		})))
	}
	for _, q := range []table.Query{{PK: "42"}, {Index: "GSI1", PK: "all"}} {
		equal(t, "upwards "+q.Index, walk(t, tbl, q), span(0, len(ascending)-1))
		q.Descending = true
		equal(t, "downwards "+q.Index, walk(t, tbl, q), span(len(ascending)-1, 0))
	}
}

func sealedBytes(t *testing.T, h Harness) {
	spec := schema.Table{PKType: types.ScalarAttributeTypeB, SKType: types.ScalarAttributeTypeB}
	tbl, _ := h.withFaults(t, spec, sealedOptions(t))
	ascending := []keys.SK{"\x00", "\x00\x00", "\x00\xff", "METADATA", "\x80", "\xff\x00\xff"}
	for i, sk := range ascending {
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "\xff\x00", SK: sk}, note{N: i})))
	}
	equal(t, "upwards", walk(t, tbl, table.Query{PK: "\xff\x00"}), span(0, len(ascending)-1))
	equal(t, "downwards", walk(t, tbl, table.Query{PK: "\xff\x00", Descending: true}), span(len(ascending)-1, 0))
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
