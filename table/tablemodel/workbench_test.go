package tablemodel_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// What models of version 3.0 look like that AWS has published, in the repositories
// aws-samples/amazon-dynamodb-design-patterns and aws-samples/aws-dynamodb-examples.
var (
	attributeShape  = object{"AttributeName": text, "AttributeType": attributeType}
	keyShape        = object{"PartitionKey": attributeShape, "SortKey?": attributeShape}
	projectionShape = object{"ProjectionType": oneOf{"ALL", "KEYS_ONLY", "INCLUDE"}, "NonKeyAttributes?": list{text}}
	accessShape     = object{"MySql": object{}}
	facetShape      = object{
		"FacetName":         text,
		"KeyAttributeAlias": object{"PartitionKeyAlias": text, "SortKeyAlias?": text},
		"TableData?":        list{itemShape}, "NonKeyAttributes": list{text}, "DataAccess?": accessShape,
	}
	tableShape = object{
		"TableName": text, "KeyAttributes": keyShape, "NonKeyAttributes?": list{attributeShape},
		"TableFacets?": list{facetShape},
		"GlobalSecondaryIndexes?": list{object{
			"IndexName": text, "KeyAttributes": keyShape, "Projection": projectionShape,
		}},
		"TableData?": list{itemShape}, "DataAccess": accessShape,
		"BillingMode": oneOf{"PROVISIONED", "PAY_PER_REQUEST"},
		"ProvisionedCapacitySettings?": object{
			"ProvisionedThroughput": object{"ReadCapacityUnits": count, "WriteCapacityUnits": count},
			"AutoScalingRead":       scalingShape, "AutoScalingWrite": scalingShape,
		},
	}
	scalingShape = object{
		"ScalableTargetRequest":      object{"MinCapacity": count, "MaxCapacity": count, "ServiceRole": text},
		"ScalingPolicyConfiguration": object{"TargetValue": count},
	}
	modelShape = object{
		"ModelName": text,
		"ModelMetadata": object{
			"Author": text, "DateCreated": text, "DateLastModified": text, "Description": text,
			"AWSService?": oneOf{"Amazon DynamoDB"}, "Version": text,
		},
		"DataModel": list{tableShape},
	}
)

var (
	attributeType = oneOf{"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"}
	text          = check(func(v any) error { return is[string](v) })
	count         = check(func(v any) error { return is[float64](v) })
	itemShape     = check(checkItem)
)

