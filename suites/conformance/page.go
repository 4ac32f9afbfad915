package conformance

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func pageTests() tests {
	return tests{
		"inserts between pages lose nothing":      pageInserts,
		"the item at the cursor is deleted":       pageDeleted,
		"without limit":                           pageUnlimited,
		"without items":                           pageEmpty,
		"statistics add up":                       pageStats,
		"an item that changes place in the index": pageMoved,
		"sends requests as it is ranged over":     allLazy,
		"a limit asks for no more":                allLimit,
		"under inserts and deletes":               backChanges,
	}
}

// An empty page is a list, also for a program that writes it as JSON.
func pageEmpty(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	queried := expect.Value(table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK}))(t)
	scanned := expect.Value(table.ScanPage[note](t.Context(), tbl, table.Scan{}))(t)
	equal(t, "items", [][]note{queried.Items, scanned.Items}, [][]note{{}, {}})
}

func pageInserts(t *testing.T, h Harness) {
	for _, reverse := range []bool{false, true} {
		tbl := h.newTable(t, appCore())
		var ops []table.Op
		for i := 0; i < 120; i += 3 {
			ops = append(ops, table.Put(txKey(i), note{N: i}))
		}
		must(t, tbl.BatchWrite(t.Context(), ops...))
		q := table.Query{PK: user.PK, Descending: reverse, Limit: 7}
		got := joined(pages(t, tbl, q, func(page int) {
			for i := page * 2; i < 120; i += 21 {
				if i%3 != 0 {
					must(t, tbl.Do(t.Context(), table.Put(txKey(i), note{N: i})))
				}
			}
		}))
		seen := slices.Clone(got)
		slices.Sort(seen)
		equal(t, "twice", len(slices.Compact(seen)), len(got))
		old := slices.DeleteFunc(slices.Clone(got), func(n int) bool { return n%3 != 0 })
		if reverse {
			slices.Reverse(old)
			slices.Reverse(got)
		}
		equal(t, "in order", slices.IsSorted(got), true)
		equal(t, "items of the start", len(old), 40)
	}
}

func pageDeleted(t *testing.T, h Harness) {
	for _, reverse := range []bool{false, true} {
		tbl := h.newTable(t, appCore())
		seedIndexed(t, tbl, 9)
		at := func(page int) int {
			if reverse {
				return 9 - 3*page
			}
			return 3*page - 1
		}
		want := span(0, 8)
		if reverse {
			want = span(8, 0)
		}
		local := table.Query{Index: "LSI1", PK: user.PK, Limit: 3, Descending: reverse}
		equal(t, "local index", joined(pages(t, tbl, local, func(page int) {
			must(t, tbl.Do(t.Context(), table.Delete(keys.Key{PK: user.PK, SK: keys.Tx.SK(keys.Int(9-at(page), 4))})))
		})), want)
		global := table.Query{Index: "GSI1", PK: "GLOBAL_TX", Limit: 3, Descending: reverse}
		equal(t, "global index", joined(pages(t, tbl, global, func(page int) {
			id := string(rune('0' + 9 - at(page)))
			must(t, tbl.Do(t.Context(), table.Delete(keys.Key{PK: keys.Tx.PK(id), SK: keys.Metadata})))
		})), want)
		seed(t, tbl, 9)
		q := table.Query{PK: user.PK, Range: keys.Tx.Since(now), Limit: 3, Descending: reverse}
		equal(t, "table", joined(pages(t, tbl, q, func(page int) {
			must(t, tbl.Do(t.Context(), table.Delete(txKey(at(page)))))
		})), want)
	}
}

// seedExpiring stores n transactions of which only those that live says live.
func seedExpiring(t *testing.T, tbl *table.Table, n int, live func(int) bool) {
	t.Helper()
	ops := make([]table.Op, n)
	for i := range ops {
		v := note{N: i, ExpiresAt: now.Unix() - int64(i)}
		if live(i) {
			v.ExpiresAt = now.Unix() + 1
		}
		ops[i] = table.Put(txKey(i), v)
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
}

func pageUnlimited(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 120)
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK}))(t)
	equal(t, "items", numbers(page.Items), span(0, 99))
	equal(t, "statistics", [3]int{page.Stats.Items, page.Stats.Scanned, page.Stats.Requests}, [3]int{100, 100, 1})
	page = expect.Value(table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, After: page.Next}))(t)
	equal(t, "last items", numbers(page.Items), span(100, 119))
	equal(t, "cursor", page.Next, "")
}

func pageStats(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedExpiring(t, tbl, 20, func(i int) bool { return i != 3 })
	q := table.Query{PK: user.PK, Limit: 10, Consistent: true}
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
	s := page.Stats
	equal(t, "items", s.Items, 10)
	if s.Scanned < 11 || s.Requests != 2 || s.Capacity < 2 {
		t.Errorf("statistics %+v", s)
	}
}

func pageMoved(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedIndexed(t, tbl, 9)
	q := table.Query{Index: "GSI1", PK: "GLOBAL_TX", Limit: 3}
	got := joined(pages(t, tbl, q, func(page int) {
		if page == 1 {
			// The item at the cursor goes to the front.
			key := keys.Key{PK: keys.Tx.PK("7"), SK: keys.Metadata}
			must(t, tbl.Do(t.Context(), table.Update(key, setString("gsi1sk", "TX#"))))
		}
	}))
	equal(t, "items", got, span(0, 8))
}

// seedLarge stores n transactions of which a request returns five at most.
func seedLarge(t *testing.T, tbl *table.Table, n int) {
	t.Helper()
	for i := range n {
		must(t, tbl.Do(t.Context(), table.Put(txKey(i), map[string]any{"n": i, "text": long(200 << 10)})))
	}
}

func allLazy(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seedLarge(t, tbl, 13)
	seq := table.All[note](t.Context(), tbl, table.Query{PK: user.PK})
	equal(t, "requests before ranging", len(faults.Requests("Query")), 0)
	for v, err := range seq {
		must(t, err)
		if v.N == 2 {
			break
		}
	}
	equal(t, "requests after the break", len(faults.Requests("Query")), 1)
	all := expect.Value(table.Collect(seq))(t)
	equal(t, "items", numbers(all), span(0, 12))
}

func allLimit(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seed(t, tbl, 30)
	got := expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK, Limit: 30, Descending: true})))(t)
	equal(t, "items", numbers(got), span(29, 0))
	equal(t, "requests", len(faults.Requests("Query")), 1)
	got = expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK, Limit: 7})))(t)
	equal(t, "items", numbers(got), span(0, 6))
	equal(t, "requests", len(faults.Requests("Query")), 2)
	equal(t, "limit", bodyField(t, faults.Requests("Query")[1], "Limit"), "7")
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
