package table_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/keys"
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
	tbl := tabletest.New(t, table.Schema{}, nil)
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
