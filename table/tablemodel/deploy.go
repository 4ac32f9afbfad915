package tablemodel

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// CloudFormation returns a template in JSON with the table as its one resource,
// called Table: on-demand capacity, keys, indexes, and TTL if the schema has it.
// Retention, backups, encryption and tags are the deployment's to add. The
// resource can be copied into a larger template, in YAML as well.
func CloudFormation(schema table.Schema) ([]byte, error) {
	in, err := schema.CreateTableInput()
	if err != nil {
		return nil, &table.Error{Op: "CloudFormation", Table: schema.Name, Err: err}
	}
	t := cfnTable{TableName: *in.TableName, BillingMode: in.BillingMode, KeySchema: cfnKeys(in.KeySchema)}
	for _, a := range in.AttributeDefinitions {
		t.AttributeDefinitions = append(t.AttributeDefinitions, cfnAttribute{*a.AttributeName, a.AttributeType})
	}
	for _, x := range in.GlobalSecondaryIndexes {
		t.GlobalSecondaryIndexes = append(t.GlobalSecondaryIndexes, cfnIndexOf(x.IndexName, x.KeySchema, x.Projection))
	}
	for _, x := range in.LocalSecondaryIndexes {
		t.LocalSecondaryIndexes = append(t.LocalSecondaryIndexes, cfnIndexOf(x.IndexName, x.KeySchema, x.Projection))
	}
	if schema.TTL != "" {
		t.TimeToLiveSpecification = &cfnTTL{schema.TTL, true}
	}
	return document(cfnTemplate{
		AWSTemplateFormatVersion: "2010-09-09",
		Resources:                map[string]cfnResource{"Table": {"AWS::DynamoDB::Table", t}},
	})
}

type cfnTemplate struct {
	AWSTemplateFormatVersion string
	Resources                map[string]cfnResource
}

type cfnResource struct {
	Type       string
	Properties cfnTable
}

type cfnTable struct {
	TableName               string
	BillingMode             types.BillingMode
	AttributeDefinitions    []cfnAttribute
	KeySchema               []cfnKey
	GlobalSecondaryIndexes  []cfnIndex `json:",omitempty"`
	LocalSecondaryIndexes   []cfnIndex `json:",omitempty"`
	TimeToLiveSpecification *cfnTTL    `json:",omitempty"`
}

type cfnAttribute struct {
	AttributeName string
	AttributeType types.ScalarAttributeType
}

type cfnKey struct {
	AttributeName string
	KeyType       types.KeyType
}

type cfnIndex struct {
	IndexName  string
	KeySchema  []cfnKey
	Projection modelProjection
}

type cfnTTL struct {
	AttributeName string
	Enabled       bool
}

func cfnKeys(schema []types.KeySchemaElement) []cfnKey {
	keys := make([]cfnKey, len(schema))
	for i, e := range schema {
		keys[i] = cfnKey{*e.AttributeName, e.KeyType}
	}
	return keys
}

func cfnIndexOf(name *string, schema []types.KeySchemaElement, p *types.Projection) cfnIndex {
	return cfnIndex{*name, cfnKeys(schema), modelProjection{p.ProjectionType, p.NonKeyAttributes}}
}

// Terraform returns a configuration in Terraform's JSON syntax with the table as
// its one resource, aws_dynamodb_table.table: on-demand capacity, keys, indexes,
// and TTL if the schema has it. Save it as a file that ends in .tf.json.
// Protection against deletion, backups, encryption and tags are the deployment's
// to add.
//
// The keys of indexes are hash_key and range_key, which every version of the AWS
// provider takes; those since 6.29 warn that key_schema replaces them.
func Terraform(schema table.Schema) ([]byte, error) {
	in, err := schema.CreateTableInput()
	if err != nil {
		return nil, &table.Error{Op: "Terraform", Table: schema.Name, Err: err}
	}
	t := tfTable{Name: *in.TableName, BillingMode: in.BillingMode}
	t.HashKey, t.RangeKey = tfKeys(in.KeySchema)
	for _, a := range in.AttributeDefinitions {
		t.Attribute = append(t.Attribute, tfAttribute{*a.AttributeName, a.AttributeType})
	}
	for _, x := range in.GlobalSecondaryIndexes {
		hash, sort := tfKeys(x.KeySchema)
		t.GlobalSecondaryIndex = append(t.GlobalSecondaryIndex,
			tfIndex{*x.IndexName, hash, sort, x.Projection.ProjectionType, x.Projection.NonKeyAttributes})
	}
	for _, x := range in.LocalSecondaryIndexes {
		_, sort := tfKeys(x.KeySchema) // a local index has the table's partition key
		t.LocalSecondaryIndex = append(t.LocalSecondaryIndex,
			tfIndex{*x.IndexName, "", sort, x.Projection.ProjectionType, x.Projection.NonKeyAttributes})
	}
	if schema.TTL != "" {
		t.TTL = &tfTTL{schema.TTL, true}
	}
	return document(map[string]map[string]map[string]tfTable{"resource": {"aws_dynamodb_table": {"table": t}}})
}

type tfTable struct {
	Name                 string            `json:"name"`
	BillingMode          types.BillingMode `json:"billing_mode"`
	HashKey              string            `json:"hash_key"`
	RangeKey             string            `json:"range_key,omitempty"`
	Attribute            []tfAttribute     `json:"attribute"`
	GlobalSecondaryIndex []tfIndex         `json:"global_secondary_index,omitempty"`
	LocalSecondaryIndex  []tfIndex         `json:"local_secondary_index,omitempty"`
	TTL                  *tfTTL            `json:"ttl,omitempty"`
}

type tfAttribute struct {
	Name string                    `json:"name"`
	Type types.ScalarAttributeType `json:"type"`
}

type tfIndex struct {
	Name             string               `json:"name"`
	HashKey          string               `json:"hash_key,omitempty"`
	RangeKey         string               `json:"range_key,omitempty"`
	ProjectionType   types.ProjectionType `json:"projection_type"`
	NonKeyAttributes []string             `json:"non_key_attributes,omitempty"`
}

type tfTTL struct {
	AttributeName string `json:"attribute_name"`
	Enabled       bool   `json:"enabled"`
}

// tfKeys returns the names of the partition key and of the sort key, which may
// be empty.
func tfKeys(schema []types.KeySchemaElement) (hash, sort string) {
	hash = aws.ToString(schema[0].AttributeName)
	if len(schema) > 1 {
		sort = aws.ToString(schema[1].AttributeName)
	}
	return hash, sort
}
