package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/samtest"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The table of the template has every property that the schema asks for, and
// other than that only those that no schema has.
func TestTheTemplatesTableIsTheSchemas(t *testing.T) {
	t.Parallel()
	samtest.Table(t, samtest.Read(t, "template.yaml"), core.Schema("AppCore"))
}

// tableARN is the ARN of the table, also if the stack has not made it.
const tableARN = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${TableName}"

var byName = strings.NewReplacer("${Table.Arn}", tableARN, "Table.Arn", tableARN)

// A function has permission for the requests that its endpoint sends, on their
// targets, and for nothing else.
func TestFunctionsMayDoWhatTheyDoAndNoMore(t *testing.T) {
	t.Parallel()
	functions := samtest.Functions(t, samtest.Read(t, "template.yaml"))
	done := whatEndpointsDo(t)
	if len(functions) != len(done) || len(done) != 11 {
		t.Errorf("%d functions for %d endpoints", len(functions), len(done))
	}
	for handler, d := range done {
		want := samtest.Needed(t, d.requests)
		if len(want) != 1 {
			t.Fatalf("%s: statements %+v, want one", handler, want)
		}
		want[0].Resource = byName.Replace(want[0].Resource)
		switch handler {
		case "createTransaction":
			// It looks for the record itself when DynamoDB has not returned it.
			if !slices.Contains(want[0].Action, "dynamodb:GetItem") {
				want[0].Action = append(want[0].Action, "dynamodb:GetItem")
			}
		case "patchTransaction":
			// A copy that is missing, or differs, is written whole.
			want[0].Action = append(want[0].Action, "dynamodb:PutItem")
		}
		if d.secret {
			want = append(want, samtest.Statement{Effect: "Allow", Action: []string{"secretsmanager:GetSecretValue"}, Resource: "CursorKeysSecretArn"})
		}
		samtest.Allows(t, functions[handler], want...)
	}
}

// deeds are what an endpoint asks of DynamoDB, and whether it needs the secret.
type deeds struct {
	requests []tabletest.Request
	secret   bool
}

// whatEndpointsDo calls each endpoint and looks at its requests to DynamoDB.
func whatEndpointsDo(t *testing.T) map[string]deeds {
	t.Helper()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install)
	tbl := tabletest.NewWith(t, client, core.Schema("any"), nil)
	service, _, err := setup.Service(client, tbl.Schema().Name)
	check.OK(t, err)
	issuer := check.Must(auth.NewIssuer(nil))(t)
	verifier := check.Must(auth.NewCognito(issuer.Config()))(t)
	token := check.Must(issuer.Token("u-123", api.BackOffice))(t)
	read := 0
	cursorKeys := func(context.Context) error {
		read++
		return nil
	}
	handler := api.New(service, cursorKeys, verifier, slog.New(slog.DiscardHandler), nil).Handler(nil)
	request := core.NewTransaction{User: "u-123", Key: "first", Amount: 1, Currency: "EUR"}
	created, _, err := service.Create(t.Context(), request)
	check.OK(t, err)
	request.Key = "second"
	approved, _, err := service.Create(t.Context(), request)
	check.OK(t, err)
	check.Must(service.Approve(t.Context(), approved.ID))(t)
	notified := check.Must(service.Notifications(t.Context(), core.List{User: "u-123", Limit: 1}))(t)
	// registerUser claims the e-mail of a user that another program has stored.
	check.OK(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}, map[string]string{
		"entityType": "USER", "userId": "u-123", "email": "ana@example.com", "name": "Ana", "createdAt": "2024-01-15T10:00:00.000Z",
	})))
	ids := map[string]string{"patchNotification": notified.Items[0].PublicID(), "getUser": "u-123", "patchUser": "u-123"}
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
			target = created.ID
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
		done[route.Name] = deeds{faults.Requests()[before:], read > readBefore}
	}
	return done
}

func TestFunctionsAreTheEndpoints(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	var have, want []string
	logs := samtest.Of[struct {
		RetentionInDays string `yaml:"RetentionInDays"`
	}](t, tpl, "AWS::Logs::LogGroup")
	for name, f := range samtest.Of[samtest.Function](t, tpl, "AWS::Serverless::Function") {
		for _, e := range f.Events {
			have = append(have, fmt.Sprintf("%s %s %s", f.Handler, e.Properties["Method"], e.Properties["Path"]))
			if e.Type != "HttpApi" || e.Properties["ApiId"] != "Api" || e.Properties["Auth"] != nil {
				t.Errorf("%s: event %+v is not one of the API with its authorizer", name, e)
			}
		}
		if logs[f.LoggingConfig.LogGroup].RetentionInDays == "" {
			t.Errorf("%s: its logs are kept for ever", name)
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
}

func TestAlarmsReachSomebody(t *testing.T) {
	t.Parallel()
	samtest.Alarms(t, samtest.Read(t, "template.yaml"), "TableName", core.Schema("any").Indexes, "5xx Api", "Latency Api")
}

func TestParametersAgree(t *testing.T) {
	t.Parallel()
	samtest.ParametersAgree(t, samtest.Read(t, "template.yaml"), nil)
}

func TestTheScriptDeploysTheTemplate(t *testing.T) {
	t.Parallel()
	samtest.Script(t, "template.yaml", "CursorKeysSecretArn", "user you@example.com backoffice")
}

func TestDataOutlivesTheStack(t *testing.T) {
	t.Parallel()
	const pool = "MakesUserPool"
	samtest.Outlives(t, "template.yaml", map[string]string{
		"Table": "MakesTable", "UserPool": pool, "UserPoolClient": pool, "BackOffice": pool, "Auditor": pool,
	})
}

func TestTheUserPoolIsTheStaffs(t *testing.T) {
	t.Parallel()
	samtest.UserPool(t, samtest.Read(t, "template.yaml"), "Api", true, api.BackOffice, api.Auditor)
}

// Concurrency that is reserved for one function is taken from all others, so only
// the parameter of POST /transactions may reserve any, and by default it does not:
// a literal 0 would switch the function off.
func TestOnlyPostHasReservedConcurrency(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	reserved := map[string][]string{}
	for name, f := range samtest.Of[struct {
		Reserved []string `yaml:"ReservedConcurrentExecutions"`
	}](t, tpl, "AWS::Serverless::Function") {
		if len(f.Reserved) > 0 {
			reserved[name] = f.Reserved
		}
	}
	check.Equal(t, "reserved concurrency", reserved, map[string][]string{
		"CreateTransaction": {"HasCreateConcurrency", "CreateConcurrency", "AWS::NoValue"},
	})
}
