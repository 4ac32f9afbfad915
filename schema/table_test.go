package schema_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
)

// The schema of an application as a file, which `singletable verify` reads.
func ExampleTable_json() {
	spec := schema.Table{
		Name:         "AppCore",
		TTLAttribute: "expiresAt",
		Indexes:      []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}},
	}
	file, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(file))
	// Output:
	// {
	//   "name": "AppCore",
	//   "ttl": "expiresAt",
	//   "indexes": [
	//     {
	//       "name": "GSI1",
	//       "pk": "gsi1pk",
	//       "sk": "gsi1sk"
	//     }
	//   ]
	// }
}

// A table with provisioned capacity, a stream and protection. Ensure makes it so,
// and package tablemodel writes the same into a template.
func ExampleThroughput() {
	spec := schema.Table{
		Name:                  "Orders",
		Stream:                types.StreamViewTypeNewAndOldImages,
		BillingMode:           types.BillingModeProvisioned,
		ProvisionedThroughput: schema.Throughput{Read: 20, Write: 10},
		PointInTimeRecovery:   true,
		DeletionProtection:    true,
		Indexes: []schema.Index{{
			Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk",
			ProvisionedThroughput: schema.Throughput{Read: 5, Write: 10},
		}},
	}
	fmt.Println(spec.Validate())

	// Each part must have capacity.
	spec.Indexes[0].ProvisionedThroughput.Write = 0
	fmt.Println(spec.Validate())
	// Output:
	// <nil>
	// singletable: table Orders: invalid schema: Indexes[0].ProvisionedThroughput: 5 read and 0 write units, PROVISIONED needs at least 1 of each
}

// A number for a dashboard, which DynamoDB has counted some hours ago.
func ExampleTable_EstimateItems() {
	ctx, client, notes := context.Background(), engine().Client(), exampleSchema()
	if err := notes.Ensure(ctx, client); err != nil {
		log.Fatal(err)
	}
	defer drop(notes)
	items, _, err := notes.EstimateItems(ctx, client, "")
	fmt.Println("known to within some hours:", items >= 0, err)
	// Output: known to within some hours: true <nil>
}

// The next release wants an index more, and TTL on another attribute. Ensure adds
// the index when a person has decided about TTL.
func ExampleTable_Plan() {
	ctx, client := context.Background(), engine().Client()
	spec := exampleSchema()
	if err := spec.Ensure(ctx, client); err != nil {
		log.Fatal(err)
	}
	defer drop(spec)

	next := spec
	next.TTLAttribute = "expires"
	next.Indexes = append(next.Indexes, schema.Index{Name: "GSI2", PK: "gsi2pk", SK: "gsi2sk"})
	plan, err := next.Plan(ctx, client)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range plan.Changes {
		// A new table has no items that the index takes write units for.
		fmt.Println("Ensure:", c.Difference, c.WriteUnits)
	}
	for _, c := range plan.Manual {
		fmt.Printf("a person: %s\n%.12s …\n", c.Difference, c.Action)
	}
	fmt.Println(errors.Is(next.Ensure(ctx, client), schema.ErrMismatch))

	next.TTLAttribute = spec.TTLAttribute
	fmt.Println(next.Ensure(ctx, client), next.Verify(ctx, client))
	// Output:
	// Ensure: global index GSI2: is missing 0
	// a person: TTL: is on "expiresAt", the schema wants on "expires"
	// turn TTL off …
	// true
	// <nil> <nil>
}

func ExampleTable_Verify() {
	spec := exampleSchema()
	defer drop(spec)
	ctx, client := context.Background(), engine().Client()
	if err := spec.Ensure(ctx, client); err != nil {
		log.Fatal(err)
	}

	spec.Indexes = append(spec.Indexes, schema.Index{Name: "GSI2", PK: "gsi2pk"})
	err := spec.Verify(ctx, client)
	if differs, ok := errors.AsType[*schema.Error](err); ok {
		fmt.Println(differs.Table == spec.Name, differs.Problems)
	}
	// Output: true [global index GSI2: is missing]
}

// The error of an operation says which one, and for which index.
func ExampleError() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := exampleSchema().Ensure(ctx, engine().Client())
	if e, ok := errors.AsType[*schema.Error](err); ok {
		fmt.Println(e.Op, e.Index == "", errors.Is(e, context.Canceled))
	}
	// Output: Ensure true true
}

// full sets every field of v to something other than zero.
func full(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			full(t, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		full(t, v.Index(0)) // The other stays zero.
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"x": "y", "z": ""}))
	default:
		t.Fatalf("a %v in a schema", v.Type())
	}
}

func TestSchemaAsJSON(t *testing.T) {
	t.Parallel()
	var everything schema.Table
	full(t, reflect.ValueOf(&everything).Elem())
	for name, spec := range map[string]schema.Table{
		"zero":      {},
		"AppCore":   appCore(),
		"all there": everything,
		"simple":    {Name: "Sessions", SimpleKey: true, PKType: types.ScalarAttributeTypeN},
	} {
		file := expect.Value(json.Marshal(spec))(t)
		var back schema.Table
		must(t, json.Unmarshal(file, &back))
		expect.Equal(t, name+": changed by JSON", back, spec)
	}
}
