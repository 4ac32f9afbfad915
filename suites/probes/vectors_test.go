package probes_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// catalogue is the table of the captures about vectors.
var catalogue = schema.Table{Name: "catalogue", Vectors: []schema.VectorIndex{
	{Name: "plain", Attribute: "embedding", Dimensions: 3},
	{
		Name: "schema", Attribute: "embedding", Dimensions: 3,
		Partition: schema.Attribute{Name: "tenant"}, Filters: []schema.Attribute{{Name: "category"}},
	},
}}

// search finds what comes first, of that score.
func search(s table.Search, first string, score float64) call {
	return func(ctx context.Context, t *table.Table) error {
		matches, _, err := table.SearchVectors[table.Item](ctx, t, s)
		if err == nil && (string(matches[0].Key.PK) != first || matches[0].Score != score) {
			return fmt.Errorf("found %v", matches)
		}
		return err
	}
}

// vectors are searches, writes and tables with vector indexes.
func vectors() []claims {
	const messages = nubo + "tests/tier3/error-messages/"
	const behaviour = nubo + "tests/tier2/vectorSearch/"
	near := []float32{1, 0, 0}
	found := response{body: `{"SearchResults":[{"Item":{"pk":{"S":"a"},"label":{"S":"item-a"}},"Score":0.0},{"Item":{"pk":{"S":"d"}},"Score":0.4000000059604645}],` +
		`"ConsumedCapacity":{"VectorSearchRequestBytes":1024.0}}`}
	dot := response{body: `{"SearchResults":[{"Item":{"pk":{"S":"c"}},"Score":-1}]}`}
	bad := func(s table.Search) call { return search(s, "", 0) }
	searches := []claims{
		{source: messages + "searchVectors.test.ts", date: "2026-08-11", table: catalogue, probes: []probe{
			{"search for 101", bad(table.Search{Index: "plain", Near: near, Top: 101}), refuses("Provided TopK value '101' is out of valid range. The value must be between 1 and 100 inclusive"), unsent(table.ErrInvalid)},
			{"search without its partition", bad(table.Search{Index: "schema", Near: near}), refuses("SearchConditionExpression must be provided when SearchSchema has a HASH key"), unsent(table.ErrInvalid)},
			{"search with two of three dimensions", bad(table.Search{Index: "plain", Near: near[:2]}), refuses("Input search vector dimension 2 does not match vector index dimension 3"), unsent(table.ErrInvalid)},
			{"search for what the index has not", bad(table.Search{Index: "plain", Near: near, Filter: map[string]string{"tenant": "t1"}}), refuses("SearchConditionExpression must not contain any attributes that is not in SearchSchema. Invalid attribute: tenant"), unsent(table.ErrInvalid)},
		}},
		{source: behaviour + "validation.test.ts", date: "2026-08-11", table: catalogue, probes: []probe{
			{"search for -1", bad(table.Search{Index: "plain", Near: near, Top: -1}), refuses("Member must have value greater than or equal to 1"), unsent(table.ErrInvalid)},
			{"search of an index that the schema lacks", bad(table.Search{Index: "no-such-index", Near: near}), refuses("The table does not have the specified index: no-such-index"), unsent(table.ErrInvalid)},
			{"search of an index that the table lacks", bad(table.Search{Index: "plain", Near: near}), refuses("The table does not have the specified index: plain"), returns(table.Unclassified)},
		}},
		{source: behaviour + "updateLifecycle.test.ts", date: "2026-08-11", table: catalogue, probes: []probe{
			{"search of an index that is being filled", bad(table.Search{Index: "plain", Near: near}), refuses("Cannot search backfilling vector index: plain"), returns(table.Transient)},
		}},
		{source: behaviour + "search.test.ts", date: "2026-08-11", table: catalogue, probes: []probe{
			{"search", search(table.Search{Index: "plain", Near: near, Top: 10}, "a", 0), found, sends(`"SearchVector":[{"N":"1"},{"N":"0"},{"N":"0"}],"TableName":"catalogue","TopK":10`)},
			{"search by dot product", search(table.Search{Index: "plain", Near: near}, "c", -1), dot, sends(`"IndexName":"plain"`)},
			{"search with the vector", search(table.Search{Index: "plain", Near: near, Project: []string{"embedding"}}, "a", 0), found, sends(`"ProjectionExpression":"embedding, `)},
		}},
	}
	removed := claims{source: behaviour + "writeValidation.test.ts", date: "2026-08-11", table: catalogue, probes: []probe{
		{"removal of a vector", do(table.Update(key, expression.Remove(name("embedding")))), accepts, sends(`"UpdateExpression":"REMOVE embedding"`)},
		{"removal of a vector by a patch", do(table.Patch(key, nil, "embedding")), accepts, sends(`"UpdateExpression":"REMOVE embedding"`)},
	}}
	// DynamoDB takes a vector without its partition, and no search finds it.
	lost := claims{source: behaviour + "writeValidation.test.ts", date: "2026-08-11", table: catalogue}
	refused := claims{source: messages + "vectorWrites.test.ts", date: "2026-08-11", table: catalogue}
	for id, c := range map[string]struct {
		attributes table.Item
		aws        response
	}{
		"vector without its partition": {table.Item{"embedding": l(n("0"), n("0"), n("1"))}, accepts},
		"vector of two of three dimensions": {
			table.Item{"tenant": s("t1"), "embedding": l(n("1"), n("0"))},
			refuses("One or more parameter values were invalid. Invalid size for parameter embedding, Expected: 3, Actual: 2 IndexName: plain"),
		},
		"text in a vector": {
			table.Item{"tenant": s("t1"), "embedding": l(n("1"), s("oops"), n("0"))},
			refuses("One or more parameter values were invalid. Invalid type for parameter embedding[1], Expected: 32-bit floating point number, Actual: S. IndexName: plain"),
		},
		"text as a vector": {
			table.Item{"tenant": s("t1"), "embedding": s("not-a-vector")},
			refuses("One or more parameter values were invalid. Invalid type for parameter embedding, Expected: 32-bit floating point number list IndexName: plain"),
		},
		"empty partition of a vector": {
			table.Item{"tenant": s(""), "embedding": l(n("0"), n("0"), n("1"))},
			refuses("One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: schema, IndexKey: tenant"),
		},
	} {
		set := expression.Set(name("embedding"), with(c.attributes["embedding"]))
		if tenant := c.attributes["tenant"]; tenant != nil {
			set = set.Set(name("tenant"), with(tenant))
		}
		of := &refused
		if c.aws.code == "" {
			of = &lost
		}
		for way, call := range map[string]call{
			"put": do(table.Put(key, c.attributes)), "patch": do(table.Patch(key, c.attributes)), "update": do(table.Update(key, set)),
			"batch": batch(table.Put(key, c.attributes)), "transact-put": transact(table.Put(key, c.attributes), second),
		} {
			of.probes = append(of.probes, probe{id + "/" + way, call, c.aws, unsent(table.ErrInvalid)})
		}
	}
	define := func(change func(*schema.Table)) call {
		return func(ctx context.Context, _ *table.Table) error {
			s := schema.Table{Name: "orders", Vectors: []schema.VectorIndex{{Name: "vix", Attribute: "embedding", Dimensions: 3, Projection: types.ProjectionTypeKeysOnly}}}
			change(&s)
			return s.Ensure(ctx, new(service).client())
		}
	}
	const invalid = "One or more parameter values were invalid: "
	created := claims{source: messages + "vectorIndexes.test.ts", date: "2026-08-11", probes: []probe{
		{"a vector index of a provisioned table", define(func(s *schema.Table) {
			s.BillingMode, s.ProvisionedThroughput = types.BillingModeProvisioned, schema.Throughput{Read: 5, Write: 5}
		}), refuses(invalid + "Vector indexes are only supported for PAY_PER_REQUEST tables"), unsent(table.ErrInvalid)},
		{"4,097 dimensions", define(func(s *schema.Table) { s.Vectors[0].Dimensions = 4097 }), refuses(invalid + "Number of dimensions must be between 1 and 4096 inclusive."), unsent(table.ErrInvalid)},
		{"six vector indexes", define(func(s *schema.Table) {
			for i := range 5 {
				s.Vectors = append(s.Vectors, schema.VectorIndex{Name: fmt.Sprint("vix-", i), Attribute: "embedding", Dimensions: 3})
			}
		}), refuses(invalid + "VectorIndex count exceeds the per-table limit of 5"), unsent(table.ErrInvalid)},
		{"two dimensions of one vector", define(func(s *schema.Table) {
			s.Vectors = append(s.Vectors, schema.VectorIndex{Name: "vix2", Attribute: "embedding", Dimensions: 4})
		}), refuses(invalid + "Conflicting attribute definition for 'embedding'. All VectorIndexes on the same vector attribute must use the same dimensions."), unsent(table.ErrInvalid)},
	}}
	modelled := claims{source: behaviour + "validation.test.ts", date: "2026-08-11", probes: []probe{
		{"no dimensions", define(func(s *schema.Table) { s.Vectors[0].Dimensions = 0 }), refuses("greater than or equal to 1"), unsent(table.ErrInvalid)},
		{"a vector index with a name of 2 characters", define(func(s *schema.Table) { s.Vectors[0].Name = "ab" }), refuses("length greater than or equal to 3"), unsent(table.ErrInvalid)},
	}}
	return append(searches, removed, lost, refused, created, modelled)
}
