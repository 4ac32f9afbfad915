package conformance

import (
	"errors"
	"testing"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func rangeTests() tests {
	return tests{
		"every form, both ways, page by page": rangeForms,
		"a half-open range of time":           rangeTimes,
		"bare timestamps":                     rangeBare,
		"an empty range":                      rangeEmpty,
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
		{"from and to", keys.Range{From: "TX#1", To: "TX#10"}, 2, 5},
	} {
		for _, limit := range []int{0, 1, 2} {
			q := table.Query{PK: user.PK, Range: tt.r, Limit: limit}
			equal(t, tt.name, joined(pages(t, tbl, q, nil)), span(tt.first, tt.last))
			q.Reverse = true
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
		q.Reverse = true
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

func rangeEmpty(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	for _, r := range []keys.Range{
		keys.Tx.Between(now, now), keys.Tx.Between(now, now.Add(-time.Hour)), keys.Exactly(""),
		{Prefix: "TX"},
		{Prefix: "TX#", From: "TX#1"},
		{From: "b", To: "a"},
	} {
		_, err := table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, Range: r})
		if !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("%v: %v", r, err)
		}
	}
	equal(t, "requests", sent(faults), 0)
}
