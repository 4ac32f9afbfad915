package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/singletable/singletable/examples/cqrs/api"
	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/setup"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/auth/pooltest"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/lambda/lambdatest"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/internal/samtest"
	"github.com/singletable/singletable/examples/internal/secret/secretstest"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

const (
	cursorKeys = "arn:aws:secretsmanager:us-east-1:123456789012:secret:cqrs/cursor-keys-AbCdEf"
	database   = "arn:aws:secretsmanager:us-east-1:123456789012:secret:cqrs/database-AbCdEf"
	tableARN   = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${TableName}"
)

// deployment is the functions of the template with what they need.
type deployment struct {
	*lambdatest.Stack
	pool    pooltest.Pool
	secrets *secretstest.Store
	table   *table.Table
	service *core.Service
	files   string // the directory of the bucket
	seen    int    // how many requests to DynamoDB were looked at
	read    map[string]int
	raw     [][]byte // the responses of the stream
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{table: tabletest.New(t, core.Schema("any"), nil), files: t.TempDir(), read: map[string]int{}}
	d.service = check.Must(core.New(d.table, nil))(t)
	d.pool = pooltest.New(t, tabletest.Client(t).Options().Region)
	d.secrets = secretstest.New(cursorKeys, "ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo=")
	t.Cleanup(d.secrets.Close)
	bucket := httptest.NewServer(http.StripPrefix("/imports/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file := filepath.Join(d.files, r.URL.Path)
		if _, err := os.Stat(file); err != nil {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`<Error><Code>NoSuchKey</Code></Error>`))
			return
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeFile(w, r, file)
	})))
	t.Cleanup(bucket.Close)
	d.Stack = lambdatest.New(t, "../template.yaml", map[string]string{
		"TableName": d.table.Schema().Name, "UserPoolId": d.pool.ID, "ClientId": d.pool.ClientID,
		"CursorKeysSecretArn": cursorKeys, "DatabaseSecretArn": database, "Imports": "imports",
	})
	maps.Copy(d.Environment, map[string]string{
		secretstest.EndpointVariable: d.secrets.URL, "AWS_ENDPOINT_URL_S3": bucket.URL,
		setup.DatabaseURL: filepath.Join(t.TempDir(), "readmodel.db"), // in place of the secret's
	})
	return d
}

// needed returns the statements that allow the requests since the last call, and others.
func (d *deployment) needed(t *testing.T, others ...samtest.Statement) []samtest.Statement {
	t.Helper()
	requests := d.Faults.Requests()
	statements := samtest.Needed(t, requests[d.seen:])
	d.seen = len(requests)
	byName := strings.NewReplacer("${Table.Arn}", tableARN, "Table.Arn", tableARN)
	for i := range statements {
		statements[i].Resource = byName.Replace(statements[i].Resource)
	}
	return append(statements, others...)
}

func reads(secret string) samtest.Statement {
	return samtest.Statement{Effect: "Allow", Action: []string{"secretsmanager:GetSecretValue"}, Resource: secret}
}

// What the bucket and the event source mapping need.
var (
	bucketAccess = []samtest.Statement{
		{Effect: "Allow", Action: []string{"s3:GetObject"}, Resource: "${Imports.Arn}/*"},
		{Effect: "Allow", Action: []string{"s3:ListBucket"}, Resource: "Imports.Arn"},
	}
	mappingAccess = []samtest.Statement{
		{
			Effect: "Allow", Action: []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"},
			Resource: tableARN + "/stream/*",
		},
		{Effect: "Allow", Action: []string{"sqs:SendMessage"}, Resource: "FailedBatches.Arn"},
	}
)

// call sends a request of the template's to a function of the API, as an admin of ACME.
func (d *deployment) call(t *testing.T, f *lambdatest.Function, route, query, body string, statuses ...int) string {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	r := lambdatest.Request{Method: method, Route: route, Target: path + query, Body: body}
	if body != "" {
		r.Header = map[string]string{"idempotency-key": fmt.Sprintf("%x", body)[:min(2*len(body), 200)]}
	}
	f.Serve(t, r, http.StatusUnauthorized)
	r.Token, r.Claims = d.pool.Token(t, "ana", map[string]any{auth.TenantClaim: "ACME", "cognito:groups": []string{api.Admin}})
	return f.Serve(t, r, statuses...).Body
}

