package table_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/hedge"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/vectors"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// products is a schema with a vector index of each distance, and with partitions of each type.
func products() schema.Table {
	index := func(name string, x schema.VectorIndex) schema.VectorIndex {
		x.Name, x.Attribute, x.Dimensions = name, "embedding", 2
		return x
	}
	return schema.Table{Name: "Products", TTLAttribute: "expiresAt", Vectors: []schema.VectorIndex{
		index("similar", schema.VectorIndex{
			Partition: schema.Attribute{Name: "tenant"},
			Filters:   []schema.Attribute{{Name: "category"}, {Name: "year", Type: types.ScalarAttributeTypeN}, {Name: "digest", Type: types.ScalarAttributeTypeB}},
		}),
		index("euclidean", schema.VectorIndex{Distance: types.VectorDistanceFunctionEuclidean}),
		index("dot", schema.VectorIndex{Distance: types.VectorDistanceFunctionDotProduct, Projection: types.ProjectionTypeInclude, Include: []string{"name"}}),
		index("byShop", schema.VectorIndex{Partition: schema.Attribute{Name: "shop", Type: types.ScalarAttributeTypeN}}),
		index("bySeal", schema.VectorIndex{Partition: schema.Attribute{Name: "seal", Type: types.ScalarAttributeTypeB}, Projection: types.ProjectionTypeKeysOnly}),
	}}
}

func vector(numbers ...string) types.AttributeValue {
	all := make([]types.AttributeValue, len(numbers))
	for i, n := range numbers {
		all[i] = num(n)
	}
	return list(all...)
}

func productKey(name string) keys.Key { return keys.Key{PK: "PRODUCT", SK: keys.SK(name)} }

// product is an item that is in all indexes of products.
func product(name string, embedding types.AttributeValue) table.Item {
	return table.Item{
		"entityType": str("PRODUCT"), "name": str(name), "embedding": embedding, "tenant": str("acme"), "shop": num("7"), "seal": bin("\xff"),
		"category": str("shoes"), "year": num("2024"), "digest": bin("\x00"), "n": num("5"),
	}
}

// store puts four products of a tenant around the vector [1 0], and other items next to it.
func store(t *testing.T, tbl *table.Table) {
	t.Helper()
	with := func(item table.Item, name string, value types.AttributeValue) table.Item {
		item[name] = value
		return item
	}
	for _, item := range []table.Item{
		with(product("a", vector("1", "0")), "category", str("boots")),
		with(product("b", vector("0", "1")), "year", num("2023")),
		with(product("c", vector("-1", "0")), "digest", bin("\x01")),
		product("d", vector("0.6", "0.8")),
		with(product("expired", vector("1", "0")), "expiresAt", num("1")),
		with(product("review", vector("1", "0")), "entityType", str("REVIEW")),
		with(with(product("rival", vector("1", "0")), "tenant", str("rival")), "shop", num("8")),
	} {
		must(t, tbl.Do(t.Context(), table.Put(productKey(item["name"].(*types.AttributeValueMemberS).Value), item)))
	}
}

// summary is the names of matches and their scores.
func summary(matches []table.Match[account]) string {
	var all []string
	for _, m := range matches {
		all = append(all, fmt.Sprintf("%s %.1f", m.Key.SK, m.Score))
	}
	return strings.Join(all, ", ")
}

