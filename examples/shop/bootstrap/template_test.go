package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/lambda/lambdatest"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/internal/samtest"
	"github.com/singletable/singletable/examples/internal/secret/secretstest"
	"github.com/singletable/singletable/examples/shop/api"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestTheTemplatesTableIsTheSchemas(t *testing.T) {
	t.Parallel()
	samtest.Table(t, samtest.Read(t, "../template.yaml"), store.Schema("Shop"))
}

func TestMain(m *testing.M) { programtest.Main(m, main) }

const secretARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:shop/keys-AbCdEf"

// function is a function on a table with the sample data.
type function struct {
	*lambdatest.Stack
	*lambdatest.Function
	secrets *secretstest.Store
	shop    *store.Shop
	table   *table.Table
	token   string
}

// deploy returns the function before it is started.
func deploy(t *testing.T) *function {
	t.Helper()
	f := &function{table: tabletest.New(t, store.Schema("any"), nil)}
	f.secrets = secretstest.New(secretARN, "ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo=\n")
	t.Cleanup(f.secrets.Close)
	f.shop = check.Must(store.New(f.table, demo.Rounds))(t)
	check.OK(t, demo.Seed(t.Context(), f.shop))
	check.Must(f.shop.SetRole(t.Context(), "command", demo.Users[0].Email, store.Admin))(t)
	name := f.table.Schema().Name
	f.Stack = lambdatest.New(t, "../template.yaml", map[string]string{"Table": name, "TableName": name, "KeySecretArn": secretARN})
	f.Environment[secretstest.EndpointVariable] = f.secrets.URL
	return f
}

func start(t *testing.T, handler string) *function {
	t.Helper()
	f := deploy(t)
	f.Function = f.Start(t, handler)
	return f
}

// do sends a request to the function, and fails the test unless the status is right.
func (f *function) do(t *testing.T, method, path, body string, status int) events.APIGatewayV2HTTPResponse {
	t.Helper()
	return f.Serve(t, lambdatest.Request{
		Method: method, Target: path, Route: "ANY /{proxy+}", Body: body, Token: f.token,
		Header: map[string]string{"idempotency-key": "8e03978e"},
	}, status)
}

// Every endpoint is called: the API has the permissions for that, and no others.
func TestTheAPIMayDoWhatItDoesAndNoMore(t *testing.T) {
	t.Parallel()
	f := start(t, "api")
	called := map[string]bool{}
	call := func(route, path, body string, status int) events.APIGatewayV2HTTPResponse {
		t.Helper()
		called[route] = true
		method, pattern, _ := strings.Cut(route, " ")
		if path == "" {
			path = pattern
		}
		return f.do(t, method, path, body, status)
	}
	call("POST /users", "", `{"email":"carla@example.com","name":"Carla","password":"secret-1"}`, 201)
	f.do(t, "POST", "/users", `{"email":"carla@example.com","name":"Carla","password":"secret-1"}`, 409)
	var session struct{ Token string }
	check.OK(t, json.Unmarshal([]byte(call("POST /sessions", "", fmt.Sprintf(`{"email":%q,"password":%q}`, demo.Users[0].Email, demo.Password), 201).Body), &session))
	f.token = session.Token
	f.do(t, "GET", "/", "", 200)
	call("GET /categories", "", "", 200)
	call("GET /categories/{slug}", "/categories/home", "", 200)
	call("GET /categories/{slug}/products", "/categories/home/products", "", 200)
	call("GET /products", "/products?name=desk", "", 200)
	call("GET /products/{id}", "/products/p-lamp", "", 200)
	call("GET /users/{id}", "/users/u-ana", "", 200)
	for range 2 { // a new line, and one that is there
		call("POST /cart/items", "", `{"productId":"p-lamp","quantity":1}`, 204)
	}
	f.do(t, "POST", "/cart/items", `{"productId":"p-bowl","quantity":1}`, 204)
	call("DELETE /cart/items/{id}", "/cart/items/p-bowl", "", 204)
	var cart struct{ CartRevision string }
	check.OK(t, json.Unmarshal([]byte(call("GET /cart", "", "", 200).Body), &cart))
	checkout := fmt.Sprintf(`{"cartRevision":%q}`, cart.CartRevision)
	order := call("POST /orders", "", checkout, 201).Headers["Location"]
	f.do(t, "POST", "/orders", checkout, 201) // again
	call("GET /orders", "", "", 200)
	call("GET /orders/{id}", order, "", 200)
	call("PATCH /admin/orders/{id}", "/admin"+order, `{"status":"PAID"}`, 200)
	call("GET /admin/products", "", "", 200)
	call("POST /admin/categories", "", `{"slug":"toys","name":"Toys"}`, 201)
	call("POST /admin/products", "", `{"name":"Kite","category":"toys","price":1500,"stock":4,"active":true}`, 201)
	call("PATCH /admin/products/{id}", "/admin/products/p-lamp", `{"price":1400}`, 200)
	f.do(t, "PATCH", "/admin/products/p-lamp", `{"category":"toys"}`, 200)
	for _, r := range api.Routes() {
		if !called[r.Method+" "+r.Path] {
			t.Errorf("%s %s was not called", r.Method, r.Path)
		}
	}
	needed := append(samtest.Needed(t, f.Faults.Requests()),
		samtest.Statement{Effect: "Allow", Action: []string{"secretsmanager:GetSecretValue"}, Resource: "KeySecretArn"})
	samtest.Allows(t, f.Functions["api"], needed...)
}

