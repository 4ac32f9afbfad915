package tablemodel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// The files show the form. What the other schemas give is compared with the schemas.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"production", "templates"} {
		cfn := expect.Value(tablemodel.CloudFormation(schemas[name]))(t)
		expect.Golden(t, name+".cloudformation.json", string(cfn))
		tf := expect.Value(tablemodel.Terraform(schemas[name]))(t)
		expect.Golden(t, name+".tf.json", string(tf))
	}
}

// properties are those of AWS::DynamoDB::Table: the members of a CreateTable
// request, and settings that the API has requests of their own for.
type properties struct {
	dynamodb.CreateTableInput
	TimeToLiveSpecification          *types.TimeToLiveSpecification
	PointInTimeRecoverySpecification *types.PointInTimeRecoverySpecification
}

// resource is the resource of a template.
type resource struct {
	Type, DeletionPolicy, UpdateReplacePolicy string
	Properties                                properties
}

// decode reads JSON that has no other members than v.
func decode(t *testing.T, text []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	expect.OK(t, d.Decode(v))
}

func readTemplate(t *testing.T, spec schema.Table) resource {
	t.Helper()
	text := expect.Value(tablemodel.CloudFormation(spec))(t)
	var template struct {
		AWSTemplateFormatVersion string
		Resources                struct{ Table resource }
	}
	decode(t, text, &template)
	if template.Resources.Table.Type != "AWS::DynamoDB::Table" {
		t.Fatalf("type %q", template.Resources.Table.Type)
	}
	// A template turns the stream on by naming its view.
	if s := template.Resources.Table.Properties.StreamSpecification; s != nil {
		if s.StreamEnabled != nil {
			t.Error("StreamEnabled is not a property of a template")
		}
		s.StreamEnabled = aws.Bool(true)
	}
	return template.Resources.Table
}

// compareRequests compares what two CreateTable requests make.
func compareRequests(t *testing.T, what string, want, got *dynamodb.CreateTableInput) {
	t.Helper()
	unexported := cmpopts.IgnoreUnexported(dynamodb.CreateTableInput{}, types.AttributeDefinition{},
		types.KeySchemaElement{}, types.GlobalSecondaryIndex{}, types.LocalSecondaryIndex{}, types.Projection{},
		types.StreamSpecification{}, types.ProvisionedThroughput{}, types.WarmThroughput{}, types.Tag{},
		types.VectorIndex{}, types.VectorAttributeDefinition{}, types.SearchSchemaElement{})
	if diff := cmp.Diff(want, got, unexported); diff != "" {
		t.Errorf("%s (-schema +output):\n%s", what, diff)
	}
}

func TestTheCloudFormationTableMatchesTheSchema(t *testing.T) {
	t.Parallel()
	for name, design := range schemas {
		want := expect.Value(design.CreateTableInput())(t)
		got := readTemplate(t, design)
		compareRequests(t, name, want, &got.Properties.CreateTableInput)
		ttl := ""
		if spec := got.Properties.TimeToLiveSpecification; spec != nil && *spec.Enabled {
			ttl = *spec.AttributeName
		}
		if ttl != design.TTLAttribute {
			t.Errorf("%s: TTL %q, want %q", name, ttl, design.TTLAttribute)
		}
		recovery := got.Properties.PointInTimeRecoverySpecification
		if on := recovery != nil && *recovery.PointInTimeRecoveryEnabled; on != design.PointInTimeRecovery {
			t.Errorf("%s: point-in-time recovery %t", name, on)
		}
		policy := map[bool]string{true: "Retain"}[design.DeletionProtection]
		if got.DeletionPolicy != policy || got.UpdateReplacePolicy != policy {
			t.Errorf("%s: policies %q and %q, want %q", name, got.DeletionPolicy, got.UpdateReplacePolicy, policy)
		}
	}
}

func TestTemplatesWithVectors(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "Products", Vectors: []schema.VectorIndex{{
		Name: "byText", Attribute: "embedding", Dimensions: 3, Partition: schema.Attribute{Name: "tenant"},
		Filters: []schema.Attribute{{Name: "stars", Type: "N"}}, Projection: "INCLUDE", Include: []string{"name"},
	}}}
	want := expect.Value(spec.CreateTableInput())(t)
	got := readTemplate(t, spec)
	compareRequests(t, "CloudFormation", want, &got.Properties.CreateTableInput)
	if _, err := tablemodel.Terraform(spec); !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "Vectors: ") {
		t.Errorf("Terraform: %v", err)
	}
}

// CloudFormation has no way to write such a name literally.
func TestNoTemplateWithADynamicReference(t *testing.T) {
	t.Parallel()
	const secret = "{{resolve:secretsmanager:prod}}"
	for name, spec := range map[string]schema.Table{
		"TTL":     {Name: "Notes", TTLAttribute: secret},
		"key":     {Name: "Notes", PK: "x" + secret},
		"include": {Name: "Notes", Indexes: []schema.Index{{Name: "GSI1", PK: "x", Projection: types.ProjectionTypeInclude, Include: []string{secret}}}},
	} {
		_, err := tablemodel.CloudFormation(spec)
		if e, ok := errors.AsType[*table.Error](err); !ok || e.Op != "CloudFormation" || !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: got error %v, want a *table.Error that is %v", name, err, table.ErrInvalid)
		}
	}
}