func TestSearch(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	tbl, _ := newTable(t, products())
	store(t, tbl)
	near := []float32{1, 0}
	for name, tt := range map[string]struct {
		s       table.Search
		of      string // the type of the view
		want    string
		dropped int
	}{
		"cosine":            {table.Search{Index: "similar", Partition: "acme"}, "PRODUCT", "a 0.0, d 0.4, b 1.0, c 2.0", 2},
		"of any type":       {table.Search{Index: "similar", Partition: "rival"}, "", "rival 0.0", 0},
		"of another tenant": {table.Search{Index: "similar", Partition: "rival", Filter: map[string]string{"category": "boots"}}, "", "", 0},
		"euclidean":         {table.Search{Index: "euclidean"}, "PRODUCT", "a 0.0, rival 0.0, d 0.9, b 1.4, c 2.0", 2},
		"top":               {table.Search{Index: "similar", Partition: "acme", Top: 4}, "PRODUCT", "a 0.0, d 0.4", 2},
		"a text":            {table.Search{Index: "similar", Partition: "acme", Filter: map[string]string{"category": "boots"}}, "", "a 0.0", 0},
		"a number":          {table.Search{Index: "similar", Partition: "acme", Filter: map[string]string{"year": "2023"}}, "", "b 1.0", 0},
		"bytes":             {table.Search{Index: "similar", Partition: "acme", Filter: map[string]string{"digest": "\x01"}}, "", "c 2.0", 0},
		"several": {
			table.Search{Index: "similar", Partition: "acme", Filter: map[string]string{"digest": "\x00", "year": "2024", "category": "shoes"}}, "PRODUCT", "d 0.4", 2,
		},
		"a number as partition": {table.Search{Index: "byShop", Partition: "8"}, "", "rival 0.0", 0},
		"bytes as partition":    {table.Search{Index: "bySeal", Partition: "\xfe"}, "", "", 0},
	} {
		tt.s.Near = near
		matches, stats, err := table.SearchVectors[account](t.Context(), tbl.OfType(tt.of), tt.s)
		must(t, err)
		equal(t, name, summary(matches), tt.want)
		equal(t, name+": items and dropped ones", [2]int{stats.Items, stats.Scanned - stats.Items}, [2]int{len(matches), tt.dropped})
		if stats.Requests != 1 || stats.VectorBytes <= 0 || stats.Capacity != 0 {
			t.Errorf("%s: %+v", name, stats)
		}
	}
	// For a dot product, more is nearer. The index holds neither expiry nor type.
	matches, _, err := table.SearchVectors[account](t.Context(), tbl, table.Search{Index: "dot", Near: near, Top: 6})
	must(t, err)
	slices.SortStableFunc(matches, func(a, b table.Match[account]) int { // those of a score are in any order
		if a.Score == b.Score {
			return strings.Compare(string(a.Key.SK), string(b.Key.SK))
		}
		return 0
	})
	equal(t, "dot product", summary(matches), "a 1.0, expired 1.0, review 1.0, rival 1.0, d 0.6, b 0.0")
	for i := range 12 {
		item := product(fmt.Sprint("x", i), vector("1", "1"))
		item["tenant"] = str("many")
		must(t, tbl.Do(t.Context(), table.Put(productKey(fmt.Sprint("x", i)), item)))
	}
	matches, _, err = table.SearchVectors[account](t.Context(), tbl, table.Search{Index: "similar", Near: near, Partition: "many"})
	must(t, err)
	equal(t, "matches by default", len(matches), 10)
}

func attributesOf(item table.Item) []string { return slices.Sorted(maps.Keys(item)) }

// TestSearchRequest compares the requests with testdata. The values hold what was asked for.
func TestSearchRequest(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	tbl, faults := newTable(t, products())
	store(t, tbl)
	before := len(faults.Requests("SearchVectors"))
	s := table.Search{
		Index: "similar", Near: []float32{0.1, 1e-7}, Top: 4, Partition: "acme", Filter: map[string]string{"year": "2024", "category": "shoes"},
	}
	var events []table.Event
	ctx := table.WithObserver(t.Context(), func(_ context.Context, e table.Event) { events = append(events, e) })
	search := func(tbl *table.Table, s table.Search) table.Item {
		matches, _, err := table.SearchVectors[table.Item](ctx, tbl, s)
		must(t, err)
		return matches[0].Item
	}
	whole := product("d", nil)
	delete(whole, "embedding")
	whole["pk"], whole["sk"] = str("PRODUCT"), str("d")
	equal(t, "all but the vector", attributesOf(search(tbl.OfType("PRODUCT"), s)), attributesOf(whole))
	s.Project = []string{"name", "embedding"}
	part := search(tbl.OfType("PRODUCT"), s)
	equal(t, "a part", attributesOf(part), []string{"category", "digest", "embedding", "entityType", "name", "pk", "sk", "tenant", "year"})
	_ = search(tbl.Project("n"), table.Search{Index: "euclidean", Near: []float32{1, 0}})
	expect.Golden(t, "search.json", tabletest.Transcript(faults.Requests("SearchVectors")[before:], strings.NewReplacer(tbl.Schema().Name, "Products")))
	e := events[0]
	equal(t, "event", []any{e.Operation, e.Index, e.Partitions, e.VectorBytes > 0, e.Capacity}, []any{"SearchVectors", "similar", []keys.PK{"acme"}, true, 0.0})
	equal(t, "partitions of an index without one", len(events[2].Partitions), 0)
	var v struct {
		Embedding []float32 `dynamodbav:"embedding"`
	}
	must(t, part.Decode(&v))
	equal(t, "the vector", v.Embedding, []float32{0.6, 0.8})
}

