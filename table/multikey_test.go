package table_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/multikey"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// match has the keys of two indexes as plain attributes.
type match struct {
	Tournament string `dynamodbav:"tournament,omitempty"`
	Region     string `dynamodbav:"region,omitempty"`
	Round      int    `dynamodbav:"round,omitempty"`
	Bracket    string `dynamodbav:"bracket,omitempty"`
	Seed       []byte `dynamodbav:"seed,omitempty"`
	Minute     int64  `dynamodbav:"minute,omitempty"`
	ID         string `dynamodbav:"id"`
}

func (m match) key() keys.Key { return keys.Key{PK: "MATCH#" + keys.PK(m.ID), SK: keys.Metadata} }

// matches is a schema whose index has two partition and four sort key attributes.
func matches() schema.Table {
	return schema.Table{
		Name: "Matches",
		Indexes: []schema.Index{{
			Name: "byRound",
			PKs:  []schema.Attribute{{Name: "tournament"}, {Name: "region"}},
			SKs: []schema.Attribute{
				{Name: "round", Type: types.ScalarAttributeTypeN},
				{Name: "bracket"},
				{Name: "seed", Type: types.ScalarAttributeTypeB},
				{Name: "minute", Type: types.ScalarAttributeTypeN},
			},
		}},
	}
}

// newMatches returns a table of matches, whose index package multikey queries.
func newMatches(tb testing.TB) (*table.Table, *tabletest.Faults) {
	tb.Helper()
	faults := &tabletest.Faults{}
	return multikey.Table(tb, tabletest.Client(tb, faults.Install), matches(), options()), faults
}

// TestMultiKeyRefusals gives queries that DynamoDB would refuse, or that mean
// something else than they seem to.
func TestMultiKeyRefusals(t *testing.T) {
	t.Parallel()
	tbl, faults := newMatches(t)
	good := table.Query{Index: "byRound", PKs: []string{"WINTER", "EU"}, SKs: []string{"1", "a"}}
	for text, change := range map[string]func(*table.Query){
		`PK: is given`: func(q *table.Query) { q.PK, q.PKs = "WINTER", nil },
		`PKs: 1 values are given, and the partition of index "byRound" needs one for each of "tournament", "region"`: func(q *table.Query) { q.PKs = q.PKs[:1] },
		`PKs: 3 values`:                    func(q *table.Query) { q.PKs = []string{"a", "b", "c"} },
		`PKs: 1, of attribute "region"`:    func(q *table.Query) { q.PKs = []string{"WINTER", ""} },
		`is not UTF-8`:                     func(q *table.Query) { q.PKs = []string{"WINTER", "\xff"} },
		`longer than 2048`:                 func(q *table.Query) { q.PKs = []string{"WINTER", strings.Repeat("x", 2049)} },
		`SKs: 0, of attribute "round"`:     func(q *table.Query) { q.SKs = []string{"one"} },
		`SKs: 1, of attribute "bracket": `: func(q *table.Query) { q.SKs = []string{"1", ""} },
		`SKs: 5 values are given, and index "byRound" sorts by "round", "bracket", "seed", "minute"`: func(q *table.Query) { q.SKs = []string{"1", "a", "x", "2", "3"} },
		`Range: all sort key attributes have a value`:                                                func(q *table.Query) { q.SKs, q.Range = []string{"1", "a", "x", "2"}, keys.Range{From: "1"} },
		`Range: a number has no prefix`:                                                              func(q *table.Query) { q.SKs, q.Range = nil, keys.Range{Prefix: "1"} },
		`Range: a prefix together with bounds`:                                                       func(q *table.Query) { q.Range = keys.Range{Prefix: "a", From: "b"} },
		`is not a plain decimal number`:                                                              func(q *table.Query) { q.SKs, q.Range = nil, keys.Range{From: "1e3"} },
		`attribute "region" is a key of the query`:                                                   func(q *table.Query) { q.Filter = expression.Name("region").Equal(expression.Value("EU")) },
		`attribute "minute" is a key of the query`:                                                   func(q *table.Query) { q.Filter = expression.Name("minute").GreaterThan(expression.Value(1)) },
		`Consistent: the global index`:                                                               func(q *table.Query) { q.Consistent = true },
		`PKs: are for an index whose keys have several attributes`:                                   func(q *table.Query) { q.Index, q.PK = "", "A" },
	} {
		q := good
		change(&q)
		_, err := table.QueryPage[match](t.Context(), tbl, q)
		expect.Err(t, err, table.ErrInvalid)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	equal(t, "queries", len(faults.Requests("Query", "Scan")), 0)
	_, err := tbl.IndexKey("byRound", keys.Key{PK: "A", SK: "B"})
	expect.Err(t, err, table.ErrInvalid)
	equal(t, "key in the index", tbl.KeyOf("byRound", table.Item{"tournament": str("x")}), keys.Key{})
}

// TestMultiKeyWithoutSortKey shows that an index whose partition has several
// attributes, and that has no sort key, has no range.
func TestMultiKeyWithoutSortKey(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "Matches", Indexes: []schema.Index{{Name: "byRegion", PKs: []schema.Attribute{{Name: "tournament"}, {Name: "region"}}}}}
	tbl := expect.Value(table.New(tabletest.Client(t), spec, nil))(t)
	_, err := table.QueryPage[match](t.Context(), tbl, table.Query{Index: "byRegion", PKs: []string{"WINTER", "EU"}, Range: keys.Range{From: "1"}})
	if expect.Err(t, err, table.ErrInvalid); err == nil || !strings.Contains(err.Error(), "Range: there is no sort key") {
		t.Error(err)
	}
}

