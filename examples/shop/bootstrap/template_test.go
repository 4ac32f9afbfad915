package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
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

const (
	secretARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:shop/keys-AbCdEf"
	mailFrom  = "shop@example.com"
	tableARN  = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${TableName}"
)

// byName replaces the ARN of the stack's table by that of the table of the name.
var byName = strings.NewReplacer("${Table.Arn}", tableARN, "Table.Arn", tableARN)

// needed returns the statements that allow requests to DynamoDB and nothing else.
func needed(t *testing.T, requests []tabletest.Request) []samtest.Statement {
	t.Helper()
	statements := samtest.Needed(t, requests)
	for i := range statements {
		statements[i].Resource = byName.Replace(statements[i].Resource)
	}
	return statements
}

// function is a function on a table with the sample data.
type function struct {
	*lambdatest.Stack
	*lambdatest.Function
	secrets *secretstest.Store
	mails   chan string // the requests to Amazon SES
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
	f.Stack = lambdatest.New(t, "../template.yaml", map[string]string{"TableName": name, "KeySecretArn": secretARN, "MailFrom": mailFrom})
	f.Environment[secretstest.EndpointVariable] = f.secrets.URL
	f.mails = make(chan string, 9)
	ses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mails <- r.Method + " " + r.URL.Path + " " + string(check.Must(io.ReadAll(r.Body))(t))
		_, _ = w.Write([]byte(`{"MessageId":"m-1"}`))
	}))
	t.Cleanup(ses.Close)
	f.Environment["AWS_ENDPOINT_URL_SESV2"] = ses.URL
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
	for range 2 {
		call("POST /users", "", `{"email":"carla@example.com","name":"Carla","password":"secret-1"}`, 202)
	}
	<-f.mails
	f.do(t, "POST", "/sessions", fmt.Sprintf(`{"email":"carla@example.com","password":"secret-1","code":%q}`, f.code(t, "carla@example.com")), 201)
	call("POST /codes", "", fmt.Sprintf(`{"email":%q}`, demo.Users[0].Email), 202)
	call("POST /passwords", "", fmt.Sprintf(`{"code":%q,"password":%q}`, f.code(t, demo.Users[0].Email), demo.Password), 201)
	var session struct{ Token string }
	check.OK(t, json.Unmarshal([]byte(call("POST /sessions", "", fmt.Sprintf(`{"email":%q,"password":%q}`, demo.Users[0].Email, demo.Password), 201).Body), &session))
	f.token = session.Token
	f.do(t, "GET", "/", "", 200)
	call("GET /categories", "", "", 200)
	call("GET /categories/{slug}", "/categories/home", "", 200)
	call("GET /categories/{slug}/products", "/categories/home/products", "", 200)
	call("GET /products", "/products?name=desk", "", 200)
	call("GET /products/{id}", "/products/p-lamp", "", 200)
	call("GET /products/{id}/similar", "/products/p-lamp/similar", "", 200)
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
	f.do(t, "GET", "/admin/products?active=false", "", 200)
	call("GET /admin/audits", "/admin/audits?type=ORDER&id=o-1", "", 200)
	f.do(t, "GET", "/admin/audits?day=2024-01-15", "", 200)
	call("GET /admin/low-stock", "", "", 200)
	call("POST /admin/categories", "", `{"slug":"toys","name":"Toys"}`, 201)
	call("POST /admin/products", "", `{"name":"Kite","category":"toys","price":1500,"stock":4,"active":true}`, 201)
	call("PATCH /admin/products/{id}", "/admin/products/p-lamp", `{"price":1400}`, 200)
	f.do(t, "PATCH", "/admin/products/p-lamp", `{"category":"toys"}`, 200)
	for _, r := range api.Routes() {
		if !called[r.Method+" "+r.Path] {
			t.Errorf("%s %s was not called", r.Method, r.Path)
		}
	}
	var audits, others []tabletest.Request
	for _, r := range f.Faults.Requests() {
		if r.Operation == "Query" && bytes.Contains(r.Body, []byte(`"AUDIT#`)) {
			audits = append(audits, r)
		} else {
			others = append(others, r)
		}
	}
	samtest.Allows(t, f.Functions["api"], slices.Concat(needed(t, audits), needed(t, others), []samtest.Statement{
		{Effect: "Allow", Action: []string{"secretsmanager:GetSecretValue"}, Resource: "KeySecretArn"},
		{
			Effect: "Allow", Action: []string{"ses:SendEmail"},
			Resource:  "arn:${AWS::Partition}:ses:${AWS::Region}:${AWS::AccountId}:identity/*",
			Condition: map[string]map[string][]string{"StringEquals": {"ses:FromAddress": {"MailFrom"}}},
		},
	})...)
}

