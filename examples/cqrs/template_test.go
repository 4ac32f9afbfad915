package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/cqrs/api"
	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/samtest"
)

func TestTheTemplatesTableIsTheSchemas(t *testing.T) {
	t.Parallel()
	samtest.Table(t, samtest.Read(t, "template.yaml"), core.Schema("Cqrs"))
}

// Each endpoint is one of the API with its authorizer, and of the function that serves it.
func TestFunctionsHaveTheirEndpointsVariablesAndLogs(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	logs := samtest.Of[struct {
		RetentionInDays string `yaml:"RetentionInDays"`
	}](t, tpl, "AWS::Logs::LogGroup")
	const pool = "COGNITO_CLIENT_ID COGNITO_SCOPE COGNITO_USER_POOL_ID CURSOR_KEYS_SECRET"
	variables := map[string]string{
		"api": pool + " IMPORT_BUCKET", "search": pool + " DATABASE_SECRET", "project": "DATABASE_SECRET", "rebuild": "DATABASE_SECRET",
		"work": "IMPORT_BUCKET", "resume": "IMPORT_BUCKET",
	}
	for handler, f := range samtest.Functions(t, tpl) {
		var names, routes []string
		for name, value := range f.Environment.Variables {
			names = append(names, name)
			// It would be readable, and stale after a rotation.
			if strings.Contains(value, "{{resolve:") {
				t.Errorf("%s holds a secret itself", name)
			}
		}
		slices.Sort(names)
		check.Equal(t, handler+": variables", strings.Join(names, " "), variables[handler])
		for _, e := range f.Events {
			if e.Type != "HttpApi" {
				continue
			}
			routes = append(routes, fmt.Sprintf("%s %s", e.Properties["Method"], e.Properties["Path"]))
			if e.Properties["ApiId"] != "HttpApi" || e.Properties["Auth"] != nil {
				t.Errorf("%s: event %+v is not one of the API with its authorizer", handler, e)
			}
		}
		slices.Sort(routes)
		check.Equal(t, handler+": endpoints", routes, map[string][]string{"api": api.Routes(false), "search": api.Routes(true)}[handler])
		if logs[f.LoggingConfig.LogGroup].RetentionInDays == "" {
			t.Errorf("%s: its logs are kept for ever", handler)
		}
	}
	check.Equal(t, "resume", samtest.Functions(t, tpl)["resume"].Events["Hourly"].Properties["Schedule"], any("rate(1 hour)"))
}

// Somebody also learns of capacity that is nearly used up: a partition takes 1,000 write units
// and 3,000 read units a second.
func TestAlarmsReachSomebody(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	samtest.Alarms(t, tpl, "TableName", core.Schema("any").Indexes, "5xx HttpApi", "Latency HttpApi",
		"ApproximateNumberOfMessagesVisible FailedBatches.QueueName", "IteratorAge Work", "IteratorAge Project",
		"ConsumedWriteCapacityUnits TableName", "ConsumedReadCapacityUnits TableName", "ConsumedWriteCapacityUnits TableName open-tasks")
	for name, a := range samtest.Of[struct {
		MetricName string `yaml:"MetricName"`
		Period     int    `yaml:"Period"`
		Threshold  int    `yaml:"Threshold"`
	}](t, tpl, "AWS::CloudWatch::Alarm") {
		if limit := map[string]int{"ConsumedWriteCapacityUnits": 1000, "ConsumedReadCapacityUnits": 3000}[a.MetricName]; limit > 0 {
			check.Equal(t, name+" of the limit, in percent", 100*a.Threshold/a.Period/limit, 80)
		}
	}
}

func TestParametersAgree(t *testing.T) {
	t.Parallel()
	samtest.ParametersAgree(t, samtest.Read(t, "template.yaml"), map[string]map[string]string{
		"SubnetIds need SecurityGroupIds.": {"SubnetIds": "subnet-0a"},
		"SecurityGroupIds need SubnetIds.": {"SecurityGroupIds": "sg-0a"},
	})
}

func TestTheScriptDeploysTheTemplate(t *testing.T) {
	t.Parallel()
	samtest.Script(t, "template.yaml", "CursorKeysSecretArn", "user you@example.com ACME admin", "rebuild p1", "rebuild")
}