// TestCostsOfVectors shows that the event of a write has the bytes that it costs in all vector
// indexes, whoever reads the response.
func TestCostsOfVectors(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	tbl, _ := newTable(t, products())
	ctx := t.Context()
	item := func(name string) table.Op { return table.Put(productKey(name), product(name, vector("1", "0"))) }
	a, b := productKey("a"), productKey("b")
	turned := product("", vector("0", "1"))
	turn := expression.UpdateBuilder{}
	for _, name := range []string{"embedding", "tenant", "shop", "seal"} { // the vector and the partitions
		turn = turn.Set(expression.Name(name), expression.Value(turned[name]))
	}
	bytes := func(name string, call func(context.Context) error) (sum float64) {
		must(t, call(table.WithObserver(ctx, func(_ context.Context, e table.Event) {
			if sum += e.VectorBytes; e.Capacity <= 0 {
				t.Errorf("%s: %+v", name, e)
			}
		})))
		return sum
	}
	do := func(op table.Op) func(context.Context) error {
		return func(ctx context.Context) error { return tbl.Do(ctx, op) }
	}
	one := bytes("Put", do(item("a")))
	if one < 5 {
		t.Errorf("a Put: %v bytes in five indexes", one)
	}
	for _, call := range []struct {
		name        string
		run         func(context.Context) error
		least, most float64
	}{
		{"BatchWrite", func(ctx context.Context) error { return tbl.BatchWrite(ctx, item("b"), item("c")) }, 2 * one, 2 * one},
		{"Transact", func(ctx context.Context) error { return tbl.Transact(ctx, item("d"), item("e"), item("f")) }, 3 * one, 3 * one},
		{"Update", do(table.Update(a, turn)), 1, 2 * one},
		{"an update that returns", func(ctx context.Context) error {
			return second(table.DoReturning[account](ctx, tbl, table.Update(b, turn)))
		}, 1, 2 * one},
		{"an update of what only three indexes hold", do(table.Update(a, expression.Set(expression.Name("x"), expression.Value(1)))), 1, one - 1},
		{"Delete", do(table.Delete(a)), 1, 2 * one},
		{"a delete that returns", func(ctx context.Context) error { return second(table.DoReturning[account](ctx, tbl, table.Delete(b))) }, 1, 2 * one},
		{"Get", func(ctx context.Context) error { return second(table.Get[table.Item](ctx, tbl, productKey("c"))) }, 0, 0},
	} {
		if got := bytes(call.name, call.run); got < call.least || got > call.most {
			t.Errorf("%s: %v bytes, a Put %v", call.name, got, one)
		}
	}
}

// altered executes the request and changes the text of the response.
func altered(old, new string) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		if err == nil && !strings.Contains(string(body), old) {
			err = fmt.Errorf("no %s in %s", old, body)
		}
		return expect.Response(r, http.StatusOK, "", strings.Replace(string(body), old, new, 1)), err
	}
}

