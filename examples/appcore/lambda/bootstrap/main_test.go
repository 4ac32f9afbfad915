package main

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/examples/internal/auth/pooltest"
	"github.com/singletable/singletable/examples/internal/lambda/lambdatest"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/internal/secret/secretstest"
	"github.com/singletable/singletable/table/tabletest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

const secretARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:appcore/cursor-keys-AbCdEf"

// deployment is the functions of the template with what they need.
type deployment struct {
	*lambdatest.Stack
	secrets *secretstest.Store
	pool    pooltest.Pool
}

func deploy(t *testing.T) deployment {
	t.Helper()
	name := tabletest.New(t, core.Schema("any"), nil).Schema().Name
	d := deployment{
		secrets: secretstest.New(secretARN, "ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo="),
		pool:    pooltest.New(t, tabletest.Client(t).Options().Region),
	}
	t.Cleanup(d.secrets.Close)
	d.Stack = lambdatest.New(t, "../../template.yaml", map[string]string{
		"Table": name, "TableName": name, "UserPoolId": d.pool.ID, "ClientId": d.pool.ClientID, "CursorKeysSecretArn": secretARN,
	})
	d.Environment[secretstest.EndpointVariable] = d.secrets.URL
	maps.Copy(d.Environment, d.pool.Serve(t))
	return d
}

// request returns a request of the route that the function has in the template.
func (d deployment) request(handler, id string) lambdatest.Request {
	p := d.Functions[handler].Events["Request"].Properties
	method, path := fmt.Sprint(p["Method"]), fmt.Sprint(p["Path"])
	return lambdatest.Request{
		Method: method, Route: method + " " + path, Target: strings.Replace(path, "{id}", id, 1),
		Header: map[string]string{"idempotency-key": "8e03978e", "if-match": "*"},
	}
}

var identifier = regexp.MustCompile(`"(txId|notifId|userId)":"([^"]*)"`)

func TestAFunctionThatLacksSomethingDoesNotStart(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	for name, reason := range map[string]string{
		"TABLE_NAME": "TABLE_NAME", "AWS_REGION": "AWS_REGION", "COGNITO_USER_POOL_ID": "COGNITO_USER_POOL_ID",
		"COGNITO_CLIENT_ID": "COGNITO_CLIENT_ID", setup.CursorKeysSecret: setup.CursorKeysSecret, "_HANDLER": "there is no endpoint",
	} {
		l := d.StartFails(t, "listTransactions", map[string]string{name: ""})
		if !strings.Contains(fmt.Sprint(l.Error), reason) {
			t.Errorf("without %s: %s", name, l.Text)
		}
	}
	l := d.StartFails(t, "listTransactions", map[string]string{setup.CursorKeysSecret: "another"})
	if text := fmt.Sprint(l.Error); !strings.Contains(text, "cursor keys") || !strings.Contains(text, "ResourceNotFoundException") {
		t.Errorf("without the secret: %s", l.Text)
	}
}
