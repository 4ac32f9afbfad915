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

// Each function is traced, and somebody learns of errors, of throttling, of capacity that is
// nearly used up, and of a consumer that is behind or gives up.
func TestAlarmsReachSomebody(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	check.Equal(t, "tracing", tpl.Globals.Function.Tracing, "Active")
	want := []string{
		"5xx HttpApi", "Latency HttpApi", "ApproximateNumberOfMessagesVisible FailedBatches.QueueName", "IteratorAge Work", "IteratorAge Project",
		"ConsumedWriteCapacityUnits TableName", "ConsumedReadCapacityUnits TableName", "ConsumedWriteCapacityUnits TableName open-tasks",
	}
	for _, of := range []string{"TableName", "TableName code-index", "TableName open-tasks"} {
		want = append(want, "ReadThrottleEvents "+of, "WriteThrottleEvents "+of)
	}
	for name := range samtest.Of[samtest.Function](t, tpl, "AWS::Serverless::Function") {
		want = append(want, "Errors "+name, "Throttles "+name)
	}
	var have []string
	for name, a := range samtest.Of[struct {
		MetricName string `yaml:"MetricName"`
		Dimensions []struct {
			Value string `yaml:"Value"`
		} `yaml:"Dimensions"`
		Period       int        `yaml:"Period"`
		Threshold    int        `yaml:"Threshold"`
		AlarmActions [][]string `yaml:"AlarmActions"`
	}](t, tpl, "AWS::CloudWatch::Alarm") {
		watched := a.MetricName
		for _, d := range a.Dimensions {
			watched += " " + d.Value
		}
		have = append(have, watched)
		check.Equal(t, name+" notifies", a.AlarmActions, [][]string{{"MakesAlarmTopic", "AlarmTopic", "AlarmTopicArn"}})
		// A partition takes 1,000 write units and 3,000 read units a second.
		if limit := map[string]int{"ConsumedWriteCapacityUnits": 1000, "ConsumedReadCapacityUnits": 3000}[a.MetricName]; limit > 0 {
			check.Equal(t, name+" of the limit, in percent", 100*a.Threshold/a.Period/limit, 80)
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	check.Equal(t, "alarms", have, want)
	subscription := samtest.Of[map[string]string](t, tpl, "AWS::SNS::Subscription")["AlarmSubscription"]
	check.Equal(t, "subscription", subscription, map[string]string{"TopicArn": "AlarmTopic", "Protocol": "email", "Endpoint": "AlarmEmail"})
}

// CloudFormation refuses parameters that contradict each other.
func TestParametersAgree(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	const email, topic = "ops@example.com", "arn:aws:sns:eu-west-1:123456789012:alarms"
	for _, c := range []struct {
		parameters map[string]string
		why        []string
	}{
		{map[string]string{"AlarmEmail": email}, nil},
		{map[string]string{
			"AlarmTopicArn": topic, "UserPoolId": "eu-west-1_a", "ClientId": "c", "Scope": "records/all",
			"SubnetIds": "subnet-0a,subnet-0b", "SecurityGroupIds": "sg-0a",
		}, nil},
		{nil, []string{"Alarms need an AlarmEmail or an AlarmTopicArn."}},
		{map[string]string{"AlarmEmail": email, "AlarmTopicArn": topic}, []string{"Alarms go to AlarmEmail or to AlarmTopicArn, not to both."}},
		{map[string]string{"AlarmEmail": email, "UserPoolId": "eu-west-1_a"}, []string{"UserPoolId needs the ClientId of an app client of the pool."}},
		{map[string]string{"AlarmEmail": email, "ClientId": "c"}, []string{"ClientId needs the UserPoolId of its pool."}},
		{map[string]string{"AlarmEmail": email, "Scope": "records/all"}, []string{"Another Scope needs a UserPoolId; the pool of this template does not issue it."}},
		{map[string]string{"AlarmEmail": email, "SubnetIds": "subnet-0a"}, []string{"SubnetIds need SecurityGroupIds."}},
		{map[string]string{"AlarmEmail": email, "SecurityGroupIds": "sg-0a"}, []string{"SecurityGroupIds need SubnetIds."}},
	} {
		check.Equal(t, fmt.Sprint(c.parameters), samtest.Refused(t, tpl, c.parameters), c.why)
	}
}

// The operations page names each parameter, alarm and function of the template.
func TestTheOperationsPageIsTheTemplates(t *testing.T) {
	t.Parallel()
	page := string(check.Must(os.ReadFile("docs/operations.md"))(t))
	tpl := samtest.Read(t, "template.yaml")
	names := slices.Collect(maps.Keys(samtest.Functions(t, tpl)))
	names = slices.AppendSeq(names, maps.Keys(tpl.Parameters))
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

// What holds data outlives the stack, and nothing but the stream needs the table to be the
// stack's.
func TestDataOutlivesTheStack(t *testing.T) {
	t.Parallel()
	kept := map[string]string{}
	for name, r := range samtest.Read(t, "template.yaml").Resources {
		if r.DeletionPolicy != "" {
			kept[name] = r.DeletionPolicy + " " + r.Condition
		}
	}
	const ofPool = "RetainExceptOnCreate MakesUserPool"
	check.Equal(t, "kept", kept, map[string]string{
		"Table": "RetainExceptOnCreate MakesTable", "Imports": "RetainExceptOnCreate ",
		"UserPool": ofPool, "UserPoolClient": ofPool, "Readers": ofPool, "Writers": ofPool, "Admins": ofPool,
	})
	text := string(check.Must(os.ReadFile("template.yaml"))(t))
	text = strings.ReplaceAll(text, "!If [MakesTable, !GetAtt Table.StreamArn, !Ref TableStreamArn]", "")
	if regexp.MustCompile(`!Ref Table\b|\bTable\.`).MatchString(text) {
		t.Error("something refers to the table of the stack, which TableStreamArn takes away")
	}
}

// The user pool of the template has the groups that the API knows. Nobody signs up, and
// nobody changes a tenant, their own least of all.
func TestTheUserPoolIsTheStaffs(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	var groups []string
	for _, g := range samtest.Of[map[string]string](t, tpl, "AWS::Cognito::UserPoolGroup") {
		groups = append(groups, g["GroupName"])
	}
	slices.Sort(groups)
	check.Equal(t, "groups", groups, []string{api.Admin, api.Reader, api.Writer})
	type attribute struct {
		Name    string `yaml:"Name"`
		Mutable bool   `yaml:"Mutable"`
	}
	pool := samtest.Of[struct {
		Create struct {
			AdminOnly bool `yaml:"AllowAdminCreateUserOnly"`
		} `yaml:"AdminCreateUserConfig"`
		Schema []attribute `yaml:"Schema"`
		Tier   string      `yaml:"UserPoolTier"`
		Lambda struct {
			Token map[string]string `yaml:"PreTokenGenerationConfig"`
		} `yaml:"LambdaConfig"`
	}](t, tpl, "AWS::Cognito::UserPool")["UserPool"]
	client := samtest.Of[struct {
		Flows []string `yaml:"ExplicitAuthFlows"`
		Write []string `yaml:"WriteAttributes"`
	}](t, tpl, "AWS::Cognito::UserPoolClient")["UserPoolClient"]
	check.Equal(t, "tenant", pool.Schema, []attribute{{"tenant", false}})
	check.Equal(t, "what users change", client.Write, []string{"email"})
	check.Equal(t, "trigger", pool.Lambda.Token, map[string]string{"LambdaArn": "Token.Arn", "LambdaVersion": "V2_0"})
	check.Equal(t, "tier", pool.Tier, "ESSENTIALS")
	if !pool.Create.AdminOnly || slices.Contains(client.Flows, "ALLOW_USER_PASSWORD_AUTH") {
		t.Errorf("pool %+v, client %+v", pool, client)
	}
}

func TestTheAPIAsksForTokensOfTheUserPool(t *testing.T) {
	t.Parallel()
	type authorizer struct {
		IdentitySource   string   `yaml:"IdentitySource"`
		Scopes           []string `yaml:"AuthorizationScopes"`
		JwtConfiguration struct {
			Issuer   []string   `yaml:"issuer"`
			Audience [][]string `yaml:"audience"`
		} `yaml:"JwtConfiguration"`
	}
	a := samtest.Of[struct {
		Auth struct {
			DefaultAuthorizer string                `yaml:"DefaultAuthorizer"`
			Authorizers       map[string]authorizer `yaml:"Authorizers"`
		} `yaml:"Auth"`
	}](t, samtest.Read(t, "template.yaml"), "AWS::Serverless::HttpApi")["HttpApi"].Auth
	jwt := a.Authorizers[a.DefaultAuthorizer]
	if jwt.IdentitySource != "$request.header.Authorization" || !slices.Equal(jwt.Scopes, []string{"Scope"}) {
		t.Errorf("authorizer: %+v", a)
	}
	const issuer = "https://cognito-idp.${AWS::Region}.amazonaws.com/"
	check.Equal(t, "issuer", jwt.JwtConfiguration.Issuer, []string{"MakesUserPool", issuer + "${UserPool}", issuer + "${UserPoolId}"})
	check.Equal(t, "audience", jwt.JwtConfiguration.Audience, [][]string{{"MakesUserPool", "UserPoolClient", "ClientId"}})
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