// deliver gives the changes of the table to a function as the event source mapping does, and
// those that the function makes, until there are no more.
func (d *deployment) deliver(t *testing.T, f *lambdatest.Function, mapping string) {
	t.Helper()
	filters := samtest.Of[struct {
		Filter struct {
			Filters []struct {
				Pattern string `yaml:"Pattern"`
			} `yaml:"Filters"`
		} `yaml:"FilterCriteria"`
	}](t, samtest.Read(t, "../template.yaml"), "AWS::Lambda::EventSourceMapping")[mapping].Filter.Filters
	for {
		all := d.changes(t)
		next := all[d.read[mapping]:]
		d.read[mapping] = len(all)
		if len(next) == 0 {
			return
		}
		wanted := slices.DeleteFunc(next, func(change any) bool {
			return !slices.ContainsFunc(filters, func(filter struct {
				Pattern string `yaml:"Pattern"`
			},
			) bool {
				var pattern any
				check.OK(t, json.Unmarshal([]byte(filter.Pattern), &pattern))
				return matches(pattern, change)
			})
		})
		if len(wanted) == 0 {
			continue
		}
		o := f.Invoke(t, check.Must(json.Marshal(map[string]any{"Records": wanted}))(t))
		check.Equal(t, mapping, string(o.Response), `{"batchItemFailures":[]}`)
		check.Equal(t, mapping+" logs", len(o.Lines), 0)
	}
}

// matches reports whether a value has what a pattern of a filter asks for.
func matches(pattern, value any) bool {
	switch p := pattern.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		for name, part := range p {
			ok = ok && matches(part, object[name])
		}
		return ok
	case []any:
		return slices.Contains(p, value)
	}
	return false
}

// changes returns all records of the table's stream as Lambda has them.
func (d *deployment) changes(t *testing.T) (all []any) {
	t.Helper()
	var faults tabletest.Faults
	d.raw = nil
	faults.Always("GetRecords", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		d.raw = append(d.raw, body)
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return resp, err
	})
	client := streamtest.Client(tabletest.Client(t, faults.Install))
	ctx, name := t.Context(), d.table.Schema().Name
	streams := check.Must(client.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: &name}))(t)
	arn := streams.Streams[0].StreamArn
	about := check.Must(client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn}))(t)
	for _, shard := range about.StreamDescription.Shards {
		iterator := check.Must(client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		}))(t).ShardIterator
		for iterator != nil {
			out := check.Must(client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator}))(t)
			if iterator = out.NextShardIterator; len(out.Records) == 0 {
				break
			}
		}
	}
	for _, body := range d.raw {
		var page struct{ Records []map[string]any }
		check.OK(t, json.Unmarshal(body, &page))
		for _, r := range page.Records {
			r["eventSourceARN"] = *arn
			all = append(all, r)
		}
	}
	return all
}

