package table_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

type numbered struct {
	N int `dynamodbav:"n"`
}

// A page before is read with one item more, which must be neither an overflow of the
// greatest limit nor an error of this page.
func TestPageBefore(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	at := func(i int) keys.Key { return keys.Key{PK: "NUMBERS", SK: keys.SK(fmt.Sprintf("N#%d", i))} }
	for i := range 5 {
		expect.OK(t, tbl.Do(t.Context(), table.Put(at(i), numbered{i})))
	}
	q := table.Query{PK: "NUMBERS", Limit: 3}
	first := expect.Value(table.QueryPage[numbered](t.Context(), tbl, q))(t)
	q.After = first.Next
	q.After = expect.Value(table.QueryPage[numbered](t.Context(), tbl, q))(t).Prev

	q.Limit = math.MaxInt
	page := expect.Value(table.QueryPage[numbered](t.Context(), tbl, q))(t)
	if diff := cmp.Diff(first.Items, page.Items); diff != "" {
		t.Errorf("with the greatest limit (-want +got):\n%s", diff)
	}

	expect.OK(t, tbl.Do(t.Context(), table.Put(at(1), map[string]string{"n": "no number"})))
	q.Limit = 1
	page = expect.Value(table.QueryPage[numbered](t.Context(), tbl, q))(t)
	if diff := cmp.Diff([]numbered{{2}}, page.Items); diff != "" {
		t.Errorf("before it is an item that does not fit (-want +got):\n%s", diff)
	}
	q.After = page.Prev
	if _, err := table.QueryPage[numbered](t.Context(), tbl, q); err == nil {
		t.Error("the page of the item that does not fit: no error")
	}
}

// TestRequestedItems shows how many items the requests of a page ask for: as many as
// it lacks, for each of which a filter has left out others, and at most four times as
// many as the request before.
func TestRequestedItems(t *testing.T) {
	t.Parallel()
	_, client, faults := faultyTable(t, appCore(), cannedTimes(0, 0, "", ""))
	n := 0
	respond := func(scanned, found int, more string) {
		var items []string
		for range found {
			n++
			items = append(items, fmt.Sprintf(`{"pk":{"S":"NUMBERS"},"sk":{"S":"N#%02d"},"n":{"N":"%d"}}`, n, n))
		}
		faults.Next("Query", canned(http.StatusOK, "", fmt.Sprintf(`{"Count":%d,"ScannedCount":%d,"Items":[%s]%s}`, found, scanned, strings.Join(items, ","), more)))
	}
	const more = `,"LastEvaluatedKey":{"pk":{"S":"NUMBERS"},"sk":{"S":"N#x"}}`
	respond(10, 0, more)
	respond(40, 5, more) // then 5 of 50
	respond(50, 3, more) // then 8 of 100
	respond(25, 2, "")
	tbl := expect.Value(table.New(client, appCore(), nil))(t)
	q := table.Query{PK: "NUMBERS", Limit: 10, Filter: expression.Name("n").GreaterThan(expression.Value(0))}
	page := expect.Value(table.QueryPage[numbered](t.Context(), tbl, q))(t)
	var asked []int
	for _, r := range faults.Requests("Query") {
		var in struct{ Limit int }
		expect.OK(t, json.Unmarshal(r.Body, &in))
		asked = append(asked, in.Limit)
	}
	expect.Equal(t, "asked for", asked, []int{10, 40, 50, 25})
	expect.Equal(t, "items", len(page.Items), 10)
	expect.Equal(t, "cursor after the last item", page.Next, "")
}

// A page behind a filter takes several requests. Its cursors are those of its first
// and last items, of whichever request.
func TestPagesOfSeveralRequests(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	for i := range 11 {
		key := keys.Key{PK: "NUMBERS", SK: keys.SK(fmt.Sprintf("N#%02d", i))}
		expect.OK(t, tbl.Do(t.Context(), table.Put(key, numbered{i})))
	}
	read := func(what, after string, want ...numbered) table.Page[numbered] {
		t.Helper()
		page := expect.Value(table.QueryPage[numbered](t.Context(), tbl, table.Query{
			PK: "NUMBERS", Limit: 2, After: after,
			Filter: expression.Name("n").In(expression.Value(0), expression.Value(1), expression.Value(2), expression.Value(9), expression.Value(10)),
		}))(t)
		expect.Equal(t, what, page.Items, want)
		return page
	}
	first := read("first page", "", numbered{0}, numbered{1})
	second := read("second page", first.Next, numbered{2}, numbered{9})
	if second.Stats.Requests < 2 {
		t.Errorf("the second page took %d request", second.Stats.Requests)
	}
	read("page before the second", second.Prev, numbered{0}, numbered{1})
	third := read("third page", second.Next, numbered{10})
	second = read("page before the third", third.Prev, numbered{2}, numbered{9})
	if second.Stats.Requests < 2 {
		t.Errorf("the page before the third took %d request", second.Stats.Requests)
	}
	read("page after that", second.Next, numbered{10})
}

// TestEmptyPages walks back from an empty last page, and into items that were deleted.
func TestEmptyPages(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	at := func(i int) keys.Key { return keys.Key{PK: "NUMBERS", SK: keys.SK(fmt.Sprintf("N#%d", i))} }
	for i := range 6 {
		expect.OK(t, tbl.Do(t.Context(), table.Put(at(i), numbered{i})))
	}
	read := func(what, after string, want ...numbered) table.Page[numbered] {
		t.Helper()
		page := expect.Value(table.QueryPage[numbered](t.Context(), tbl, table.Query{PK: "NUMBERS", Limit: 3, After: after}))(t)
		expect.Equal(t, what, append([]numbered{}, page.Items...), append([]numbered{}, want...))
		return page
	}
	low, high := []numbered{{0}, {1}, {2}}, []numbered{{3}, {4}, {5}}
	first := read("first page", "", low...)
	second := read("second page", first.Next, high...)
	last := read("last page", second.Next)
	before := read("page before the last", last.Prev, high...)
	read("page after that", before.Next)
	again := read("page before that", before.Prev, low...)
	expect.Equal(t, "cursors before the first page", []string{first.Prev, again.Prev}, []string{"", ""})
	read("page after the first", again.Next, high...)

	for i := range 3 {
		expect.OK(t, tbl.Do(t.Context(), table.Delete(at(i))))
	}
	nothing := read("items that are gone", second.Prev)
	expect.Equal(t, "cursor before these", nothing.Prev, "")
	read("items after these", nothing.Next, high...)
}
