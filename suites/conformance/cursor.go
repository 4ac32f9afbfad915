package conformance

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func cursorTests() tests {
	return tests{
		"is refused by every other query":             cursorOtherQuery,
		"holds no partition key":                      cursorPartition,
		"of a table with renamed keys":                cursorRenamed,
		"follows a window that moves":                 cursorWindow,
		"outside the range is not sent":               cursorOutside,
		"tokens hold the longest keys that there are": sealedLongest,
	}
}

// cursorOtherQuery takes the cursors of a page, to the next and to the previous one, to
// other queries.
func cursorOtherQuery(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	another, _ := h.withFaults(t, appCore(), nil)
	seedIndexed(t, tbl, 6)
	mine := table.Query{PK: user.PK, Limit: 2, Scope: "alice", Range: keys.Tx.All()}
	mine.After = expect.Value(table.QueryPage[note](t.Context(), tbl, mine))(t).Next
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, mine))(t)
	before := sent(faults)
	for what, change := range map[string]func(*table.Query){
		"partition":       func(q *table.Query) { q.PK = other.PK },
		"index":           func(q *table.Query) { q.Index = "LSI1" },
		"global index":    func(q *table.Query) { q.Index = "GSI1" },
		"range":           func(q *table.Query) { q.Range = keys.Notif.All() },
		"whole partition": func(q *table.Query) { q.Range = keys.Range{} },
		"wider range":     func(q *table.Query) { q.Range = keys.Range{From: "A", To: "Z"} },
		"direction":       func(q *table.Query) { q.Descending = true },
		"scope":           func(q *table.Query) { q.Scope = "bob" },
		"no scope":        func(q *table.Query) { q.Scope = "" },
		"first letters":   func(q *table.Query) { q.Range = keys.Tx.Starting("0") },
		"bounds":          func(q *table.Query) { q.Range = keys.Tx.Since(now) },
		"a changed one":   func(q *table.Query) { q.After = q.After[:len(q.After)-2] + "AA" },
	} {
		for _, cursor := range []string{page.Next, page.Prev} {
			q := mine
			q.After = cursor
			change(&q)
			got, err := table.QueryPage[note](t.Context(), tbl, q)
			_, all := table.Collect(table.All[note](t.Context(), tbl, q))
			wantErr(t, all, paginate.ErrInvalidCursor)
			if !errors.Is(err, paginate.ErrInvalidCursor) || table.Classify(err) != table.Permanent || len(got.Items) > 0 {
				t.Errorf("%s: %v, %v", what, got, err)
			}
		}
	}
	mine.After = page.Next
	wantErr(t, expect.ErrOf(table.QueryPage[note](t.Context(), another, mine)), paginate.ErrInvalidCursor)
	// A previous page is a page.
	mine.After = page.Prev
	wantErr(t, expect.ErrOf(table.Collect(table.All[note](t.Context(), tbl, mine))), paginate.ErrInvalidCursor)
	wantErr(t, expect.ErrOf(tbl.Count(t.Context(), mine)), paginate.ErrInvalidCursor)
	equal(t, "requests", sent(faults)-before, 0)
}

func sealedOptions(t *testing.T) *table.Options {
	t.Helper()
	codec := expect.Value(paginate.New([]paginate.Key{paginate.NewKey()}, &paginate.Options{TTL: time.Hour}))(t)
	opts := options()
	opts.Cursors = codec
	return opts
}

func cursorPartition(t *testing.T, h Harness) {
	opts := options()
	opts.Cursors = paginate.Insecure()
	tbl, _ := h.withFaults(t, appCore(), opts)
	seedIndexed(t, tbl, 3)
	for _, q := range []table.Query{
		{PK: user.PK, Limit: 1}, {Index: "GSI1", PK: "GLOBAL_TX", Limit: 1}, {Index: "LSI1", PK: user.PK, Limit: 1},
	} {
		page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
		if !holds(t, page.Next, "TX#") || holds(t, page.Next, string(q.PK)) {
			t.Errorf("%q: token %s", q.Index, page.Next)
		}
	}
}

