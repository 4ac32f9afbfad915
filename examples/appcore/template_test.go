package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/auth"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

// template is what the tests look at of template.yaml. Functions of
// CloudFormation such as !Ref are read as the text that follows them.
type template struct {
	Globals struct {
		Function struct {
			Runtime     string `yaml:"Runtime"`
			Timeout     int    `yaml:"Timeout"`
			Environment struct {
				Variables map[string]string `yaml:"Variables"`
			} `yaml:"Environment"`
		} `yaml:"Function"`
	} `yaml:"Globals"`
	Resources map[string]struct {
		Type       string    `yaml:"Type"`
		Properties yaml.Node `yaml:"Properties"`
	} `yaml:"Resources"`
}

type function struct {
	Handler       string `yaml:"Handler"`
	LoggingConfig struct {
		LogGroup string `yaml:"LogGroup"`
	} `yaml:"LoggingConfig"`
	Events map[string]struct {
		Type       string `yaml:"Type"`
		Properties struct {
			APIID  string `yaml:"ApiId"`
			Method string `yaml:"Method"`
			Path   string `yaml:"Path"`
			Auth   any    `yaml:"Auth"`
		} `yaml:"Properties"`
	} `yaml:"Events"`
	Policies []struct {
		Statement []statement `yaml:"Statement"`
	} `yaml:"Policies"`
}

type statement struct {
	Effect    string                         `yaml:"Effect"`
	Action    []string                       `yaml:"Action"`
	Resource  string                         `yaml:"Resource"`
	Condition map[string]map[string][]string `yaml:"Condition"`
}

func readTemplate(t *testing.T) template {
	t.Helper()
	text := check.Must(os.ReadFile("template.yaml"))(t)
	var tpl template
	check.OK(t, yaml.Unmarshal(text, &tpl))
	return tpl
}

// resources returns the properties of all resources of a type by their names.
func resources[T any](t *testing.T, tpl template, typ string) map[string]T {
	t.Helper()
	found := map[string]T{}
	for name, r := range tpl.Resources {
		if r.Type != typ {
			continue
		}
		var properties T
		if err := r.Properties.Decode(&properties); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found[name] = properties
	}
	return found
}

// The table of the template has every property that the schema asks for, and
// other than that only those that no schema has.
func TestTheTemplatesTableIsTheSchemas(t *testing.T) {
	t.Parallel()
	have := resources[map[string]any](t, readTemplate(t), "AWS::DynamoDB::Table")["Table"]
	text := check.Must(tablemodel.CloudFormation(core.Schema("AppCore")))(t)
	var made template
	if err := yaml.Unmarshal(text, &made); err != nil { // JSON is YAML
		t.Fatal(err)
	}
	want := resources[map[string]any](t, made, "AWS::DynamoDB::Table")["Table"]
	want["TableName"] = "TableName" // the parameter
	want["PointInTimeRecoverySpecification"] = map[string]any{"PointInTimeRecoveryEnabled": true}
	want["SSESpecification"] = map[string]any{"SSEEnabled": true}
	for _, t := range []map[string]any{want, have} {
		slices.SortFunc(t["AttributeDefinitions"].([]any), func(a, b any) int { // a set
			return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
		})
	}
	check.Equal(t, "the table", have, want)
}

// A function has permission for the requests that its endpoint sends, on their
// targets, and for nothing else.
func TestFunctionsMayDoWhatTheyDoAndNoMore(t *testing.T) {
	t.Parallel()
	functions := map[string]function{}
	for _, f := range resources[function](t, readTemplate(t), "AWS::Serverless::Function") {
		functions[f.Handler] = f
	}
	done := whatEndpointsDo(t)
	if len(functions) != len(done) || len(done) != 10 {
		t.Errorf("%d functions for %d endpoints", len(functions), len(done))
	}
	for handler, d := range done {
		f := functions[handler]
		if len(f.Policies) != 1 || len(f.Policies[0].Statement) == 0 {
			t.Fatalf("%s: policies %+v, want one", handler, f.Policies)
		}
		var secret []statement
		if d.secret {
			secret = []statement{{Effect: "Allow", Action: []string{"secretsmanager:GetSecretValue"}, Resource: "CursorKeysSecretArn"}}
		}
		if diff := cmp.Diff(secret, f.Policies[0].Statement[1:], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: the secret (-read +allowed):\n%s", handler, diff)
		}
		s := f.Policies[0].Statement[0]
		slices.Sort(s.Action)
		want := d.actions
		if handler == "createTransaction" && !slices.Contains(want, "dynamodb:GetItem") {
			// It looks for the record itself when DynamoDB has not returned it.
			want = append([]string{"dynamodb:GetItem"}, want...)
		}
		if handler == "patchTransaction" {
			// A copy that is missing, or differs, is written whole.
			want = append(want, "dynamodb:PutItem")
			slices.Sort(want)
		}
		if diff := cmp.Diff(want, s.Action); s.Effect != "Allow" || diff != "" {
			t.Errorf("%s: actions (-done +allowed):\n%s", handler, diff)
		}
		resource := "Table.Arn"
		if d.index {
			resource = "${Table.Arn}/index/GSI1"
		}
		if s.Resource != resource {
			t.Errorf("%s: resource %s, want %s", handler, s.Resource, resource)
		}
		allowed := s.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
		slices.Sort(allowed)
		if diff := cmp.Diff(d.leading, allowed); diff != "" {
			t.Errorf("%s: leading keys (-done +allowed):\n%s", handler, diff)
		}
	}
}

