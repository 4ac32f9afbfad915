package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func queryTests() tests {
	return tests{
		"another partition is not part of it": queryIsolated,
		"a local index":                       queryLocal,
		"a projection keeps what is needed":   queryProject,
		"an index that holds keys only":       queryKeysOnly,
		"more than a megabyte":                queryLarge,
		"ranges of every form and type":       queryRanges,
		"the first letters of any text":       rangeStarting,
	}
}

func text(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return fmt.Sprint(v)
	}
	return s.Value
}

func queryIsolated(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	for i, pk := range []keys.PK{"USER#1", "USER#10", "USER#1#", "USER", "user#1"} {
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: pk, SK: "TX#1"}, note{N: i})))
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: pk, SK: "TX#10"}, note{N: 10 + i})))
	}
	all := expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: "USER#1"})))(t)
	equal(t, "items", numbers(all), []int{0, 10})
	all = expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: "USER#1", Range: keys.Tx.All(keys.Str("1"))})))(t)
	equal(t, "items below TX#1", len(all), 0)
	all = expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: "USER#1", Range: keys.Exactly("TX#1")})))(t)
	equal(t, "exactly TX#1", numbers(all), []int{0})
}

// seedIndexed stores n items of many partitions that share one partition of
// each global index, and n of one partition in the order of a local one.
func seedIndexed(t *testing.T, tbl *table.Table, n int) {
	t.Helper()
	ops := make([]table.Op, 2*n)
	for i := range n {
		at := keys.Tx.SK(keys.Int(i, 4))
		ops[i] = table.Put(keys.Key{PK: keys.Tx.PK(fmt.Sprint(n - i)), SK: keys.Metadata},
			note{Type: "tx", N: i, GSI1PK: "GLOBAL_TX", GSI1SK: string(at)})

		ops[n+i] = table.Put(keys.Key{PK: user.PK, SK: keys.Tx.SK(keys.Int(n-i, 4))},
			note{Type: "tx", N: i, LSI1SK: string(at)})

	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
}

func queryLocal(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedIndexed(t, tbl, 30)
	q := table.Query{Index: "LSI1", PK: user.PK, Consistent: true}
	equal(t, "all", joined(pages(t, tbl, q, nil)), span(0, 29))
	q.Limit = 7
	equal(t, "pages", joined(pages(t, tbl.Consistent(), q, nil)), span(0, 29))
	q.Descending = true
	equal(t, "pages back", joined(pages(t, tbl, q, nil)), span(29, 0))
	// What has no key of the index is not in it.
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 99})))
	q.Limit = 0
	equal(t, "sparse", joined(pages(t, tbl, q, nil)), span(29, 0))
}

func queryProject(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedIndexed(t, tbl, 6)
	must(t, tbl.Do(t.Context(), table.Update(keys.Key{PK: keys.Tx.PK("1"), SK: keys.Metadata}, setN(5).Set(name("id"), value("x")))))
	for _, q := range []table.Query{
		{Index: "GSI1", PK: "GLOBAL_TX", Limit: 2, Project: []string{"n", "id", "n", "unknown", "size", "a.b"}},
		{Index: "LSI1", PK: user.PK, Limit: 2, Project: []string{"n", "lsi1sk"}},
		{PK: user.PK, Limit: 2, Descending: true, Project: []string{"n", "pk", "expiresAt"}},
	} {
		var got []int
		for {
			page := expect.Value(table.QueryPage[table.Item](t.Context(), tbl, q))(t)
			for _, item := range page.Items {
				var v note
				must(t, item.Decode(&v))
				got = append(got, v.N)
				if item["pk"] == nil || item["sk"] == nil || v.Type != "tx" {
					t.Errorf("%q: keys or type are missing in %v", q.Index, item)
				}
				if q.Index != "GSI1" && item["gsi1pk"] != nil || q.Index != "LSI1" && item["lsi1sk"] != nil {
					t.Errorf("%q: attributes that nobody asked for in %v", q.Index, item)
				}
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		equal(t, q.Index, got, span(0, 5))
	}
	// An item drops out when it expires, whatever is projected.
	must(t, tbl.Do(t.Context(), table.Put(other, note{N: 1, ExpiresAt: 5})))
	all := expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: other.PK, Project: []string{"n"}})))(t)
	equal(t, "expired items", len(all), 0)
}

func queryKeysOnly(t *testing.T, h Harness) {
	spec := appCore()
	spec.Indexes = []schema.Index{
		{Name: "keys", PK: "gsi1pk", SK: "gsi1sk", Projection: types.ProjectionTypeKeysOnly},
		{Name: "some", PK: "gsi1pk", Projection: types.ProjectionTypeInclude, Include: []string{"n", "expiresAt"}},
	}
	tbl := h.newTable(t, spec)
	seedIndexed(t, tbl, 5)
	all := expect.Value(table.Collect(table.All[table.Item](t.Context(), tbl, table.Query{Index: "keys", PK: "GLOBAL_TX"})))(t)
	equal(t, "items", len(all), 5)
	for _, item := range all {
		equal(t, "attributes", len(item), 4)
	}
	// AWS refuses to be asked for what a global index does not hold. Seen:
	// paritysuite/dynamodb-conformance, error-messages/indexReads.test.ts.
	for index, project := range map[string][]string{"keys": {"pk", "gsi1sk"}, "some": {"n", "expiresAt", "gsi1pk"}} {
		q := table.Query{Index: index, PK: "GLOBAL_TX", Limit: 3, Project: project}
		equal(t, "pages", len(pages(t, tbl, q, nil)), 2)
		q.Project = append(q.Project, "entityType")
		wantErr(t, expect.ErrOf(table.QueryPage[note](t.Context(), tbl, q)), table.ErrInvalid)
	}
	// An index without sort key has no order to rely on.
	got := joined(pages(t, tbl, table.Query{Index: "some", PK: "GLOBAL_TX", Limit: 2}, nil))
	slices.Sort(got)
	equal(t, "items", got, span(0, 4))
}