// The key of the secret would be readable in a setting of a function, and stale after a
// rotation.
func TestTheTemplateHoldsNoSecretAndWatchesTheAPI(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "../template.yaml")
	functions := samtest.Functions(t, tpl)
	for handler, f := range functions {
		for name, value := range f.Environment.Variables {
			if strings.Contains(value, "{{resolve:") {
				t.Errorf("%s: %s holds a secret itself", handler, name)
			}
		}
		check.Equal(t, handler+" knows the secret", f.Environment.Variables[setup.KeySecret], map[string]string{"api": "KeySecretArn"}[handler])
	}
	alarms := samtest.Of[struct {
		Namespace  string `yaml:"Namespace"`
		Metric     string `yaml:"MetricName"`
		Dimensions []struct {
			Name  string `yaml:"Name"`
			Value string `yaml:"Value"`
		} `yaml:"Dimensions"`
	}](t, tpl, "AWS::CloudWatch::Alarm")
	a := alarms["ServerErrors"]
	check.Equal(t, "alarm", fmt.Sprint(a.Namespace, " ", a.Metric, " ", a.Dimensions), "AWS/ApiGateway 5xx [{ApiId HttpApi}]")
}

// mapping is what an event source mapping does in the name of a function.
var mapping = []samtest.Statement{
	{Effect: "Allow", Action: []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}, Resource: "Table.StreamArn"},
	{Effect: "Allow", Action: []string{"dynamodb:ListStreams"}, Resource: "${Table.Arn}/stream/*"},
}

// The consumers are given a sale that takes a stock below the threshold, twice, and the
// notification of that.
func TestConsumersMayDoWhatTheyDoAndNoMore(t *testing.T) {
	t.Parallel()
	handlers := []string{"audit", "notify"}
	check.Equal(t, "functions", slices.Sorted(maps.Keys(deploy(t).Functions)), append([]string{"api"}, handlers...))
	for _, handler := range handlers {
		f := start(t, handler)
		event := f.sale(t)
		f.handle(t, event)
		f.handle(t, event)
		if handler == "notify" {
			f.handle(t, f.created(t), "low stock")
			page := check.Must(f.shop.LowStocksByProduct(t.Context(), "p-lamp", 0, ""))(t)
			check.Equal(t, "sent", len(page.Items) == 1 && page.Items[0].SentAt != nil, true)
		} else {
			page := check.Must(f.shop.AuditsByEntity(t.Context(), store.ProductType, "p-lamp", 0, ""))(t)
			check.Equal(t, "audits", len(page.Items), 1)
		}
		check.Equal(t, handler+" reads the secret", f.secrets.Reads(), 0)
		samtest.Allows(t, f.Functions[handler], append(samtest.Needed(t, f.Faults.Requests()), mapping...)...)
	}
	for name, m := range samtest.Of[struct {
		Source    string   `yaml:"EventSourceArn"`
		Responses []string `yaml:"FunctionResponseTypes"`
		Start     string   `yaml:"StartingPosition"`
	}](t, samtest.Read(t, "../template.yaml"), "AWS::Lambda::EventSourceMapping") {
		check.Equal(t, name, m.Source+" "+strings.Join(m.Responses, ",")+" "+m.Start, "Table.StreamArn ReportBatchItemFailures TRIM_HORIZON")
	}
}