// deeds are what an endpoint does to the table, and whether it needs the secret.
type deeds struct {
	actions       []string
	leading       []string // patterns of partition keys
	index, secret bool
}

// whatEndpointsDo calls each endpoint and looks at its requests to DynamoDB.
func whatEndpointsDo(t *testing.T) map[string]deeds {
	t.Helper()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install)
	tbl := tabletest.NewWith(t, client, core.Schema("any"), nil)
	service := check.Must(setup.Service(client, tbl.Schema().Name, paginate.NewKey()))(t)
	issuer := check.Must(auth.NewIssuer(nil))(t)
	verifier := check.Must(auth.NewCognito(issuer.Config()))(t)
	token := check.Must(issuer.Token("u-123", api.BackOffice))(t)
	read := 0
	lists := func(context.Context) (*core.Service, error) {
		read++
		return service, nil
	}
	handler := api.New(service, lists, verifier, slog.New(slog.DiscardHandler)).Handler(nil)
	request := core.NewTransaction{User: "u-123", Key: "first", Amount: 1, Currency: "EUR"}
	id, _, err := core.CreateTransaction(t.Context(), service, request, func(t core.Transaction) (string, error) { return t.ID, nil })
	check.OK(t, err)
	request.Key = "second"
	approved, _, err := core.CreateTransaction(t.Context(), service, request, func(t core.Transaction) (string, error) { return t.ID, nil })
	check.OK(t, err)
	check.Must(service.Approve(t.Context(), approved))(t)
	notified := check.Must(service.Notifications(t.Context(), core.List{User: "u-123", Limit: 1}))(t)
	// registerUser claims the e-mail of a user that another program has stored.
	check.OK(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}, map[string]string{
		"entityType": "USER", "userId": "u-123", "email": "ana@example.com", "name": "Ana", "createdAt": "2024-01-15T10:00:00.000Z",
	})))
	ids := map[string]string{"patchNotification": notified.Items[0].PublicID(), "patchUser": "u-123"}
	bodies := map[string]string{
		"createTransaction": `{"amount":1,"currency":"EUR"}`,
		"patchTransaction":  `{"note":"n"}`,
		"patchNotification": `{"read":true}`,
		"registerUser":      `{"userId":"u-123","email":"ana@example.com","name":"Ana"}`,
		"patchUser":         `{"email":"ana@example.org"}`,
	}
	done := map[string]deeds{}
	for _, route := range api.Routes() {
		target, named := ids[route.Name]
		if !named {
			target = id
		}
		before, readBefore := len(faults.Requests()), read
		for range 2 { // the second POST is a repeated one
			r := httptest.NewRequest(route.Method, strings.Replace(route.Path, "{id}", target, 1), strings.NewReader(bodies[route.Name]))
			r.Header = http.Header{"Authorization": {"Bearer " + token}, "Idempotency-Key": {"k"}, "If-Match": {"*"}}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code >= 300 {
				t.Fatalf("%s: status %d", route.Name, w.Code)
			}
		}
		d := deeds{secret: read > readBefore}
		for _, r := range faults.Requests()[before:] {
			d.add(t, r)
		}
		slices.Sort(d.actions)
		slices.Sort(d.leading)
		d.actions, d.leading = slices.Compact(d.actions), slices.Compact(d.leading)
		done[route.Name] = d
	}
	return done
}

