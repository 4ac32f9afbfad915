package conformance

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

func backTests() tests {
	return tests{
		"every size over every count, there and back": backSizes,
		"in an index, with filters and expired items": backFiltered,
		"under inserts and deletes":                   backChanges,
		"from and to empty pages":                     backEmpty,
		"through a window that moves":                 backWindow,
		"cursors of other directions are refused":     backRefused,
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

func backSizes(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 6)
	for size := 1; size <= 7; size++ {
		for count := range 7 {
			for _, reverse := range []bool{false, true} {
				q := table.Query{PK: user.PK, Limit: size, Descending: reverse, Range: keys.Tx.Until(txTime(count))}
				there, back := thereAndBack(t, tbl, q, nil)
				equal(t, "pages back", append([][]int{}, back...), append([][]int{}, there[:len(there)-1]...))
			}
		}
	}
}

func backFiltered(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedIndexed(t, tbl, 23)
	for _, reverse := range []bool{false, true} {
		q := table.Query{Index: "GSI1", PK: "GLOBAL_TX", Limit: 3, Descending: reverse, Filter: expression.Name("n").NotEqual(expression.Value(7))}
		there, back := thereAndBack(t, tbl, q, nil)
		equal(t, "items", len(joined(there)), 22)
		equal(t, "pages back", back, there[:len(there)-1])
	}
	tbl = h.newTable(t, appCore())
	seedExpiring(t, tbl, 60, func(i int) bool { return i%3 == 1 })
	for _, reverse := range []bool{false, true} {
		there, back := thereAndBack(t, tbl, table.Query{PK: user.PK, Limit: 4, Descending: reverse, Project: []string{"n"}}, nil)
		equal(t, "pages back", back, there[:len(there)-1])
	}
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

// backEmpty walks from an empty last page, and into what was deleted.
func backEmpty(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 6)
	q := table.Query{PK: user.PK, Limit: 3}
	read := func(after string) table.Page[note] {
		t.Helper()
		q.After = after
		return expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
	}
	first := read("")
	equal(t, "cursor of the first page", first.Prev, "")
	second := read(first.Next)
	last := read(second.Next)
	equal(t, "items of the last page", len(last.Items), 0)
	before := read(last.Prev)
	equal(t, "items before an empty page", numbers(before.Items), span(3, 5))
	equal(t, "items after these", len(read(before.Next).Items), 0)
	again := read(before.Prev)
	equal(t, "items of the first page", numbers(again.Items), span(0, 2))
	equal(t, "cursor of the first page", again.Prev, "")
	equal(t, "items after it", numbers(read(again.Next).Items), span(3, 5))

	for i := range 3 {
		must(t, tbl.Do(t.Context(), table.Delete(txKey(i))))
	}
	nothing := read(second.Prev)
	equal(t, "items that are gone", [2]any{len(nothing.Items), nothing.Prev}, [2]any{0, ""})
	equal(t, "items after these", numbers(read(nothing.Next).Items), span(3, 5))
}

// backWindow walks back while the bounds of the range move, as those of the last day do.
func backWindow(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 12)
	q := table.Query{PK: user.PK, Limit: 3, Descending: true, Range: keys.Tx.Since(txTime(0))}
	var page table.Page[note]
	for range 3 {
		page = expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
		q.After = page.Next
	}
	equal(t, "third page", numbers(page.Items), span(5, 3))
	q.After, q.Range = page.Prev, keys.Tx.Since(txTime(7))
	page = expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
	equal(t, "what is left of the page before", numbers(page.Items), span(9, 7))
	q.After = page.Prev
	equal(t, "first page", numbers(expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t).Items), span(11, 10))
}

func backRefused(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 9)
	q := table.Query{PK: user.PK, Limit: 3, Scope: "ann"}
	q.After = expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t).Next
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
	for name, change := range map[string]func(*table.Query){
		"direction": func(q *table.Query) { q.Descending = true },
		"scope":     func(q *table.Query) { q.Scope = "bob" },
		"partition": func(q *table.Query) { q.PK = other.PK },
		"prefix":    func(q *table.Query) { q.Range = keys.Tx.All() },
		"index":     func(q *table.Query) { q.Index = "LSI1" },
	} {
		other := q
		other.After = page.Prev
		change(&other)
		_, err := table.QueryPage[note](t.Context(), tbl, other)
		wantErr(t, err, paginate.ErrInvalidCursor)
		if err == nil {
			t.Errorf("%s", name)
		}
	}
	q.After = page.Prev
	_, err := table.Collect(table.All[note](t.Context(), tbl, q))
	wantErr(t, err, paginate.ErrInvalidCursor)
	_, err = tbl.Count(t.Context(), q)
	wantErr(t, err, paginate.ErrInvalidCursor)
	q.After = page.Prev[:len(page.Prev)-2] + "AA"
	_, err = table.QueryPage[note](t.Context(), tbl, q)
	wantErr(t, err, paginate.ErrInvalidCursor)
}
