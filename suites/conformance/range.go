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

func rangeTests() tests {
	return tests{
		"every form, both ways, page by page": rangeForms,
		"a half-open range of time":           rangeTimes,
		"bare timestamps":                     rangeBare,
		"an empty range":                      rangeEmpty,
		"an invalid range":                    rangeInvalid,
		"the first letters of any text":       rangeStarting,
	}
}

func rangeForms(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	inOrder := []keys.SK{"A", "TX", "TX#1", "TX#10", "TX#1#a", "TX#1#b", "TX#2", "TX$", "Z"}
	// '#' sorts before digits.
	inOrder[3], inOrder[4], inOrder[5] = "TX#1#a", "TX#1#b", "TX#10"
	var ops []table.Op
	for i, sk := range inOrder {
		ops = append(ops, table.Put(keys.Key{PK: user.PK, SK: sk}, note{N: i}))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	for _, tt := range []struct {
		name        string
		r           keys.Range
		first, last int
	}{
		{"whole partition", keys.None.All(), 0, 8},
		{"prefix", keys.Tx.All(), 2, 6},
		{"prefix and segment", keys.Tx.All(keys.Str("1")), 3, 4},
		{"exactly", keys.Exactly("TX#1"), 2, 2},
		{"from", keys.Range{From: "TX#10"}, 5, 8},
		{"to", keys.Range{To: "TX"}, 0, 1},
		{"since", keys.Tx.Since(time.Time{}), 2, 6},
		{"starting", keys.Tx.Starting("1"), 2, 5},
		{"from and to", keys.Range{From: "TX#1", To: "TX#10"}, 2, 5},
	} {
		for _, limit := range []int{0, 1, 2} {
			q := table.Query{PK: user.PK, Range: tt.r, Limit: limit}
			equal(t, tt.name, joined(pages(t, tbl, q, nil)), span(tt.first, tt.last))
			q.Descending = true
			equal(t, tt.name+", reversed", joined(pages(t, tbl, q, nil)), span(tt.last, tt.first))
		}
	}
}

func rangeTimes(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 10)
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 99})))
	must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: user.PK, SK: "TXX#9999"}, note{N: 99})))
	at := func(i int) time.Time { return now.Add(time.Duration(i) * time.Minute) }
	for _, tt := range []struct {
		name        string
		r           keys.Range
		first, last int
	}{
		{"since", keys.Tx.Since(at(3)), 3, 9},
		{"until", keys.Tx.Until(at(3)), 0, 2},
		{"between", keys.Tx.Between(at(3), at(5)), 3, 4},
		{"one millisecond", keys.Tx.Between(at(3), at(3).Add(time.Millisecond)), 3, 3},
		{"another zone", keys.Tx.Since(at(3).In(time.FixedZone("", 7*3600))), 3, 9},
	} {
		q := table.Query{PK: user.PK, Range: tt.r, Limit: 2}
		equal(t, tt.name, joined(pages(t, tbl, q, nil)), span(tt.first, tt.last))
		q.Descending = true
		equal(t, tt.name+", reversed", joined(pages(t, tbl, q, nil)), span(tt.last, tt.first))
	}
}

func rangeBare(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	at := func(i int) time.Time { return now.Add(time.Duration(i) * time.Minute) }
	for i := range 6 {
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: user.PK, SK: keys.None.SK(keys.Time(at(i)))}, note{N: i})))
	}
	for r, want := range map[keys.Range][]int{
		keys.None.Since(at(2)):          span(2, 5),
		keys.None.Until(at(2)):          span(0, 1),
		keys.None.Between(at(1), at(5)): span(1, 4),
	} {
		equal(t, "items", joined(pages(t, tbl, table.Query{PK: user.PK, Range: r, Limit: 2}, nil)), want)
	}
}

// rangeEmpty reads ranges that hold no key: they give nothing, which is no error.
func rangeEmpty(t *testing.T, h Harness) {
	spec := appCore()
	spec.Indexes = append(spec.Indexes,
		schema.Index{Name: "number", PK: "gsi1pk", SK: "score", SKType: types.ScalarAttributeTypeN},
		schema.Index{Name: "binary", PK: "gsi1pk", SK: "bytes", SKType: types.ScalarAttributeTypeB})
	tbl, faults := h.withFaults(t, spec, nil)
	seed(t, tbl, 3)
	window := table.Query{PK: user.PK, Range: keys.Tx.Since(now), Limit: 1}
	next := tokenOf(t, tbl, window)
	before := sent(faults)
	for _, q := range []table.Query{
		{Range: keys.Tx.Between(now, now)},
		{Range: keys.Tx.Between(now, now.Add(-time.Hour))},
		{Range: keys.None.Between(now, now), Descending: true, Limit: 1},
		{Range: keys.Tx.Between(now, now), Limit: 1, After: next},
		{Range: keys.Range{From: "b", To: "a"}},
		{Range: keys.Range{From: "10", To: "9"}, Index: "number"},
		{Range: keys.Range{From: "-1", To: "-1.5"}, Index: "number"},
		{Range: keys.Range{From: "\xff", To: "\x00"}, Index: "binary"},
	} {
		q.PK = user.PK
		page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
		equal(t, "page", page, table.Page[note]{Prev: page.Prev})
		equal(t, "a page before", page.Prev != "", q.After != "")
		all := expect.Value(table.Collect(table.All[note](t.Context(), tbl, q)))(t)
		equal(t, "All", len(all), 0)
	}
	window.Range, window.After = keys.Tx.Between(now, now), next[1:]
	wantErr(t, expect.ErrOf(table.QueryPage[note](t.Context(), tbl, window)), paginate.ErrInvalidCursor)
	equal(t, "requests", sent(faults)-before, 0)
}

func rangeInvalid(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	for _, r := range []keys.Range{
		keys.Exactly(""),
		{Prefix: "TX#", From: "TX#1"},
		{Prefix: "\xff"},
		{From: "b", To: "\xff"},
		keys.Tx.Between(now, now.AddDate(9999, 0, 0)),
		{Prefix: keys.SK(long(keys.MaxSK + 1))},
	} {
		_, err := table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, Range: r})
		if !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("%v: %v", r, err)
		}
	}
	equal(t, "requests", sent(faults), 0)
}

// rangeStarting finds names by their beginning, up to the greatest characters and
// the longest keys.
func rangeStarting(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	longest := long(keys.MaxSK - len("NAME#"))
	name := keys.Prefix("NAME")
	for i, text := range []string{"a", "al", "al\x7f", "al\uFFFF", "al\U0010FFFF", "al\U0010FFFFz", "am", longest} {
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: user.PK, SK: name.SK(keys.Str(text))}, note{N: i})))
	}
	for text, want := range map[string][]int{
		"": span(0, 7), "a": span(0, 6), "al": span(1, 5), "al\U0010FFFF": span(4, 5), longest: {7}, longest[1:]: {7}, "b": nil,
	} {
		for _, limit := range []int{0, 1} {
			q := table.Query{PK: user.PK, Range: name.Starting(text), Limit: limit}
			equal(t, "names", joined(pages(t, tbl, q, nil)), want)
		}
	}
}