// The Terraform configuration says the same as the schema.
func TestTheTerraformTableMatchesTheSchema(t *testing.T) {
	t.Parallel()
	for name, spec := range schemas {
		text := expect.Value(tablemodel.Terraform(spec))(t)
		var config struct {
			Resource struct {
				Tables struct {
					Table terraformTable `json:"table"`
				} `json:"aws_dynamodb_table"`
			} `json:"resource"`
		}
		decode(t, evaluate(t, text), &config)
		tt := config.Resource.Tables.Table
		got := expect.Value(tt.schema().CreateTableInput())(t)
		want := expect.Value(spec.CreateTableInput())(t)
		compareRequests(t, name, want, got)
		if tt.TTL.Name != spec.TTLAttribute || tt.TTL.Enabled != (spec.TTLAttribute != "") {
			t.Errorf("%s: TTL %+v, want %q", name, tt.TTL, spec.TTLAttribute)
		}
		if tt.Stream != (spec.Stream != "") || tt.Recovery.Enabled != spec.PointInTimeRecovery ||
			tt.Protected != spec.DeletionProtection || tt.Lifecycle.PreventDestroy != spec.DeletionProtection {
			t.Errorf("%s: stream, backups or protection: %+v", name, tt)
		}
	}
}

// evaluate returns the configuration with its strings as Terraform reads them. It
// fails the test if one of them is a template.
func evaluate(t *testing.T, text []byte) []byte {
	t.Helper()
	literals := strings.NewReplacer("$${", "\x00", "%%{", "\x01").Replace(string(text))
	if strings.Contains(literals, "${") || strings.Contains(literals, "%{") {
		t.Errorf("a template in\n%s", text)
	}
	return []byte(strings.NewReplacer("\x00", "${", "\x01", "%{").Replace(literals))
}

// terraformTable has the arguments of aws_dynamodb_table by their documented
// names.
type terraformTable struct {
	Name    string            `json:"name"`
	Billing types.BillingMode `json:"billing_mode"`
	terraformThroughput
	Class      types.TableClass `json:"table_class"`
	HashKey    string           `json:"hash_key"`
	RangeKey   string           `json:"range_key"`
	Attributes []struct {
		Name string                    `json:"name"`
		Type types.ScalarAttributeType `json:"type"`
	} `json:"attribute"`
	Global []terraformIndex `json:"global_secondary_index"`
	Local  []terraformIndex `json:"local_secondary_index"`
	TTL    struct {
		Name    string `json:"attribute_name"`
		Enabled bool   `json:"enabled"`
	} `json:"ttl"`
	Stream   bool                 `json:"stream_enabled"`
	View     types.StreamViewType `json:"stream_view_type"`
	Recovery struct {
		Enabled bool `json:"enabled"`
	} `json:"point_in_time_recovery"`
	Protected bool              `json:"deletion_protection_enabled"`
	Tags      map[string]string `json:"tags"`
	Lifecycle struct {
		PreventDestroy bool `json:"prevent_destroy"`
	} `json:"lifecycle"`
}

type terraformThroughput struct {
	Read  int64 `json:"read_capacity"`
	Write int64 `json:"write_capacity"`
	Warm  struct {
		Read  int64 `json:"read_units_per_second"`
		Write int64 `json:"write_units_per_second"`
	} `json:"warm_throughput"`
}

type terraformIndex struct {
	Name     string `json:"name"`
	HashKey  string `json:"hash_key"`
	RangeKey string `json:"range_key"`
	Keys     []struct {
		Name string        `json:"attribute_name"`
		Type types.KeyType `json:"key_type"`
	} `json:"key_schema"`
	Projection types.ProjectionType `json:"projection_type"`
	Include    []string             `json:"non_key_attributes"`
	terraformThroughput
}

func (tt terraformTable) schema() schema.Table {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range tt.Attributes {
		kinds[a.Name] = a.Type
	}
	s := schema.Table{
		Name: tt.Name, PK: tt.HashKey, SK: tt.RangeKey, SimpleKey: tt.RangeKey == "",
		PKType: kinds[tt.HashKey], SKType: kinds[tt.RangeKey], BillingMode: tt.Billing, TableClass: tt.Class,
		ProvisionedThroughput: schema.Throughput{Read: tt.Read, Write: tt.Write}, WarmThroughput: schema.Throughput(tt.Warm),
		Stream: tt.View, DeletionProtection: tt.Protected, PointInTimeRecovery: tt.Recovery.Enabled, Tags: tt.Tags,
	}
	add := func(indexes []terraformIndex, local bool) {
		for _, x := range indexes {
			var pks, sks []schema.Attribute
			for _, k := range x.Keys {
				if a := (schema.Attribute{Name: k.Name, Type: kinds[k.Name]}); k.Type == types.KeyTypeHash {
					pks = append(pks, a)
				} else {
					sks = append(sks, a)
				}
			}
			s.Indexes = append(s.Indexes, schema.Index{
				PKs: pks, SKs: sks,
				Name: x.Name, PK: x.HashKey, SK: x.RangeKey, PKType: kinds[x.HashKey], SKType: kinds[x.RangeKey],
				Projection: x.Projection, Include: x.Include, Local: local,
				ProvisionedThroughput: schema.Throughput{Read: x.Read, Write: x.Write}, WarmThroughput: schema.Throughput(x.Warm),
			})
		}
	}
	add(tt.Global, false)
	add(tt.Local, true)
	return s
}
