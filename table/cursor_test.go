package table_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestCursorsOfEarlierReleases fails when cursors that clients hold would stop
// opening because their scope is computed in another way.
func TestCursorsOfEarlierReleases(t *testing.T) {
	t.Parallel()
	ring := expect.Value(paginate.ParseKeys("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="))(t)
	opts := options()
	opts.Cursors = expect.Value(paginate.New(ring, &paginate.Options{Now: opts.Now}))(t)
	text := func(s string) any { return map[string]any{"S": s} }
	// There is no such table: a cursor that opens leads to a request that fails.
	spec := appCore()
	spec.Name = "no-such-table"
	for name, tt := range map[string]struct {
		query  table.Query
		cursor string
		start  map[string]any
	}{
		"table": {
			table.Query{PK: user.PK, Range: keys.Tx.All(), Descending: true, Limit: 1, Scope: "alice"},
			"SGMNzSmA07lOmt3-f_Z-YfQYZVFZOExHFOIsatPZNAECq_nAmYb30OQ-",
			map[string]any{"pk": text("USER#u-123"), "sk": text("TX#2")},
		},
		"index": {
			table.Query{Index: "GSI1", PK: "GLOBAL", Limit: 1},
			"SGMNzSm9t2LVBWJGTI0_FVk_WlphqGMvnaFgGIrj76Guvc2JuWoW7sSA_MgAhmIvorjx4Dnddq3jaQ",
			map[string]any{"pk": text("USER#u-123"), "sk": text("TX#0"), "gsi1pk": text("GLOBAL"), "gsi1sk": text("TX#0")},
		},
		"moved": {
			table.Query{PK: user.PK, Limit: 1, Range: keys.Range{To: "TX#9"}, Filter: nIs(1)},
			"SGMNzSklTOi8b2XSXW0h-VYqD4tGm3vHsoHTQxxcFmS_kmq3mnzMXiZv",
			map[string]any{"pk": text("USER#u-123"), "sk": text("TX#0")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			tbl := expect.Value(table.New(tabletest.Client(t, faults.Install), spec, opts))(t)
			tt.query.After = tt.cursor
			_, err := table.QueryPage[account](t.Context(), tbl, tt.query)
			if _, sent := errors.AsType[*types.ResourceNotFoundException](err); !sent {
				t.Fatalf("error %v; want that of a missing table", err)
			}
			var body struct{ ExclusiveStartKey map[string]any }
			must(t, json.Unmarshal(faults.Requests("Query")[0].Body, &body))
			expect.Equal(t, "start key", body.ExclusiveStartKey, tt.start)
		})
	}
}

