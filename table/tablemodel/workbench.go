package tablemodel

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Workbench returns a data model of the table with the items as sample data, as
// a JSON file that AWS's NoSQL Workbench imports. Each type of items is a facet
// of the model; items without a type are the facet "untyped", unless none has a
// type: then there are no facets. Local indexes, vector indexes, and those whose keys have
// several attributes are left out, since models have none; the description of the model
// names them. Values are whole, sets are sorted.
// Of the schema's settings, a model has the billing mode and the provisioned
// throughput of the table. Its metadata name no author, and 1 January 1970 as its date.
//
// The form is that of version 3.0 of models that AWS has published, and tests
// compare it with these. It was not opened in the program.
//
// AWS: "Sample data models for NoSQL Workbench", Amazon DynamoDB Developer Guide.
func Workbench(spec schema.Table, items []table.Item) ([]byte, error) {
	l, err := lay("Workbench", spec, items)
	if err != nil {
		return nil, err
	}
	const made = "Jan 01, 1970, 12:00 AM" // so that a model that is made again is the same
	return document(object{
		"ModelName": l.schema.Name,
		"ModelMetadata": object{
			"Author": "", "Description": l.modelDescription(), "DateCreated": made, "DateLastModified": made,
			"AWSService": "Amazon DynamoDB", "Version": "3.0",
		},
		"DataModel": []object{l.modelTable()},
	})
}

// modelDescription names the indexes that the model is without.
func (l layout) modelDescription() string {
	var without []string
	for _, v := range l.views[1:] {
		if !inModel(v) {
			without = append(without, v.index)
		}
	}
	for _, v := range l.schema.Vectors {
		without = append(without, v.Name)
	}
	if len(without) == 0 {
		return ""
	}
	return "Without the indexes that a model cannot have: " + strings.Join(without, ", ")
}

// inModel reports whether a model can have an index.
func inModel(v view) bool {
	return !v.projection.Local && v.partition == 1 && len(v.sortKey()) <= 1
}

func (l layout) modelTable() object {
	base := l.views[0]
	indexes, facets, untyped := []object{}, []object{}, []json.RawMessage{}
	for _, v := range l.views[1:] {
		if !inModel(v) {
			continue
		}
		projection := object{"ProjectionType": v.projection.Projection}
		if len(v.projection.Include) > 0 {
			projection["NonKeyAttributes"] = v.projection.Include
		}
		indexes = append(indexes, object{"IndexName": v.index, "KeyAttributes": modelKey(v.key), "Projection": projection})
	}
	byType := l.byType()
	if without, ok := byType[""]; ok {
		delete(byType, "")
		if len(byType) == 0 {
			untyped = modelData(without)
		} else {
			byType["untyped"] = append(byType["untyped"], without...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byType)) {
		facets = append(facets, modelFacet(name, byType[name], base.key))
	}
	t := object{
		"TableName":              l.schema.Name,
		"KeyAttributes":          modelKey(base.key),
		"NonKeyAttributes":       l.modelAttributes(),
		"TableFacets":            facets,
		"GlobalSecondaryIndexes": indexes,
		"TableData":              untyped,
		"DataAccess":             modelAccess,
		"BillingMode":            cmp.Or(l.schema.BillingMode, types.BillingModePayPerRequest),
	}
	if l.schema.BillingMode == types.BillingModeProvisioned {
		t["ProvisionedCapacitySettings"] = modelCapacity(l.schema.ProvisionedThroughput)
	}
	return t
}

var modelAccess = object{"MySql": object{}}

// modelCapacity is the capacity of a table. Models always have auto scaling, so its
// bounds are the capacity itself. The role and the target are those that AWS creates
// for tables by default. AWS: "Sample data models for NoSQL Workbench", Amazon DynamoDB
// Developer Guide.
func modelCapacity(t schema.Throughput) object {
	scaling := func(units int64) object {
		return object{
			"ScalableTargetRequest": object{
				"MinCapacity": units, "MaxCapacity": units, "ServiceRole": "AWSServiceRoleForApplicationAutoScaling_DynamoDBTable",
			},
			"ScalingPolicyConfiguration": object{"TargetValue": 70},
		}
	}
	return object{
		"ProvisionedThroughput": object{"ReadCapacityUnits": t.Read, "WriteCapacityUnits": t.Write},
		"AutoScalingRead":       scaling(t.Read),
		"AutoScalingWrite":      scaling(t.Write),
	}
}

// modelFacet returns the facet of the items of a type.
func modelFacet(name string, items []table.Item, key []keyAttribute) object {
	alias := object{"PartitionKeyAlias": key[0].name}
	if len(key) > 1 {
		alias["SortKeyAlias"] = key[1].name
	}
	attributes := map[string]bool{}
	for _, item := range items {
		for name := range item {
			attributes[name] = true
		}
	}
	for _, k := range key {
		delete(attributes, k.name)
	}
	return object{
		"FacetName": name, "KeyAttributeAlias": alias, "TableData": modelData(items), "DataAccess": modelAccess,
		"NonKeyAttributes": append([]string{}, slices.Sorted(maps.Keys(attributes))...), // none is []
	}
}

func modelData(items []table.Item) []json.RawMessage {
	data := make([]json.RawMessage, len(items))
	for i, attributes := range items {
		data[i] = item.JSON(attributes)
	}
	return data
}

// modelAttributes returns the attributes that are not the table's key: those the
// schema names, and those the items have. An attribute with values of several
// types has the type of the first.
func (l layout) modelAttributes() []object {
	base := names(l.views[0].key)
	kinds := map[string]string{}
	add := func(name, kind string) {
		if name != "" && kinds[name] == "" && !slices.Contains(base, name) {
			kinds[name] = kind
		}
	}
	for _, v := range l.views {
		for _, k := range v.key {
			add(k.name, string(k.kind))
		}
	}
	add(l.schema.TypeAttribute, string(types.ScalarAttributeTypeS))
	add(l.schema.TTLAttribute, string(types.ScalarAttributeTypeN))
	for _, attributes := range slices.Concat(l.views[0].partitions...) {
		for name, v := range attributes {
			add(name, item.ValueOf(v).Kind.String())
		}
	}
	attributes := []object{}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		attributes = append(attributes, modelAttribute(name, kinds[name]))
	}
	return attributes
}

func modelKey(key []keyAttribute) object {
	k := object{"PartitionKey": modelAttribute(key[0].name, string(key[0].kind))}
	if len(key) > 1 {
		k["SortKey"] = modelAttribute(key[1].name, string(key[1].kind))
	}
	return k
}

func modelAttribute(name, kind string) object {
	return object{"AttributeName": name, "AttributeType": kind}
}
