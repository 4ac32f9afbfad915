package tablemodel

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// Terraform returns a configuration in Terraform's JSON syntax with the table as
// its one resource, aws_dynamodb_table.table: on-demand capacity, keys, indexes,
// and TTL if the schema has it. Save it as a file that ends in .tf.json.
// Protection against deletion, backups, encryption and tags are the deployment's
// to add.
//
// The keys of indexes are hash_key and range_key, which every version of the AWS
// provider takes; recent ones warn that key_schema replaces them.
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