// TestMultiKeyCursors gives the cursor of one query to others.
func TestMultiKeyCursors(t *testing.T) {
	t.Parallel()
	tbl, _ := newMatches(t)
	for i := range 6 {
		m := match{Tournament: "WINTER", Region: "EU", Round: 1 + i/3, Bracket: "a", Seed: []byte{1}, Minute: int64(i + 1), ID: strconv.Itoa(i)}
		must(t, tbl.Do(t.Context(), table.Put(m.key(), m)))
	}
	q := table.Query{Index: "byRound", PKs: []string{"WINTER", "EU"}, SKs: []string{"1"}, Limit: 1}
	q.After = expect.Value(table.QueryPage[match](t.Context(), tbl, q))(t).Next
	for what, change := range map[string]func(*table.Query){
		"another partition":        func(q *table.Query) { q.PKs = []string{"WINTER", "NA"} },
		"other leading sort keys":  func(q *table.Query) { q.SKs = []string{"2"} },
		"more leading sort keys":   func(q *table.Query) { q.SKs = []string{"1", "a"} },
		"no leading sort keys":     func(q *table.Query) { q.SKs = nil },
		"attributes that meet":     func(q *table.Query) { q.PKs, q.SKs = []string{"WINTERE", "U"}, []string{"1"} },
		"the other direction":      func(q *table.Query) { q.Descending = true },
		"a prefix":                 func(q *table.Query) { q.Range.Prefix = "a" },
		"a range that ends before": func(q *table.Query) { q.Range = keys.Range{From: "0", To: "00"} },
	} {
		other := q
		change(&other)
		if _, err := table.QueryPage[match](t.Context(), tbl, other); !isRefusal(err, paginate.ErrInvalidCursor) {
			t.Errorf("%s: %v", what, err)
		}
	}
	q.Range, q.Limit = keys.Range{From: "A"}, 10
	equal(t, "items after the cursor", len(expect.Value(table.QueryPage[match](t.Context(), tbl, q))(t).Items), 2)
	if len(q.After) > 160 {
		t.Errorf("the cursor has %d characters", len(q.After))
	}

	rows := expect.Value(table.QueryRows[match](t.Context(), tbl, table.Query{Index: "byRound", PKs: q.PKs, SKs: q.SKs, Limit: 1}, nil))(t)
	equal(t, "keys of a row", [2]keys.Key{rows.Rows[0].Key, rows.Rows[0].IndexKey}, [2]keys.Key{{PK: "MATCH#0", SK: keys.Metadata}, {}})
	q.After, q.SKs = "", []string{"2"}
	_, err := table.QueryRows[match](t.Context(), tbl, q, rows.Next)
	expect.Err(t, err, table.ErrInvalid)

	page := expect.Value(table.ScanPage[match](t.Context(), tbl, table.Scan{Index: "byRound", Limit: 4}))(t)
	rest := expect.Value(table.ScanPage[match](t.Context(), tbl, table.Scan{Index: "byRound", After: page.Next}))(t)
	equal(t, "items of a scan", []int{len(page.Items), len(rest.Items)}, []int{4, 2})
}