func checkItem(v any) error {
	item, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%T is no item", v)
	}
	for name, v := range item {
		if err := checkValue(v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// A shape tells what is wrong with JSON.
type shape interface{ check(v any) error }

type check func(any) error

func (c check) check(v any) error { return c(v) }

type oneOf []string

func (o oneOf) check(v any) error {
	if s, ok := v.(string); !ok || !slices.Contains(o, s) {
		return fmt.Errorf("%v is none of %v", v, []string(o))
	}
	return nil
}

type list struct{ of shape }

func (l list) check(v any) error {
	elements, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%T is no list", v)
	}
	for i, e := range elements {
		if err := l.of.check(e); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

// object has the shapes of its members; names of optional ones end in "?".
type object map[string]shape

func (o object) check(v any) error {
	members, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%T is no object", v)
	}
	for name, e := range members {
		s, required := o[name]
		if !required {
			s = o[name+"?"]
		}
		if s == nil {
			return fmt.Errorf("%s: unknown", name)
		}
		if err := s.check(e); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for name := range o {
		if _, ok := members[name]; !ok && name[len(name)-1] != '?' {
			return fmt.Errorf("%s: missing", name)
		}
	}
	return nil
}

func is[T any](v any) error {
	if _, ok := v.(T); !ok {
		return fmt.Errorf("%T is no %T", v, *new(T))
	}
	return nil
}

// checkValue checks a value in the form of the DynamoDB API.
func checkValue(v any) error {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		return fmt.Errorf("%v has not one type", v)
	}
	for kind, v := range m {
		switch kind {
		case "S", "N", "B":
			return is[string](v)
		case "BOOL", "NULL":
			return is[bool](v)
		case "SS", "NS", "BS":
			return list{text}.check(v)
		case "L":
			return list{check(checkValue)}.check(v)
		case "M":
			return checkItem(v)
		}
	}
	return fmt.Errorf("%v has an unknown type", slices.Collect(maps.Keys(m)))
}

// readModel returns the one table of a model and checks the form of the whole.
func readModel(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var m map[string]any
	expect.OK(t, json.Unmarshal(text, &m))
	expect.OK(t, modelShape.check(m))
	return m["DataModel"].([]any)[0].(map[string]any)
}

func TestTheWorkbenchModelHasThePublishedFormat(t *testing.T) {
	t.Parallel()
	tbl, ops := stored(t)
	items := expect.Value(tablemodel.Scan(t.Context(), tbl, 0))(t)
	text, err := tablemodel.Workbench(full, items)
	expect.OK(t, err)
	model := readModel(t, text)

	// Every attribute is declared, and every item is in the facet of its type.
	declared := map[any]bool{"PK": true, "SK": true}
	for _, a := range model["NonKeyAttributes"].([]any) {
		declared[a.(map[string]any)["AttributeName"]] = true
	}
	count := map[any]int{}
	for _, f := range model["TableFacets"].([]any) {
		facet := f.(map[string]any)
		for _, name := range facet["NonKeyAttributes"].([]any) {
			if !declared[name] {
				t.Errorf("facet %v: attribute %v is not declared", facet["FacetName"], name)
			}
		}
		for _, i := range facet["TableData"].([]any) {
			count[facet["FacetName"]]++
			for name := range i.(map[string]any) {
				if !declared[name] {
					t.Errorf("facet %v: an item has the attribute %v, which is not declared", facet["FacetName"], name)
				}
			}
		}
	}
	if diff := cmp.Diff(map[any]int{"USER": 4, "TX": 5, "untyped": 1}, count); diff != "" || len(ops) != 10 {
		t.Errorf("items by facet of %d (-want +got):\n%s", len(ops), diff)
	}
	if n := len(model["GlobalSecondaryIndexes"].([]any)); n != 3 {
		t.Errorf("%d global indexes, want 3", n)
	}
}

// Published models with the mode PROVISIONED have the capacity, and others do not. One
// without items has no facets.
func TestModelsWithoutItems(t *testing.T) {
	t.Parallel()
	for name, spec := range schemas {
		text := expect.Value(tablemodel.Workbench(spec, nil))(t)
		model := readModel(t, text)
		provisioned := spec.BillingMode == types.BillingModeProvisioned
		if got := model["BillingMode"] == "PROVISIONED"; got != provisioned {
			t.Errorf("%s: billing mode %v", name, model["BillingMode"])
		}
		if _, got := model["ProvisionedCapacitySettings"]; got != provisioned {
			t.Errorf("%s: capacity %v", name, model["ProvisionedCapacitySettings"])
		}
		if facets := model["TableFacets"].([]any); len(facets) > 0 {
			t.Errorf("%s: %d facets of no items", name, len(facets))
		}
	}
	text := expect.Value(tablemodel.Workbench(schemas["production"], nil))(t)
	expect.Golden(t, "production.workbench.json", string(text))
}

// The indexes that a model cannot have are named in it.
func TestModelsNameWhatTheyAreWithout(t *testing.T) {
	t.Parallel()
	spec := schema.Table{
		Name: "Products",
		Indexes: []schema.Index{
			{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"},
			{Name: "LSI1", SK: "lsi1sk", Local: true},
			{Name: "byState", PKs: []schema.Attribute{{Name: "tenant"}, {Name: "state"}}},
		},
		Vectors: []schema.VectorIndex{{Name: "similar", Attribute: "embedding", Dimensions: 8}},
	}
	file := expect.Value(tablemodel.Workbench(spec, nil))(t)
	var whole struct{ ModelMetadata struct{ Description string } }
	expect.OK(t, json.Unmarshal(file, &whole))
	expect.Equal(t, "description", whole.ModelMetadata.Description, "Without the indexes that a model cannot have: LSI1, byState, similar")
	if n := len(readModel(t, file)["GlobalSecondaryIndexes"].([]any)); n != 1 {
		t.Errorf("%d global indexes, want 1", n)
	}
}

func TestAModelWithoutTypesHasNoFacets(t *testing.T) {
	t.Parallel()
	tbl, _ := stored(t)
	items := expect.Value(tablemodel.Scan(t.Context(), tbl, 0))(t)
	untyped := full
	untyped.TypeAttribute = "no such attribute"
	text := expect.Value(tablemodel.Workbench(untyped, items))(t)
	model := readModel(t, text)
	if n := len(model["TableData"].([]any)); n != len(items) || len(model["TableFacets"].([]any)) > 0 {
		t.Errorf("%d items in the table and facets %v, want %d and none", n, model["TableFacets"], len(items))
	}
}

func FuzzPictures(f *testing.F) {
	f.Add("USER#a|b", "`x`", "USER", "note", "a\nb")
	f.Add("@octocat#1", "#123", "https://example.com", "GH-1", "a\u202eb")
	f.Add("\xff", "\"]end", "<i>", "a\\|", "")
	f.Fuzz(func(t *testing.T, pk, sk, typ, name, value string) {
		key := func(v string) table.Item {
			return table.Item{"pk": stringValue(v), "sk": stringValue(sk), "entityType": stringValue(typ), name: stringValue(value)}
		}
		items := []table.Item{key(pk), key("USER#b")}
		spec := schemas["small"]
		md, err := tablemodel.Markdown(spec, items, nil)
		if err != nil {
			return // a key is empty, or name is the name of a key and value is
		}
		rows := tableCells(md)
		for i, cells := range rows {
			if cells != rows[0] {
				t.Errorf("row %d has %d cells, the title %d:\n%s", i, cells, rows[0], md)
			}
		}
		if active := active(md); active != "" {
			t.Errorf("%q outside of code in\n%s", active, md)
		}
		flow := expect.Value(tablemodel.Mermaid(spec, items, nil))(t)
		if boxes := mermaidBoxes(flow); boxes < 1 || boxes > 2 {
			t.Errorf("%d boxes for two partitions:\n%s", boxes, flow)
		}
		text := expect.Value(tablemodel.Workbench(spec, items))(t)
		readModel(t, text)
		readPage(t, expect.Value(tablemodel.HTML(spec, items, nil))(t))
	})
}
