package tablemodel

import (
	"bytes"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// CloudFormation returns a template in JSON with the table as its one resource,
// called Table. It has everything that the schema says. A table with
// DeletionProtection also has the policies that keep CloudFormation from deleting
// it: DeletionPolicy and UpdateReplacePolicy are Retain. The resource can be
// copied into a larger template, in YAML as well.
//
// A schema that is invalid is a [*table.Error] that matches
// [table.ErrInvalid]. So is one with a name or tag that holds "{{resolve:",
// which CloudFormation would replace by a parameter or a secret of the account.
func CloudFormation(spec schema.Table) ([]byte, error) {
	in, err := spec.CreateTableInput()
	if err != nil {
		return nil, &table.Error{Op: "CloudFormation", Table: spec.Name, Err: err}
	}
	t := cfnTable{
		TableName: *in.TableName, BillingMode: in.BillingMode, TableClass: in.TableClass, KeySchema: cfnKeys(in.KeySchema),
		ProvisionedThroughput: cfnProvisionedOf(in.ProvisionedThroughput), WarmThroughput: cfnWarmOf(in.WarmThroughput),
		DeletionProtectionEnabled: spec.DeletionProtection,
	}
	for _, a := range in.AttributeDefinitions {
		t.AttributeDefinitions = append(t.AttributeDefinitions, cfnAttribute{*a.AttributeName, a.AttributeType})
	}
	for _, x := range in.GlobalSecondaryIndexes {
		index := cfnIndexOf(x.IndexName, x.KeySchema, x.Projection)
		index.ProvisionedThroughput, index.WarmThroughput = cfnProvisionedOf(x.ProvisionedThroughput), cfnWarmOf(x.WarmThroughput)
		t.GlobalSecondaryIndexes = append(t.GlobalSecondaryIndexes, index)
	}
	for _, x := range in.LocalSecondaryIndexes {
		t.LocalSecondaryIndexes = append(t.LocalSecondaryIndexes, cfnIndexOf(x.IndexName, x.KeySchema, x.Projection))
	}
	if spec.TTL != "" {
		t.TimeToLiveSpecification = &cfnTTL{spec.TTL, true}
	}
	if in.StreamSpecification != nil {
		t.StreamSpecification = &cfnStream{in.StreamSpecification.StreamViewType}
	}
	if spec.PointInTimeRecovery {
		t.PointInTimeRecoverySpecification = &cfnRecovery{true}
	}
	for _, tag := range in.Tags {
		t.Tags = append(t.Tags, cfnTag{*tag.Key, *tag.Value})
	}
	resource := cfnResource{Type: "AWS::DynamoDB::Table", Properties: t}
	if spec.DeletionProtection {
		resource.DeletionPolicy, resource.UpdateReplacePolicy = "Retain", "Retain"
	}
	template, err := document(cfnTemplate{
		AWSTemplateFormatVersion: "2010-09-09",
		Resources:                map[string]cfnResource{"Table": resource},
	})
	if err == nil && bytes.Contains(template, []byte(dynamicReference)) {
		err = errDynamicReference
	}
	if err != nil {
		return nil, &table.Error{Op: "CloudFormation", Table: spec.Name, Err: err}
	}
	return template, nil
}

// dynamicReference begins what CloudFormation replaces in any string of a
// resource. There is no way to write it literally. AWS: "Get values stored in
// other services using dynamic references", AWS CloudFormation User Guide.
const dynamicReference = "{{resolve:"

var errDynamicReference = fmt.Errorf("%w: a name or tag holds %q, which CloudFormation replaces",
	table.ErrInvalid, dynamicReference)

type cfnTemplate struct {
	AWSTemplateFormatVersion string
	Resources                map[string]cfnResource
}

type cfnResource struct {
	Type                string
	DeletionPolicy      string `json:",omitempty"`
	UpdateReplacePolicy string `json:",omitempty"`
	Properties          cfnTable
}

type cfnTable struct {
	TableName                        string
	BillingMode                      types.BillingMode
	ProvisionedThroughput            *cfnProvisioned  `json:",omitempty"`
	WarmThroughput                   *cfnWarm         `json:",omitempty"`
	TableClass                       types.TableClass `json:",omitempty"`
	AttributeDefinitions             []cfnAttribute
	KeySchema                        []cfnKey
	GlobalSecondaryIndexes           []cfnIndex   `json:",omitempty"`
	LocalSecondaryIndexes            []cfnIndex   `json:",omitempty"`
	TimeToLiveSpecification          *cfnTTL      `json:",omitempty"`
	StreamSpecification              *cfnStream   `json:",omitempty"`
	PointInTimeRecoverySpecification *cfnRecovery `json:",omitempty"`
	DeletionProtectionEnabled        bool         `json:",omitempty"`
	Tags                             []cfnTag     `json:",omitempty"`
}

type cfnProvisioned struct{ ReadCapacityUnits, WriteCapacityUnits int64 }

type cfnWarm struct {
	ReadUnitsPerSecond  *int64 `json:",omitempty"`
	WriteUnitsPerSecond *int64 `json:",omitempty"`
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
	IndexName             string
	KeySchema             []cfnKey
	Projection            modelProjection
	ProvisionedThroughput *cfnProvisioned `json:",omitempty"`
	WarmThroughput        *cfnWarm        `json:",omitempty"`
}

type cfnTTL struct {
	AttributeName string
	Enabled       bool
}

type cfnStream struct{ StreamViewType types.StreamViewType }

type cfnRecovery struct{ PointInTimeRecoveryEnabled bool }

type cfnTag struct{ Key, Value string }

func cfnKeys(spec []types.KeySchemaElement) []cfnKey {
	keys := make([]cfnKey, len(spec))
	for i, e := range spec {
		keys[i] = cfnKey{*e.AttributeName, e.KeyType}
	}
	return keys
}

func cfnIndexOf(name *string, spec []types.KeySchemaElement, p *types.Projection) cfnIndex {
	return cfnIndex{IndexName: *name, KeySchema: cfnKeys(spec), Projection: modelProjection{p.ProjectionType, p.NonKeyAttributes}}
}

func cfnProvisionedOf(p *types.ProvisionedThroughput) *cfnProvisioned {
	if p == nil {
		return nil
	}
	return &cfnProvisioned{*p.ReadCapacityUnits, *p.WriteCapacityUnits}
}

func cfnWarmOf(w *types.WarmThroughput) *cfnWarm {
	if w == nil {
		return nil
	}
	return &cfnWarm{w.ReadUnitsPerSecond, w.WriteUnitsPerSecond}
}
