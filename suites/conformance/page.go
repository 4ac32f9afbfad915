package conformance

import (
	"math"
	"slices"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func pageTests() tests {
	return tests{
		"137 transactions by 25, newest first":      page137,
		"inserts between pages lose nothing":        pageInserts,
		"a size equal to the count":                 pageEqualsCount,
		"the item at the cursor is deleted":         pageDeleted,
		"another size and projection half-way":      pageResized,
		"expired items leave pages full":            pageExpired,
		"expired items cost few requests":           pageMostlyExpired,
		"without limit":                             pageUnlimited,
		"statistics add up":                         pageStats,
		"an item that changes place in the index":   pageMoved,
		"every size over every count, on all sides": pageSizes,
	}
}

func page137(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 137)
	must(t, tbl.Do(t.Context(), table.Put(user, note{Type: "user"})))
	q := table.Query{PK: user.PK, Range: keys.Tx.All(), Descending: true, Limit: 25}
	all := pages(t, tbl, q, nil)
	equal(t, "pages", len(all), 6)
	for i, page := range all {
		equal(t, "page", page, span(136-25*i, max(136-25*i-24, 0)))
	}
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

func pageEqualsCount(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedIndexed(t, tbl, 10)
	for _, q := range []table.Query{{PK: user.PK}, {Index: "GSI1", PK: "GLOBAL_TX"}, {Index: "LSI1", PK: user.PK}} {
		for _, limit := range []int{10, 5} {
			q.Limit = limit
			all := pages(t, tbl, q, nil)
			equal(t, "items", len(joined(all)), 10)
			if len(all) > 10/limit+1 {
				t.Errorf("%d pages of %d", len(all), limit)
			}
		}
		q.Limit = 11
		equal(t, "pages", len(pages(t, tbl, q, nil)), 1)
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

func pageResized(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 20)
	q := table.Query{PK: user.PK, Limit: 3}
	var got []int
	for i := range 4 {
		q.Limit += 2 * i
		q.Consistent = i%2 == 1
		if i == 2 {
			q.Project = []string{"n"}
		}
		page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
		got = append(got, numbers(page.Items)...)
		q.After = page.Next
	}
	equal(t, "items", got, span(0, 19))
	q.Limit = math.MaxInt
	q.After = ""
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
	equal(t, "items", len(page.Items), 20)
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

func pageExpired(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedExpiring(t, tbl, 60, func(i int) bool { return i%3 == 1 })
	var want []int
	for i := 1; i < 60; i += 3 {
		want = append(want, i)
	}
	for _, reverse := range []bool{false, true} {
		q := table.Query{PK: user.PK, Limit: 4, Descending: reverse}
		all := pages(t, tbl, q, nil)
		equal(t, "items", joined(all), want)
		for i, page := range all[:5] {
			if len(page) != 4 {
				t.Errorf("page %d has %d items", i, len(page))
			}
		}
		slices.Reverse(want)
	}
	got := expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK, Limit: 9})))(t)
	equal(t, "All with a limit", numbers(got), want[:9])
}

func pageMostlyExpired(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seedExpiring(t, tbl, 300, func(i int) bool { return i >= 290 })
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, Limit: 5}))(t)
	equal(t, "items", numbers(page.Items), span(290, 294))
	if n := len(faults.Requests("Query")); n > 6 {
		t.Errorf("%d requests for 5 items behind 290 expired ones", n)
	}
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

func pageSizes(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 6)
	for size := 1; size <= 7; size++ {
		for count := range 7 {
			for _, reverse := range []bool{false, true} {
				q := table.Query{PK: user.PK, Limit: size, Descending: reverse, Range: keys.Tx.Until(txTime(count))}
				want := span(0, count-1)
				if reverse {
					want = span(count-1, 0)
				}
				if count == 0 {
					want = []int{}
				}
				all := pages(t, tbl, q, nil)
				equal(t, "items", append([]int{}, joined(all)...), want)
				if len(all) > count/size+1 {
					t.Errorf("%d items by %d: %d pages", count, size, len(all))
				}
			}
		}
	}
}
