package conformance

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func rowTests() tests {
	return tests{
		"walk a table and its indexes":       rowWalk,
		"an item that does not fit is a row": rowUndecodable,
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