// code returns the code of the next mail, which must be from the shop to an e-mail.
func (f *function) code(t *testing.T, to string) string {
	t.Helper()
	request := <-f.mails
	for _, want := range []string{"POST /v2/email/outbound-emails ", `"FromEmailAddress":"` + mailFrom + `"`, `"ToAddresses":["` + to + `"]`} {
		if !strings.Contains(request, want) {
			t.Errorf("mail %s, want %s", request, want)
		}
	}
	_, after, _ := strings.Cut(request, "Your code is ")
	code, _, _ := strings.Cut(after, `\n`)
	return code
}

// The key of the secret would be readable in a setting of a function, and stale after a
// rotation.
func TestTheTemplateHoldsNoSecret(t *testing.T) {
	t.Parallel()
	for handler, f := range samtest.Functions(t, samtest.Read(t, "../template.yaml")) {
		for name, value := range f.Environment.Variables {
			if strings.Contains(value, "{{resolve:") {
				t.Errorf("%s: %s holds a secret itself", handler, name)
			}
		}
		check.Equal(t, handler+" knows the secret", f.Environment.Variables[setup.KeySecret], map[string]string{"api": "KeySecretArn"}[handler])
	}
}

func TestAlarmsReachSomebody(t *testing.T) {
	t.Parallel()
	samtest.Alarms(t, samtest.Read(t, "../template.yaml"), "TableName", store.Schema("any").Indexes, "5xx HttpApi", "MailsNotSent",
		"ApproximateNumberOfMessagesVisible FailedBatches.QueueName", "IteratorAge Audit", "IteratorAge Notify")
}

func TestParametersAgree(t *testing.T) {
	t.Parallel()
	samtest.ParametersAgree(t, samtest.Read(t, "../template.yaml"), nil)
}

func TestTheScriptDeploysTheTemplate(t *testing.T) {
	t.Parallel()
	samtest.Script(t, "../template.yaml", "KeySecretArn", "mappings off", "mappings on", "keys show")
}

func TestDataOutlivesTheStack(t *testing.T) {
	t.Parallel()
	samtest.Outlives(t, "../template.yaml", map[string]string{"Table": "MakesTable"})
}

// mapping is what an event source mapping does in the name of a function.
var mapping = []samtest.Statement{
	{
		Effect: "Allow", Action: []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"},
		Resource: tableARN + "/stream/*",
	},
	{Effect: "Allow", Action: []string{"sqs:SendMessage"}, Resource: "FailedBatches.Arn"},
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
		samtest.Allows(t, f.Functions[handler], append(needed(t, f.Faults.Requests()), mapping...)...)
	}
	type destination struct {
		OnFailure map[string]string `yaml:"OnFailure"`
	}
	type settings struct {
		Source      []string    `yaml:"EventSourceArn"`
		Responses   []string    `yaml:"FunctionResponseTypes"`
		Start       string      `yaml:"StartingPosition"`
		Bisect      bool        `yaml:"BisectBatchOnFunctionError"`
		Retries     int         `yaml:"MaximumRetryAttempts"`
		Age         int         `yaml:"MaximumRecordAgeInSeconds"`
		Destination destination `yaml:"DestinationConfig"`
	}
	for name, m := range samtest.Of[settings](t, samtest.Read(t, "../template.yaml"), "AWS::Lambda::EventSourceMapping") {
		check.Equal(t, name, m, settings{
			Source: []string{"MakesTable", "Table.StreamArn", "TableStreamArn"}, Responses: []string{"ReportBatchItemFailures"}, Start: "TRIM_HORIZON",
			Bisect: true, Retries: 100, Age: 12 * 3600, Destination: destination{map[string]string{"Destination": "FailedBatches.Arn"}},
		})
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
		{"api", setup.MailFrom, "", setup.MailFrom},
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
