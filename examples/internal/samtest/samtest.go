// Package samtest compares the AWS SAM templates of the examples with what the
// programs need.
package samtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

// Template is a template. Functions of CloudFormation such as !Ref are read as the
// text that follows them.
type Template struct {
	Globals struct {
		Function Function `yaml:"Function"`
	} `yaml:"Globals"`
	Parameters map[string]Parameter `yaml:"Parameters"`
	Rules      map[string]Rule      `yaml:"Rules"`
	Resources  map[string]Resource  `yaml:"Resources"`
	Outputs    map[string]any       `yaml:"Outputs"`
}

// Parameter is a parameter of a template, with its bounds if it is a number.
type Parameter struct {
	Default     string `yaml:"Default"`
	Description string `yaml:"Description"`
	Min         int    `yaml:"MinValue"`
	Max         int    `yaml:"MaxValue"`
}

// Resource is a resource of a template.
type Resource struct {
	Type           string    `yaml:"Type"`
	Condition      string    `yaml:"Condition"`
	DeletionPolicy string    `yaml:"DeletionPolicy"`
	Properties     yaml.Node `yaml:"Properties"`
}

// Function is what the templates set of an AWS::Serverless::Function.
type Function struct {
	Handler       string `yaml:"Handler"`
	Tracing       string `yaml:"Tracing"`
	LoggingConfig struct {
		LogGroup string `yaml:"LogGroup"`
	} `yaml:"LoggingConfig"`
	Environment struct {
		Variables Variables `yaml:"Variables"`
	} `yaml:"Environment"`
	Events map[string]struct {
		Type       string         `yaml:"Type"`
		Properties map[string]any `yaml:"Properties"`
	} `yaml:"Events"`
	Policies []struct {
		Statement []Statement `yaml:"Statement"`
	} `yaml:"Policies"`
}

// Variables are environment variables. One that depends on a condition (!If) has the
// value of its last branch, so write the parameter there.
type Variables map[string]string

// UnmarshalYAML implements [yaml.Unmarshaler].
func (v *Variables) UnmarshalYAML(node *yaml.Node) error {
	var values map[string]yaml.Node
	if err := node.Decode(&values); err != nil {
		return err
	}
	*v = Variables{}
	for name, value := range values {
		if value.Tag == "!If" && len(value.Content) == 3 {
			value = *value.Content[2]
		}
		(*v)[name] = value.Value
	}
	return nil
}

// Statement is a statement of a policy.
type Statement struct {
	Effect    string                         `yaml:"Effect"`
	Action    []string                       `yaml:"Action"`
	Resource  string                         `yaml:"Resource"`
	Condition map[string]map[string][]string `yaml:"Condition"`
}

// Read reads a template.
func Read(tb testing.TB, file string) Template {
	tb.Helper()
	return parse(tb, check.Must(os.ReadFile(file))(tb))
}

func parse(tb testing.TB, text []byte) (t Template) {
	tb.Helper()
	check.OK(tb, yaml.Unmarshal(text, &t))
	return t
}

// Of returns the properties of all resources of a type by their names.
func Of[T any](tb testing.TB, t Template, typ string) map[string]T {
	tb.Helper()
	found := map[string]T{}
	for name, r := range t.Resources {
		if r.Type != typ {
			continue
		}
		var properties T
		if err := r.Properties.Decode(&properties); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		found[name] = properties
	}
	return found
}

// Functions returns the functions of a template by their handlers.
func Functions(tb testing.TB, t Template) map[string]Function {
	tb.Helper()
	functions := map[string]Function{}
	for _, f := range Of[Function](tb, t, "AWS::Serverless::Function") {
		functions[f.Handler] = f
	}
	return functions
}

// Table fails the test unless the resource Table has every property that the schema
// asks for, encryption and point-in-time recovery, and no other. Its name is the
// template's choice.
func Table(tb testing.TB, t Template, spec schema.Table) {
	tb.Helper()
	const typ = "AWS::DynamoDB::Table"
	made := parse(tb, check.Must(tablemodel.CloudFormation(spec))(tb)) // JSON is YAML
	have, want := Of[map[string]any](tb, t, typ)["Table"], Of[map[string]any](tb, made, typ)["Table"]
	want["TableName"] = have["TableName"]
	want["PointInTimeRecoverySpecification"] = map[string]any{"PointInTimeRecoveryEnabled": true}
	want["SSESpecification"] = map[string]any{"SSEEnabled": true}
	check.Equal(tb, "the table", have, want, cmpopts.SortSlices(func(a, b any) int { // sets
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	}))
}

