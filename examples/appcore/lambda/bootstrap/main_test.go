package main

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/examples/internal/auth/pooltest"
	"github.com/singletable/singletable/examples/internal/check"
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

// Each function serves its endpoint and no other, to users with a token of the pool. Only
// those that need the cursor keys read the secret.
func TestEachFunctionServesItsEndpoint(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("Go trusts the system's certificates only, whatever SSL_CERT_FILE says")
	}
	d := deploy(t)
	ids := map[string]string{} // of what is in responses, by the members that have them
	var invoked []string
	for _, c := range []struct {
		handler, id, body string
		status            int
		has               string
	}{
		{"createTransaction", "", `{"amount":500,"currency":"ARS"}`, http.StatusCreated, `"amount":500`},
		{"getTransaction", "txId", "", http.StatusOK, `"currency":"ARS"`},
		{"patchTransaction", "txId", `{"note":"rent"}`, http.StatusOK, `"note":"rent"`},
		{"approveTransaction", "txId", "", http.StatusOK, `"status":"COMPLETED"`},
		{"listTransactions", "", "", http.StatusOK, `"note":"rent"`},
		{"newestTransactions", "", "", http.StatusOK, `"note":"rent"`},
		{"listNotifications", "", "", http.StatusOK, `"read":false`},
		{"patchNotification", "notifId", `{"read":true}`, http.StatusOK, `"read":true`},
		{"registerUser", "", `{"userId":"u-9","email":"ana@example.com","name":"Ana"}`, http.StatusCreated, `"userId":"u-9"`},
		{"getUser", "userId", "", http.StatusOK, `"email":"ana@example.com"`},
		{"patchUser", "userId", `{"email":"ana@example.org"}`, http.StatusOK, `"email":"ana@example.org"`},
	} {
		reads := d.secrets.Reads()
		f := d.Start(t, c.handler)
		invoked = append(invoked, c.handler)
		for handler := range d.Functions {
			statuses := []int{http.StatusNotFound, http.StatusMethodNotAllowed}
			// /transactions/global has the form of /transactions/{id}.
			if handler == c.handler || c.handler == "getTransaction" && handler == "newestTransactions" {
				statuses = []int{http.StatusUnauthorized}
			}
			f.Serve(t, d.request(handler, "x-1"), statuses...)
		}
		r := d.request(c.handler, ids[c.id])
		r.Body = c.body
		r.Token, r.Claims = d.pool.Token(t, "u-123", map[string]any{"cognito:groups": []string{api.BackOffice}})
		d.Faults.Always("", tabletest.DropRequest())
		f.Serve(t, r, http.StatusServiceUnavailable)
		d.Faults.Always("", nil)
		body := f.Serve(t, r, c.status).Body
		if !strings.Contains(body, c.has) {
			t.Errorf("%s: %s, want %s", c.handler, body, c.has)
		}
		for _, id := range identifier.FindAllStringSubmatch(body, -1) {
			ids[id[1]] = id[2]
		}
		f.Fails(t, []byte(`{"Records":[{"messageId":"m-1","body":"{}","eventSource":"aws:sqs"}]}`), `records of "aws:sqs"`)
		check.Equal(t, c.handler+" reads the secret", d.secrets.Reads() > reads, strings.HasPrefix(c.handler, "list") || c.handler == "newestTransactions")
	}
	slices.Sort(invoked)
	check.Equal(t, "functions", invoked, slices.Sorted(maps.Keys(d.Functions)))
}

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