// TestSearchResponses shows what becomes of responses, whoever reads them. An item that the
// search was not for is dropped, whatever DynamoDB says: no tenant sees one of another.
func TestSearchResponses(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	tbl, _ := newTable(t, products())
	must(t, tbl.Do(t.Context(), table.Put(productKey("near"), product("near", vector("1", "0")))))
	must(t, tbl.Do(t.Context(), table.Put(productKey("far"), product("far", vector("0", "1")))))
	const both, far = "near 0.0, far 1.0", "far 1.0"
	s := table.Search{
		Index: "similar", Near: []float32{1, 0}, Partition: "acme",
		Filter: map[string]string{"category": "shoes", "year": "2024", "digest": "\x00"},
	}
	for name, tt := range map[string]struct {
		fault tabletest.Fault
		want  string
	}{
		"as it is":                        {nil, both},
		"of another tenant":               {altered(`"S":"acme"`, `"S":"rival"`), far},
		"of a tenant in bytes":            {altered(`"S":"acme"`, `"B":"YWNtZQ=="`), far},
		"without a tenant":                {altered(`"tenant":`, `"other":`), far},
		"of a longer tenant":              {altered(`"S":"acme"`, `"S":"acme "`), far},
		"of another category":             {altered(`"S":"shoes"`, `"S":"boots"`), far},
		"of another year":                 {altered(`"N":"2024"`, `"N":"2025"`), far},
		"of a year as text":               {altered(`"N":"2024"`, `"S":"2024"`), far},
		"of the year in another spelling": {altered(`"N":"2024"`, `"N":"2.024e3"`), both},
		"of another digest":               {altered(`"B":"AA=="`, `"B":"AAA="`), far},
		"of another type":                 {altered(`"entityType":{"S":"PRODUCT"}`, `"entityType":{"S":"REVIEW"}`), far},
		"expired":                         {altered(`"entityType"`, `"expiresAt":{"N":"1"},"entityType"`), far},
		"unknown members":                 {altered(`{"Item"`, `{"Distance":[{"x":1}],"Item"`), both},
		"unknown members outside":         {altered(`{"SearchResults"`, `{"NextToken":{"a":null},"SearchResults"`), both},
		"a result without item":           {altered(`[{"Item"`, `[{"Score":0.5},{"Item"`), both},
		"no results":                      {respond(http.StatusOK, `{}`), ""},
		"broken off, then read":           {tabletest.Truncate(), both},
		"damaged, then read":              {tabletest.BadChecksum(), both},
		"unreadable, then read":           {tabletest.Corrupt(), both},
		"throttled, then read":            {tabletest.Throttle(), both},
	} {
		for how, option := range map[string]func(*tabletest.Faults) table.Client{
			"directly": func(f *tabletest.Faults) table.Client { return tabletest.Client(t, f.Install) },
			"middleware": func(f *tabletest.Faults) table.Client {
				return tabletest.Client(t, f.Install, watch(func(any, any) {}))
			},
			"hedged": func(f *tabletest.Faults) table.Client {
				return tabletest.Client(t, f.Install, func(o *dynamodb.Options) { o.HTTPClient = hedge.New(o.HTTPClient) })
			},
		} {
			var faults tabletest.Faults
			faults.Next("SearchVectors", tt.fault)
			read := expect.Value(table.NewWithClient(option(&faults), tbl.Schema(), options()))(t).OfType("PRODUCT")
			matches, stats, err := table.SearchVectors[account](t.Context(), read, s)
			if err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
			}
			equal(t, name+", "+how, summary(matches), tt.want)
			equal(t, name+", "+how+": items", stats.Items, len(matches))
			for _, m := range matches {
				equal(t, name+", "+how, m.Item, account{Type: "PRODUCT", Name: string(m.Key.SK), N: 5})
			}
		}
	}
	// A match that is no value ends the search: it says which one.
	var faults tabletest.Faults
	faults.Next("SearchVectors", altered(`"n":{"N":"5"}`, `"n":{"S":"five"}`))
	read := expect.Value(table.New(tabletest.Client(t, faults.Install), tbl.Schema(), options()))(t)
	_, _, err := table.SearchVectors[account](t.Context(), read, s)
	if e, ok := errors.AsType[*table.Error](err); !ok || e.Op != "SearchVectors" || e.Index != "similar" || e.Key != productKey("near") {
		t.Errorf("a match that does not decode: %v", err)
	}
}

