package schema_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/vectors"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// products is a schema with vector indexes, under a name of its own.
func products(vectors ...schema.VectorIndex) schema.Table {
	return schema.Table{Name: "Products-" + rand.Text(), Vectors: vectors}
}

// similar is an index of products by similarity, divided by tenant.
func similar() schema.VectorIndex {
	return schema.VectorIndex{
		Name: "similar", Attribute: "embedding", Dimensions: 3, Partition: schema.Attribute{Name: "tenant", Type: types.ScalarAttributeTypeS},
		Filters:    []schema.Attribute{{Name: "category"}, {Name: "year", Type: types.ScalarAttributeTypeN}},
		Projection: types.ProjectionTypeInclude, Include: []string{"title"},
	}
}

func TestVectorsAreValidated(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	own := `" is a key of the table or of an index, or a search is for its value`
	type (
		table  = *schema.Table
		vector = *schema.VectorIndex
	)
	for problem, change := range map[string]func(s *schema.Table, x *schema.VectorIndex){
		"": func(table, vector) {},
		"Vectors: are 6, DynamoDB allows 5": func(s table, _ vector) {
			for i := range 5 {
				s.Vectors = append(s.Vectors, schema.VectorIndex{Name: fmt.Sprint("more", i), Attribute: "embedding", Dimensions: 3})
			}
		},
		"Vectors: need the billing mode PAY_PER_REQUEST": func(s table, _ vector) {
			s.BillingMode, s.ProvisionedThroughput = types.BillingModeProvisioned, schema.Throughput{Read: 1, Write: 1}
		},
		`Vectors[0].Name: "ab" is not 3 to 255 of the characters a-z A-Z 0-9 _ . -`: func(_ table, x vector) { x.Name = "ab" },
		`Vectors[0].Name: "GSI1" is used twice`:                                     func(s table, x vector) { s.Indexes, x.Name = indexed().Indexes, "GSI1" },
		`Vectors[1].Name: "similar" is used twice`:                                  func(s table, x vector) { s.Vectors = append(s.Vectors, *x) },
		"Vectors[0].Dimensions: 0 is not 1 to 4096":                                 func(_ table, x vector) { x.Dimensions = 0 },
		"Vectors[0].Dimensions: 4097 is not 1 to 4096":                              func(_ table, x vector) { x.Dimensions = 4097 },
		`Vectors[1].Dimensions: 4, and another index of "embedding" has 3`: func(s table, _ vector) {
			s.Vectors = append(s.Vectors, schema.VectorIndex{Name: "other", Attribute: "embedding", Dimensions: 4})
		},
		`Vectors[0].Distance: "L1" is not one of ["COSINE" "DOT_PRODUCT" "EUCLIDEAN"]`:  func(_ table, x vector) { x.Distance = "L1" },
		`Vectors[0].Attribute: "" is not UTF-8 of 1 to 255 characters`:                  func(_ table, x vector) { x.Attribute = "" },
		`Vectors[0].Attribute: "` + long + `" is not UTF-8 of 1 to 255 characters`:      func(_ table, x vector) { x.Attribute = long },
		`Vectors[0].Attribute: "sk` + own:                                               func(_ table, x vector) { x.Attribute = "sk" },
		`Vectors[0].Attribute: "tenant` + own:                                           func(_ table, x vector) { x.Attribute = "tenant" },
		`Vectors[0].Attribute: "year` + own:                                             func(_ table, x vector) { x.Attribute = "year" },
		`Vectors[0].Attribute: "ttl" is the TTL, type or shape attribute too`:           func(s table, x vector) { s.TTLAttribute, x.Attribute = "ttl", "ttl" },
		`Vectors[0].Attribute: "entityShapeAt" is the TTL, type or shape attribute too`: func(_ table, x vector) { x.Attribute = "entityShapeAt" },
		"Vectors[0].Partition: has a type and no name":                                  func(_ table, x vector) { x.Partition.Name = "" },
		"Vectors[0].Filters: are 19, DynamoDB allows 18": func(_ table, x vector) {
			for i := range 17 {
				x.Filters = append(x.Filters, schema.Attribute{Name: fmt.Sprint("f", i)})
			}
		},
		"Vectors[0].Filters[1].Name: is empty":                                  func(_ table, x vector) { x.Filters[1].Name = "" },
		`Vectors[0].Filters[1].Name: "category" is there already`:               func(_ table, x vector) { x.Filters[1] = x.Filters[0] },
		`Vectors[0].Filters[0].Name: "tenant" is there already`:                 func(_ table, x vector) { x.Filters[0].Name = "tenant" },
		`Vectors[0].Projection: "SOME" is not ALL, KEYS_ONLY or INCLUDE`:        func(_ table, x vector) { x.Projection, x.Include = "SOME", nil },
		"Vectors[0].Include: goes with the projection INCLUDE and only with it": func(_ table, x vector) { x.Include = nil },
		`Vectors[0].Include[1]: "title" is there already`:                       func(_ table, x vector) { x.Include = append(x.Include, "title") },
	} {
		spec := products(similar())
		change(&spec, &spec.Vectors[0])
		err := spec.Validate()
		if problem == "" {
			expect.OK(t, err)
			continue
		}
		expect.Err(t, err, keys.ErrInvalid)
		if e, ok := errors.AsType[*schema.Error](err); ok {
			equal(t, "problems", e.Problems, []string{problem})
		}
	}
	// An attribute has one type in all keys and searches, and those of the library have theirs.
	for _, change := range []func(table, vector){
		func(_ table, x vector) { x.Partition.Type = "BOOL" },
		func(_ table, x vector) { x.Filters[1] = schema.Attribute{Name: "sk", Type: types.ScalarAttributeTypeN} },
		func(_ table, x vector) { x.Partition.Name = "entityShape" },
		func(s table, x vector) { s.TTLAttribute, x.Partition.Name = "ttl", "ttl" },
		func(_ table, x vector) { x.Filters[1].Name = "entityType" },
	} {
		spec := products(similar())
		change(&spec, &spec.Vectors[0])
		expect.Err(t, spec.Validate(), keys.ErrInvalid)
	}
}

