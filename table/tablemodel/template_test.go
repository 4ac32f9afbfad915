package tablemodel_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

func TestTemplates(t *testing.T) {
	t.Parallel()
	for name, schema := range schemas {
		cfn, err := tablemodel.CloudFormation(schema)
		must(t, err)
		golden(t, name+".cloudformation.json", string(cfn))
		tf, err := tablemodel.Terraform(schema)
		must(t, err)
		golden(t, name+".tf.json", string(tf))
	}
}

// properties are those of AWS::DynamoDB::Table: the members of a CreateTable
// request, and TTL.
type properties struct {
	dynamodb.CreateTableInput
	TimeToLiveSpecification *types.TimeToLiveSpecification
}

func readTemplate(t *testing.T, schema table.Schema) properties {
	t.Helper()
	text, err := tablemodel.CloudFormation(schema)
	must(t, err)
	var template struct {
		Resources struct {
			Table struct {
				Type       string
				Properties properties
			}
		}
	}
	must(t, json.Unmarshal(text, &template))
	if template.Resources.Table.Type != "AWS::DynamoDB::Table" {
		t.Fatalf("type %q", template.Resources.Table.Type)
	}
	return template.Resources.Table.Properties
}

func TestTheCloudFormationTableIsTheSchemas(t *testing.T) {
	t.Parallel()
	for name, schema := range schemas {
		want, err := schema.CreateTableInput()
		must(t, err)
		got := readTemplate(t, schema)
		unexported := cmpopts.IgnoreUnexported(dynamodb.CreateTableInput{}, types.AttributeDefinition{},
			types.KeySchemaElement{}, types.GlobalSecondaryIndex{}, types.LocalSecondaryIndex{}, types.Projection{})
		if diff := cmp.Diff(want, &got.CreateTableInput, unexported); diff != "" {
			t.Errorf("%s (-schema +template):\n%s", name, diff)
		}
		ttl := ""
		if got.TimeToLiveSpecification != nil && *got.TimeToLiveSpecification.Enabled {
			ttl = *got.TimeToLiveSpecification.AttributeName
		}
		if ttl != schema.TTL {
			t.Errorf("%s: TTL %q, want %q", name, ttl, schema.TTL)
		}
	}
}

// The table that the template makes is the one that the schema asks for.
func TestATableOfTheTemplateIsVerified(t *testing.T) {
	t.Parallel()
	for name, schema := range schemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := tabletest.Client(t)
			schema.Name = tabletest.New(t, schema, nil).Schema().Name // a name that is cleaned up
			_, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(schema.Name)})
			must(t, err)
			if err := schema.Verify(t.Context(), client); !errors.Is(err, table.ErrSchemaMismatch) {
				t.Fatalf("without a table, Verify returns %v", err)
			}

			made := readTemplate(t, schema)
			_, err = client.CreateTable(t.Context(), &made.CreateTableInput)
			must(t, err)
			if made.TimeToLiveSpecification != nil {
				_, err = client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
					TableName: &schema.Name, TimeToLiveSpecification: made.TimeToLiveSpecification,
				})
				must(t, err)
			}
			must(t, schema.Verify(t.Context(), client))
		})
	}
}

// The Terraform configuration says the same as the schema.
func TestTheTerraformTableIsTheSchemas(t *testing.T) {
	t.Parallel()
	for name, schema := range schemas {
		text, err := tablemodel.Terraform(schema)
		must(t, err)
		var config struct {
			Resource struct {
				Tables struct {
					Table terraformTable `json:"table"`
				} `json:"aws_dynamodb_table"`
			} `json:"resource"`
		}
		must(t, json.Unmarshal(text, &config))
		got, err := config.Resource.Tables.Table.schema().CreateTableInput()
		must(t, err)
		want, err := schema.CreateTableInput()
		must(t, err)
		unexported := cmpopts.IgnoreUnexported(dynamodb.CreateTableInput{}, types.AttributeDefinition{},
			types.KeySchemaElement{}, types.GlobalSecondaryIndex{}, types.LocalSecondaryIndex{}, types.Projection{})
		if diff := cmp.Diff(want, got, unexported); diff != "" {
			t.Errorf("%s (-schema +terraform):\n%s", name, diff)
		}
		if ttl := config.Resource.Tables.Table.TTL; ttl.Name != schema.TTL || ttl.Enabled != (schema.TTL != "") {
			t.Errorf("%s: TTL %+v, want %q", name, ttl, schema.TTL)
		}
	}
}

// terraformTable has the arguments of aws_dynamodb_table by their documented
// names.
type terraformTable struct {
	Name       string `json:"name"`
	Billing    string `json:"billing_mode"`
	HashKey    string `json:"hash_key"`
	RangeKey   string `json:"range_key"`
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
}

type terraformIndex struct {
	Name       string               `json:"name"`
	HashKey    string               `json:"hash_key"`
	RangeKey   string               `json:"range_key"`
	Projection types.ProjectionType `json:"projection_type"`
	Include    []string             `json:"non_key_attributes"`
}

func (tt terraformTable) schema() table.Schema {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range tt.Attributes {
		kinds[a.Name] = a.Type
	}
	s := table.Schema{
		Name: tt.Name, PK: tt.HashKey, SK: tt.RangeKey, SimpleKey: tt.RangeKey == "",
		PKType: kinds[tt.HashKey], SKType: kinds[tt.RangeKey],
	}
	add := func(indexes []terraformIndex, local bool) {
		for _, x := range indexes {
			s.Indexes = append(s.Indexes, table.Index{
				Name: x.Name, PK: x.HashKey, SK: x.RangeKey, PKType: kinds[x.HashKey], SKType: kinds[x.RangeKey],
				Projection: x.Projection, Include: x.Include, Local: local,
			})
		}
	}
	add(tt.Global, false)
	add(tt.Local, true)
	return s
}

func TestABadSchemaHasNoTemplate(t *testing.T) {
	t.Parallel()
	bad := table.Schema{Name: "no spaces"}
	_, cfn := tablemodel.CloudFormation(bad)
	_, tf := tablemodel.Terraform(bad)
	for name, err := range map[string]error{"CloudFormation": cfn, "Terraform": tf} {
		if e, ok := errors.AsType[*table.Error](err); !ok || e.Op != name || !errors.Is(err, table.ErrInvalidSchema) {
			t.Errorf("%s: got error %v, want a *table.Error that is %v", name, err, table.ErrInvalidSchema)
		}
	}
}
