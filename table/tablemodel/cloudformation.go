package tablemodel

import (
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
