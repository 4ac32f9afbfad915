package conformance

import (
	"testing"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func rangeTests() tests {
	return tests{
		"every form, both ways, page by page": rangeForms,
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