// Allows fails the test unless the only policy of a function has these statements,
// in any order.
func Allows(tb testing.TB, f Function, want ...Statement) {
	tb.Helper()
	if len(f.Policies) != 1 {
		tb.Fatalf("%s: policies %+v, want one", f.Handler, f.Policies)
	}
	check.Equal(tb, f.Handler+": permissions", f.Policies[0].Statement, want,
		cmpopts.SortSlices(strings.Compare),
		cmpopts.SortSlices(func(a, b Statement) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }))
}

// Needed returns the statements that allow requests to DynamoDB and nothing else: one
// for the table, by patterns of partition keys, one for each index, and one for what
// has no keys.
func Needed(tb testing.TB, requests []tabletest.Request) []Statement {
	tb.Helper()
	type target struct {
		resource string
		keyed    bool
	}
	type access struct{ actions, leading []string }
	needed := map[target]*access{}
	for _, r := range requests {
		parts := taken(tb, r)
		for _, p := range parts {
			at := target{"Table.Arn", p.pk != ""}
			if p.index != "" {
				at.resource = "${Table.Arn}/index/" + p.index
			}
			if needed[at] == nil {
				needed[at] = &access{}
			}
			needed[at].actions = append(needed[at].actions, "dynamodb:"+p.operation)
			if p.pk != "" {
				needed[at].leading = append(needed[at].leading, pattern(p.pk))
			}
		}
	}
	var statements []Statement
	for at, a := range needed {
		s := Statement{Effect: "Allow", Action: set(a.actions), Resource: at.resource}
		if at.keyed {
			s.Condition = map[string]map[string][]string{"ForAllValues:StringLike": {"dynamodb:LeadingKeys": set(a.leading)}}
		}
		statements = append(statements, s)
	}
	return statements
}

// part is what IAM decides about: a request, or a part of a transaction.
type part struct{ operation, index, pk string }

// item is a key or an item, whose partition key is called pk or PK.
type item map[string]struct{ S string }

func (i item) pk() string { return i["pk"].S + i["PK"].S }

func taken(tb testing.TB, r tabletest.Request) []part {
	tb.Helper()
	type keyed struct{ Key, Item item }
	var body struct {
		keyed
		IndexName                 string
		ExpressionAttributeValues item
		TransactItems             []map[string]keyed
		RequestItems              map[string]struct{ Keys []item }
	}
	check.OK(tb, json.Unmarshal(r.Body, &body))
	switch r.Operation {
	case "Query":
		return []part{{r.Operation, body.IndexName, body.ExpressionAttributeValues[":pk"].S}}
	case "GetItem", "UpdateItem", "DeleteItem", "PutItem":
		return []part{{r.Operation, "", body.Key.pk() + body.Item.pk()}}
	case "BatchGetItem":
		var parts []part
		for _, t := range body.RequestItems {
			for _, key := range t.Keys {
				parts = append(parts, part{operation: r.Operation, pk: key.pk()})
			}
		}
		return parts
	case "SearchVectors": // to which conditions on keys do not apply
		return []part{{operation: r.Operation, index: body.IndexName}}
	case "DescribeTable", "DescribeTimeToLive", "Scan":
		return []part{{operation: r.Operation}}
	case "TransactWriteItems":
		var parts []part
		for _, p := range body.TransactItems {
			for verb, k := range p {
				parts = append(parts, part{operation: verb + "Item", pk: k.Item.pk() + k.Key.pk()})
			}
		}
		return parts
	}
	tb.Fatalf("what %s needs is not known", r.Operation)
	return nil
}

// pattern returns the pattern of a partition key: its prefix.
func pattern(pk string) string {
	if prefix, _, found := strings.Cut(pk, "#"); found {
		return prefix + "#*"
	}
	return pk
}

func set(list []string) []string {
	distinct := map[string]bool{}
	for _, s := range list {
		distinct[s] = true
	}
	return slices.Sorted(maps.Keys(distinct))
}