// everyEndpoint calls each endpoint of the table, so that all requests are sent that there
// are.
func (d *deployment) everyEndpoint(t *testing.T, f *lambdatest.Function, acme core.Tenant) {
	t.Helper()
	called := map[string]bool{}
	call := func(route, query, body string, statuses ...int) string {
		t.Helper()
		called[route] = true
		return d.call(t, f, route, query, body, statuses...)
	}
	const lamp = `{"type":"PRODUCT","path":["LAMP"],"name":"Desk lamp","attributes":{"price":40}%s}`
	for range 2 { // the second one is repeated
		call("POST /records", "", fmt.Sprintf(lamp, ""), http.StatusOK)
		call("POST /orders", "", `{"name":"A lamp"}`, http.StatusOK)
	}
	call("POST /records", "", fmt.Sprintf(lamp, `,"version":1`), http.StatusOK)
	call("POST /records", "", `{"type":"USER","path":["ana"]}`, http.StatusOK)
	call("POST /records", "", `{"type":"DEPT","path":["ENG"]}`, http.StatusOK)
	call("POST /records", "", `{"type":"DEPT","path":["ENG","WEB"]}`, http.StatusOK)
	commands := call("GET /record/commands", "?type=PRODUCT&path=LAMP", "", http.StatusOK)
	check.Equal(t, "address", check.Must(acme.Commands(t.Context(), core.NewRef("PRODUCT", "LAMP"), 1, ""))(t).Items[0].CreatedIP, "203.0.113.7")
	check.Equal(t, "commands", strings.Count(commands, `"requestId"`), 2)
	for typ, path := range map[string]string{"PRODUCT": "&path=LAMP", "USER": "&path=ana", "DEPT": "&path=ENG", "ORDER": "&path=2024&path=ORD-1"} {
		statuses := []int{http.StatusOK, http.StatusNotFound} // the stream is not delivered yet
		call("GET /record", "?type="+typ+path, "", statuses...)
		call("GET /record/version", "?version=1&type="+typ+path, "", statuses...)
		call("GET /record/versions", "?type="+typ+path, "", http.StatusOK)
		call("GET /record/commands", "?type="+typ+path, "", http.StatusOK)
		call("GET /records", "?type="+typ, "", http.StatusOK)
		call("GET /records", "?type="+typ+path, "", http.StatusOK)
	}
	call("GET /records", "?code=LAMP", "", http.StatusOK)
	call("GET /catalogue", "", "", http.StatusOK)
	call("POST /catalogue/rebuild", "", `{"id":"rebuild-1"}`, http.StatusAccepted)
	const rows = `{"id":"%s","rows":[{"type":"PRODUCT","path":["DESK"],"name":"Lamp desk"},{"type":"PRODUCT","path":["DESK"]},{"type":"USER","path":["eve"]}]}`
	call("POST /imports", "", fmt.Sprintf(rows, "imp-1"), http.StatusAccepted)
	check.OK(t, os.MkdirAll(filepath.Join(d.files, "ACME"), 0o700),
		os.WriteFile(filepath.Join(d.files, "ACME", "rows.jsonl"), []byte(`{"type":"PRODUCT","path":["CHAIR"]}`+"\n"+`{"type":"DEPT","path":["ENG","API"]}`+"\n{}"), 0o600))
	call("POST /imports", "", `{"id":"imp-2","file":"rows.jsonl"}`, http.StatusAccepted)
	call("POST /imports", "", `{"id":"imp-2","file":"none.jsonl"}`, http.StatusNotFound)
	// The task of an import has expired, and its id is used again.
	call("POST /imports", "", fmt.Sprintf(rows, "imp-3"), http.StatusAccepted)
	check.OK(t, d.table.Do(t.Context(), table.Delete(keys.Key{PK: "TASK#ACME", SK: "TASK#imp-3"})))
	call("POST /imports", "", fmt.Sprintf(rows, "imp-3"), http.StatusAccepted)
	check.OK(t, d.table.Do(t.Context(), table.Delete(keys.Key{PK: "TASK#ACME", SK: "TASK#imp-3"})))
	call("GET /imports/rejected", "?id=imp-1", "", http.StatusOK)
	call("GET /tasks", "", "", http.StatusOK)
	call("GET /task", "?id=imp-1", "", http.StatusOK)
	call("POST /task/cancel", "", `{"id":"imp-1"}`, http.StatusConflict)
	f.Serve(t, lambdatest.Request{Method: "GET", Target: "/search"}, http.StatusNotFound)
	check.Equal(t, "endpoints", slices.Sorted(maps.Keys(called)), api.Routes(false))
}

func TestAFunctionThatLacksSomethingDoesNotStart(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	for _, c := range []struct{ handler, variable, value, reason string }{
		{"api", "TABLE_NAME", "", "TABLE_NAME"},
		{"api", "COGNITO_USER_POOL_ID", "", "COGNITO_USER_POOL_ID"},
		{"api", setup.CursorKeysSecret, "", setup.CursorKeysSecret},
		{"search", setup.CursorKeysSecret, "", setup.CursorKeysSecret},
		{"project", setup.DatabaseURL, "/none/readmodel.db", "readmodel"},
		{"rebuild", "_HANDLER", "other", "there is no handler"},
	} {
		l := d.StartFails(t, c.handler, map[string]string{c.variable: c.value})
		if !strings.Contains(fmt.Sprint(l.Error), c.reason) {
			t.Errorf("%s without %s: %s", c.handler, c.variable, l.Text)
		}
	}
	// The secret has no database, and is not quoted.
	d.secrets.Set("hunter2")
	l := d.StartFails(t, "project", map[string]string{setup.DatabaseURL: "", setup.DatabaseSecret: cursorKeys})
	if text := fmt.Sprint(l.Error); !strings.Contains(text, "PostgreSQL") || strings.Contains(l.Text, "hunter2") {
		t.Errorf("with another secret: %s", l.Text)
	}
	delete(d.Environment, setup.DatabaseURL)
	l = d.StartFails(t, "project", map[string]string{setup.DatabaseSecret: ""})
	if !strings.Contains(fmt.Sprint(l.Error), setup.DatabaseSecret) {
		t.Errorf("without a database: %s", l.Text)
	}
}