// The operations page names each alarm and function of the template.
func TestTheOperationsPageIsTheTemplates(t *testing.T) {
	t.Parallel()
	page := string(check.Must(os.ReadFile("docs/operations.md"))(t))
	tpl := samtest.Read(t, "template.yaml")
	names := slices.Collect(maps.Keys(samtest.Functions(t, tpl)))
	suffix := regexp.MustCompile(`^.+(Errors|Throttles|Throttled)$`)
	for name, r := range tpl.Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		if name != "ServerErrors" {
			name = suffix.ReplaceAllString(name, "…$1")
		}
		names = append(names, name)
	}
	for _, name := range names {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
}

func TestDataOutlivesTheStack(t *testing.T) {
	t.Parallel()
	const pool = "MakesUserPool"
	samtest.Outlives(t, "template.yaml", map[string]string{
		"Table": "MakesTable", "Imports": "", "UserPool": pool, "UserPoolClient": pool, "Readers": pool, "Writers": pool, "Admins": pool,
	})
}

// The user pool of the template has the groups that the API knows. Nobody signs up, and
// nobody changes a tenant, their own least of all.
func TestTheUserPoolIsTheStaffs(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	samtest.UserPool(t, tpl, "HttpApi", true, api.Admin, api.Reader, api.Writer)
	type attribute struct {
		Name    string `yaml:"Name"`
		Mutable bool   `yaml:"Mutable"`
	}
	pool := samtest.Of[struct {
		Schema []attribute `yaml:"Schema"`
		Tier   string      `yaml:"UserPoolTier"`
		Lambda struct {
			Token map[string]string `yaml:"PreTokenGenerationConfig"`
		} `yaml:"LambdaConfig"`
	}](t, tpl, "AWS::Cognito::UserPool")["UserPool"]
	client := samtest.Of[struct {
		Write []string `yaml:"WriteAttributes"`
	}](t, tpl, "AWS::Cognito::UserPoolClient")["UserPoolClient"]
	check.Equal(t, "tenant", pool.Schema, []attribute{{"tenant", false}})
	check.Equal(t, "what users change", client.Write, []string{"email"})
	check.Equal(t, "trigger", pool.Lambda.Token, map[string]string{"LambdaArn": "Token.Arn", "LambdaVersion": "V2_0"})
	check.Equal(t, "tier", pool.Tier, "ESSENTIALS")
}

// The functions that reach the database are in the VPC, if there is one.
func TestTheDatabaseIsReachedFromTheVPC(t *testing.T) {
	t.Parallel()
	var in []string
	for _, f := range samtest.Of[struct {
		Handler string `yaml:"Handler"`
		VPC     []any  `yaml:"VpcConfig"`
	}](t, samtest.Read(t, "template.yaml"), "AWS::Serverless::Function") {
		if len(f.VPC) > 0 {
			in = append(in, f.Handler)
			check.Equal(t, f.Handler, fmt.Sprint(f.VPC), "[InVpc map[SecurityGroupIds:[, SecurityGroupIds] SubnetIds:[, SubnetIds]] AWS::NoValue]")
		}
	}
	slices.Sort(in)
	check.Equal(t, "functions", in, []string{"project", "rebuild", "search"})
}

// What a consumer gives up is a dead letter, with its half of the day in the stream left.
func TestConsumersDeliverAgain(t *testing.T) {
	t.Parallel()
	type destination struct {
		OnFailure map[string]string `yaml:"OnFailure"`
	}
	type settings struct {
		Function    string      `yaml:"FunctionName"`
		Source      []string    `yaml:"EventSourceArn"`
		Responses   []string    `yaml:"FunctionResponseTypes"`
		Start       string      `yaml:"StartingPosition"`
		Bisect      bool        `yaml:"BisectBatchOnFunctionError"`
		Age         int         `yaml:"MaximumRecordAgeInSeconds"`
		Destination destination `yaml:"DestinationConfig"`
	}
	mappings := samtest.Of[settings](t, samtest.Read(t, "template.yaml"), "AWS::Lambda::EventSourceMapping")
	want := map[string]settings{}
	for _, function := range []string{"Work", "Project"} {
		want[function+"Changes"] = settings{
			Function: function, Source: []string{"MakesTable", "Table.StreamArn", "TableStreamArn"}, Start: "TRIM_HORIZON",
			Responses: []string{"ReportBatchItemFailures"}, Bisect: true, Age: 12 * 3600, Destination: destination{map[string]string{"Destination": "FailedBatches.Arn"}},
		}
	}
	check.Equal(t, "mappings", mappings, want)
}
