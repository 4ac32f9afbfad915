package conformance

import (
	"slices"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func foreignTests() tests {
	return tests{
		"keys with empty segments are written, read and deleted": foreignWritten,
		"keys with empty segments are queried and paged":         foreignQueried,
		"any prefix is a range":                                  foreignPrefixes,
	}
}

// foreignSKs are sort keys that other programs store, in byte order. In begins_with,
// dynoxide 1.2.1 ignores the case of ASCII letters, which no key here shows.
var foreignSKs = []keys.SK{
	"\x01\n", "#", "##", "#METADATA#x", "$service#entity_1#id_a", "$service#entity_1#id_b", "$service#entity_2#id_a",
	"$service#other", "A##B", "A#B", "b c%zz", "user#", keys.Prefix("user").SK(keys.Raw(""), keys.Str("b")), "user\x7f",
}

func foreignWritten(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	ctx := t.Context()
	for i, key := range []keys.Key{
		{PK: "user#", SK: "#METADATA#x"}, {PK: "#METADATA#x", SK: "user#"}, {PK: "A##B", SK: "##"}, {PK: "#", SK: "#"},
	} {
		must(t, tbl.Do(ctx, table.Create(key, note{N: i})))
		wantErr(t, tbl.Do(ctx, table.Create(key, note{N: i})), table.ErrExists)
		must(t, tbl.Do(ctx, table.Update(key, setN(i+10)).If(nIs(i))))
		stored(t, tbl, key, note{N: i + 10})

		second := keys.Key{PK: key.PK, SK: key.SK + "#"}
		must(t, tbl.Transact(ctx, table.Put(second, note{N: i}), table.Check(key, nIs(i+10))))
		got := expect.Value(table.BatchGet[note](ctx, tbl.Consistent(), []keys.Key{key, second}))(t)
		equal(t, "BatchGet", []int{got[key].N, got[second].N}, []int{i + 10, i})
		got = expect.Value(table.TransactGet[note](ctx, tbl, []keys.Key{second, key}))(t)
		equal(t, "TransactGet", []int{got[second].N, got[key].N}, []int{i, i + 10})

		must(t, tbl.Do(ctx, table.Delete(key)))
		absent(t, tbl, key)
		must(t, tbl.BatchWrite(ctx, table.Put(key, note{N: 7}), table.Delete(second)))
		stored(t, tbl, key, note{N: 7})
		absent(t, tbl, second)
	}
}

// seedForeign stores foreign sort keys in a partition of the table, of the global
// index and of the local one.
func seedForeign(t *testing.T, tbl *table.Table, pk keys.PK) {
	t.Helper()
	var ops []table.Op
	for i, sk := range foreignSKs {
		ops = append(ops, table.Put(keys.Key{PK: pk, SK: sk}, note{N: i, GSI1PK: "##", GSI1SK: string(sk), LSI1SK: string(sk)}))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
}

func foreignQueried(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedForeign(t, tbl, "user#")
	last := len(foreignSKs) - 1
	for _, q := range []table.Query{
		{PK: "user#"}, {Index: "GSI1", PK: "##"}, {Index: "LSI1", PK: "user#"},
	} {
		for _, limit := range []int{0, 1, 3} {
			q.Limit, q.Descending = limit, false
			equal(t, "forward "+q.Index, joined(pages(t, tbl, q, nil)), span(0, last))
			q.Descending = true
			equal(t, "backward "+q.Index, joined(pages(t, tbl, q, nil)), span(last, 0))
		}
	}
	scanned := expect.Value(table.ScanPage[note](t.Context(), tbl, table.Scan{Limit: 3}))(t)
	scanned = expect.Value(table.ScanPage[note](t.Context(), tbl, table.Scan{After: scanned.Next}))(t)
	equal(t, "scanned", numbers(scanned.Items), span(3, last))
}

func foreignPrefixes(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedForeign(t, tbl, "#METADATA#x")
	for _, r := range []keys.Range{
		{},
		{Prefix: "#"},
		{Prefix: "##"},
		{Prefix: "$service#entity_"},
		{Prefix: "$service#entity_1"},
		{Prefix: "A"},
		{Prefix: "A#"},
		{Prefix: "A##"},
		{Prefix: "user"},
		{Prefix: "b c%"},
		{From: "#", To: "A##"},
		{From: "##", To: "A##B"},
		{To: "user#"},
		{From: "user#"},
		keys.Exactly("#"), keys.Exactly("A##B"), keys.Exactly("user#"), keys.Prefix("A").All(keys.Raw("")),
		keys.Prefix("user").All(), keys.None.All(keys.Raw("")),
	} {
		var want []int
		for i, sk := range foreignSKs {
			if r.Contains(sk) {
				want = append(want, i)
			}
		}
		for _, limit := range []int{0, 1} {
			q := table.Query{PK: "#METADATA#x", Range: r, Limit: limit}
			equal(t, "forward", joined(pages(t, tbl, q, nil)), want)
			q.Descending = true
			backward := slices.Clone(want)
			slices.Reverse(backward)
			equal(t, "backward", joined(pages(t, tbl, q, nil)), backward)
		}
	}
}
