package conformance

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func countTests() tests {
	return tests{
		"as many as a walk gives": testCount,
		"more than one megabyte":  testCountMegabytes,
		"estimates":               testEstimate,
	}
}

// testCount compares counts with the items of a walk: expired items, items of another
// type, filters, ranges, cursors, limits, an index that holds only keys.
func testCount(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	key := func(sk string) keys.Key { return keys.Key{PK: "A#1", SK: keys.SK(sk)} }
	var ops []table.Op
	for i, sk := range []string{"N#1", "N#2", "N#3", "N#4", "M#1", "M#2"} {
		ops = append(ops, table.Put(key(sk), map[string]any{"entityType": sk[:1], "n": i}))
	}
	past, future := tbl.Now().Add(-time.Hour).Unix(), tbl.Now().Add(time.Hour).Unix()
	for sk, expiry := range map[string]any{"N#past": past, "N#future": future, "N#never": 0, "N#text": "soon"} {
		ops = append(ops, table.Put(key(sk), map[string]any{"entityType": "N", tbl.Schema().TTLAttribute: expiry}))
	}
	expect.OK(t, tbl.BatchWrite(t.Context(), ops...))
	all := table.Query{PK: "A#1"}
	live := expect.Value(table.Collect(table.All[table.Item](t.Context(), tbl, all)))(t)
	stored := expect.Value(table.Collect(table.All[table.Item](t.Context(), tbl.IncludingExpired(), all)))(t)
	counted := expect.Value(tbl.IncludingExpired().Count(t.Context(), all))(t)
	expect.Equal(t, "items with the expired one", [2]int{len(stored), counted.Items}, [2]int{len(ops), len(live) + 1})
	for name, q := range map[string]table.Query{
		"all":        {PK: "A#1"},
		"range":      {PK: "A#1", Range: keys.Prefix("N").All()},
		"empty":      {PK: "A#1", Range: keys.Range{From: "Z", To: "A"}},
		"filter":     {PK: "A#1", Filter: expression.Name("n").GreaterThan(expression.Value(1)).Or(expression.Name("n").Equal(expression.Value(0)))},
		"consistent": {PK: "A#1", Consistent: true, Descending: true},
		"limit":      {PK: "A#1", Limit: 3},
		"sparse":     {PK: "A#1", Limit: 2, Filter: expression.Name("n").GreaterThan(expression.Value(1))},
		"great":      {PK: "A#1", Limit: 100},
		"nobody":     {PK: "A#2"},
	} {
		walked := expect.Value(table.Collect(table.All[table.Item](t.Context(), tbl, q)))(t)
		stats := expect.Value(tbl.Count(t.Context(), q))(t)
		expect.Equal(t, name, stats.Items, len(walked))
		// An empty partition costs half a unit on AWS, and nothing on one engine.
		if (stats.Requests > 0) != (name != "empty") || stats.Items > 0 && stats.Capacity <= 0 {
			t.Errorf("%s took %+v", name, stats)
		}
		if name == "limit" {
			expect.Equal(t, "requests and items that it read", [2]int{stats.Requests, stats.Scanned}, [2]int{1, 3})
		}
	}
	q := table.Query{PK: "A#1", Range: keys.Prefix("N").All(), Limit: 2}
	q.After, q.Limit = expect.Value(table.QueryPage[table.Item](t.Context(), tbl, q))(t).Next, 0
	expect.Equal(t, "items after a cursor", expect.Value(tbl.Count(t.Context(), q))(t).Items, 5)
	expect.Equal(t, "items of a type", expect.Value(tbl.OfType("M").Count(t.Context(), table.Query{PK: "A#1"}))(t).Items, 2)

	_, err := tbl.Count(t.Context(), table.Query{})
	expect.Err(t, err, table.ErrInvalid)
	_, err = tbl.Count(t.Context(), table.Query{PK: "A#1", After: "x"})
	expect.Err(t, err)
}

// testCountMegabytes counts what takes several requests, of which one fails.
func testCountMegabytes(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	var ops []table.Op
	for i := range 12 {
		ops = append(ops, table.Put(keys.Key{PK: "A#1", SK: keys.SK(rune('a' + i))}, map[string]string{"text": strings.Repeat("x", 300_000)}))
	}
	expect.OK(t, tbl.BatchWrite(t.Context(), ops...))
	stats := expect.Value(tbl.Count(t.Context(), table.Query{PK: "A#1"}))(t)
	expect.Equal(t, "items", stats.Items, 12)
	if stats.Requests < 3 || stats.Capacity < 400 {
		t.Errorf("it took %+v", stats)
	}
	stats = expect.Value(tbl.Count(t.Context(), table.Query{PK: "A#1", Limit: 4}))(t)
	expect.Equal(t, "items of a limited count", stats.Items, 4)
	if stats.Scanned > 5 { // one engine counts the item at which a megabyte ends twice
		t.Errorf("it took %+v", stats)
	}

	faults.Next("Query", nil, tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected."))
	stats, err := tbl.Count(t.Context(), table.Query{PK: "A#1"})
	expect.Err(t, err)
	expect.Equal(t, "requests before the one that failed", [2]int{stats.Requests, min(stats.Items, 1)}, [2]int{1, 1})
}

// testEstimate asks for estimates: DynamoDB's own count, which may be hours old.
func testEstimate(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	spec := tbl.Schema()
	expect.OK(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "A#1", SK: "B"}, nil)))
	for _, index := range []string{"", spec.Indexes[0].Name} {
		items, bytes, err := spec.EstimateItems(t.Context(), h.Client(t), index)
		expect.OK(t, err)
		if items < 0 || items > 1 || bytes < 0 {
			t.Errorf("%q has %d items of %d bytes", index, items, bytes)
		}
	}
	_, _, err := spec.EstimateItems(t.Context(), h.Client(t), "missing")
	expect.Err(t, err, schema.ErrMismatch)
	spec.Name += "-missing"
	_, _, err = spec.EstimateItems(t.Context(), h.Client(t), "")
	expect.Err(t, err, schema.ErrMismatch)
	_, _, err = schema.Table{}.EstimateItems(t.Context(), h.Client(t), "")
	expect.Err(t, err, table.ErrInvalid)
}
