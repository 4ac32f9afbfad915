package conformance

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
)

func backTests() tests {
	return tests{
		"under inserts and deletes": backChanges,
	}
}

// thereAndBack walks to the end of a query and back, and returns the pages of both
// walks in the order of the query.
func thereAndBack(t *testing.T, tbl *table.Table, q table.Query, between func()) (there, back [][]int) {
	t.Helper()
	var page table.Page[note]
	for more := true; more; more = q.After != "" {
		page = expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
		there = append(there, numbers(page.Items))
		q.After = page.Next
	}
	for page.Prev != "" {
		if between != nil {
			between()
		}
		q.After = page.Prev
		length := len(page.Prev)
		page = expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
		back = append(back, numbers(page.Items))
		if len(page.Prev) > length+2 || len(page.Next) > length+2 {
			t.Errorf("cursors of %d and %d characters after one of %d", len(page.Prev), len(page.Next), length)
		}
		if len(back) > 1000 {
			t.Fatal("no end of pages before")
		}
	}
	slices.Reverse(back)
	return there, back
}

// backChanges adds and removes items during the walk back. Nothing that stays is left
// out, and nothing is there twice.
func backChanges(t *testing.T, h Harness) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, reverse := range []bool{false, true} {
		tbl := h.newTable(t, appCore())
		var ops []table.Op
		for i := 0; i < 90; i += 2 {
			ops = append(ops, table.Put(txKey(i), note{N: i}))
		}
		must(t, tbl.BatchWrite(t.Context(), ops...))
		gone := map[int]bool{}
		there, back := thereAndBack(t, tbl, table.Query{PK: user.PK, Limit: 4, Descending: reverse}, func() {
			i := random.IntN(45) * 2
			gone[i] = true
			must(t, tbl.Do(t.Context(), table.Delete(txKey(i))))
			i = random.IntN(45)*2 + 1
			must(t, tbl.Do(t.Context(), table.Put(txKey(i), note{N: i})))
		})
		seen := map[int]int{}
		got := append(joined(back), there[len(there)-1]...)
		for _, n := range got {
			seen[n]++
		}
		for n, times := range seen {
			if times > 1 {
				t.Errorf("item %d is there %d times", n, times)
			}
		}
		for i := 0; i < 90; i += 2 {
			if seen[i] == 0 && !gone[i] {
				t.Errorf("item %d is left out", i)
			}
		}
		if reverse {
			slices.Reverse(got)
		}
		if !slices.IsSorted(got) {
			t.Errorf("out of order: %v", got)
		}
	}
}