// live makes a table of the schema by another client, and drops it at the end.
func live(t *testing.T, spec schema.Table, change func(*dynamodb.CreateTableInput)) {
	t.Helper()
	in := expect.Value(spec.CreateTableInput())(t)
	change(in)
	must(t, expect.ErrOf(tabletest.Client(t).CreateTable(t.Context(), in)))
	dropped(t, spec)
}

func dropped(t *testing.T, spec schema.Table) {
	client := tabletest.Client(t)
	t.Cleanup(func() {
		must(t, expect.ErrOf(client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &spec.Name})))
	})
}

func asItIs(*dynamodb.CreateTableInput) {}

// TestEnsureCreatesVectorIndexes compares the requests with testdata: Ensure ends with a
// search of each index, for which a client without searches is not asked.
func TestEnsureCreatesVectorIndexes(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	faults := &tabletest.Faults{}
	client := tabletest.Client(t, faults.Install)
	spec := products(similar(), schema.VectorIndex{Name: "plain", Attribute: "picture", Dimensions: 2, Distance: "EUCLIDEAN"},
		schema.VectorIndex{
			Name: "digest", Attribute: "picture", Dimensions: 2, Distance: "DOT_PRODUCT", Projection: types.ProjectionTypeKeysOnly,
			Partition: schema.Attribute{Name: "hash", Type: types.ScalarAttributeTypeB},
		})
	dropped(t, spec)
	must(t, spec.Ensure(t.Context(), client))
	expect.Golden(t, "ensurevectors.json", tabletest.Transcript(faults.Requests("CreateTable", "UpdateTable", "SearchVectors"),
		strings.NewReplacer(spec.Name, "Products")))
	must(t, spec.Verify(t.Context(), client))
	items, _, err := spec.EstimateItems(t.Context(), client, "similar")
	equal(t, "items", items, 0)
	must(t, err)
	if _, _, err := spec.EstimateItems(t.Context(), client, "other"); !errors.Is(err, schema.ErrMismatch) {
		t.Errorf("estimate of another index: %v", err)
	}

	searches := len(faults.Requests("SearchVectors"))
	must(t, spec.Ensure(t.Context(), struct{ schema.Client }{client}))
	equal(t, "searches by a client without", len(faults.Requests("SearchVectors")), searches)
	faults.Next("SearchVectors", gone, gone)
	must(t, spec.Ensure(t.Context(), client))
	equal(t, "searches that were refused at first", len(faults.Requests("SearchVectors")), searches+3+2)
	faults.Always("SearchVectors", denied)
	err = spec.Ensure(t.Context(), client)
	wellFormed(t, "Ensure", err)
	if err == nil || !strings.Contains(err.Error(), "AccessDeniedException") {
		t.Errorf("Ensure without the permission to search: %v", err)
	}
}

