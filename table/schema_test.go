package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The schema of an application as a file, which `singletable verify` reads.
func ExampleSchema_json() {
	schema := table.Schema{
		Name:    "AppCore",
		TTL:     "expiresAt",
		Indexes: []table.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}},
	}
	file, err := json.MarshalIndent(schema, "", "  ")
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
	schema := table.Schema{
		Name:                  "Orders",
		Stream:                types.StreamViewTypeNewAndOldImages,
		BillingMode:           types.BillingModeProvisioned,
		ProvisionedThroughput: table.Throughput{Read: 20, Write: 10},
		PointInTimeRecovery:   true,
		DeletionProtection:    true,
		Indexes: []table.Index{{
			Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk",
			ProvisionedThroughput: table.Throughput{Read: 5, Write: 10},
		}},
	}
	fmt.Println(schema.Validate())

	// Each part must have capacity.
	schema.Indexes[0].ProvisionedThroughput.Write = 0
	fmt.Println(schema.Validate())
	// Output:
	// <nil>
	// singletable: table Orders: invalid schema: Indexes[0].ProvisionedThroughput: 5 read and 0 write units, PROVISIONED needs at least 1 of each
}

// A number for a dashboard, which DynamoDB has counted some hours ago.
func ExampleSchema_EstimateItems() {
	ctx := context.Background()
	t, done := exampleTable(nil)
	defer done()
	items, _, err := t.Schema().EstimateItems(ctx, engine().Client(), "")
	fmt.Println("known to within some hours:", items >= 0, err)
	// Output: known to within some hours: true <nil>
}

// The next release wants an index more, and TTL on another attribute. Ensure adds
// the index when a person has decided about TTL.
func ExampleSchema_Plan() {
	ctx, client := context.Background(), engine().Client()
	schema := exampleSchema()
	if err := schema.Ensure(ctx, client); err != nil {
		log.Fatal(err)
	}
	defer drop(schema)

	next := schema
	next.TTL = "expires"
	next.Indexes = append(next.Indexes, table.Index{Name: "GSI2", PK: "gsi2pk", SK: "gsi2sk"})
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
	fmt.Println(errors.Is(next.Ensure(ctx, client), table.ErrSchemaMismatch))

	next.TTL = schema.TTL
	fmt.Println(next.Ensure(ctx, client), next.Verify(ctx, client))
	// Output:
	// Ensure: global index GSI2: is missing 0
	// a person: TTL: is on "expiresAt", the schema wants on "expires"
	// turn TTL off …
	// true
	// <nil> <nil>
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
	case reflect.Int64:
		v.SetInt(7)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"x": "y", "z": ""}))
	default:
		t.Fatalf("a %v in a schema", v.Type())
	}
}

func TestSchemaAsJSON(t *testing.T) {
	t.Parallel()
	var everything table.Schema
	full(t, reflect.ValueOf(&everything).Elem())
	for name, schema := range map[string]table.Schema{
		"zero":      {},
		"AppCore":   appCore(),
		"all there": everything,
		"simple":    {Name: "Sessions", SimpleKey: true, PKType: types.ScalarAttributeTypeN},
	} {
		file := expect.Value(json.Marshal(schema))(t)
		var back table.Schema
		must(t, json.Unmarshal(file, &back))
		expect.Equal(t, name+": changed by JSON", back, schema)
	}
}

// A response without the description asked for says nothing about the table.
func TestVerifyOfUndescribedTables(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"DescribeTable", "DescribeTimeToLive"} {
		for _, body := range []string{"", "{}"} {
			var faults tabletest.Faults
			client := tabletest.Client(t, faults.Install)
			schema := tabletest.NewWith(t, client, appCore(), nil).Schema()
			faults.Always(operation, canned(http.StatusOK, "", body))
			if err := schema.Verify(t.Context(), client); err == nil || errors.Is(err, table.ErrSchemaMismatch) {
				t.Errorf("%s %q: %v", operation, body, err)
			}
		}
	}
}