// add takes apart a request to DynamoDB.
func (d *deeds) add(t *testing.T, r tabletest.Request) {
	t.Helper()
	type item map[string]struct{ S string }
	type keyed struct{ Key, Item item }
	var body struct {
		keyed
		IndexName                 string
		ExpressionAttributeValues item
		TransactItems             []map[string]keyed
	}
	check.OK(t, json.Unmarshal(r.Body, &body))
	leading := func(pk string) {
		if prefix, _, found := strings.Cut(pk, "#"); found {
			pk = prefix + "#*"
		}
		d.leading = append(d.leading, pk)
	}
	switch r.Operation {
	case "Query":
		d.index = body.IndexName != ""
		leading(body.ExpressionAttributeValues[":pk"].S)
	case "GetItem":
		leading(body.Key["pk"].S)
	case "TransactWriteItems":
		// What is allowed of a transaction is what is allowed of its parts.
		for _, part := range body.TransactItems {
			for verb, k := range part {
				d.actions = append(d.actions, "dynamodb:"+verb+"Item")
				leading(k.Item["pk"].S + k.Key["pk"].S)
			}
		}
		return
	}
	d.actions = append(d.actions, "dynamodb:"+r.Operation)
}

func TestFunctionsAreTheEndpoints(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	var have, want []string
	logs := resources[struct {
		RetentionInDays string `yaml:"RetentionInDays"`
	}](t, tpl, "AWS::Logs::LogGroup")
	alarms := resources[struct {
		MetricName string `yaml:"MetricName"`
		Dimensions []struct {
			Value string `yaml:"Value"`
		} `yaml:"Dimensions"`
	}](t, tpl, "AWS::CloudWatch::Alarm")
	for name, f := range resources[function](t, tpl, "AWS::Serverless::Function") {
		for _, e := range f.Events {
			have = append(have, f.Handler+" "+e.Properties.Method+" "+e.Properties.Path)
			if e.Type != "HttpApi" || e.Properties.APIID != "Api" || e.Properties.Auth != nil {
				t.Errorf("%s: event %+v is not one of the API with its authorizer", name, e)
			}
		}
		if logs[f.LoggingConfig.LogGroup].RetentionInDays == "" {
			t.Errorf("%s: its logs are kept for ever", name)
		}
		alarm, found := alarms[name+"Errors"]
		if !found || alarm.MetricName != "Errors" || len(alarm.Dimensions) != 1 || alarm.Dimensions[0].Value != name {
			t.Errorf("%s: has no alarm for errors", name)
		}
	}
	for _, r := range api.Routes() {
		want = append(want, r.Name+" "+r.Method+" "+r.Path)
	}
	slices.Sort(have)
	slices.Sort(want)
	check.Equal(t, "endpoints", have, want)
	variables := tpl.Globals.Function.Environment.Variables
	for _, name := range []string{"TABLE_NAME", "COGNITO_USER_POOL_ID", "COGNITO_CLIENT_ID", "COGNITO_SCOPE", setup.CursorKeysSecret} {
		if variables[name] == "" {
			t.Errorf("%s is not set", name)
		}
	}
	for name, value := range variables {
		// It would be readable, and stale after a rotation.
		if strings.Contains(value, "{{resolve:") {
			t.Errorf("%s holds a secret itself", name)
		}
	}
	for _, name := range []string{"ServerErrors", "TableThrottled", "IndexThrottled"} {
		if _, found := alarms[name]; !found {
			t.Errorf("there is no alarm %s", name)
		}
	}
}

func TestTheAPIAsksForTokensOfTheUserPool(t *testing.T) {
	t.Parallel()
	type authorizer struct {
		IdentitySource   string   `yaml:"IdentitySource"`
		Scopes           []string `yaml:"AuthorizationScopes"`
		JwtConfiguration struct {
			Issuer   string   `yaml:"issuer"`
			Audience []string `yaml:"audience"`
		} `yaml:"JwtConfiguration"`
	}
	apis := resources[struct {
		Auth struct {
			DefaultAuthorizer string                `yaml:"DefaultAuthorizer"`
			Authorizers       map[string]authorizer `yaml:"Authorizers"`
		} `yaml:"Auth"`
	}](t, readTemplate(t), "AWS::Serverless::HttpApi")
	a := apis["Api"].Auth
	jwt := a.Authorizers[a.DefaultAuthorizer]
	if jwt.IdentitySource != "$request.header.Authorization" || !slices.Equal(jwt.Scopes, []string{"Scope"}) ||
		jwt.JwtConfiguration.Issuer != "https://cognito-idp.${AWS::Region}.amazonaws.com/${UserPoolId}" ||
		!slices.Equal(jwt.JwtConfiguration.Audience, []string{"ClientId"}) {
		t.Errorf("authorizer: %+v", a)
	}
}
