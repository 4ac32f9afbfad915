package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/samtest"
)

//go:generate go test . -run ^TestThe(Design|API)Shows -update

// docs/architecture.mmd, the picture of the deployment, is made of the template, so it has
// every resource and every permission, and no others.
func TestTheDesignShowsTheDeployment(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	picture := architecture(t, tpl)
	for name := range tpl.Resources {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(picture) {
			t.Errorf("the picture lacks %s", name)
		}
	}
	generated.File(t, "docs/architecture.mmd", picture)
}

// architecture draws the resources of the template. It fails the test if there is one
// of a type that it does not know.
func architecture(t *testing.T, tpl samtest.Template) string {
	t.Helper()
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("flowchart LR")
	line("  client([\"client\"])")
	line("  CursorKeysSecretArn[[\"Secrets Manager<br/>CursorKeysSecretArn\"]]")
	line("  client -- gets tokens from --> pool")
	functions := samtest.Of[samtest.Function](t, tpl, "AWS::Serverless::Function")
	var edges, pool, topic, logs, alarms []string
	for _, name := range slices.Sorted(maps.Keys(tpl.Resources)) {
		switch typ := tpl.Resources[name].Type; typ {
		case "AWS::DynamoDB::Table":
			line("  %s[(\"DynamoDB table %s<br/>with index GSI1\")]", name, name)
		case "AWS::Serverless::HttpApi":
			line("  %s{{\"HTTP API %s<br/>JWT authorizer, throttling\"}}", name, name)
			edges = append(edges, fmt.Sprintf("client -- access token --> %s", name), fmt.Sprintf("%s -. keys of tokens .-> pool", name))
		case "AWS::Serverless::Function":
			// They stand in a box of their own, below.
		case "AWS::Cognito::UserPool", "AWS::Cognito::UserPoolClient", "AWS::Cognito::UserPoolGroup":
			pool = append(pool, name)
		case "AWS::SNS::Topic", "AWS::SNS::Subscription":
			topic = append(topic, name)
		case "AWS::Logs::LogGroup":
			logs = append(logs, name)
		case "AWS::CloudWatch::Alarm":
			alarms = append(alarms, name)
		default:
			t.Errorf("%s is of the type %s: say here how it is drawn", name, typ)
		}
	}
	line("  subgraph functions [\"Lambda functions\"]")
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		line("    %s", name)
		edges = append(edges, edgesOf(t, name, functions[name])...)
	}
	line("  end")
	line("  pool[[\"Cognito user pool<br/>%s<br/>or UserPoolId\"]]", strings.Join(pool, "<br/>"))
	line("  topic[[\"SNS topic<br/>%s<br/>or AlarmTopicArn\"]]", strings.Join(topic, "<br/>"))
	line("  logs[\"CloudWatch Logs<br/>%s\"]", strings.Join(logs, "<br/>"))
	line("  alarms[\"CloudWatch alarms<br/>%s\"]", strings.Join(alarms, "<br/>"))
	for _, e := range append(edges, "functions -.-> pool", "functions -.-> logs", "Api -.-> logs", "alarms -.-> topic") {
		line("  %s", e)
	}
	return b.String()
}

// edgesOf returns the arrows to and from a function: its endpoint, and what it has
// permission for.
func edgesOf(t *testing.T, name string, f samtest.Function) (edges []string) {
	t.Helper()
	for _, e := range f.Events {
		edges = append(edges, fmt.Sprintf("%s -- %q --> %s", e.Properties["ApiId"], fmt.Sprint(e.Properties["Method"], " ", e.Properties["Path"]), name))
	}
	for _, policy := range f.Policies {
		for _, s := range policy.Statement {
			target := ""
			switch s.Resource {
			case tableARN, tableARN + "/index/GSI1":
				target = "Table"
			case "CursorKeysSecretArn":
				target = s.Resource
			default:
				t.Errorf("%s has permission for %s: say here how that is drawn", name, s.Resource)
			}
			var actions []string
			for _, a := range s.Action {
				_, action, _ := strings.Cut(a, ":")
				actions = append(actions, action)
			}
			label := strings.Join(actions, ", ")
			if strings.Contains(s.Resource, "/index/") {
				label += " of GSI1"
			}
			edges = append(edges, fmt.Sprintf("%s -- %q --> %s", name, label, target))
		}
	}
	return edges
}