// TestMultiKeyWrites stores items that DynamoDB refuses for their keys in an index.
func TestMultiKeyWrites(t *testing.T) {
	t.Parallel()
	tbl, faults := newMatches(t)
	for field, item := range map[string]table.Item{
		"tournament": {"tournament": str("")},
		"round":      {"round": str("1")},
		"seed":       {"seed": str("x")},
		"region":     {"region": &types.AttributeValueMemberNULL{Value: true}},
		"bracket":    {"bracket": str(strings.Repeat("x", 1025))},
	} {
		err := tbl.Do(t.Context(), table.Put(user, item))
		expect.Err(t, err, table.ErrInvalid)
		if err == nil || !strings.Contains(err.Error(), strconv.Quote(field)) {
			t.Errorf("%s: %v", field, err)
		}
	}
	equal(t, "requests", len(faults.Requests("PutItem")), 0)
	must(t, tbl.Do(t.Context(), table.Put(user, table.Item{"tournament": str("WINTER")})))
}

// TestMultiKeyLayouts has layouts that no table can have.
func TestMultiKeyLayouts(t *testing.T) {
	t.Parallel()
	for problem, x := range map[string]schema.Index{
		"PKs: 0 attributes are not 1 to 4":              {SKs: []schema.Attribute{{Name: "a"}}},
		"PKs: 5 attributes are not 1 to 4":              {PKs: []schema.Attribute{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}}},
		"SKs: 5 attributes are more than 4":             {PKs: []schema.Attribute{{Name: "f"}}, SKs: []schema.Attribute{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}}},
		"PKs: take the place of PK and SK":              {PK: "a", PKs: []schema.Attribute{{Name: "b"}}},
		"SKs[0].Name: \"a\" is in the index's keys":     {PKs: []schema.Attribute{{Name: "a"}}, SKs: []schema.Attribute{{Name: "a"}}},
		"PKs[1].Name: is empty":                         {PKs: []schema.Attribute{{Name: "a"}, {}}},
		"Local: a local index has one sort key":         {PKs: []schema.Attribute{{Name: "a"}}, Local: true},
		"key attribute \"a\": type \"BOOL\"":            {PKs: []schema.Attribute{{Name: "a", Type: "BOOL"}}},
		"key attribute \"entityType\": is the type":     {PKs: []schema.Attribute{{Name: "entityType", Type: types.ScalarAttributeTypeN}}},
		"key attribute \"entityShape\": is the TTL":     {PKs: []schema.Attribute{{Name: "entityShape"}}},
		"key attribute \"pk\": is S in one place and N": {PKs: []schema.Attribute{{Name: "pk", Type: types.ScalarAttributeTypeN}}},
	} {
		x.Name = "byAny"
		bad := schema.Table{Name: "Matches", Indexes: []schema.Index{x}}
		err := bad.Validate()
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v, want %q", err, problem)
		}
	}
}

