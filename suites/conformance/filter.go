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
		"any walk over any items":                       filterAny,
		"a token does not hold the key of a hidden one": filterToken,
	}
}

// filterAny compares walks chosen at random with what they must give: page by page, there
// and back, all at once, and counted.
func filterAny(t *testing.T, h Harness) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 6 {
		opts := options()
		opts.MaxRounds = 1 + random.IntN(4)
		tbl, _ := h.withFaults(t, appCore(), opts)
		count := random.IntN(80)
		var ops []table.Op
		expired, passes := make([]bool, count), make([]bool, count)
		for i := range count {
			v := note{N: i, GSI1PK: "G", GSI1SK: string(txKey(i).SK), LSI1SK: string(txKey(i).SK)}
			if expired[i] = random.IntN(1+round) == 1; expired[i] {
				v.ExpiresAt = now.Unix()
			}
			if passes[i] = random.IntN(4) == 0; passes[i] {
				v.ID = "passes"
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
			from, to := 0, count
			if random.IntN(3) == 0 {
				from = random.IntN(count + 1)
				to = from + random.IntN(count-from+1)
				q.Range = keys.Tx.Between(txTime(from), txTime(to))
			}
			filtered := random.IntN(2) == 0
			if filtered {
				q.Filter = name("id").Equal(value("passes"))
			}
			if random.IntN(3) == 0 {
				q.Project = []string{"n"}
			}
			want := []int{}
			for i := from; i < to; i++ {
				if !expired[i] && (passes[i] || !filtered) {
					want = append(want, i)
				}
			}
			if q.Descending {
				slices.Reverse(want)
			}
			walks(t, fmt.Sprintf("seed %d: %+v, at most %d requests", seed, q, opts.MaxRounds), tbl, q, want)
		}
	}
}

// walks reads a query in every way.
func walks(t *testing.T, what string, tbl *table.Table, q table.Query, want []int) {
	t.Helper()
	there, back := thereAndBack(t, tbl, q, nil)
	equal(t, what, append([]int{}, joined(there)...), want)
	last := there[len(there)-1]
	equal(t, what+": back", append(append([]int{}, joined(back)...), last...), want)
	if q.Limit > 0 {
		want = want[:min(q.Limit, len(want))]
	}
	all := expect.Value(table.Collect(table.All[note](t.Context(), tbl, q)))(t)
	equal(t, what+": All", numbers(all), want)
	stats := expect.Value(tbl.Count(t.Context(), q))(t)
	equal(t, what+": Count", stats.Items, len(want))
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