func cursorRenamed(t *testing.T, h Harness) {
	tbl := h.newTable(t, schema.Table{
		PK: "PK", SK: "SK",
		Indexes: []schema.Index{
			{Name: "inverted", PK: "SK", SK: "PK"},
			{Name: "samePartition", PK: "PK", SK: "gsi1sk"},
		},
	})
	var ops []table.Op
	for i := range 7 {
		id := string(rune('a' + i))
		ops = append(ops, table.Put(keys.Key{PK: keys.User.PK(id), SK: keys.Profile}, note{N: i}))
		ops = append(ops, table.Put(keys.Key{PK: "P", SK: keys.SK(id)}, note{N: i, GSI1SK: string(rune('z' - i))}))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	equal(t, "inverted", joined(pages(t, tbl, table.Query{Index: "inverted", PK: "PROFILE", Limit: 2}, nil)), span(0, 6))
	equal(t, "inverted, narrowed", joined(pages(t, tbl, table.Query{
		Index: "inverted", PK: "PROFILE", Limit: 2, Range: keys.Range{From: "USER#b", To: "USER#d"}, Descending: true,
	}, nil)), span(3, 1))
	equal(t, "same partition", joined(pages(t, tbl, table.Query{Index: "samePartition", PK: "P", Limit: 2}, nil)), span(6, 0))
}

// cursorWindow pages windows whose bounds move between pages.
func cursorWindow(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seed(t, tbl, 20)
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 99})))
	page := func(q table.Query) ([]int, string) {
		t.Helper()
		page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
		all := q
		all.Limit = 0
		rest := expect.Value(table.Collect(table.All[note](t.Context(), tbl, all)))(t)
		equal(t, "first items of All", numbers(rest)[:len(page.Items)], numbers(page.Items))
		return numbers(page.Items), page.Next
	}

	q := table.Query{PK: user.PK, Limit: 3}
	for i, want := range [][]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}} {
		q.Range = keys.Tx.Since(txTime(2 * i))
		var got []int
		got, q.After = page(q)
		equal(t, "the last 24 hours, oldest first", got, want)
	}
	q.Range = keys.Tx.Between(txTime(3), txTime(11))
	got, _ := page(q)
	equal(t, "a window that has shrunk", got, []int{9, 10})
	q.Range = keys.Range{From: txKey(2).SK, To: "TX#~"}
	got, _ = page(q)
	equal(t, "bounds in another form", got, []int{9, 10, 11})
	q.Range = keys.Tx.Since(txTime(12))
	got, q.After = page(q)
	equal(t, "from the start of a window that has passed the cursor", got, []int{12, 13, 14})

	q = table.Query{PK: user.PK, Limit: 3, Descending: true}
	for i, want := range [][]int{{15, 14, 13}, {12, 11, 10}} {
		q.Range = keys.Tx.Between(txTime(2*i), txTime(16+i))
		got, q.After = page(q)
		equal(t, "newest first", got, want)
	}
	before := sent(faults)
	q.Range = keys.Tx.Between(txTime(12), txTime(30))
	got, next := page(q)
	equal(t, "nothing is left of a window that has passed the cursor", got, []int{})
	equal(t, "cursor", next, "")
	equal(t, "requests", sent(faults)-before, 0)
}

