package tablemodel

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// WorkbenchOptions fill in what a data model says of itself. Nil and every zero
// value mean the default.
type WorkbenchOptions struct {
	// Name is the model's name, by default the table's.
	Name string
	// Author and Description are empty by default.
	Author, Description string
	// Date is when the model was made. The zero time means 1 January 1970, so
	// that a model that is made again is the same.
	Date time.Time
}

// Workbench returns a data model of the table with the items as sample data, as
// a JSON file that AWS's NoSQL Workbench imports. Each type of items is a facet
// of the model; items without a type are the facet "untyped", unless none has a
// type: then there are no facets. Local indexes, and those whose keys have several
// attributes, are left out, since models have none. Values are whole, sets are sorted. Of the schema's settings, a model has
// the billing mode and the provisioned throughput of the table.
//
// The form is that of version 3.0 of models that AWS has published, and tests
// compare it with these. It was not opened in the program.
func Workbench(spec schema.Table, items []table.Item, options *WorkbenchOptions) ([]byte, error) {
	l, err := lay("Workbench", spec, items)
	if err != nil {
		return nil, err
	}
	var o WorkbenchOptions
	if options != nil {
		o = *options
	}
	const form = "Jan 02, 2006, 03:04 PM"
	date := time.Unix(0, 0)
	if !o.Date.IsZero() {
		date = o.Date
	}
	return document(model{
		ModelName: cmp.Or(o.Name, l.schema.Name),
		ModelMetadata: modelMetadata{
			Author: o.Author, Description: o.Description,
			DateCreated: date.UTC().Format(form), DateLastModified: date.UTC().Format(form),
			AWSService: "Amazon DynamoDB", Version: "3.0",
		},
		DataModel: []modelTable{l.modelTable()},
	})
}

// The types below are the members of a model, in the order in which Workbench
// writes them.

type model struct {
	ModelName     string
	ModelMetadata modelMetadata
	DataModel     []modelTable
}

type modelMetadata struct {
	Author, DateCreated, DateLastModified, Description, AWSService, Version string
}

type modelTable struct {
	TableName              string
	KeyAttributes          modelKey
	NonKeyAttributes       []modelAttribute
	TableFacets            []modelFacet
	GlobalSecondaryIndexes []modelIndex
	TableData              []json.RawMessage
	DataAccess             modelAccess
	BillingMode            types.BillingMode
	// Nil unless the mode is PROVISIONED.
	ProvisionedCapacitySettings *modelCapacity `json:",omitempty"`
}

// modelCapacity is the capacity of a table. Models always have auto scaling, so
// its bounds are the capacity itself.
type modelCapacity struct {
	ProvisionedThroughput             cfnProvisioned
	AutoScalingRead, AutoScalingWrite modelScaling
}

type modelScaling struct {
	ScalableTargetRequest struct {
		MinCapacity, MaxCapacity int64
		ServiceRole              string
	}
	ScalingPolicyConfiguration struct{ TargetValue int }
}

// The role and the target that AWS creates for tables by default.
const (
	scalingRole   = "AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"
	scalingTarget = 70
)

func modelCapacityOf(t schema.Throughput) *modelCapacity {
	c := modelCapacity{ProvisionedThroughput: cfnProvisioned{t.Read, t.Write}}
	for scaling, units := range map[*modelScaling]int64{&c.AutoScalingRead: t.Read, &c.AutoScalingWrite: t.Write} {
		scaling.ScalableTargetRequest.MinCapacity, scaling.ScalableTargetRequest.MaxCapacity = units, units
		scaling.ScalableTargetRequest.ServiceRole = scalingRole
		scaling.ScalingPolicyConfiguration.TargetValue = scalingTarget
	}
	return &c
}

type modelKey struct {
	PartitionKey modelAttribute
	SortKey      *modelAttribute `json:",omitempty"`
}

type modelAttribute struct{ AttributeName, AttributeType string }

type modelFacet struct {
	FacetName         string
	KeyAttributeAlias modelAlias
	TableData         []json.RawMessage
	NonKeyAttributes  []string
	DataAccess        modelAccess
}

type modelAlias struct {
	PartitionKeyAlias string
	SortKeyAlias      string `json:",omitempty"`
}