// TestForgedPositions offers cursors with positions that no item has. Where
// cursors are not sealed, anyone can make them.
func TestForgedPositions(t *testing.T) {
	t.Parallel()
	faults := &tabletest.Faults{}
	opts := options()
	opts.Cursors = paginate.Insecure()
	spec := querySchema()
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), spec, opts)
	s := func(text string) paginate.Value { return paginate.Value{Kind: paginate.String, Data: text} }
	n := func(text string) paginate.Value { return paginate.Value{Kind: paginate.Number, Data: text} }
	b := func(text string) paginate.Value { return paginate.Value{Kind: paginate.Binary, Data: text} }
	onTable := table.Query{PK: "A"}
	onIndex := table.Query{Index: "GSI1", PK: "A"}
	onNumber := table.Query{Index: "number", PK: "1", Range: keys.Range{From: "-1"}}
	onBinary := table.Query{Index: "binary", PK: "A", Range: keys.Range{From: "a", To: "z"}}
	for name, tt := range map[string]struct {
		query table.Query
		at    paginate.Position
		want  paginate.Reason
	}{
		"string":                    {onTable, paginate.Position{Values: []paginate.Value{s("A")}}, ""},
		"empty string":              {onTable, paginate.Position{Values: []paginate.Value{s("")}}, paginate.Malformed},
		"number for a string":       {onTable, paginate.Position{Values: []paginate.Value{n("1")}}, paginate.Malformed},
		"two values":                {onTable, paginate.Position{Values: []paginate.Value{s("A"), s("B")}}, paginate.Malformed},
		"string too long":           {onTable, paginate.Position{Values: []paginate.Value{s(strings.Repeat("x", keys.MaxSK+1))}}, paginate.Malformed},
		"index":                     {onIndex, paginate.Position{Values: []paginate.Value{s("A"), s(strings.Repeat("x", keys.MaxPK)), s("B")}}, ""},
		"index without table key":   {onIndex, paginate.Position{Values: []paginate.Value{s("A")}}, paginate.Malformed},
		"table key too long":        {onIndex, paginate.Position{Values: []paginate.Value{s("A"), s(strings.Repeat("x", keys.MaxPK+1)), s("B")}}, paginate.Malformed},
		"table key empty":           {onIndex, paginate.Position{Values: []paginate.Value{s("A"), s(""), s("B")}}, paginate.Malformed},
		"index key too long":        {onIndex, paginate.Position{Values: []paginate.Value{s(strings.Repeat("x", keys.MaxSK+1)), s("A"), s("B")}}, paginate.Malformed},
		"number":                    {onNumber, paginate.Position{Values: []paginate.Value{n("2.50e3"), s("A"), s("B")}}, ""},
		"number with 39 digits":     {onNumber, paginate.Position{Values: []paginate.Value{n(strings.Repeat("1", 39)), s("A"), s("B")}}, paginate.Malformed},
		"number too great":          {onNumber, paginate.Position{Values: []paginate.Value{n("1e126"), s("A"), s("B")}}, paginate.Malformed},
		"number with huge exponent": {onNumber, paginate.Position{Values: []paginate.Value{n("1e99999999999999999999"), s("A"), s("B")}}, paginate.Malformed},
		"number above the range":    {table.Query{Index: "number", PK: "1", Range: keys.Range{To: "9"}}, paginate.Position{Values: []paginate.Value{n("10"), s("A"), s("B")}}, paginate.OutOfRange},
		"binary":                    {onBinary, paginate.Position{Values: []paginate.Value{b("b"), s("A"), s("B")}}, ""},
		"binary empty":              {onBinary, paginate.Position{Values: []paginate.Value{b(""), s("A"), s("B")}}, paginate.Malformed},
		"binary above the range":    {onBinary, paginate.Position{Values: []paginate.Value{b("\xff"), s("A"), s("B")}}, paginate.OutOfRange},
		"binary without the prefix": {table.Query{Index: "binary", PK: "A", Range: keys.Range{Prefix: "a"}}, paginate.Position{Values: []paginate.Value{b("b"), s("A"), s("B")}}, paginate.OutOfRange},
		"string without the prefix": {table.Query{PK: "A", Range: keys.Tx.All()}, paginate.Position{Values: []paginate.Value{s("TX$")}}, paginate.OutOfRange},
	} {
		scope := expect.Value(table.CursorScope(tbl, tt.query))(t)
		tt.query.After = expect.Value(opts.Cursors.Seal(tt.at, scope))(t)
		before := len(faults.Requests("Query"))
		_, err := table.QueryPage[account](t.Context(), tbl, tt.query)
		if refused, _ := errors.AsType[*paginate.Error](err); tt.want == "" && err != nil || tt.want != "" && (refused == nil || refused.Reason != tt.want) {
			t.Errorf("%s: %v; want the reason %q", name, err, tt.want)
		}
		if sent := len(faults.Requests("Query")) - before; (sent == 0) != (tt.want != "") {
			t.Errorf("%s: %d requests", name, sent)
		}
	}
}

// TestEmptyRanges reads ranges that hold no key: they give nothing, without a request.
func TestEmptyRanges(t *testing.T) {
	t.Parallel()
	spec := querySchema()
	tbl, faults := newTable(t, spec)
	for i := range 3 {
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "A", SK: keys.Tx.SK(keys.Time(now.Add(time.Duration(i) * time.Minute)))}, nil)))
	}
	next := expect.Value(table.QueryPage[account](t.Context(), tbl, table.Query{PK: "A", Range: keys.Tx.Since(now), Limit: 1}))(t).Next
	for _, q := range []table.Query{
		{PK: "A", Range: keys.Range{From: "b", To: "a"}, Descending: true, Limit: 1},
		{PK: "A", Range: keys.Tx.Between(now, now)},
		{PK: "A", Range: keys.Tx.Between(now, now.Add(-time.Hour)), Limit: 1, After: next},
		{PK: "1", Range: keys.Range{From: "10", To: "9"}, Index: "number"},
		{PK: "1", Range: keys.Range{From: "-1", To: "-1.5"}, Index: "number"},
		{PK: "A", Range: keys.Range{From: "\xff", To: "\x00"}, Index: "binary"},
	} {
		before := len(faults.Requests("Query"))
		page := expect.Value(table.QueryPage[account](t.Context(), tbl, q))(t)
		equal(t, "page", page, table.Page[account]{Items: []account{}, Prev: page.Prev})
		equal(t, "a page before", page.Prev != "", q.After != "")
		all := expect.Value(table.Collect(table.All[account](t.Context(), tbl, q)))(t)
		equal(t, "All", len(all), 0)
		equal(t, "requests", len(faults.Requests("Query"))-before, 0)
	}
	changed := table.Query{PK: "A", Range: keys.Tx.Between(now, now), After: next[1:]}
	expect.Err(t, second(table.QueryPage[account](t.Context(), tbl, changed)), paginate.ErrInvalidCursor)
}