// Searches that DynamoDB refuses, or that could not be trusted, are not sent.
func TestSearchesAreRefused(t *testing.T) {
	t.Parallel()
	tbl, client, faults := faultyTable(t, products(), respond(http.StatusOK, "{}"))
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	long := make([]string, 1000)
	for i := range long {
		long[i] = fmt.Sprint("attribute", i)
	}
	for name, tt := range map[string]struct {
		tbl *table.Table
		s   table.Search
		as  string
	}{
		"no index":                {tbl, table.Search{}, "Index"},
		"a global index":          {tbl, table.Search{Index: "GSI1"}, "Index"},
		"consistent":              {tbl.Consistent(), table.Search{Index: "euclidean"}, "Index"},
		"an index without types":  {tbl.OfType("PRODUCT"), table.Search{Index: "dot"}, "Index"},
		"a client without search": {expect.Value(table.NewWithClient(struct{ table.Client }{client}, products(), nil))(t), table.Search{Index: "euclidean"}, "Index"},
		"no vector":               {tbl, table.Search{Index: "euclidean", Near: []float32{}}, "Near"},
		"one number":              {tbl, table.Search{Index: "euclidean", Near: []float32{1}}, "Near"},
		"NaN":                     {tbl, table.Search{Index: "euclidean", Near: []float32{1, nan}}, "Near"},
		"an infinity":             {tbl, table.Search{Index: "euclidean", Near: []float32{inf, 1}}, "Near"},
		"101":                     {tbl, table.Search{Index: "euclidean", Top: 101}, "Top"},
		"-1":                      {tbl, table.Search{Index: "euclidean", Top: -1}, "Top"},
		"no partition":            {tbl, table.Search{Index: "similar"}, "Partition"},
		"no number as partition":  {tbl, table.Search{Index: "byShop", Partition: "seven"}, "Partition"},
		"a partition too long":    {tbl, table.Search{Index: "similar", Partition: strings.Repeat("x", keys.MaxPK+1)}, "Partition"},
		"no UTF-8 as partition":   {tbl, table.Search{Index: "similar", Partition: "\xff"}, "Partition"},
		"a partition too many":    {tbl, table.Search{Index: "euclidean", Partition: "acme"}, "Partition"},
		"a filter of no index":    {tbl, table.Search{Index: "similar", Partition: "acme", Filter: map[string]string{"name": "a"}}, "Filter"},
		"the partition as filter": {tbl, table.Search{Index: "similar", Partition: "acme", Filter: map[string]string{"tenant": "rival"}}, "Filter"},
		"an empty filter":         {tbl, table.Search{Index: "similar", Partition: "acme", Filter: map[string]string{"category": ""}}, "Filter: keys: invalid value"},
		"what is not in it":       {tbl, table.Search{Index: "dot", Project: []string{"category"}}, "Project"},
		"an empty projection":     {tbl, table.Search{Index: "euclidean", Project: []string{""}}, "Project"},
		"a long projection":       {tbl, table.Search{Index: "euclidean", Project: long}, "Project"},
	} {
		if tt.s.Near == nil {
			tt.s.Near = []float32{1, 0}
		}
		matches, stats, err := table.SearchVectors[account](t.Context(), tt.tbl, tt.s)
		if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "search: "+tt.as) || table.Classify(err) != table.Permanent || matches != nil || stats != (table.Stats{}) {
			t.Errorf("%s: %v, %v, %v", name, err, matches, stats)
		}
		wellFormed(t, name, err, "acme", "rival")
	}
	equal(t, "requests", len(faults.Requests()), 0)
}

