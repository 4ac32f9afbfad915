package conformance

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
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
	}
}

func cursorOtherQuery(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seedIndexed(t, tbl, 6)
	mine := table.Query{PK: user.PK, Limit: 2, Scope: "alice", Range: keys.Tx.All(), Filter: nIs(0).Not()}
	page, err := table.QueryPage[note](t.Context(), tbl, mine)
	must(t, err)
	mine.After = page.Next
	_, err = table.QueryPage[note](t.Context(), tbl, mine)
	must(t, err)

	before := sent(faults)
	for what, change := range map[string]func(*table.Query){
		"partition":       func(q *table.Query) { q.PK = other.PK },
		"index":           func(q *table.Query) { q.Index = "LSI1" },
		"global index":    func(q *table.Query) { q.Index = "GSI1" },
		"range":           func(q *table.Query) { q.Range = keys.Notif.All() },
		"whole partition": func(q *table.Query) { q.Range = keys.Range{} },
		"wider range":     func(q *table.Query) { q.Range = keys.Range{From: "A", To: "Z"} },
		"direction":       func(q *table.Query) { q.Reverse = true },
		"scope":           func(q *table.Query) { q.Scope = "bob" },
		"no scope":        func(q *table.Query) { q.Scope = "" },
		"filter":          func(q *table.Query) { q.Filter = nIs(1).Not() },
		"filter's name":   func(q *table.Query) { q.Filter = name("m").Equal(value(0)).Not() },
		"no filter":       func(q *table.Query) { q.Filter = table.Query{}.Filter },
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
	page, err := table.QueryPage[note](t.Context(), tbl, q)
	must(t, err)
	token := page.Next
	before := sent(faults)
	try := func(changed string) {
		q.After = changed
		if _, err := table.QueryPage[note](t.Context(), tbl, q); !errors.Is(err, paginate.ErrInvalidCursor) {
			t.Errorf("%q: %v", changed, err)
		}
	}
	for i := range token {
		c := byte('A')
		if token[i] == c {
			c = 'B'
		}
		try(token[:i] + string(c) + token[i+1:])
		if i > 0 {
			try(token[:i])
		}
	}
	try(token + "A")
	try(" " + token)
	try("tx-0000")
	try(long(10 << 20))
	equal(t, "requests", sent(faults)-before, 0)
}

func cursorOtherTable(t *testing.T, h Harness) {
	a, _ := h.withFaults(t, appCore(), nil)
	b, faults := h.withFaults(t, appCore(), nil)
	seed(t, a, 3)
	seed(t, b, 3)
	q := table.Query{PK: user.PK, Limit: 1}
	page, err := table.QueryPage[note](t.Context(), a, q)
	must(t, err)
	q.After = page.Next
	_, err = table.QueryPage[note](t.Context(), b, q)
	wantErr(t, err, paginate.ErrInvalidCursor)
	equal(t, "queries", len(faults.Requests("Query")), 0)
}

func sealedOptions(t *testing.T) *table.Options {
	t.Helper()
	codec, err := paginate.New([]paginate.Key{paginate.NewKey()}, &paginate.Options{TTL: time.Hour})
	must(t, err)
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
		page, err := table.QueryPage[note](t.Context(), tbl, q)
		must(t, err)
		if len(page.Next) > 116 {
			t.Errorf("a token of %d characters", len(page.Next))
		}
		q.After = page.Next
	}
}

func cursorPartition(t *testing.T, h Harness) {
	opts := options()
	opts.Cursors = paginate.Unsealed()
	tbl, _ := h.withFaults(t, appCore(), opts)
	seedIndexed(t, tbl, 3)
	for _, q := range []table.Query{
		{PK: user.PK, Limit: 1}, {Index: "GSI1", PK: "GLOBAL_TX", Limit: 1}, {Index: "LSI1", PK: user.PK, Limit: 1},
	} {
		page, err := table.QueryPage[note](t.Context(), tbl, q)
		must(t, err)
		if !holds(t, page.Next, "TX#") || holds(t, page.Next, string(q.PK)) {
			t.Errorf("%q: token %s", q.Index, page.Next)
		}
	}
}

func cursorRenamed(t *testing.T, h Harness) {
	tbl := h.newTable(t, table.Schema{
		PK: "PK", SK: "SK",
		Indexes: []table.Index{
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
		Index: "inverted", PK: "PROFILE", Limit: 2, Range: keys.Range{From: "USER#b", To: "USER#d"}, Reverse: true,
	}, nil)), span(3, 1))
	equal(t, "same partition", joined(pages(t, tbl, table.Query{Index: "samePartition", PK: "P", Limit: 2}, nil)), span(6, 0))
}

func cursorAll(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 10)
	q := table.Query{PK: user.PK, Limit: 4}
	page, err := table.QueryPage[note](t.Context(), tbl, q)
	must(t, err)
	q.After, q.Limit = page.Next, 0
	rest, err := table.Collect(table.All[note](t.Context(), tbl, q))
	must(t, err)
	equal(t, "rest", numbers(rest), span(4, 9))
}

func cursorNumbers(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, table.Schema{PKType: types.ScalarAttributeTypeN, SKType: types.ScalarAttributeTypeN}, nil)
	for i, sk := range []keys.SK{"1", "2", "3"} {
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "1", SK: sk}, note{N: i})))
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "2", SK: sk}, note{N: 10 + i})))
	}
	q := table.Query{PK: "1", Limit: 1}
	page, err := table.QueryPage[note](t.Context(), tbl, q)
	must(t, err)
	q.After = page.Next
	equal(t, "items", joined(pages(t, tbl, q, nil)), []int{1, 2})
	before := sent(faults)
	q.PK = "2"
	_, err = table.QueryPage[note](t.Context(), tbl, q)
	wantErr(t, err, paginate.ErrInvalidCursor)
	equal(t, "requests", sent(faults)-before, 0)
}
