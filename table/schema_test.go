package table_test

import (
	"encoding/json"
	"fmt"
	"log"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/table"
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

// full makes every field of v other than zero. v is made of structs, slices,
// strings and booleans.
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
		file, err := json.Marshal(schema)
		must(t, err)
		var back table.Schema
		must(t, json.Unmarshal(file, &back))
		if diff := cmp.Diff(schema, back); diff != "" {
			t.Errorf("%s: changed by JSON (-before +after):\n%s", name, diff)
		}
	}
}