// TestStartsOfRows continues at positions in the range of a query and next to it,
// whose order is that of numbers.
func TestStartsOfRows(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, schema.Table{SKType: types.ScalarAttributeTypeN})
	for _, sk := range []keys.SK{"8", "9", "10", "11", "12"} {
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "A", SK: sk}, nil)))
	}
	for _, tt := range []struct {
		in    keys.Range
		start string
		want  []keys.SK // nil if the start is refused
	}{
		{keys.Range{From: "9", To: "11"}, "8", nil},
		{keys.Range{From: "9", To: "11"}, "9", []keys.SK{"10", "11"}},
		{keys.Range{From: "9", To: "11"}, "10", []keys.SK{"11"}},
		{keys.Range{From: "9", To: "11"}, "11", []keys.SK{}},
		{keys.Range{From: "9", To: "11"}, "12", nil},
		{keys.Range{From: "9"}, "8", nil},
		{keys.Range{From: "9"}, "9", []keys.SK{"10", "11", "12"}},
		{keys.Range{From: "9"}, "100", []keys.SK{}},
		{keys.Range{To: "11"}, "-7", []keys.SK{"8", "9", "10", "11"}},
		{keys.Range{To: "11"}, "11", []keys.SK{}},
		{keys.Range{To: "11"}, "12", nil},
		{keys.Range{}, "10", []keys.SK{"11", "12"}},
	} {
		before := len(faults.Requests("Query"))
		page, err := table.QueryRows[account](t.Context(), tbl, table.Query{PK: "A", Range: tt.in}, table.Item{"pk": str("A"), "sk": num(tt.start)})
		got := make([]keys.SK, 0)
		for _, row := range page.Rows {
			got = append(got, row.Key.SK)
		}
		switch sent := len(faults.Requests("Query")) - before; {
		case tt.want == nil && (!errors.Is(err, table.ErrInvalid) || sent > 0):
			t.Errorf("start %s in %v: %v after %d requests", tt.start, tt.in, err, sent)
		case tt.want != nil && (err != nil || !slices.Equal(got, tt.want)):
			t.Errorf("start %s in %v: %v, %v; want %v", tt.start, tt.in, got, err, tt.want)
		case tt.start == string(tt.in.To) && sent > 0: // which DynamoDB Local refuses
			t.Errorf("start %s in %v: %d requests", tt.start, tt.in, sent)
		}
	}
	if err := second(table.QueryRows[account](t.Context(), tbl, table.Query{PK: "A", After: "x"}, nil)); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("a query with a cursor: %v", err)
	}
	for name, start := range map[string]table.Item{
		"empty": {}, "without a sort key": {"pk": str("A")}, "of another partition": {"pk": str("B"), "sk": num("9")},
		"of another type": {"pk": str("A"), "sk": str("9")}, "nil": {"pk": str("A"), "sk": (*types.AttributeValueMemberN)(nil)},
		"longer than a key": {"pk": str("A"), "sk": num(strings.Repeat("9", 39))}, "of more attributes": {"pk": str("A"), "sk": num("9"), "n": num("9")},
	} {
		before := len(faults.Requests("Query"))
		err := second(table.QueryRows[account](t.Context(), tbl, table.Query{PK: "A"}, start))
		if !errors.Is(err, table.ErrInvalid) || len(faults.Requests("Query")) > before {
			t.Errorf("a start %s: %v", name, err)
		}
	}
	for _, bad := range []table.Scan{{After: "x"}, {Segment: 2, Segments: 2}, {Segments: 1_000_001}} {
		expect.Err(t, second(table.ScanRows[account](t.Context(), tbl, bad, nil)), table.ErrInvalid)
	}
	stub, _, faults := faultyTable(t, appCore(), cannedTimes(0, 0, "", "")) // engines differ in how many segments they take
	start := table.Item{"pk": str("A"), "sk": str("B")}
	must(t, second(table.ScanRows[account](t.Context(), stub, table.Scan{Segments: 1_000_000}, start)))
	if body := string(faults.Requests("Scan")[0].Body); !strings.Contains(body, `"pk":{"S":"A"}`) || !strings.Contains(body, `"sk":{"S":"B"}`) {
		t.Errorf("the start is not in %s", body)
	}
	equal(t, "rows of a scan", len(expect.Value(table.ScanRows[account](t.Context(), tbl, table.Scan{}, nil))(t).Rows), 5)
}

// TestRowsWithoutSortKey reads rows of a table and of an index that have no sort key.
func TestRowsWithoutSortKey(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, schema.Table{SimpleKey: true, Indexes: []schema.Index{{Name: "byName", PK: "name"}}})
	must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "A"}, account{Name: "Ann"})))
	for index, q := range map[string]table.Query{"": {PK: "A"}, "byName": {Index: "byName", PK: "Ann"}} {
		for what, page := range map[string]table.RowPage[account]{
			"query": expect.Value(table.QueryRows[account](t.Context(), tbl, q, nil))(t),
			"scan":  expect.Value(table.ScanRows[account](t.Context(), tbl, table.Scan{Index: index}, nil))(t),
		} {
			want := []keys.Key{{PK: "A"}, {}}
			if index != "" {
				want[1] = keys.Key{PK: "Ann"}
			}
			if len(page.Rows) != 1 {
				t.Fatalf("%s of index %q: %d rows", what, index, len(page.Rows))
			}
			equal(t, what+" of index "+index, []keys.Key{page.Rows[0].Key, page.Rows[0].IndexKey}, want)
		}
	}
}
