package tablemodel

import (
	"bytes"
	"fmt"

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
//
// AWS: "DeletionPolicy attribute", "UpdateReplacePolicy attribute" and "Get
// values stored in other services using dynamic references", AWS CloudFormation
// User Guide.
func CloudFormation(spec schema.Table) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, &table.Error{Op: "CloudFormation", Table: spec.Name, Err: err}
	}
	in, err := spec.CreateTableInput()
	if err != nil {
		return fail(err)
	}
	if in.StreamSpecification != nil {
		in.StreamSpecification.StreamEnabled = nil // A template turns the stream on by naming its view.
	}
	// The properties of the resource have the names of the request's members.
	properties := settings(in)
	if len(in.Tags) > 0 {
		properties["Tags"] = in.Tags // also with values that are empty
	}
	if spec.TTLAttribute != "" {
		properties["TimeToLiveSpecification"] = object{"AttributeName": spec.TTLAttribute, "Enabled": true}
	}
	if spec.PointInTimeRecovery {
		properties["PointInTimeRecoverySpecification"] = object{"PointInTimeRecoveryEnabled": true}
	}
	resource := object{"Type": "AWS::DynamoDB::Table", "Properties": properties}
	if spec.DeletionProtection {
		resource["DeletionPolicy"], resource["UpdateReplacePolicy"] = "Retain", "Retain"
	}
	template, err := document(object{"AWSTemplateFormatVersion": "2010-09-09", "Resources": object{"Table": resource}})
	if err == nil && bytes.Contains(template, []byte(dynamicReference)) {
		err = fmt.Errorf("%w: a name or tag holds %q, which CloudFormation replaces", table.ErrInvalid, dynamicReference)
	}
	if err != nil {
		return fail(err)
	}
	return template, nil
}

// dynamicReference begins what CloudFormation replaces in any string of a
// resource. There is no way to write it literally. AWS: "Get values stored in
// other services using dynamic references", AWS CloudFormation User Guide.
const dynamicReference = "{{resolve:"
