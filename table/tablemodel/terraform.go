package tablemodel

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Terraform returns a configuration in Terraform's JSON syntax with the table as
// its one resource, aws_dynamodb_table.table. Save it as a file that ends in
// .tf.json. It has everything that the schema says; a table with
// DeletionProtection also has prevent_destroy, which keeps Terraform from
// planning to delete or replace it. Names and tags are written so that Terraform
// does not take them for templates.
//
// The keys of indexes are hash_key and range_key, which every version of the AWS
// provider takes; recent versions warn that key_schema replaces them. Keys of
// several attributes are key_schema. That and warm throughput need a recent version.
//
// A schema that is invalid is a [*table.Error] that matches
// [table.ErrInvalid].
func Terraform(spec schema.Table) ([]byte, error) {
	in, err := spec.CreateTableInput()
	if err != nil {
		return nil, &table.Error{Op: "Terraform", Table: spec.Name, Err: err}
	}
	t := tfTable{
		Name: *in.TableName, BillingMode: in.BillingMode, TableClass: in.TableClass,
		tfThroughput: tfThroughputOf(in.ProvisionedThroughput, in.WarmThroughput),
	}
	t.HashKey, t.RangeKey = tfKeys(in.KeySchema)
	for _, a := range in.AttributeDefinitions {
		t.Attribute = append(t.Attribute, tfAttribute{literal(*a.AttributeName), a.AttributeType})
	}
	for _, x := range in.GlobalSecondaryIndexes {
		index := tfIndexOf(x.IndexName, x.KeySchema, x.Projection)
		index.tfThroughput = tfThroughputOf(x.ProvisionedThroughput, x.WarmThroughput)
		t.GlobalSecondaryIndex = append(t.GlobalSecondaryIndex, index)
	}
	for _, x := range in.LocalSecondaryIndexes {
		index := tfIndexOf(x.IndexName, x.KeySchema, x.Projection)
		index.HashKey = "" // It is the table's.
		t.LocalSecondaryIndex = append(t.LocalSecondaryIndex, index)
	}
	if spec.TTL != "" {
		t.TTL = &tfTTL{literal(spec.TTL), true}
	}
	if in.StreamSpecification != nil {
		t.StreamEnabled, t.StreamViewType = true, in.StreamSpecification.StreamViewType
	}
	if spec.PointInTimeRecovery {
		t.PointInTimeRecovery = &tfRecovery{true}
	}
	if spec.DeletionProtection {
		t.DeletionProtectionEnabled, t.Lifecycle = true, &tfLifecycle{true}
	}
	for _, tag := range in.Tags {
		if t.Tags == nil {
			t.Tags = map[string]string{}
		}
		t.Tags[literal(*tag.Key)] = literal(*tag.Value)
	}
	return document(map[string]map[string]map[string]tfTable{"resource": {"aws_dynamodb_table": {"table": t}}})
}

// literal returns s as Terraform's JSON syntax writes it, where each string is a
// template: ${ begins an interpolation and %{ a directive unless the sign is
// doubled. HashiCorp: "Strings and Templates", Terraform Language.
func literal(s string) string { return templates.Replace(s) }

var templates = strings.NewReplacer("${", "$${", "%{", "%%{")

type tfTable struct {
	Name        string            `json:"name"`
	BillingMode types.BillingMode `json:"billing_mode"`
	tfThroughput
	TableClass                types.TableClass     `json:"table_class,omitempty"`
	HashKey                   string               `json:"hash_key"`
	RangeKey                  string               `json:"range_key,omitempty"`
	Attribute                 []tfAttribute        `json:"attribute"`
	GlobalSecondaryIndex      []tfIndex            `json:"global_secondary_index,omitempty"`
	LocalSecondaryIndex       []tfIndex            `json:"local_secondary_index,omitempty"`
	TTL                       *tfTTL               `json:"ttl,omitempty"`
	StreamEnabled             bool                 `json:"stream_enabled,omitempty"`
	StreamViewType            types.StreamViewType `json:"stream_view_type,omitempty"`
	PointInTimeRecovery       *tfRecovery          `json:"point_in_time_recovery,omitempty"`
	DeletionProtectionEnabled bool                 `json:"deletion_protection_enabled,omitempty"`
	Tags                      map[string]string    `json:"tags,omitempty"`
	Lifecycle                 *tfLifecycle         `json:"lifecycle,omitempty"`
}

type tfThroughput struct {
	ReadCapacity   *int64  `json:"read_capacity,omitempty"`
	WriteCapacity  *int64  `json:"write_capacity,omitempty"`
	WarmThroughput *tfWarm `json:"warm_throughput,omitempty"`
}

type tfWarm struct {
	Read  *int64 `json:"read_units_per_second,omitempty"`
	Write *int64 `json:"write_units_per_second,omitempty"`
}

type tfAttribute struct {
	Name string                    `json:"name"`
	Type types.ScalarAttributeType `json:"type"`
}

type tfIndex struct {
	Name             string               `json:"name"`
	HashKey          string               `json:"hash_key,omitempty"`
	RangeKey         string               `json:"range_key,omitempty"`
	KeySchema        []tfKey              `json:"key_schema,omitempty"`
	ProjectionType   types.ProjectionType `json:"projection_type"`
	NonKeyAttributes []string             `json:"non_key_attributes,omitempty"`
	tfThroughput
}

type tfKey struct {
	AttributeName string        `json:"attribute_name"`
	KeyType       types.KeyType `json:"key_type"`
}

type tfTTL struct {
	AttributeName string `json:"attribute_name"`
	Enabled       bool   `json:"enabled"`
}

type tfRecovery struct {
	Enabled bool `json:"enabled"`
}

type tfLifecycle struct {
	PreventDestroy bool `json:"prevent_destroy"`
}

// several reports whether a key of an index has several attributes.
func several(spec []types.KeySchemaElement) bool {
	return len(spec) > 2 || len(spec) == 2 && spec[1].KeyType == types.KeyTypeHash
}

// tfKeys returns the names of the partition key and of the sort key, which may
// be empty.
func tfKeys(spec []types.KeySchemaElement) (hash, sort string) {
	hash = literal(aws.ToString(spec[0].AttributeName))
	if len(spec) > 1 {
		sort = literal(aws.ToString(spec[1].AttributeName))
	}
	return hash, sort
}

func tfIndexOf(name *string, spec []types.KeySchemaElement, p *types.Projection) tfIndex {
	x := tfIndex{Name: *name, ProjectionType: p.ProjectionType}
	if several(spec) {
		for _, e := range spec {
			x.KeySchema = append(x.KeySchema, tfKey{literal(*e.AttributeName), e.KeyType})
		}
	} else {
		x.HashKey, x.RangeKey = tfKeys(spec)
	}
	for _, attribute := range p.NonKeyAttributes {
		x.NonKeyAttributes = append(x.NonKeyAttributes, literal(attribute))
	}
	return x
}

func tfThroughputOf(p *types.ProvisionedThroughput, w *types.WarmThroughput) tfThroughput {
	var t tfThroughput
	if p != nil {
		t.ReadCapacity, t.WriteCapacity = p.ReadCapacityUnits, p.WriteCapacityUnits
	}
	if w != nil {
		t.WarmThroughput = &tfWarm{w.ReadUnitsPerSecond, w.WriteUnitsPerSecond}
	}
	return t
}
