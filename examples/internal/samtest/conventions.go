package samtest

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/schema"
)

// Alarms fails the test unless each function is traced, and somebody learns of its errors, of
// what throttles it, the table or an index, and of more: the metrics with the values of their
// dimensions. Table is how the template names the table. Every alarm notifies AlarmTopicArn, or else the topic of AlarmEmail.
func Alarms(tb testing.TB, t Template, table string, indexes []schema.Index, more ...string) {
	tb.Helper()
	check.Equal(tb, "tracing", t.Globals.Function.Tracing, "Active")
	want := slices.Clone(more)
	throttled := []string{table}
	for _, x := range indexes {
		throttled = append(throttled, table+" "+x.Name)
	}
	for _, of := range throttled {
		want = append(want, "ReadThrottleEvents "+of, "WriteThrottleEvents "+of)
	}
	for name := range Of[Function](tb, t, "AWS::Serverless::Function") {
		want = append(want, "Errors "+name, "Throttles "+name)
	}
	var have []string
	for name, a := range Of[struct {
		MetricName string `yaml:"MetricName"`
		Dimensions []struct {
			Value string `yaml:"Value"`
		} `yaml:"Dimensions"`
		AlarmActions [][]string `yaml:"AlarmActions"`
	}](tb, t, "AWS::CloudWatch::Alarm") {
		watched := a.MetricName
		for _, d := range a.Dimensions {
			watched += " " + d.Value
		}
		have = append(have, watched)
		check.Equal(tb, name+" notifies", a.AlarmActions, [][]string{{"MakesAlarmTopic", "AlarmTopic", "AlarmTopicArn"}})
	}
	slices.Sort(have)
	slices.Sort(want)
	check.Equal(tb, "alarms", have, want)
	subscription := Of[map[string]string](tb, t, "AWS::SNS::Subscription")["AlarmSubscription"]
	check.Equal(tb, "subscription", subscription, map[string]string{"TopicArn": "AlarmTopic", "Protocol": "email", "Endpoint": "AlarmEmail"})
}

// ParametersAgree fails the test unless CloudFormation refuses parameters that contradict each
// other: of alarms, of a user pool if the template has one, and more, by the reason. Each must be
// explained, since the pages leave parameters to the template.
func ParametersAgree(tb testing.TB, t Template, more map[string]map[string]string) {
	tb.Helper()
	const email, topic = "ops@example.com", "arn:aws:sns:eu-west-1:123456789012:alarms"
	with := func(given map[string]string) map[string]string {
		all := map[string]string{"AlarmEmail": email}
		maps.Copy(all, given)
		return all
	}
	refused := func(parameters map[string]string, why ...string) {
		tb.Helper()
		check.Equal(tb, fmt.Sprint(parameters), Refused(tb, t, parameters), why)
	}
	refused(with(nil))
	refused(with(map[string]string{"AlarmTopicArn": topic})) // the topic counts
	refused(map[string]string{"AlarmTopicArn": topic})
	refused(nil, "Alarms need an AlarmEmail or an AlarmTopicArn.")
	if _, pool := t.Parameters["UserPoolId"]; pool {
		refused(with(map[string]string{"UserPoolId": "eu-west-1_a", "ClientId": "c", "Scope": "own/all"}))
		refused(with(map[string]string{"UserPoolId": "eu-west-1_a"}), "UserPoolId needs the ClientId of an app client of the pool.")
		refused(with(map[string]string{"ClientId": "c"}), "ClientId needs the UserPoolId of its pool.")
		refused(with(map[string]string{"Scope": "own/all"}), "Another Scope needs a UserPoolId; the pool of this template does not issue it.")
	}
	for why, parameters := range more {
		refused(with(parameters), why)
	}
	for name, p := range t.Parameters {
		if p.Description == "" {
			tb.Errorf("nothing about the parameter %s", name)
		}
	}
}

// stream is how a template names the stream of its table, or of one that was there.
const stream = "!If [MakesTable, !GetAtt Table.StreamArn, !Ref TableStreamArn]"

// Outlives fails the test unless the resources that are kept when the stack is deleted, if they
// were not new, are those with these conditions. Nothing but its stream needs the table to be
// the stack's.
func Outlives(tb testing.TB, file string, kept map[string]string) {
	tb.Helper()
	have := map[string]string{}
	for name, r := range Read(tb, file).Resources {
		if r.DeletionPolicy != "" {
			have[name] = r.Condition
			check.Equal(tb, name, r.DeletionPolicy, "RetainExceptOnCreate")
		}
	}
	check.Equal(tb, "kept", have, kept)
	text := strings.ReplaceAll(string(check.Must(os.ReadFile(file))(tb)), stream, "")
	if regexp.MustCompile(`!Ref Table\b|!GetAtt Table\.|\$\{Table[.}]`).MatchString(text) {
		tb.Error("something refers to the table of the stack, which another one can take the place of")
	}
}

// UserPool fails the test unless the API asks for tokens of the user pool, which the stack makes
// or is given. No log-in sends a password without credentials of AWS, and with staffOnly nobody
// signs up.
func UserPool(tb testing.TB, t Template, api string, staffOnly bool, groups ...string) {
	tb.Helper()
	type authorizer struct {
		IdentitySource   string   `yaml:"IdentitySource"`
		Scopes           []string `yaml:"AuthorizationScopes"`
		JwtConfiguration struct {
			Issuer   []string   `yaml:"issuer"`
			Audience [][]string `yaml:"audience"`
		} `yaml:"JwtConfiguration"`
	}
	a := Of[struct {
		Auth struct {
			Default     string                `yaml:"DefaultAuthorizer"`
			Authorizers map[string]authorizer `yaml:"Authorizers"`
		} `yaml:"Auth"`
	}](tb, t, "AWS::Serverless::HttpApi")[api].Auth
	const issuer = "https://cognito-idp.${AWS::Region}.amazonaws.com/"
	want := authorizer{IdentitySource: "$request.header.Authorization", Scopes: []string{"Scope"}}
	want.JwtConfiguration.Issuer = []string{"MakesUserPool", issuer + "${UserPool}", issuer + "${UserPoolId}"}
	want.JwtConfiguration.Audience = [][]string{{"MakesUserPool", "UserPoolClient", "ClientId"}}
	check.Equal(tb, "authorizer", a.Authorizers[a.Default], want)

	var have []string
	for _, g := range Of[map[string]string](tb, t, "AWS::Cognito::UserPoolGroup") {
		have = append(have, g["GroupName"])
	}
	slices.Sort(have)
	slices.Sort(groups)
	check.Equal(tb, "groups", have, groups)
	pool := Of[struct {
		Create struct {
			AdminOnly bool `yaml:"AllowAdminCreateUserOnly"`
		} `yaml:"AdminCreateUserConfig"`
	}](tb, t, "AWS::Cognito::UserPool")["UserPool"]
	client := Of[struct {
		Flows []string `yaml:"ExplicitAuthFlows"`
	}](tb, t, "AWS::Cognito::UserPoolClient")["UserPoolClient"]
	if pool.Create.AdminOnly != staffOnly || slices.Contains(client.Flows, "ALLOW_USER_PASSWORD_AUTH") {
		tb.Errorf("pool %+v, client %+v", pool, client)
	}
}
