package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

func filterTests() tests {
	return tests{
		"ten of 95 in a hundred dropped":                filterTen,
		"pages are full and lose nothing, any size":     filterSizes,
		"a stop at MaxRounds loses nothing":             filterRounds,
		"nothing passes":                                filterNothing,
		"a filter on an index, with a projection":       filterIndex,
		"a filter and expired items":                    filterExpired,
		"a token does not hold the key of a hidden one": filterToken,
		"any walk over any items":                       filterAny,
	}
}

// every returns a filter that lets one in n items pass, of those that seedKinds
// stores.
func every(n int) expression.ConditionBuilder {
	return expression.Name("id").Equal(expression.Value(fmt.Sprint("every ", n)))
}

// seedKinds stores count transactions, one in n of which the filter lets pass.
func seedKinds(t *testing.T, tbl *table.Table, count, n int) (passing []int) {
	t.Helper()
	ops := make([]table.Op, count)
	for i := range ops {
		v := note{N: i, GSI1PK: "G", GSI1SK: string(txKey(i).SK)}
		if i%n == n/2 {
			v.ID = fmt.Sprint("every ", n)
			passing = append(passing, i)
		}
		ops[i] = table.Put(txKey(i), v)
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	return passing
}

func filterTen(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	want := seedKinds(t, tbl, 1000, 20)
	for _, reverse := range []bool{false, true} {
		q := table.Query{PK: user.PK, Filter: every(20), Limit: 10, Descending: reverse}
		for i := range len(want) / 10 {
			page, err := table.QueryPage[note](t.Context(), tbl, q)
			must(t, err)
			equal(t, "page", numbers(page.Items), want[10*i:10*i+10])
			if page.Stats.Requests > 8 || page.Stats.Scanned > 1000 || page.Stats.Items != 10 {
				t.Errorf("statistics %+v", page.Stats)
			}
			if q.After = page.Next; q.After == "" && i < 4 {
				t.Fatal("no token")
			}
		}
		slices.Reverse(want)
	}
}

func filterSizes(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	want := seedKinds(t, tbl, 60, 3)
	for size := 1; size < 24; size += 2 {
		for _, reverse := range []bool{false, true} {
			q := table.Query{PK: user.PK, Filter: every(3), Limit: size, Descending: reverse}
			all := pages(t, tbl, q, nil)
			equal(t, fmt.Sprint("by ", size), joined(all), want)
			for i, page := range all {
				if i < len(want)/size && len(page) != size {
					t.Errorf("page %d by %d has %d items", i, size, len(page))
				}
			}
			slices.Reverse(want)
		}
	}
}

func filterRounds(t *testing.T, h Harness) {
	for _, rounds := range []int{1, 2, 3} {
		opts := options()
		opts.MaxRounds = rounds
		tbl, _ := h.withFaults(t, appCore(), opts)
		want := seedKinds(t, tbl, 100, 10)
		for _, reverse := range []bool{false, true} {
			q := table.Query{PK: user.PK, Filter: every(10), Limit: 3, Descending: reverse}
			var got []int
			for {
				page, err := table.QueryPage[note](t.Context(), tbl, q)
				must(t, err)
				if page.Stats.Requests > rounds {
					t.Errorf("%d requests", page.Stats.Requests)
				}
				got = append(got, numbers(page.Items)...)
				if q.After = page.Next; q.After == "" {
					break
				}
			}
			equal(t, fmt.Sprint(rounds, " rounds"), got, want)
			slices.Reverse(want)
		}
		all, err := table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK, Filter: every(10), Limit: 10}))
		must(t, err)
		equal(t, "All", numbers(all), want)
	}
}

func filterNothing(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedKinds(t, tbl, 200, 3)
	page, err := table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, Filter: nIs(-1), Limit: 10})
	must(t, err)
	equal(t, "items", len(page.Items), 0)
	equal(t, "token", page.Next, "")
	equal(t, "scanned", page.Stats.Scanned, 200)
}

func filterIndex(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	want := seedKinds(t, tbl, 60, 6)
	q := table.Query{Index: "GSI1", PK: "G", Filter: every(6), Project: []string{"n"}, Limit: 3, Range: keys.Tx.All()}
	equal(t, "items", joined(pages(t, tbl, q, nil)), want)
}

func filterExpired(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedExpiring(t, tbl, 60, func(i int) bool { return i%4 != 0 })
	even := expression.Name("n").In(expression.Value(2), value(4), value(6), value(40), value(42), value(58))
	q := table.Query{PK: user.PK, Filter: even, Limit: 2}
	equal(t, "pages", joined(pages(t, tbl, q, nil)), []int{2, 6, 42, 58})
}

// filterAny compares walks chosen at random with what they must give.
func filterAny(t *testing.T, h Harness) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 6 {
		opts := options()
		opts.MaxRounds = 1 + random.IntN(4)
		tbl, _ := h.withFaults(t, appCore(), opts)
		var ops []table.Op
		var live, passing []int
		for i := range 1 + random.IntN(80) {
			v := note{N: i, GSI1PK: "G", GSI1SK: string(txKey(i).SK), LSI1SK: string(txKey(i).SK)}
			expired, passes := random.IntN(1+round) == 1, random.IntN(4) == 0
			if expired {
				v.ExpiresAt = now.Unix()
			} else {
				live = append(live, i)
			}
			if passes {
				v.ID = "every 1"
			}
			if passes && !expired {
				passing = append(passing, i)
			}
			ops = append(ops, table.Put(txKey(i), v))
		}
		must(t, tbl.BatchWrite(t.Context(), ops...))
		for range 12 {
			q := table.Query{PK: user.PK, Limit: random.IntN(12), Descending: random.IntN(2) == 0}
			switch random.IntN(3) {
			case 0:
				q.Index, q.PK = "GSI1", "G"
			case 1:
				q.Index = "LSI1"
			}
			want := live
			if random.IntN(2) == 0 {
				q.Filter, want = every(1), passing
			}
			if want = slices.Clone(want); q.Descending {
				slices.Reverse(want)
			}
			got := joined(pages(t, tbl, q, nil))
			equal(t, fmt.Sprintf("seed %d: %q by %d, at most %d requests", seed, q.Index, q.Limit, opts.MaxRounds), got, want)
		}
	}
}

// filterToken reads cursors that are not sealed: that of a full page never holds
// the key of a filtered item, that of an empty page does.
func filterToken(t *testing.T, h Harness) {
	opts := options()
	opts.Cursors, opts.MaxRounds = paginate.Insecure(), 1
	tbl, _ := h.withFaults(t, appCore(), opts)
	must(t, tbl.BatchWrite(t.Context(),
		table.Put(keys.Key{PK: user.PK, SK: "A"}, note{ID: "shown"}),
		table.Put(keys.Key{PK: user.PK, SK: "HIDDEN"}, note{ID: "hidden"}),
		table.Put(keys.Key{PK: user.PK, SK: "HIDDEN TOO"}, note{ID: "hidden"}),
		table.Put(keys.Key{PK: user.PK, SK: "Z"}, note{ID: "shown"}),
	))
	q := table.Query{PK: user.PK, Filter: expression.Name("id").Equal(value("shown")), Limit: 1}
	for items := 1; items >= 0; items-- {
		page, err := table.QueryPage[note](t.Context(), tbl, q)
		must(t, err)
		equal(t, "items", len(page.Items), items)
		equal(t, "holds the key of an item that the filter hides", holds(t, page.Next, "HIDDEN"), items == 0)
		q.After = page.Next
	}
}
