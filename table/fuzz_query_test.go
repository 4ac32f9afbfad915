package table_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func querySchema() schema.Table {
	spec := appCore()
	spec.Indexes = append(spec.Indexes,
		schema.Index{Name: "number", PK: "x", PKType: types.ScalarAttributeTypeN, SK: "n", SKType: types.ScalarAttributeTypeN},
		schema.Index{Name: "binary", PK: "y", PKType: types.ScalarAttributeTypeB, SK: "b", SKType: types.ScalarAttributeTypeB})
	return spec
}

// settledBeforeSending checks that a read was either refused or empty, and then
// nothing was sent, or that the engine accepted it.
func settledBeforeSending(t *testing.T, what string, empty bool, err error, faults *tabletest.Faults) {
	t.Helper()
	wellFormed(t, what, err)
	sent := len(faults.Requests("Query", "Scan"))
	switch {
	case err == nil && (sent == 0) != empty:
		t.Errorf("%s: %d requests, empty: %v", what, sent, empty)
	case err != nil && !isRefusal(err, paginate.ErrInvalidCursor):
		t.Errorf("%s: %v", what, err)
	case err != nil && sent > 0:
		t.Errorf("%s: %d requests before %v", what, sent, err)
	}
}

// FuzzQuery sends arbitrary queries. Invalid ones are refused before they are
// sent; the engine accepts all others, and finds what the range contains.
func FuzzQuery(f *testing.F) {
	nasty := expect.Nasty()
	for i, text := range nasty {
		next := nasty[(i+1)%len(nasty)]
		f.Add(byte(i), "USER#u-123", text, "", "", "TX#1", 1, "", text, text, next)
		f.Add(byte(i), text, "", text, next, next, i-1, text, "", "n", "")
		f.Add(byte(i)|0x80, "1", "", "-1", text, "", 0, "", "alice", text, text)
		f.Add(byte(0xC0), "USER#u-1", text+"#", "", "", text, 1, "", text, text, text)
	}
	f.Add(byte(0), "A", "", "TX#1", "TX#2", "TX#10", 0, "", "", "", "")
	f.Add(byte(0), "A", "TX#", "", "", "TX#10", 0, "", "", "", "")
	spec := querySchema()
	spec.Name = tabletest.New(f, spec, options()).Schema().Name
	indexes := []string{"", "GSI1", "LSI1", "number", "binary", "missing"}
	f.Fuzz(func(t *testing.T, how byte, pk, prefix, from, to, sk string, limit int, after, scope, attribute, project string) {
		tbl, faults := onEngine(t, spec)
		q := table.Query{
			Index: indexes[int(how&0xF)%len(indexes)], PK: keys.PK(pk),
			Range:      keys.Range{Prefix: keys.SK(prefix), From: keys.SK(from), To: keys.SK(to)},
			Descending: how&0x10 != 0, Consistent: how&0x20 != 0, Limit: limit, After: after, Scope: scope,
		}
		if how&0x40 != 0 {
			q.Filter = expression.Name(attribute).NotEqual(expression.Value(project))
		}
		if how&0x80 != 0 {
			q.Project = []string{attribute, project}
		}
		page, err := table.QueryPage[table.Item](t.Context(), tbl, q)
		empty := q.Range.Empty()
		if q.Index == "number" && from != "" && to != "" {
			empty = item.CompareNumbers(from, to) > 0
		}
		settledBeforeSending(t, "QueryPage", empty, err, faults)
		if after != "" && err == nil {
			t.Errorf("token %q is taken", after)
		}

		q = table.Query{PK: q.PK, Range: q.Range, Descending: q.Descending}
		key := keys.Key{PK: q.PK, SK: keys.SK(sk)}
		if sk == "" || tbl.Do(t.Context(), table.Put(key, nil)) != nil {
			return
		}
		page, err = table.QueryPage[table.Item](t.Context(), tbl, q)
		// The local engine compares texts up to a NUL, and prefixes in any case.
		exact := !strings.Contains(prefix+from+to+sk, "\x00") && (strings.HasPrefix(sk, prefix) || !hasPrefixFold(sk, prefix))
		if err == nil && exact && (len(page.Items) == 1) != q.Range.Contains(key.SK) {
			t.Errorf("%q finds %d of %q", q.Range, len(page.Items), key.SK)
		}
		must(t, tbl.Do(t.Context(), table.Delete(key)))
	})
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// FuzzScan is FuzzQuery for scans.
func FuzzScan(f *testing.F) {
	for i, text := range expect.Nasty() {
		f.Add(byte(i), i-2, i-1, i-3, text, text, text)
		f.Add(byte(0xC0), 0, 0, 1, text, text, text)
	}
	f.Add(byte(0), 999_999, 1_000_000, 1, "", "", "")
	f.Add(byte(0), 1_000_000, 1_000_001, 1, "", "", "")
	spec := querySchema()
	spec.Name = tabletest.New(f, spec, options()).Schema().Name
	indexes := []string{"", "GSI1", "LSI1", "number", "missing"}
	f.Fuzz(func(t *testing.T, how byte, segment, segments, limit int, after, attribute, project string) {
		tbl, faults := onEngine(t, spec)
		s := table.Scan{
			Index: indexes[int(how&0xF)%len(indexes)], Segment: segment, Segments: segments,
			Limit: limit, After: after, Consistent: how&0x20 != 0,
		}
		if how&0x40 != 0 {
			s.Filter = expression.Name(attribute).NotEqual(expression.Value(project))
		}
		if how&0x80 != 0 {
			s.Project = []string{attribute, project}
		}
		_, err := table.ScanPage[table.Item](t.Context(), tbl, s)
		settledBeforeSending(t, "ScanPage", false, err, faults)
	})
}

// FuzzCursor gives the cursor of one query to another: it is accepted if and only if
// the two differ in nothing but their filters.
func FuzzCursor(f *testing.F) {
	f.Add("USER#u-1", "TX#", "alice", "x", false, "USER#u-1", "TX#", "alice", "x", false)
	f.Add("USER#u-1", "TX#", "alice", "x", false, "USER#u-2", "TX#", "alice", "x", false)
	f.Add("A", "", "ab", "c", true, "A", "", "a", "bc", true)
	f.Add("A", "TX#", "", "", true, "A", "TX#A#", "", "", true)
	f.Add("A", "TX#", "\x00\xff", "a", true, "A", "TX#", "\xfe", "", false)
	for _, text := range expect.Nasty() {
		f.Add(text, text, text, text, false, text, text, text, "", false)
		f.Add(text, "TX#", text, "a", true, text, "TX#", "b", "", true)
	}
	spec := appCore()
	spec.Name = tabletest.New(f, spec, options()).Schema().Name
	f.Fuzz(func(t *testing.T, pk1, prefix1, scope1, filter1 string, reverse1 bool, pk2, prefix2, scope2, filter2 string, reverse2 bool) {
		tbl, faults := onEngine(t, spec)
		query := func(pk, prefix, scope, filter string, reverse bool) table.Query {
			return table.Query{
				PK: keys.PK(pk), Range: keys.Range{Prefix: keys.SK(prefix)}, Scope: scope, Descending: reverse, Limit: 1,
				Filter: expression.Name("n").NotEqual(expression.Value(filter)),
			}
		}
		one, two := query(pk1, prefix1, scope1, filter1, reverse1), query(pk2, prefix2, scope2, filter2, reverse2)
		ops := []table.Op{
			table.Put(keys.Key{PK: one.PK, SK: one.Range.Prefix + "A#1"}, nil),
			table.Put(keys.Key{PK: one.PK, SK: one.Range.Prefix + "A#2"}, nil),
		}
		if !utf8.ValidString(filter1) || !utf8.ValidString(filter2) {
			return // refused, whatever the token
		}
		if one.Range.Validate() != nil || tbl.BatchWrite(t.Context(), ops...) != nil {
			return
		}
		page := expect.Value(table.QueryPage[table.Item](t.Context(), tbl, one))(t)
		equal(t, "items", len(page.Items), 1)
		before := len(faults.Requests("Query"))
		two.After = page.Next
		_, err := table.QueryPage[table.Item](t.Context(), tbl, two)
		same := pk1 == pk2 && prefix1 == prefix2 && scope1 == scope2 && reverse1 == reverse2
		switch sent := len(faults.Requests("Query")) - before; {
		case same && err != nil, !same && err == nil:
			t.Errorf("the token of %+v in %+v: %v", one, two, err)
		case err != nil && !isRefusal(err, paginate.ErrInvalidCursor):
			t.Errorf("the token of %+v in %+v: %v", one, two, err)
		case err != nil && sent > 0:
			t.Errorf("%d requests before %v", sent, err)
		}
		raw := expect.Value(base64.RawURLEncoding.DecodeString(page.Next))(t)
		// What is asked for is not in the token, sealed or not.
		if len(pk1) > 20 && strings.Contains(string(raw), pk1) {
			t.Error("the token holds the partition key")
		}
	})
}
