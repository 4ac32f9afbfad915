package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/singletable/singletable/cmd/singletable/internal/check"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// published is the JSON Schema of schema files.
const published = "schema-file.schema.json"

// conforms returns what the published JSON Schema says of a text.
func conforms(t *testing.T, text string) error {
	t.Helper()
	spec, err := jsonschema.NewCompiler().Compile(published)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return spec.Validate(v)
}

// everything is a model that uses every member.
func everything() tablemodel.Model {
	some := schema.Throughput{Read: 1, Write: 2}
	pattern := tablemodel.Pattern{PK: "{{A}}#{n:20}#{at:time}", SK: "#{at:time-ms}#{1}##ü"}
	return tablemodel.Model{
		Table: schema.Table{
			Name: "Every-thing_1.0", PK: "PK", SK: "SK", PKType: "S", SKType: "B", TypeAttribute: "kind", Shape: "shape", TTLAttribute: "ttl",
			Indexes: []schema.Index{
				{Name: "GSI1", PK: "a", SK: "b", PKType: "N", SKType: "S", Projection: "INCLUDE", Include: []string{"x"}, ProvisionedThroughput: some, WarmThroughput: some},
				{Name: "GSI2", PKs: []schema.Attribute{{Name: "c"}, {Name: "d", Type: "N"}}, SKs: []schema.Attribute{{Name: "e"}}, ProvisionedThroughput: some},
				{Name: "LSI", SK: "f", Local: true, Projection: "KEYS_ONLY"},
			},
			Stream: "KEYS_ONLY", BillingMode: "PROVISIONED", ProvisionedThroughput: some, WarmThroughput: some, TableClass: "STANDARD",
			PointInTimeRecovery: true, DeletionProtection: true, Tags: map[string]string{"a": "b", "A": ""},
		},
		Entities: []tablemodel.Entity{{Type: "T", Version: "version", Items: []tablemodel.Pattern{
			{PK: pattern.PK, SK: "{SK}", Indexes: map[string]tablemodel.Pattern{"GSI1": pattern}},
		}}},
	}
}

