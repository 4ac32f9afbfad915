package tablemodel

import (
	"cmp"
	"fmt"
	"strings"

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
// [table.ErrInvalid]. So is one with vector indexes, which the provider's resource does not
// have: give it a schema without them, and let [schema.Table.Ensure] add them.
//
// AWS: "aws_dynamodb_table", Terraform AWS provider.
func Terraform(spec schema.Table) ([]byte, error) {
	in, err := spec.CreateTableInput()
	if err == nil && len(spec.Vectors) > 0 {
		err = fmt.Errorf("%w: Vectors: aws_dynamodb_table has no vector indexes; give Terraform the schema without them, and let Ensure add them", table.ErrInvalid)
	}
	if err != nil {
		return nil, &table.Error{Op: "Terraform", Table: spec.Name, Err: err}
	}
	var attributes, global, local []object
	for _, a := range in.AttributeDefinitions {
		attributes = append(attributes, object{"name": literal(*a.AttributeName), "type": a.AttributeType})
	}
	for _, x := range in.GlobalSecondaryIndexes {
		index := tfIndex(*x.IndexName, x.KeySchema, x.Projection)
		index.setThroughput(x.ProvisionedThroughput, x.WarmThroughput)
		global = append(global, index)
	}
	for _, x := range in.LocalSecondaryIndexes {
		index := tfIndex(*x.IndexName, x.KeySchema, x.Projection)
		delete(index, "hash_key") // It is the table's.
		local = append(local, index)
	}
	all := object{
		"name": *in.TableName, "billing_mode": in.BillingMode, "table_class": in.TableClass, "attribute": attributes,
		"global_secondary_index": global, "local_secondary_index": local,
		"ttl":            object{"attribute_name": literal(spec.TTLAttribute), "enabled": spec.TTLAttribute != ""},
		"stream_enabled": spec.Stream != "", "stream_view_type": spec.Stream,
		"point_in_time_recovery":      object{"enabled": spec.PointInTimeRecovery},
		"deletion_protection_enabled": spec.DeletionProtection,
		"lifecycle":                   object{"prevent_destroy": spec.DeletionProtection},
	}
	all.setKeys(in.KeySchema)
	all.setThroughput(in.ProvisionedThroughput, in.WarmThroughput)
	t := settings(all)
	if len(in.Tags) > 0 {
		tags := map[string]string{} // also with values that are empty
		for _, tag := range in.Tags {
			tags[literal(*tag.Key)] = literal(*tag.Value)
		}
		t["tags"] = tags
	}
	return document(object{"resource": object{"aws_dynamodb_table": object{"table": t}}})
}

// literal returns s as Terraform's JSON syntax writes it, where each string is a
// template: ${ begins an interpolation and %{ a directive unless the sign is
// doubled. HashiCorp: "Strings and Templates", Terraform Language.
func literal(s string) string { return templates.Replace(s) }

var templates = strings.NewReplacer("${", "$${", "%{", "%%{")

func tfIndex(name string, spec []types.KeySchemaElement, p *types.Projection) object {
	var include []string
	for _, attribute := range p.NonKeyAttributes {
		include = append(include, literal(attribute))
	}
	x := object{"name": name, "projection_type": p.ProjectionType, "non_key_attributes": include}
	if several := len(spec) > 2 || len(spec) == 2 && spec[1].KeyType == types.KeyTypeHash; !several {
		x.setKeys(spec)
		return x
	}
	var keys []object
	for _, e := range spec {
		keys = append(keys, object{"attribute_name": literal(*e.AttributeName), "key_type": e.KeyType})
	}
	x["key_schema"] = keys
	return x
}

// setKeys sets a partition key and a sort key of one attribute each.
func (o object) setKeys(spec []types.KeySchemaElement) {
	for i, name := range []string{"hash_key", "range_key"}[:len(spec)] {
		o[name] = literal(*spec[i].AttributeName)
	}
}

func (o object) setThroughput(p *types.ProvisionedThroughput, w *types.WarmThroughput) {
	p, w = cmp.Or(p, &types.ProvisionedThroughput{}), cmp.Or(w, &types.WarmThroughput{})
	o["read_capacity"], o["write_capacity"] = p.ReadCapacityUnits, p.WriteCapacityUnits
	o["warm_throughput"] = object{"read_units_per_second": w.ReadUnitsPerSecond, "write_units_per_second": w.WriteUnitsPerSecond}
}