// FuzzMultiKey sends arbitrary queries: they are refused before they are sent, or
// DynamoDB's rules allow them.
func FuzzMultiKey(f *testing.F) {
	nasty := expect.Nasty()
	for i, text := range nasty {
		next := nasty[(i+1)%len(nasty)]
		f.Add(byte(i), text, next, text, next, "", text, "")
		f.Add(byte(i)|0x40, "WINTER", "EU", "1", text, text, "", "")
		f.Add(byte(i)|0x20, "WINTER", "EU", "1", "a", "", text, next)
	}
	tbl, faults := newMatches(f)
	m := match{Tournament: "WINTER", Region: "EU", Round: 1, Bracket: "a", Seed: []byte{1}, Minute: 1, ID: "1"}
	must(f, tbl.Do(context.Background(), table.Put(m.key(), m)))
	f.Fuzz(func(t *testing.T, how byte, pk1, pk2, sk1, sk2, prefix, from, to string) {
		q := table.Query{
			Index: "byRound", PKs: []string{pk1, pk2}, SKs: []string{sk1, sk2, sk2, sk1}[:how%5],
			Range:      keys.Range{Prefix: keys.SK(prefix), From: keys.SK(from), To: keys.SK(to)},
			Descending: how&0x20 != 0,
		}
		if how&0x40 != 0 {
			q.After = pk1 + sk1
		}
		before := len(faults.Requests("Query", "Scan"))
		_, err := table.QueryPage[match](t.Context(), tbl, q)
		wellFormed(t, "QueryPage", err)
		if err != nil && (!isRefusal(err, paginate.ErrInvalidCursor) || len(faults.Requests("Query", "Scan")) > before) {
			t.Errorf("%+v: %v", q, err)
		}
	})
}

// TestMultiKeyRequests compares the requests of every kind of query with testdata.
// Nothing is sent: few engines can query such an index.
func TestMultiKeyRequests(t *testing.T) {
	t.Parallel()
	tbl, _, faults := faultyTable(t, matches(), cannedTimes(0, 0, "", ""))
	pks := []string{"WINTER", "EU"}
	for _, q := range []table.Query{
		{PKs: pks},
		{PKs: pks, Range: keys.Range{From: "1", To: "3"}},
		{PKs: pks, SKs: []string{"1"}},
		{PKs: pks, SKs: []string{"1"}, Range: keys.Range{Prefix: "UPPER#"}},
		{PKs: pks, SKs: []string{"1", "UPPER"}, Range: keys.Range{From: "\x00\xff"}},
		{PKs: pks, SKs: []string{"1", "UPPER", "\x01"}, Range: keys.Range{To: "-12.5"}, Descending: true},
		{PKs: pks, SKs: []string{"1", "UPPER", "\x01", "90"}, Project: []string{"name"}, Filter: nIs(1), Limit: 3},
	} {
		q.Index = "byRound"
		must(t, expect.ErrOf(table.QueryPage[match](t.Context(), tbl, q)))
	}
	expect.Golden(t, "multikey.json", tabletest.Transcript(faults.Requests(), strings.NewReplacer()))

	in := expect.Value(matches().CreateTableInput())(t)
	var layout []string
	for _, e := range in.GlobalSecondaryIndexes[0].KeySchema {
		layout = append(layout, string(e.KeyType)+" "+*e.AttributeName)
	}
	equal(t, "key schema", layout, []string{"HASH tournament", "HASH region", "RANGE round", "RANGE bracket", "RANGE seed", "RANGE minute"})
	equal(t, "attribute definitions", len(in.AttributeDefinitions), 8)
}

// The error of an engine that refuses a query of such an index says so.
func TestMultiKeyRefused(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, appCore())
	spec := matches()
	spec.Name = tbl.Schema().Name
	spec.Indexes = append(spec.Indexes, appCore().Indexes...)
	tbl = expect.Value(table.New(tabletest.Client(t, faults.Install), spec, options()))(t)
	faults.Always("Query", canned(http.StatusBadRequest, "ValidationException", `{"message":"Injected."}`))
	for want, q := range map[bool]table.Query{
		true:  {Index: "byRound", PKs: []string{"wtc", "EU"}},
		false: {Index: "GSI1", PK: "a"},
	} {
		_, err := table.QueryPage[match](t.Context(), tbl, q)
		expect.Equal(t, q.Index+": the cause is named", strings.Contains(fmt.Sprint(err), "cannot query an index with several attributes"), want)
	}
}