// Writes that would leave a vector where no search finds it, or that DynamoDB refuses for a
// vector, are not sent.
func TestWritesOfVectors(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	spec := schema.Table{Name: "Products", Vectors: []schema.VectorIndex{
		{Name: "similar", Attribute: "embedding", Dimensions: 2, Partition: schema.Attribute{Name: "tenant"}},
		{Name: "within", Attribute: "picture", Dimensions: 2, Partition: schema.Attribute{Name: "pk"}}, // which every item has
	}}
	tbl, faults := newTable(t, spec)
	key, v := productKey("a"), vector("1", "0")
	name, value := expression.Name, func(v types.AttributeValue) expression.ValueBuilder { return expression.Value(v) }
	set := func(attribute string, v types.AttributeValue) expression.UpdateBuilder {
		return expression.Set(name(attribute), value(v))
	}
	put := func(item table.Item) table.Op { return table.Put(key, item) }
	before := len(onItems(faults))
	for what, op := range map[string]table.Op{
		"a vector alone":             put(table.Item{"embedding": v}),
		"a vector with NULL":         put(table.Item{"embedding": v, "tenant": &types.AttributeValueMemberNULL{Value: true}}),
		"a vector with an empty one": put(table.Item{"embedding": v, "tenant": str("")}),
		"a vector with a number":     put(table.Item{"embedding": v, "tenant": num("1")}),
		"a vector alone, created":    table.Create(key, table.Item{"embedding": v}),
		"a struct": table.Put(key, struct {
			Embedding []float32 `dynamodbav:"embedding"`
		}{[]float32{1, 0}}),
		"a patch of the vector":      table.Patch(key, table.Item{"embedding": v}),
		"a patch without partition":  table.Patch(key, nil, "tenant"),
		"one that moves neither":     table.Patch(key, table.Item{"embedding": v}, "tenant"),
		"an update of the vector":    table.Update(key, set("embedding", v)),
		"… by if_not_exists":         table.Update(key, expression.Set(name("embedding"), expression.IfNotExists(name("embedding"), value(v)))),
		"… by another attribute":     table.Update(key, expression.Set(name("embedding"), name("picture"))),
		"… by list_append":           table.Update(key, expression.Set(name("embedding"), expression.ListAppend(name("embedding"), value(v)))),
		"a removal of the partition": table.Update(key, expression.Remove(name("tenant"))),
		"… and a new vector":         table.Update(key, set("embedding", v).Remove(name("tenant"))),
		"three numbers":              put(table.Item{"embedding": vector("1", "0", "0"), "tenant": str("acme")}),
		"… in a patch":               table.Patch(key, table.Item{"embedding": vector("1"), "tenant": str("acme")}),
		"… in an update":             table.Update(key, set("embedding", vector("1")).Set(name("tenant"), value(str("acme")))),
		"… of the other vector":      table.Update(key, set("picture", vector("1"))),
		"an element that is a text":  table.Update(key, set("picture[0]", str("x"))),
		"… that is removed":          table.Update(key, expression.Remove(name("picture[0]"))),
		"… that is too large":        table.Update(key, set("picture[0]", num("4e38"))),
		"… behind the last one":      table.Update(key, set("picture[2]", num("1"))),
		"… if there is none":         table.Update(key, expression.Set(name("picture[1]"), expression.IfNotExists(name("n"), value(str("x"))))),
		"a set added to an element":  table.Update(key, expression.Add(name("picture[0]"), value(&types.AttributeValueMemberNS{Value: []string{"1"}}))),
		"a member":                   table.Update(key, set("picture.x", num("1"))),
		"… of an element":            table.Update(key, set("picture[0].x", num("1"))),
		"elements behind it":         table.Update(key, expression.Set(name("picture"), expression.ListAppend(name("picture"), value(vector("1"))))),
		"a sum":                      table.Update(key, expression.Set(name("picture"), name("picture").Plus(value(num("1"))))),
		"a short one if missing":     table.Update(key, expression.Set(name("picture"), expression.IfNotExists(name("picture"), value(vector("1"))))),
		"a number that is added":     table.Update(key, expression.Add(name("picture"), value(num("1")))),
		"a set that is deleted":      table.Update(key, expression.Delete(name("picture"), value(&types.AttributeValueMemberNS{Value: []string{"1"}}))),
		"an empty list":              put(table.Item{"picture": vector()}),
		"NULL":                       put(table.Item{"picture": &types.AttributeValueMemberNULL{Value: true}}),
		"NULL in it":                 put(table.Item{"picture": list(num("1"), &types.AttributeValueMemberNULL{Value: true})}),
		"a text":                     put(table.Item{"picture": str("1,0")}),
		"a text in it":               put(table.Item{"picture": list(num("1"), str("0"))}),
		"a set":                      put(table.Item{"picture": &types.AttributeValueMemberNS{Value: []string{"1", "0"}}}),
		"4e38":                       put(table.Item{"picture": vector("1", "4e38")}),
		"-4e38":                      table.Patch(key, table.Item{"picture": vector("-400000000000000000000000000000000000000", "1")}),
		"NaN":                        table.Put(key, map[string][]float32{"picture": {1, float32(math.NaN())}}),
		"an infinity":                table.Put(key, map[string][]float64{"picture": {1, math.Inf(1)}}),
	} {
		calls := map[string]error{"Do": tbl.Do(t.Context(), op), "Transact": tbl.Transact(t.Context(), op), "Retry": tbl.Retry(t.Context(), func(ctx context.Context) error { return tbl.Transact(ctx, op) })}
		_, calls["DoReturning"] = table.DoReturning[table.Item](t.Context(), tbl, op)
		calls["BatchWrite"] = tbl.BatchWrite(t.Context(), table.Put(user, nil), op)
		for call, err := range calls {
			if !errors.Is(err, table.ErrInvalid) || table.Classify(err) != table.Permanent {
				t.Errorf("%s, %s: %v", what, call, err)
			}
		}
	}
	equal(t, "requests", len(onItems(faults)), before)
	expect.Err(t, tbl.CheckItem(table.Item{"pk": str("P"), "sk": str("a"), "embedding": v}), table.ErrInvalid)
	expect.Err(t, tbl.CheckItem(table.Item{"pk": str("P"), "sk": str("a"), "picture": vector("1")}), table.ErrInvalid)

	// In this order.
	found := func(index, partition string) string {
		matches, _, err := table.SearchVectors[account](t.Context(), tbl, table.Search{Index: index, Near: []float32{1, 0}, Partition: partition})
		must(t, err)
		return summary(matches)
	}
	for _, tt := range []struct {
		what string
		op   table.Op
		want string // of similar
	}{
		{"both", put(table.Item{"embedding": v, "tenant": str("acme"), "picture": v}), "a 0.0"},
		{"a patch of both", table.Patch(key, table.Item{"embedding": vector("0", "1"), "tenant": str("acme")}), "a 1.0"},
		{"an update of both", table.Update(key, set("embedding", vector("-1", "0")).Set(name("tenant"), expression.IfNotExists(name("tenant"), value(str("rival"))))), "a 2.0"},
		{"an element", table.Update(key, set("embedding[0]", num("1"))), "a 0.0"},
		{"… added to", table.Update(key, expression.Add(name("embedding[0]"), value(num("-2")))), "a 2.0"},
		{"… set by another", table.Update(key, expression.Set(name("embedding[0]"), name("picture[0]"))), "a 0.0"},
		{"the partition", table.Patch(key, table.Item{"tenant": str("rival")}), ""},
		{"… back", table.Update(key, set("tenant", str("acme"))), "a 0.0"},
		{"another attribute", table.Patch(key, table.Item{"n": num("1")}, "name"), "a 0.0"},
		{"removal of both", table.Patch(key, nil, "tenant", "embedding"), ""},
		{"the partition alone", put(table.Item{"tenant": str("acme"), "picture": v}), ""},
		{"the greatest number", put(table.Item{"tenant": str("acme"), "embedding": vector("3.4028235e+38", "0"), "picture": v}), "a 0.0"},
		{"removal of the vector", table.Update(key, expression.Remove(name("embedding"))), ""},
	} {
		must(t, tbl.Do(t.Context(), tt.op))
		equal(t, tt.what, found("similar", "acme"), tt.want)
		equal(t, tt.what+": the other vector", found("within", string(key.PK)), "a 0.0")
	}
	type pictured struct {
		Picture []float32 `dynamodbav:"picture"`
	}
	greatest := pictured{[]float32{math.MaxFloat32, -math.MaxFloat32}}
	must(t, tbl.Do(t.Context(), table.Put(productKey("greatest"), greatest)))
	equal(t, "the greatest numbers", expect.Value(table.Get[pictured](t.Context(), tbl, productKey("greatest")))(t), greatest)
	must(t, tbl.Do(t.Context(), table.Delete(productKey("greatest"))))

	// What only DynamoDB can know.
	must(t, tbl.Do(t.Context(), table.Patch(key, table.Item{"note": str("one")})))
	err := tbl.Do(t.Context(), table.Update(key, expression.Set(name("picture[0]"), name("note"))))
	expect.Err(t, err)
	equal(t, "after an element that is a text", found("within", string(key.PK)), "a 0.0")
}
