package conformance

import (
	"errors"
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
		"is refused by every other query":        cursorOtherQuery,
		"is refused when it was changed":         cursorChanged,
		"of another table or key is refused":     cursorOtherTable,
		"works sealed as well":                   cursorSealed,
		"holds no partition key":                 cursorPartition,
		"of a table with renamed keys":           cursorRenamed,
		"is honoured by All":                     cursorAll,
		"of a number key stays in its partition": cursorNumbers,
		"follows a window that moves":            cursorWindow,
		"outlives a filter that is recomputed":   cursorFilter,
		"outside the range is not sent":          cursorOutside,
		"of another range is refused":            cursorOtherRange,
	}
}

func cursorOtherQuery(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seedIndexed(t, tbl, 6)
	mine := table.Query{PK: user.PK, Limit: 2, Scope: "alice", Range: keys.Tx.All()}
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, mine))(t)
	mine.After = page.Next
	must(t, expect.ErrOf(table.QueryPage[note](t.Context(), tbl, mine)))

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
	} {
		q := mine
		change(&q)
		page, err := table.QueryPage[note](t.Context(), tbl, q)
		if !errors.Is(err, paginate.ErrInvalidCursor) || table.Classify(err) != table.Permanent || len(page.Items) > 0 {
			t.Errorf("%s: %v, %v", what, page, err)
		}
		for _, err := range table.All[note](t.Context(), tbl, q) {
			wantErr(t, err, paginate.ErrInvalidCursor)
		}
	}
	equal(t, "requests", sent(faults)-before, 0)
}

func cursorChanged(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seed(t, tbl, 3)
	q := table.Query{PK: user.PK, Limit: 1}
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
	token := page.Next
	before := sent(faults)
	for _, changed := range []string{token + "A", " " + token, token[1:], token[:len(token)-1], "tx-0000", long(10 << 20)} {
		q.After = changed
		if _, err := table.QueryPage[note](t.Context(), tbl, q); !errors.Is(err, paginate.ErrInvalidCursor) {
			t.Errorf("%.100q: %v", changed, err)
		}
	}
	equal(t, "requests", sent(faults)-before, 0)
}

func cursorOtherTable(t *testing.T, h Harness) {
	a, _ := h.withFaults(t, appCore(), nil)
	b, faults := h.withFaults(t, appCore(), nil)
	seed(t, a, 3)
	seed(t, b, 3)
	q := table.Query{PK: user.PK, Limit: 1}
	page := expect.Value(table.QueryPage[note](t.Context(), a, q))(t)
	q.After = page.Next
	wantErr(t, expect.ErrOf(table.QueryPage[note](t.Context(), b, q)), paginate.ErrInvalidCursor)
	equal(t, "queries", len(faults.Requests("Query")), 0)
}

func sealedOptions(t *testing.T) *table.Options {
	t.Helper()
	codec := expect.Value(paginate.New([]paginate.Key{paginate.NewKey()}, &paginate.Options{TTL: time.Hour}))(t)
	opts := options()
	opts.Cursors = codec
	return opts
}

func cursorSealed(t *testing.T, h Harness) {
	tbl, _ := h.withFaults(t, appCore(), sealedOptions(t))
	seedIndexed(t, tbl, 10)
	for _, q := range []table.Query{
		{PK: user.PK, Limit: 3}, {Index: "GSI1", PK: "GLOBAL_TX", Limit: 3}, {Index: "LSI1", PK: user.PK, Limit: 3},
	} {
		equal(t, "items", len(joined(pages(t, tbl, q, nil))), 10)
	}
	q := table.Query{PK: user.PK, Limit: 3}
	for range 2 {
		page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
		if len(page.Next) > 116 {
			t.Errorf("a token of %d characters", len(page.Next))
		}
		q.After = page.Next
	}
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

func cursorAll(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 10)
	q := table.Query{PK: user.PK, Limit: 4}
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
	q.After, q.Limit = page.Next, 0
	rest := expect.Value(table.Collect(table.All[note](t.Context(), tbl, q)))(t)
	equal(t, "rest", numbers(rest), span(4, 9))
}

func cursorNumbers(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, schema.Table{PKType: types.ScalarAttributeTypeN, SKType: types.ScalarAttributeTypeN}, nil)
	for i, sk := range []keys.SK{"1", "2", "3"} {
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "1", SK: sk}, note{N: i})))
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "2", SK: sk}, note{N: 10 + i})))
	}
	q := table.Query{PK: "1", Limit: 1}
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
	q.After = page.Next
	equal(t, "items", joined(pages(t, tbl, q, nil)), []int{1, 2})
	before := sent(faults)
	q.PK = "2"
	wantErr(t, expect.ErrOf(table.QueryPage[note](t.Context(), tbl, q)), paginate.ErrInvalidCursor)
	equal(t, "requests", sent(faults)-before, 0)
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

// cursorFilter pages with a filter that is made of the time, in queries and scans.
func cursorFilter(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 12)
	q := table.Query{PK: user.PK, Limit: 3}
	s := table.Scan{Limit: 3}
	var queried, scanned []int
	for i := range 4 {
		filter := name("n").GreaterThanEqual(value(i))
		q.Filter, s.Filter = filter, filter
		page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
		queried, q.After = append(queried, numbers(page.Items)...), page.Next
		page = expect.Value(table.ScanPage[note](t.Context(), tbl, s))(t)
		scanned, s.After = append(scanned, numbers(page.Items)...), page.Next
	}
	equal(t, "queried", queried, span(0, 11))
	equal(t, "scanned", scanned, span(0, 11))
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
		tbl, faults := h.withFaults(t, schema.Table{
			SKType:  kind,
			Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "rank", SKType: kind}},
		}, opts)
		for i, sk := range inOrder {
			item := table.Item{"n": num(string(rune('0' + i))), "gsi1pk": str("P"), "rank": keyValue(kind, sk)}
			must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "P", SK: sk}, item)))
		}
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

// cursorOtherRange takes cursors from the window of one prefix to that of another,
// which must neither start over nor end.
func cursorOtherRange(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	for i := range 3 {
		for _, prefix := range []keys.Prefix{keys.Notif, keys.Tx, "TX2"} {
			key := keys.Key{PK: user.PK, SK: prefix.SK(keys.Time(txTime(i)), keys.Str("a"))}
			must(t, tbl.Do(t.Context(), table.Put(key, note{N: i})))
		}
	}
	windows := []func(keys.Prefix) keys.Range{
		func(p keys.Prefix) keys.Range { return p.Since(now) },
		func(p keys.Prefix) keys.Range { return p.Until(txTime(9)) },
		func(p keys.Prefix) keys.Range { return p.Between(now, txTime(9)) },
	}
	for _, reverse := range []bool{false, true} {
		for _, from := range windows {
			q := table.Query{PK: user.PK, Range: from(keys.Tx), Limit: 1, Descending: reverse}
			q.After = tokenOf(t, tbl, q)
			before := sent(faults)
			for _, to := range windows {
				for _, prefix := range []keys.Prefix{keys.Notif, "TX2", "T", "TXX"} {
					q.Range = to(prefix)
					wantReason(t, tbl, q, paginate.OutOfRange)
				}
			}
			equal(t, "requests", sent(faults)-before, 0)
		}
	}
}
