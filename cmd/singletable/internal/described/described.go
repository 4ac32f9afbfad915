// Package described finds the schema of a live table.
package described

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
)

// Table is a live table.
type Table struct {
	Schema schema.Table
	// Omitted is what the table has and the schema cannot say.
	Omitted []string
	Live    *types.TableDescription
}

// Read asks DynamoDB for the table and its TTL. kind is the attribute with an item's type,
// "" for the default.
func Read(ctx context.Context, client *dynamodb.Client, name, kind string) (Table, error) {
	live, err := Live(ctx, client, name)
	if err != nil {
		return Table{}, err
	}
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		return Table{}, err
	}
	ttl := ""
	if d := out.TimeToLiveDescription; d != nil &&
		(d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		ttl = aws.ToString(d.AttributeName)
	}
	spec, omitted, err := Schema(name, live, kind, ttl)
	return Table{spec, omitted, live}, err
}

// Live asks DynamoDB for the table.
func Live(ctx context.Context, client *dynamodb.Client, name string) (*types.TableDescription, error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return nil, err
	}
	if out.Table == nil {
		return nil, errors.New("the response describes no table")
	}
	return out.Table, nil
}

// Schema returns the schema of a table as DynamoDB describes it, and what the table has and
// a schema cannot say. kind is the attribute with an item's type, "" for the default, and
// ttl that with its expiry, "" for none.
func Schema(name string, t *types.TableDescription, kind, ttl string) (spec schema.Table, omitted []string, err error) {
	kinds := map[string]types.ScalarAttributeType{}
	for _, d := range t.AttributeDefinitions {
		kinds[aws.ToString(d.AttributeName)] = d.AttributeType
	}
	partition, sort := keysOf(t.KeySchema, kinds)
	if len(partition) != 1 || len(sort) > 1 {
		return spec, nil, errors.New("the table does not have one partition key and at most one sort key")
	}
	pk, sk := partition[0], first(sort)
	spec = schema.Table{
		Name: name, PK: pk.Name, SK: sk.Name, SimpleKey: sk.Name == "", PKType: pk.Type, SKType: sk.Type, TypeAttribute: kind, TTLAttribute: ttl,
		BillingMode:        types.BillingModeProvisioned, // of a table that never was on demand
		DeletionProtection: aws.ToBool(t.DeletionProtectionEnabled),
	}
	omitted = keepApart(&spec, kinds)
	if stream := t.StreamSpecification; stream != nil && aws.ToBool(stream.StreamEnabled) {
		spec.Stream = stream.StreamViewType
	}
	if t.BillingModeSummary != nil {
		spec.BillingMode = t.BillingModeSummary.BillingMode
	}
	if t.TableClassSummary != nil {
		spec.TableClass = t.TableClassSummary.TableClass
	}
	provisioned := spec.BillingMode == types.BillingModeProvisioned
	if provisioned {
		spec.ProvisionedThroughput = throughput(t.ProvisionedThroughput)
	}
	for _, g := range t.GlobalSecondaryIndexes {
		if g.IndexStatus == types.IndexStatusDeleting {
			omitted = append(omitted, fmt.Sprintf("index %s, which is DELETING", aws.ToString(g.IndexName)))
			continue
		}
		x := describedIndex(spec, aws.ToString(g.IndexName), g.KeySchema, kinds, g.Projection)
		if provisioned {
			x.ProvisionedThroughput = throughput(g.ProvisionedThroughput)
		}
		spec.Indexes = append(spec.Indexes, x)
	}
	for _, l := range t.LocalSecondaryIndexes {
		x := describedIndex(spec, aws.ToString(l.IndexName), l.KeySchema, kinds, l.Projection)
		if x.PKs != nil {
			omitted = append(omitted, fmt.Sprintf("index %s, a local one sorted by the attribute of types or by that of the TTL", x.Name))
			continue
		}
		x.Local, x.PK, x.PKType = true, "", "" // It has the partition key of the table.
		spec.Indexes = append(spec.Indexes, x)
	}
	for _, v := range t.VectorIndexes {
		if v.IndexStatus == types.IndexStatusDeleting {
			omitted = append(omitted, fmt.Sprintf("vector index %s, which is DELETING", aws.ToString(v.IndexName)))
			continue
		}
		spec.Vectors = append(spec.Vectors, describedVectors(v, kinds))
	}
	return spec, omitted, nil
}

// Keys returns the schema of a table for writes of items as they are: it has every index, as no
// attribute is that of types or of the TTL, and no setting that it could not say.
func Keys(name string, t *types.TableDescription) (schema.Table, error) {
	kind := defaultType
	for slices.ContainsFunc(t.AttributeDefinitions, func(d types.AttributeDefinition) bool { return aws.ToString(d.AttributeName) == kind }) {
		kind += "_"
	}
	spec, _, err := Schema(name, t, kind, "")
	return spec, err
}