// handle gives an event to a consumer, which must handle all of it and log no more than it
// should.
func (f *function) handle(t *testing.T, event json.RawMessage, logs ...string) {
	t.Helper()
	o := f.Invoke(t, event)
	check.Equal(t, "response", string(o.Response), `{"batchItemFailures":[]}`)
	var logged []string
	for _, l := range o.Lines {
		logged = append(logged, l.Msg)
	}
	check.Equal(t, "log", logged, logs)
}

// The event of another source fails. What fails for want of the table is a response with
// status 503, or one that has Lambda deliver the change again.
func TestAFailureIsOneLine(t *testing.T) {
	t.Parallel()
	wrong := []byte(`{"Records":[{"messageId":"m-1","body":"{}","eventSource":"aws:sqs"}]}`)
	for handler, reason := range map[string]string{"api": `records of "aws:sqs"`, "audit": "stream", "notify": "stream"} {
		f := start(t, handler)
		f.Fails(t, wrong, reason)
		f.Faults.Always("", tabletest.DropRequest())
		if handler == "api" {
			f.do(t, "GET", "/categories", "", http.StatusServiceUnavailable)
			continue
		}
		event := f.sale(t)
		o := f.Invoke(t, event)
		check.Equal(t, "response", string(o.Response), fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q}]}`, sequence(t, event)))
		l := o.Line(t)
		check.Equal(t, "line", l.Level+" "+l.Msg+" "+l.RequestID, "WARN a change is delivered again "+o.RequestID)
	}
}

func TestAFunctionWithWrongSettingsDoesNotStart(t *testing.T) {
	t.Parallel()
	f := deploy(t)
	for _, c := range []struct{ handler, variable, value, reason string }{
		{"api", "TABLE_NAME", "", "TABLE_NAME"},
		{"audit", "TABLE_NAME", "", "TABLE_NAME"},
		{"api", setup.KeySecret, "", setup.KeySecret},
		{"api", setup.KeySecret, "another", "ResourceNotFoundException"},
		{"api", "_HANDLER", "", "it is api, audit or notify"},
		{"notify", "_HANDLER", "other", "it is api, audit or notify"},
	} {
		l := f.StartFails(t, c.handler, map[string]string{c.variable: c.value})
		if !strings.Contains(fmt.Sprint(l.Error), c.reason) {
			t.Errorf("%s with %s=%s: %s", c.handler, c.variable, c.value, l.Text)
		}
	}
}

// sale returns the event of a sale that takes a stock below the threshold.
func (f *function) sale(t *testing.T) json.RawMessage {
	t.Helper()
	return check.Must(streamtest.Transact(t.Context(), f.Client, f.table, table.Update(store.ProductKey("p-lamp"), expression.
		Add(expression.Name("stock"), expression.Value(-2)).
		Set(expression.Name("changedBy"), expression.Value("u-ana")))))(t)
}

// sequence returns the sequence number of the first record of an event.
func sequence(t *testing.T, event json.RawMessage) string {
	t.Helper()
	var e struct {
		Records []struct {
			DynamoDB struct{ SequenceNumber string } `json:"dynamodb"`
		}
	}
	check.OK(t, json.Unmarshal(event, &e))
	return e.Records[0].DynamoDB.SequenceNumber
}

// created returns the event of the creation of the notification that is stored.
func (f *function) created(t *testing.T) json.RawMessage {
	t.Helper()
	image := map[string]map[string]string{}
	for _, stored := range generated.Stored(t, f.table) {
		if kind, ok := stored["entityType"].(*types.AttributeValueMemberS); !ok || kind.Value != "LOW_STOCK" {
			continue
		}
		for name, v := range stored {
			switch v := v.(type) {
			case *types.AttributeValueMemberS:
				image[name] = map[string]string{"S": v.Value}
			case *types.AttributeValueMemberN:
				image[name] = map[string]string{"N": v.Value}
			}
		}
	}
	return check.Must(json.Marshal(map[string]any{"Records": []any{map[string]any{
		"eventID": "e-2", "eventName": "INSERT", "eventSource": "aws:dynamodb", "eventSourceARN": check.StreamOf(f.table),
		"dynamodb": map[string]any{
			"ApproximateCreationDateTime": 1705395601, "SequenceNumber": "4200000000002", "StreamViewType": "NEW_AND_OLD_IMAGES",
			"Keys": map[string]any{"PK": image["PK"], "SK": image["SK"]}, "NewImage": image,
		},
	}}}))(t)
}