// What the command and the library print is as the JSON Schema says, and what it
// refuses the command refuses too.
func TestTheJSONSchemaAndTheCommandAgree(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"everything": encode(t, everything()),
		"simple":     encode(t, schema.Table{Name: "Simple", SimpleKey: true}),
		"labels":     `{"name": "AppCore", "entities": [{"type": "T", "items": [{"pk": "$shop#customerid_{customerId:lower}", "sk": "{{{a:raw}}}#x{n:4}#{1}y"}]}]}`,
		"accepted":   `{"name": "AppCore", "accepted": [{"id": "unused-index", "place": "index GSI1", "reason": "the next release fills it"}]}`,
		"editor":     `{"$schema": "https://example.com", "name": "AppCore"}`,
	}
	infer(t, files)
	printed, err := filepath.Glob("testdata/schema-*.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range printed {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, stdout, _ := strings.Cut(string(text), "-- stdout\n")
		stdout, _, _ = strings.Cut(stdout, "-- stderr\n")
		if strings.HasPrefix(stdout, "{") {
			files[file] = stdout
		}
	}
	if len(files) < 8 {
		t.Errorf("%d files", len(files))
	}
	for name, text := range files {
		if err := conforms(t, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		model, err := decodeModel(text)
		if err == nil {
			err = model.Validate()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{
		`[]`, `{}`, `{"name": 5}`, `{"name": "no spaces"}`, `{"name": "ab"}`, `{"nane": "AppCore"}`,
		`{"name": "AppCore", "$schema": 5}`,
		`{"name": "AppCore", "accepted": [{"id": "unused-index", "place": "index GSI1", "reason": " "}]}`,
		`{"name": "AppCore", "accepted": [{"id": "unused-index", "place": "index GSI1"}]}`,
		`{"name": "AppCore", "pkType": "SS"}`,
		`{"name": "AppCore", "billingMode": "FREE"}`,
		`{"name": "AppCore", "stream": "ALL"}`,
		`{"name": "AppCore", "warmThroughput": {"read": "5"}}`,
		`{"name": "AppCore", "warmThroughput": {"reads": 5}}`,
		`{"name": "AppCore", "tags": {"a": 5}}`,
		`{"name": "AppCore", "indexes": [{"pk": "a"}]}`,
		`{"name": "AppCore", "indexes": [{"name": "GSI1", "hash": "a"}]}`,
		`{"name": "AppCore", "indexes": [{"name": "GSI1", "pks": ["a"]}]}`,
		`{"name": "AppCore", "indexes": [{"name": "GSI1", "pk": "a", "projection": "SOME"}]}`,
		`{"name": "AppCore", "entities": [{"items": [{"pk": "a", "sk": "b"}]}]}`,
		`{"name": "AppCore", "entities": [{"type": "T", "items": []}]}`,
		`{"name": "AppCore", "entities": [{"type": "T", "items": [{"sk": "b"}]}]}`,
		`{"name": "AppCore", "entities": [{"type": "T", "items": [{"pk": "a", "sk": "{b"}]}]}`,
		`{"name": "AppCore", "entities": [{"type": "T", "items": [{"pk": "a", "sk": "b}"}]}]}`,
		`{"name": "AppCore", "entities": [{"type": "T", "items": [{"pk": "a", "sk": "a{b}{c}"}]}]}`,
		`{"name": "AppCore", "entities": [{"type": "T", "items": [{"pk": "a", "sk": "a{b}}"}]}]}`,
		`{"name": "AppCore", "entities": [{"type": "T", "items": [{"pk": "a", "sk": "{b:21}"}]}]}`,
		`{"name": "AppCore", "entities": [{"type": "T", "items": [{"pk": "a", "sk": "{b:date}"}]}]}`,
		`{"name": "AppCore", "indexes": [{"name": "GSI1", "pk": "a"}], "entities": [{"type": "T", "items": [{"pk": "a", "sk": "b", "indexes": {"GSI1": {"pk": "c", "indexes": {"GSI1": {}}}}}]}]}`,
	} {
		if conforms(t, text) == nil {
			t.Errorf("the JSON Schema accepts %s", text)
		}
		model, err := decodeModel(text)
		if err == nil {
			err = model.Validate()
		}
		if err == nil {
			t.Errorf("the command accepts %s", text)
		}
	}
}

// infer adds files of models that were inferred of items with keys of any kind.
func infer(t *testing.T, files map[string]string) {
	t.Helper()
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for i, key := range []string{"USER#a", "{a}#}{", "#META#x", "A##B", "Ä%#:", "a", "T#2024-01-15T10:00:00.000Z#007"} {
		var items []table.Item
		for _, sk := range []string{key, "OTHER#" + key} {
			items = append(items, table.Item{
				"pk": text(key), "sk": text(sk), "entityType": text("T"), "id": text("a"), "revision": text("r"),
				"at": text("2024-01-15T10:00:00Z"), "n": &types.AttributeValueMemberN{Value: "7"}, "gsi1pk": text(key), "gsi1sk": text(sk),
			})
		}
		model, err := tablemodel.Infer(appCore(), items)
		if err != nil {
			t.Fatal(err)
		}
		files[fmt.Sprintf("inferred %d", i)] = encode(t, model)
	}
}

// The JSON Schema has the members of the Go types, and no other.
func TestTheJSONSchemaHasAllMembers(t *testing.T) {
	t.Parallel()
	type object struct {
		Properties map[string]struct{ Enum []string }
		Enum       []string
		Required   []string
		Additional *bool `json:"additionalProperties"`
	}
	var spec struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	text, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		object object
		of     reflect.Type
	}{
		"file":         {spec.object, reflect.TypeFor[schemaFile]()},
		"throughput":   {spec.Defs["throughput"], reflect.TypeFor[schema.Throughput]()},
		"attribute":    {spec.Defs["attribute"], reflect.TypeFor[schema.Attribute]()},
		"index":        {spec.Defs["index"], reflect.TypeFor[schema.Index]()},
		"vectorIndex":  {spec.Defs["vectorIndex"], reflect.TypeFor[schema.VectorIndex]()},
		"kind":         {spec.Defs["kind"], reflect.TypeFor[schema.Kind]()},
		"entity":       {spec.Defs["entity"], reflect.TypeFor[tablemodel.Entity]()},
		"pattern":      {spec.Defs["pattern"], reflect.TypeFor[tablemodel.Pattern]()},
		"indexPattern": {spec.Defs["indexPattern"], reflect.TypeFor[tablemodel.Pattern]()},
		"accepted":     {spec.Defs["accepted"], reflect.TypeFor[check.Accepted]()},
	} {
		var members, required []string
		for _, f := range reflect.VisibleFields(tt.of) {
			member, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous || name == "indexPattern" && member == "indexes" {
				continue
			}
			members = append(members, member)
			if options == "" {
				required = append(required, member)
			}
		}
		slices.Sort(members)
		var have []string
		for member := range tt.object.Properties {
			have = append(have, member)
		}
		slices.Sort(have)
		if diff := cmp.Diff(members, have); diff != "" {
			t.Errorf("%s: members (-Go +JSON Schema):\n%s", name, diff)
		}
		slices.Sort(required)
		slices.Sort(tt.object.Required)
		if diff := cmp.Diff(required, tt.object.Required); diff != "" {
			t.Errorf("%s: required (-Go +JSON Schema):\n%s", name, diff)
		}
		if tt.object.Additional == nil || *tt.object.Additional {
			t.Errorf("%s: allows other members", name)
		}
	}
	if got := len(spec.Defs); got != 13 {
		t.Errorf("%d definitions, of which the test knows 13", got)
	}
	for name, tt := range map[string]struct{ want, got []string }{
		"keyType":     {values(types.ScalarAttributeType("").Values()), spec.Defs["keyType"].Enum},
		"stream":      {values(types.StreamViewType("").Values()), spec.Properties["stream"].Enum},
		"billingMode": {values(types.BillingMode("").Values()), spec.Properties["billingMode"].Enum},
		"tableClass":  {values(types.TableClass("").Values()), spec.Properties["tableClass"].Enum},
		"distance":    {values(types.VectorDistanceFunction("").Values()), spec.Defs["vectorIndex"].Properties["distance"].Enum},
		"projection":  {values(types.ProjectionType("").Values()), spec.Defs["index"].Properties["projection"].Enum},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-SDK +JSON Schema):\n%s", name, diff)
		}
	}
}

func values[T ~string](all []T) []string {
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = string(v)
	}
	return texts
}
