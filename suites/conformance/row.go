package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func rowTests() tests {
	return tests{
		"walk a table and its indexes":                rowWalk,
		"an item that does not fit is a row":          rowUndecodable,
		"an item of a page is named by its whole key": undecodableNamed,
		"segments hold everything once, page by page": scanSegments,
		"of an index":                 scanIndex,
		"of a table without sort key": scanSimpleKey,
	}
}

// rows walks a query to its end.
func rows[T any](t *testing.T, tbl *table.Table, q table.Query) (all []table.Row[T], stats table.Stats) {
	t.Helper()
	var start table.Item
	for range 1000 {
		page := expect.Value(table.QueryRows[T](t.Context(), tbl, q, start))(t)
		all, stats = append(all, page.Rows...), stats.Add(page.Stats)
		if page.Next == nil {
			return all, stats
		}
		start = page.Next
	}
	t.Fatal("1000 pages and no end")
	return nil, stats
}

// rowWalk compares rows with the items of the same query.
func rowWalk(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedIndexed(t, tbl, 10)
	for _, q := range []table.Query{
		{PK: user.PK},
		{PK: user.PK, Range: keys.Tx.All(), Descending: true},
		{Index: "GSI1", PK: "GLOBAL_TX"},
		{Index: "GSI1", PK: "GLOBAL_TX", Descending: true},
		{Index: "LSI1", PK: user.PK},
	} {
		items := expect.Value(table.Collect(table.All[table.Item](t.Context(), tbl, q)))(t)
		for _, limit := range []int{0, 1, 3, 10, 11} {
			q.Limit = limit
			got, stats := rows[table.Item](t, tbl, q)
			equal(t, "rows", len(got), len(items))
			equal(t, "items of the statistics", stats.Items, len(items))
			for i, row := range got {
				item := items[i]
				equal(t, "value", text(row.Value["sk"]), text(item["sk"]))
				equal(t, "key", row.Key, keys.Key{PK: keys.PK(text(item["pk"])), SK: keys.SK(text(item["sk"]))})
				var index keys.Key
				switch q.Index {
				case "GSI1":
					index = keys.Key{PK: "GLOBAL_TX", SK: keys.SK(text(item["gsi1sk"]))}
				case "LSI1":
					index = keys.Key{PK: user.PK, SK: keys.SK(text(item["lsi1sk"]))}
				}
				equal(t, "index key", row.IndexKey, index)
				if size := item.Size(); row.Size < size*9/10 || row.Size > size*11/10 {
					t.Errorf("a row of %d bytes, the item has %d", row.Size, size)
				}
			}
		}
	}
}

func rowUndecodable(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 5)
	bad := tbl.OfType("tx")
	must(t, tbl.Do(t.Context(), table.Put(txKey(1), table.Item{
		"entityType": &types.AttributeValueMemberS{Value: "tx"}, "n": &types.AttributeValueMemberS{Value: "secret"},
	})))
	must(t, tbl.Do(t.Context(), table.Put(txKey(3), note{Type: "other", N: 3})))
	got, _ := rows[note](t, bad, table.Query{PK: user.PK, Limit: 2})
	equal(t, "rows", len(got), 5)
	for i, row := range got {
		equal(t, "key", row.Key, txKey(i))
		if i != 1 && i != 3 {
			must(t, row.Err)
			equal(t, "value", row.Value.N, i)
			continue
		}
		refused, ok := errors.AsType[*table.Error](row.Err)
		if !ok || refused.Key != txKey(i) || row.Value != (note{}) || strings.Contains(row.Err.Error(), string(txKey(i).SK)) {
			t.Errorf("row %d: %+v", i, row)
		}
		equal(t, "wrong type", errors.Is(row.Err, table.ErrWrongType), i == 3)
	}
}

// undecodableNamed reads a partition in which one item has text for a number,
// and one is of another type.
func undecodableNamed(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	index := keys.Key{PK: "G", SK: "secret-index"}
	bad := keys.Key{PK: user.PK, SK: "secret-item"}
	must(t, tbl.BatchWrite(t.Context(), table.Put(txKey(1), note{Type: "tx", N: 1, GSI1PK: "G", GSI1SK: "1"})))
	for what, stored := range map[string]table.Item{
		"undecodable":  {"entityType": str("tx"), "n": str("x"), "gsi1pk": str("G"), "gsi1sk": str(string(index.SK))},
		"another type": {"entityType": str("user"), "n": num("1"), "gsi1pk": str("G"), "gsi1sk": str(string(index.SK))},
	} {
		must(t, tbl.Do(t.Context(), table.Put(bad, stored)))
		txs := tbl.OfType("tx")
		member := newRepo(t, tbl, repo.Entity[note]{Type: "tx", Key: func(n note) keys.Key { return txKey(n.N) }})
		for _, name := range []string{"", "GSI1"} {
			q, want := table.Query{Index: name, PK: user.PK}, table.Error{Index: name, Key: bad}
			if name != "" {
				q.PK, want.IndexKey = "G", index
			}
			var into []note
			for call, err := range map[string]error{
				"QueryPage": expect.ErrOf(table.QueryPage[note](t.Context(), txs, q)),
				"All":       expect.ErrOf(table.Collect(table.All[note](t.Context(), txs, q))),
				"ScanPage":  expect.ErrOf(table.ScanPage[note](t.Context(), txs, table.Scan{Index: name})),
				"Collect":   repo.Collect(t.Context(), tbl, q, member.AppendTo(&into)),
				"Stream":    expect.ErrOf(table.Collect(repo.Stream(t.Context(), tbl, q, member))),
			} {
				e, ok := errors.AsType[*table.Error](err)
				if !ok {
					t.Fatalf("%s, %s: %v", what, call, err)
				}
				got := table.Error{Index: e.Index, Key: e.Key, IndexKey: e.IndexKey}
				equal(t, what+", "+call, got, want)
				unprinted(t, err)
				if wrong := errors.Is(err, table.ErrWrongType); wrong != (what == "another type") {
					t.Errorf("%s, %s: %v", what, call, err)
				}
			}
		}
		for call, read := range map[string]error{
			"BatchGet":    expect.ErrOf(table.BatchGet[note](t.Context(), txs, []keys.Key{txKey(1), bad})),
			"TransactGet": expect.ErrOf(table.TransactGet[note](t.Context(), txs, []keys.Key{txKey(1), bad})),
		} {
			op, ok := table.FailedOp(read, "")
			if !ok || op.Key != bad || op.OpNumber != 2 {
				t.Errorf("%s, %s: %#v", what, call, read)
			}
			unprinted(t, read)
		}
	}
}

// unprinted checks that no key is in the text of an error, and that it is one
// line.
func unprinted(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); strings.Contains(text, "secret") || strings.Contains(text, "u-123") || strings.Contains(text, "\n") {
		t.Errorf("%q", text)
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
