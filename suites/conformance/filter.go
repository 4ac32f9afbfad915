package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

func filterTests() tests {
	return tests{
		"ten of 95 in a hundred dropped":                filterTen,
		"a stop at MaxRounds loses nothing":             filterRounds,
		"nothing passes":                                filterNothing,
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
			page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
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
				page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
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
		all := expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK, Filter: every(10), Limit: 10})))(t)
		equal(t, "All", numbers(all), want)
	}
}

func filterNothing(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedKinds(t, tbl, 200, 3)
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, Filter: nIs(-1), Limit: 10}))(t)
	equal(t, "items", len(page.Items), 0)
	equal(t, "token", page.Next, "")
	equal(t, "scanned", page.Stats.Scanned, 200)
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
			if random.IntN(3) == 0 {
				q.Project = []string{"n"}
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
		page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
		equal(t, "items", len(page.Items), items)
		equal(t, "holds the key of an item that the filter hides", holds(t, page.Next, "HIDDEN"), items == 0)
		q.After = page.Next
	}
}