type modelIndex struct {
	IndexName     string
	KeyAttributes modelKey
	Projection    modelProjection
}

type modelProjection struct {
	ProjectionType   types.ProjectionType
	NonKeyAttributes []string `json:",omitempty"`
}

type modelAccess struct {
	MySQL struct{} `json:"MySql"`
}

func (l layout) modelTable() modelTable {
	base := l.views[0]
	t := modelTable{
		TableName:              l.schema.Name,
		KeyAttributes:          modelKeyOf(base.key),
		NonKeyAttributes:       l.modelAttributes(),
		TableFacets:            []modelFacet{},
		GlobalSecondaryIndexes: []modelIndex{},
		TableData:              []json.RawMessage{},
		BillingMode:            cmp.Or(l.schema.BillingMode, types.BillingModePayPerRequest),
	}
	if t.BillingMode == types.BillingModeProvisioned {
		t.ProvisionedCapacitySettings = modelCapacityOf(l.schema.ProvisionedThroughput)
	}
	for _, v := range l.views[1:] {
		if v.projection.Local || v.partition > 1 || len(v.sortKey()) > 1 {
			continue
		}
		t.GlobalSecondaryIndexes = append(t.GlobalSecondaryIndexes, modelIndex{
			IndexName:     v.index,
			KeyAttributes: modelKeyOf(v.key),
			Projection:    modelProjection{v.projection.Projection, v.projection.Include},
		})
	}
	all := slices.Concat(base.partitions...)
	if !slices.ContainsFunc(all, func(i table.Item) bool { return l.typeOf(i) != "" }) {
		for _, attributes := range all {
			t.TableData = append(t.TableData, item.JSON(attributes))
		}
		return t
	}
	for _, attributes := range all {
		name := cmp.Or(l.typeOf(attributes), "untyped")
		i := slices.IndexFunc(t.TableFacets, func(f modelFacet) bool { return f.FacetName == name })
		if i < 0 {
			i = len(t.TableFacets)
			t.TableFacets = append(t.TableFacets, modelFacet{
				FacetName: name, KeyAttributeAlias: modelAliasOf(base.key), NonKeyAttributes: []string{},
			})
		}
		t.TableFacets[i].add(attributes, base.key)
	}
	slices.SortFunc(t.TableFacets, func(a, b modelFacet) int { return cmp.Compare(a.FacetName, b.FacetName) })
	return t
}

// add puts an item into the facet.
func (f *modelFacet) add(attributes table.Item, key []keyAttribute) {
	f.TableData = append(f.TableData, item.JSON(attributes))
	for name := range attributes {
		if !slices.Contains(names(key), name) && !slices.Contains(f.NonKeyAttributes, name) {
			f.NonKeyAttributes = append(f.NonKeyAttributes, name)
		}
	}
	slices.Sort(f.NonKeyAttributes)
}

// modelAttributes returns the attributes that are not the table's key: those the
// schema names, and those the items have. An attribute with values of several
// types has the type of the first.
func (l layout) modelAttributes() []modelAttribute {
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
	add(l.schema.Type, string(types.ScalarAttributeTypeS))
	add(l.schema.TTL, string(types.ScalarAttributeTypeN))
	for _, attributes := range slices.Concat(l.views[0].partitions...) {
		for name, v := range attributes {
			add(name, item.PartsOf(v).Kind.String())
		}
	}
	attributes := []modelAttribute{}
	for name, kind := range kinds {
		attributes = append(attributes, modelAttribute{name, kind})
	}
	slices.SortFunc(attributes, func(a, b modelAttribute) int { return cmp.Compare(a.AttributeName, b.AttributeName) })
	return attributes
}

func modelKeyOf(key []keyAttribute) modelKey {
	k := modelKey{PartitionKey: modelAttribute{key[0].name, string(key[0].kind)}}
	if len(key) > 1 {
		k.SortKey = &modelAttribute{key[1].name, string(key[1].kind)}
	}
	return k
}

func modelAliasOf(key []keyAttribute) modelAlias {
	a := modelAlias{PartitionKeyAlias: key[0].name}
	if len(key) > 1 {
		a.SortKeyAlias = key[1].name
	}
	return a
}