// cursorOutside pages ranges that do not hold the cursor's position, for each type
// of sort key. What is read follows the position, and nothing is sent where
// nothing does. The position can be read and chosen by anyone.
func cursorOutside(t *testing.T, h Harness) {
	opts := options()
	opts.Cursors = paginate.Insecure()
	for kind, inOrder := range map[types.ScalarAttributeType][]keys.SK{
		types.ScalarAttributeTypeS: {"A#1", "A#10", "A#2", "A#3", "A#4"},
		types.ScalarAttributeTypeN: {"-10", "-9", "2", "10", "11.5"},
		types.ScalarAttributeTypeB: {"\x00", "\x00\xff", "#", "\x80#", "\xff"},
	} {
		tbl, faults := h.ranked(t, kind, inOrder, opts)
		for _, index := range []string{"", "GSI1"} {
			for _, reverse := range []bool{false, true} {
				q := table.Query{Index: index, PK: "P", Limit: 3, Descending: reverse}
				q.After = tokenOf(t, tbl, q) // at the third
				read := func(r keys.Range) []int {
					q.Range = r
					return joined(pages(t, tbl, q, nil))
				}
				before := sent(faults)
				for _, r := range []keys.Range{{To: inOrder[1]}, {From: inOrder[0], To: inOrder[1]}} {
					if reverse {
						equal(t, "from the start, "+string(kind), read(r), []int{1, 0})
						continue
					}
					q.Range = r
					wantReason(t, tbl, q, paginate.OutOfRange)
					equal(t, "requests", sent(faults)-before, 0)
				}
				before = sent(faults)
				for _, r := range []keys.Range{{From: inOrder[3]}, {From: inOrder[3], To: inOrder[4]}} {
					if !reverse {
						equal(t, "from the start, "+string(kind), read(r), []int{3, 4})
						continue
					}
					equal(t, "nothing is left, "+string(kind), read(r), nil)
					equal(t, "requests", sent(faults)-before, 0)
				}
				before = sent(faults)
				equal(t, "an empty range, "+string(kind), read(keys.Range{From: inOrder[1], To: inOrder[0]}), nil)
				equal(t, "requests", sent(faults)-before, 0)
				end := keys.Range{From: inOrder[0], To: inOrder[2]}
				if reverse {
					end = keys.Range{From: inOrder[2], To: inOrder[4]}
				}
				equal(t, "at the end of a range, "+string(kind), read(end), nil)
				if index == "" { // where no other item has the sort key
					equal(t, "requests", sent(faults)-before, 0)
				}
				inside := keys.Range{From: inOrder[1], To: inOrder[3]}
				equal(t, "inside, "+string(kind), read(inside), map[bool][]int{false: {3}, true: {1}}[reverse])
			}
		}
	}
}

func keyValue(kind types.ScalarAttributeType, sk keys.SK) types.AttributeValue {
	switch kind {
	case types.ScalarAttributeTypeN:
		return num(string(sk))
	case types.ScalarAttributeTypeB:
		return &types.AttributeValueMemberB{Value: []byte(sk)}
	}
	return str(string(sk))
}

// walk reads pages of one item and returns how often each number came, in
// order.
func walk(t *testing.T, tbl *table.Table, q table.Query) []int {
	t.Helper()
	q.Limit = 1
	return joined(pages(t, tbl, q, nil))
}

// tokenOf returns a cursor that a table with the codec issues for a query.
func tokenOf(t *testing.T, tbl *table.Table, q table.Query) string {
	t.Helper()
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
	if page.Next == "" {
		t.Fatal("no token")
	}
	return page.Next
}

// wantReason checks why a token is refused.
func wantReason(t *testing.T, tbl *table.Table, q table.Query, want paginate.Reason) {
	t.Helper()
	_, err := table.QueryPage[note](t.Context(), tbl, q)
	refused, ok := errors.AsType[*paginate.Error](err)
	if !ok || !errors.Is(err, paginate.ErrInvalidCursor) {
		t.Fatalf("error %v, want a refused token", err)
	}
	equal(t, "reason", refused.Reason, want)
}

func sealedLongest(t *testing.T, h Harness) {
	tbl, _ := h.withFaults(t, appCore(), sealedOptions(t))
	for i := range 3 {
		key := keys.Key{
			PK: keys.PK(strings.Repeat("p", keys.MaxPK-1) + string(rune('0'+i))),
			SK: keys.SK(strings.Repeat("s", keys.MaxSK-1) + string(rune('0'+i))),
		}
		must(t, tbl.Do(t.Context(), table.Put(key, note{
			N: i, GSI1PK: strings.Repeat("g", keys.MaxPK), GSI1SK: strings.Repeat("h", keys.MaxSK-1) + string(rune('0'+i)),
		})))
	}
	q := table.Query{Index: "GSI1", PK: keys.PK(strings.Repeat("g", keys.MaxPK))}
	equal(t, "items", walk(t, tbl, q), span(0, 2))
}