// describedVectors returns a vector index of a schema.
func describedVectors(v types.VectorIndexDescription, kinds map[string]types.ScalarAttributeType) schema.VectorIndex {
	x := schema.VectorIndex{Name: aws.ToString(v.IndexName), Dimensions: int(aws.ToInt64(v.Dimensions))}
	if v.VectorAttribute != nil {
		x.Attribute = aws.ToString(v.VectorAttribute.AttributeName)
	}
	if v.DistanceFunction != types.VectorDistanceFunctionCosine {
		x.Distance = v.DistanceFunction
	}
	for _, e := range v.SearchSchema {
		a := schema.Attribute{Name: aws.ToString(e.AttributeName)}
		if kinds[a.Name] != types.ScalarAttributeTypeS {
			a.Type = kinds[a.Name]
		}
		if e.SearchSchemaElementType == types.SearchSchemaElementTypeHash {
			x.Partition = a
		} else {
			x.Filters = append(x.Filters, a)
		}
	}
	if p := v.Projection; p != nil && p.ProjectionType != types.ProjectionTypeAll {
		x.Projection, x.Include = p.ProjectionType, p.NonKeyAttributes
	}
	return x
}

// describedIndex returns a global index of a schema. Its keys are PKs and SKs if they have
// several attributes, or one that items have by themselves: the type or the expiry.
func describedIndex(s schema.Table, name string, elements []types.KeySchemaElement, kinds map[string]types.ScalarAttributeType, p *types.Projection) schema.Index {
	x := schema.Index{Name: name}
	partition, sort := keysOf(elements, kinds)
	own := func(a schema.Attribute) bool {
		return a.Name == cmp.Or(s.TypeAttribute, defaultType) || a.Name == s.TTLAttribute
	}
	if len(partition) > 1 || len(sort) > 1 || slices.ContainsFunc(slices.Concat(partition, sort), own) {
		x.PKs, x.SKs = partition, sort
	} else {
		x.PK, x.PKType = first(partition).Name, first(partition).Type
		x.SK, x.SKType = first(sort).Name, first(sort).Type
	}
	if p != nil && p.ProjectionType != types.ProjectionTypeAll {
		x.Projection, x.Include = p.ProjectionType, p.NonKeyAttributes
	}
	return x
}

// The attributes that a schema names by default.
const (
	defaultType  = "entityType"
	defaultShape = "entityShape"
)

// keepApart gives the attributes for types, shapes and expiry other names, or none, if
// they are keys of the table that they cannot be. kinds are the types of all key
// attributes. It returns what the schema cannot say then.
func keepApart(s *schema.Table, kinds map[string]types.ScalarAttributeType) (omitted []string) {
	cannotBe := func(name string, want types.ScalarAttributeType) bool {
		kind, isKey := kinds[name]
		return name == s.PK || name == s.SK || isKey && kind != want
	}
	unused := func(name string) string {
		for kinds[name] != "" || name == s.TTLAttribute {
			name += "_"
		}
		return name
	}
	switch {
	case s.TTLAttribute == "" || !cannotBe(s.TTLAttribute, types.ScalarAttributeTypeN):
	case kinds[s.TTLAttribute] != types.ScalarAttributeTypeN:
		omitted = append(omitted, fmt.Sprintf("TTL, whose attribute %s is a key of another type than N: no item expires", s.TTLAttribute))
		s.TTLAttribute = ""
	default:
		omitted = append(omitted, fmt.Sprintf("TTL, whose attribute %s is a key of the table: items that have expired are not marked, and are counted", s.TTLAttribute))
		s.TTLAttribute = ""
	}
	if s.TypeAttribute == "" && (s.TTLAttribute == defaultType || cannotBe(defaultType, types.ScalarAttributeTypeS)) {
		omitted = append(omitted, fmt.Sprintf("types of items: %s is a key of the table, one of another type than S, or the TTL attribute", defaultType))
		s.TypeAttribute = unused(defaultType)
	}
	if name := unused(defaultShape); name != defaultShape {
		s.Shape = name
	}
	return omitted
}

// keysOf returns key attributes with their types, except for the default type.
func keysOf(elements []types.KeySchemaElement, kinds map[string]types.ScalarAttributeType) (partition, sort []schema.Attribute) {
	for _, e := range elements {
		name := aws.ToString(e.AttributeName)
		a := schema.Attribute{Name: name}
		if kinds[name] != types.ScalarAttributeTypeS {
			a.Type = kinds[name]
		}
		if e.KeyType == types.KeyTypeHash {
			partition = append(partition, a)
		} else {
			sort = append(sort, a)
		}
	}
	return partition, sort
}

// first returns the first attribute, none if there are none.
func first(all []schema.Attribute) schema.Attribute {
	if len(all) == 0 {
		return schema.Attribute{}
	}
	return all[0]
}

// throughput returns the capacity of a table or an index.
func throughput(p *types.ProvisionedThroughputDescription) schema.Throughput {
	if p == nil {
		return schema.Throughput{}
	}
	return schema.Throughput{Read: aws.ToInt64(p.ReadCapacityUnits), Write: aws.ToInt64(p.WriteCapacityUnits)}
}