// rangeCase is a range of sort keys in order, and the first and the last one in it.
type rangeCase struct {
	in          keys.Range
	first, last int
}

// queryRanges queries sort keys of each type by ranges of every form: of the table and of
// an index, both ways, page by page.
func queryRanges(t *testing.T, h Harness) {
	for kind, tt := range map[types.ScalarAttributeType]struct {
		inOrder []keys.SK
		ranges  []rangeCase
	}{
		types.ScalarAttributeTypeS: {
			// '#' sorts before digits.
			[]keys.SK{"A", "TX", "TX#1", "TX#1#a", "TX#1#b", "TX#10", "TX#2", "TX$", "Z"},
			[]rangeCase{
				{keys.None.All(), 0, 8},
				{keys.Tx.All(), 2, 6},
				{keys.Tx.All(keys.Str("1")), 3, 4},
				{keys.Exactly("TX#1"), 2, 2},
				{keys.Range{From: "TX#10"}, 5, 8},
				{keys.Range{To: "TX"}, 0, 1},
				{keys.Tx.Since(time.Time{}), 2, 6},
				{keys.Tx.Starting("1"), 2, 5},
				{keys.Range{From: "TX#1", To: "TX#10"}, 2, 5},
			},
		},
		types.ScalarAttributeTypeN: {
			[]keys.SK{
				"-100000000000000000000000", "-2.5", "-1", "0", "0.000000000000000000001", "0.5", "1", "2", "9", "10", "9007199254740993",
				"9007199254740994", "100000000000000000000000000",
			},
			[]rangeCase{{keys.Range{}, 0, 12}, {keys.Range{From: "-1", To: "9"}, 2, 8}, {keys.Range{From: "9"}, 8, 12}, {keys.Range{To: "-1"}, 0, 2}, {keys.Exactly("0.5"), 5, 5}},
		},
		types.ScalarAttributeTypeB: {
			[]keys.SK{"\x00", "\x00\x00", "\x00\xff", "a", "ab", "b", "\xff", "\xff\xff"},
			[]rangeCase{{keys.Range{}, 0, 7}, {keys.Range{Prefix: "\x00"}, 0, 2}, {keys.Range{From: "\x00\x00", To: "b"}, 1, 5}},
		},
	} {
		tbl, _ := h.ranked(t, kind, tt.inOrder, options())
		for _, r := range tt.ranges {
			for _, limit := range []int{0, 1, 3} {
				for _, index := range []string{"", "GSI1"} {
					q := table.Query{Index: index, PK: "P", Range: r.in, Limit: limit}
					what := fmt.Sprintf("%s, %+v, index %q, pages of %d", kind, r.in, index, limit)
					equal(t, what, joined(pages(t, tbl, q, nil)), span(r.first, r.last))
					q.Descending = true
					equal(t, what+", descending", joined(pages(t, tbl, q, nil)), span(r.last, r.first))
				}
			}
		}
	}
}

// ranked returns a table whose sort keys, and those of its index, are of a type. It holds
// items with the given ones, numbered in that order.
func (h Harness) ranked(t *testing.T, kind types.ScalarAttributeType, inOrder []keys.SK, opts *table.Options) (*table.Table, *tabletest.Faults) {
	t.Helper()
	tbl, faults := h.withFaults(t, schema.Table{
		SKType:  kind,
		Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "rank", SKType: kind}},
	}, opts)
	var ops []table.Op
	for i, sk := range inOrder {
		item := table.Item{"n": num(fmt.Sprint(i)), "gsi1pk": str("P"), "rank": keyValue(kind, sk)}
		ops = append(ops, table.Put(keys.Key{PK: "P", SK: sk}, item))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	return tbl, faults
}

func queryLarge(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	for i := range 8 {
		item := map[string]any{"n": i, "text": strings.Repeat("x", 390<<10)}
		must(t, tbl.Do(t.Context(), table.Put(txKey(i), item)))
	}
	page, err := table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK})
	must(t, err)
	equal(t, "items", numbers(page.Items), span(0, 7))
	// DynamoDB Local ends a response after the item that exceeds a megabyte.
	if n := page.Stats.Requests; n < 3 {
		t.Errorf("%d requests for 3 MB", n)
	}
	// A page continues where a response was cut.
	q := table.Query{PK: user.PK, Limit: 6}
	equal(t, "pages of six", pages(t, tbl, q, nil), [][]int{span(0, 5), span(6, 7)})
	collected := expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK, Descending: true})))(t)
	equal(t, "items", numbers(collected), span(7, 0))
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
