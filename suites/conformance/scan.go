package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func scanTests() tests {
	return tests{
		"segments hold everything once, page by page": scanSegments,
		"of an index":                 scanIndex,
		"of a table without sort key": scanSimpleKey,
	}
}

// seedPartitions writes n items into as many partitions.
func seedPartitions(t *testing.T, tbl *table.Table, n int) {
	t.Helper()
	ops := make([]table.Op, n)
	for i := range ops {
		key := keys.Key{PK: keys.User.PK(fmt.Sprint("u-", i)), SK: keys.Profile}
		ops[i] = table.Put(key, note{N: i, GSI1PK: fmt.Sprint("G#", i%3), GSI1SK: fmt.Sprintf("%04d", i)})
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
}

// scanned returns the numbers of all items that a scan finds, in order, and
// checks its pages.
func scanned(t *testing.T, tbl *table.Table, s table.Scan) []int {
	t.Helper()
	var all []int
	for range 1000 {
		page := expect.Value(table.ScanPage[note](t.Context(), tbl, s))(t)
		if s.Limit > 0 && page.Next != "" && len(page.Items) != s.Limit {
			t.Errorf("a page of %d items with more to come, want %d", len(page.Items), s.Limit)
		}
		equal(t, "Stats.Items", page.Stats.Items, len(page.Items))
		all = append(all, numbers(page.Items)...)
		if page.Next == "" {
			slices.Sort(all)
			return all
		}
		s.After = page.Next
	}
	t.Fatal("the scan has no end")
	return nil
}

func scanSegments(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedPartitions(t, tbl, 60)
	for _, segments := range []int{0, 1, 4} {
		for _, limit := range []int{0, 1, 7, 60, 61} {
			var all []int
			for segment := range max(segments, 1) {
				all = append(all, scanned(t, tbl, table.Scan{Segment: segment, Segments: segments, Limit: limit, Consistent: true})...)
			}
			slices.Sort(all)
			equal(t, fmt.Sprintf("%d segments, pages of %d", segments, limit), all, span(0, 59))
		}
	}
}

func scanIndex(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedPartitions(t, tbl, 30)
	must(t, tbl.Do(t.Context(), table.Put(txKey(0), note{N: 99}))) // not in the index
	equal(t, "items of the index", scanned(t, tbl, table.Scan{Index: "GSI1", Limit: 4}), span(0, 29))
}

func scanSimpleKey(t *testing.T, h Harness) {
	tbl := h.newTable(t, schema.Table{SimpleKey: true, PK: "id", PKType: types.ScalarAttributeTypeN})
	for i := range 20 {
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: keys.PK(fmt.Sprint(i))}, note{N: i})))
	}
	equal(t, "items", scanned(t, tbl, table.Scan{Limit: 3, Project: []string{"n"}}), span(0, 19))
}