// TestVectorDifferences compares schemas with the table of another one.
func TestVectorDifferences(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	const keys = "embedding of 3 by COSINE and HASH tenant (S) and INLINE_FILTER category (S) and INLINE_FILTER year (N)"
	provisioned := func(in *dynamodb.CreateTableInput) {
		in.VectorIndexes, in.AttributeDefinitions = nil, slices.DeleteFunc(in.AttributeDefinitions, func(d types.AttributeDefinition) bool { return len(*d.AttributeName) > 2 })
		in.BillingMode, in.ProvisionedThroughput = "", &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)}
	}
	described := func(status string) tabletest.Fault {
		return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			resp := expect.Value(next.RoundTrip(r))(t)
			body := string(expect.Value(io.ReadAll(resp.Body))(t))
			return expect.Response(r, http.StatusOK, "", strings.Replace(body, `"IndexStatus":"ACTIVE"`, `"IndexStatus":`+status, 1)), nil
		}
	}
	becomes := func(old, new string) string {
		return "vector index similar: keys are " + keys + ", the schema wants " + strings.Replace(keys, old, new, 1)
	}
	for name, tt := range map[string]struct {
		live                 func(*dynamodb.CreateTableInput)
		want                 func(*schema.VectorIndex)
		fault                tabletest.Fault // of DescribeTable
		manual, change, note string
	}{
		"nothing":          {},
		"dimensions":       {want: func(x *schema.VectorIndex) { x.Dimensions = 4 }, manual: becomes("3", "4")},
		"distance":         {want: func(x *schema.VectorIndex) { x.Distance = "EUCLIDEAN" }, manual: becomes("COSINE", "EUCLIDEAN")},
		"attribute":        {want: func(x *schema.VectorIndex) { x.Attribute = "picture" }, manual: becomes("embedding", "picture")},
		"partition":        {want: func(x *schema.VectorIndex) { x.Partition = schema.Attribute{} }, manual: becomes(" and HASH tenant (S)", "")},
		"filter":           {want: func(x *schema.VectorIndex) { x.Filters = x.Filters[:1] }, manual: becomes(" and INLINE_FILTER year (N)", "")},
		"type of a filter": {want: func(x *schema.VectorIndex) { x.Filters[1].Type = "S" }, manual: becomes("(N)", "(S)")},
		"order of filters": {want: func(x *schema.VectorIndex) { slices.Reverse(x.Filters) }},
		"projection": {
			want:   func(x *schema.VectorIndex) { x.Include = []string{"price"} },
			manual: `vector index similar: projects INCLUDE ["title"], the schema wants INCLUDE ["price"]`,
		},
		"provisioned table": {live: provisioned, manual: "vector index similar: is missing"},
		"name of another index": {
			live: func(in *dynamodb.CreateTableInput) {
				in.VectorIndexes, in.GlobalSecondaryIndexes = nil, []types.GlobalSecondaryIndex{{
					IndexName: aws.String("similar"), Projection: &types.Projection{ProjectionType: "ALL"},
					KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("tenant"), KeyType: "HASH"}},
				}}
				in.AttributeDefinitions = slices.DeleteFunc(in.AttributeDefinitions, func(d types.AttributeDefinition) bool {
					return slices.Contains([]string{"category", "year"}, *d.AttributeName)
				})
			},
			manual: "vector index similar: is missing", note: "global index similar: is not in the schema",
		},
		"other dimensions": {
			live: func(in *dynamodb.CreateTableInput) {
				in.VectorIndexes[0].IndexName, in.VectorIndexes[0].Dimensions = aws.String("other"), aws.Int64(4)
			},
			manual: "vector index similar: is missing", note: "vector index other: is not in the schema",
		},
		"too many": {
			live: func(in *dynamodb.CreateTableInput) {
				in.VectorIndexes = slices.Repeat(in.VectorIndexes, 5)
				for i := range in.VectorIndexes {
					in.VectorIndexes[i].IndexName = aws.String(fmt.Sprintf("other%d", i))
				}
			},
			manual: "vector index similar: is missing",
			note: "vector index other0: is not in the schemavector index other1: is not in the schemavector index other2: is not in the schema" +
				"vector index other3: is not in the schemavector index other4: is not in the schema",
		},
		"another index": {
			live: func(in *dynamodb.CreateTableInput) {
				in.VectorIndexes = slices.Repeat(in.VectorIndexes, 2)
				in.VectorIndexes[1].IndexName = aws.String("unknown")
			},
			note: "vector index unknown: is not in the schema",
		},
		"being made":    {fault: described(`"CREATING","Backfilling":false`), change: "vector index similar: is CREATING"},
		"being filled":  {fault: described(`"CREATING","Backfilling":true`), change: "vector index similar: is CREATING, backfilling"},
		"still filled":  {fault: described(`"ACTIVE","Backfilling":true`), change: "vector index similar: is ACTIVE, backfilling"},
		"being deleted": {fault: described(`"DELETING"`), change: "vector index similar: is DELETING"},
		"being updated": {fault: described(`"UPDATING"`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := &tabletest.Faults{}
			client := tabletest.Client(t, faults.Install)
			spec := products(similar())
			if tt.live == nil {
				tt.live = asItIs
			}
			live(t, spec, tt.live)
			if tt.want != nil {
				tt.want(&spec.Vectors[0])
			}
			faults.Always("DescribeTable", tt.fault)
			plan := expect.Value(spec.Plan(t.Context(), client))(t)
			for _, c := range []struct {
				got  []schema.Change
				want string
			}{{plan.Manual, tt.manual}, {plan.Changes, tt.change}, {plan.Notes, tt.note}} {
				var got string
				for _, change := range c.got {
					got += change.Difference
				}
				equal(t, "plan", got, c.want)
			}
			err := spec.Verify(t.Context(), client)
			equal(t, "mismatch", errors.Is(err, schema.ErrMismatch), tt.manual+tt.change != "")
			if err != nil && !strings.HasSuffix(err.Error(), tt.manual+tt.change) {
				t.Error(err)
			}
		})
	}
}
