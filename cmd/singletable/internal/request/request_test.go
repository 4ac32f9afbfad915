package request_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/request"
)

// bodies are requests as the SDK sends them.
var bodies = []struct{ operation, body string }{
	{"Query", `{"TableName":"Shop","IndexName":"GSI1","KeyConditionExpression":"#0 = :0 AND begins_with(#1, :1)",` +
		`"ExpressionAttributeNames":{"#0":"gsi1pk","#1":"gsi1sk"},"ExpressionAttributeValues":{":0":{"S":"USER#ana"},":1":{"S":"TX#"}},` +
		`"Limit":25,"ScanIndexForward":false,"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"}`},
	{"Query", `{"TableName":"Shop","KeyConditionExpression":"pk = :0","ExpressionAttributeValues":{":0":{"S":"it's \"$HOME\" ` + "`id`" + ` \u001b[31m\u202e\n\\ é"}},` +
		`"ExclusiveStartKey":{"pk":{"S":"a"},"n":{"N":"12345678901234567890123456789012345678"},"b":{"B":"AAH/"}},"Select":"COUNT"}`},
	{"Scan", `{"TableName":"Shop","FilterExpression":"#0 IN (:0, :1, :2, :3, :4, :5, :6)","ExpressionAttributeNames":{"#0":"a"},"ExpressionAttributeValues":{` +
		`":0":{"BOOL":false},":1":{"NULL":true},":2":{"M":{"x":{"L":[{"N":"1"},{"S":""}]}}},":3":{"SS":["a","b"]},":4":{"NS":["1"]},":5":{"BS":["AA=="]},":6":{"M":{}}},` +
		`"Segment":0,"TotalSegments":4}`},
	{"GetItem", `{"TableName":"Shop","Key":{"pk":{"S":"P"},"sk":{"S":"S"}},"ConsistentRead":false}`},
	{"BatchGetItem", `{"RequestItems":{"Shop":{"Keys":[{"pk":{"S":"P"}},{"pk":{"S":"Q"}}],"ConsistentRead":true}}}`},
	{"PutItem", `{"TableName":"Shop","Item":{"pk":{"S":"P"}},"ConditionExpression":"attribute_not_exists(pk)"}`},
	{"DeleteItem", `{"TableName":"Shop","Key":{"pk":{"S":"P"}}}`},
	{"UpdateItem", `{"TableName":"Shop","Key":{"pk":{"S":"P"}},"UpdateExpression":"SET #0 = :0","ConditionExpression":"#1 = :1",` +
		`"ExpressionAttributeNames":{"#0":"a","#1":"revision"},"ExpressionAttributeValues":{":0":{"B":"AAH/"},":1":{"S":"R1"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
	{"SearchVectors", `{"TableName":"Shop","IndexName":"byText","SearchVector":[{"N":"0.1"},{"N":"-2"}],"TopK":5,"SearchConditionExpression":"#s0 = :s0",` +
		`"ExpressionAttributeNames":{"#s0":"tenant"},"ExpressionAttributeValues":{":s0":{"S":"acme"}},"ReturnConsumedCapacity":"TOTAL"}`},
	{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"Shop","Item":{"pk":{"S":"P"}},"ConditionExpression":"attribute_not_exists(pk)"}},` +
		`{"Delete":{"TableName":"Shop","Key":{"pk":{"S":"Q"}},"ExpressionAttributeNames":{"#0":"a"}}}],"ClientRequestToken":"T"}`},
	{"DescribeTable", `{"TableName":"Shop"}`},
	{"DescribeTimeToLive", `{"TableName":"Shop"}`},
	{"ListTables", `{"Limit":10}`},
}

// The Go source is compiled and run, and sends the same body.
func TestGoSendsTheSameRequest(t *testing.T) {
	t.Parallel()
	var calls strings.Builder
	for _, tt := range bodies {
		source, err := parse(t, tt.operation, tt.body).Go()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&calls, "\t_, _ = %s\n", source)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	program := strings.Replace(program, "CALLS", calls.String(), 1)
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, stderr.Bytes(), program)
	}
	sent := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(sent) != len(bodies) {
		t.Fatalf("%d requests were sent:\n%s", len(sent), out)
	}
	for i, tt := range bodies {
		if diff := cmp.Diff(decode(t, tt.body), decode(t, sent[i])); diff != "" {
			t.Errorf("%s (-want +sent):\n%s", tt.operation, diff)
		}
	}
}

// program prints the bodies of its requests and sends none.
const program = `package main

import (
	"context"
	"fmt"
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type printer struct{}

func (printer) Do(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	fmt.Println(string(body))
	return nil, errors.New("not sent")
}

func main() {
	_ = types.SelectCount
	ctx, client := context.Background(), dynamodb.New(dynamodb.Options{Region: "local", HTTPClient: printer{}, RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		})})
CALLS}
`

// The command is read by a shell, and its words are those of the request.
func TestCommandHasTheSameRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range bodies {
		command, err := parse(t, tt.operation, tt.body).Command("--region", "eu-west-1")
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(command, "\x1b\u202e\n") {
			t.Errorf("%s has characters that act on a terminal: %q", tt.operation, command)
		}
		out, err := exec.CommandContext(t.Context(), "bash", "-c", `aws() { printf '%s\0' "$@"; }; `+command).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, command)
		}
		words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		sent := decode(t, tt.body)
		for _, word := range words[2:] {
			name, isFlag := strings.CutPrefix(word, "--")
			if isFlag {
				delete(sent, member(sent, strings.TrimPrefix(name, "no-")))
				continue
			}
			for _, v := range decode(t, tt.body) {
				text, isText := v.(string)
				if isText && text == word || fmt.Sprint(v) == word || strings.ContainsAny(word[:1], "{[") && cmp.Equal(decode(t, `{"is":`+word+`}`)["is"], v) {
					word = ""
					break
				}
			}
			if word != "" && word != "eu-west-1" {
				t.Errorf("%s: the word %q is of no member", tt.operation, word)
			}
		}
		for name := range sent {
			t.Errorf("%s: no flag for %s: %q", tt.operation, name, command)
		}
	}
}

// member returns the name that a flag is for.
func member(sent map[string]any, flag string) string {
	for name := range sent {
		if strings.EqualFold(name, strings.ReplaceAll(flag, "-", "")) {
			return name
		}
	}
	return ""
}

func ExampleRequest_Command() {
	r, err := request.Parse("Query", []byte(bodies[0].body))
	if err != nil {
		fmt.Println(err)
		return
	}
	command, err := r.Command()
	if err != nil {
		fmt.Println(err)
		return
	}
	source, err := r.Go()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(command)
	fmt.Println(source)
	// Output:
	// aws dynamodb query --table-name Shop --index-name GSI1 --key-condition-expression '#0 = :0 AND begins_with(#1, :1)' --consistent-read --expression-attribute-names '{"#0":"gsi1pk","#1":"gsi1sk"}' --expression-attribute-values '{":0":{"S":"USER#ana"},":1":{"S":"TX#"}}' --limit 25 --return-consumed-capacity TOTAL --no-scan-index-forward --no-paginate
	// client.Query(ctx, &dynamodb.QueryInput{
	// 	TableName:              aws.String("Shop"),
	// 	IndexName:              aws.String("GSI1"),
	// 	KeyConditionExpression: aws.String("#0 = :0 AND begins_with(#1, :1)"),
	// 	ConsistentRead:         aws.Bool(true),
	// 	ExpressionAttributeNames: map[string]string{
	// 		"#0": "gsi1pk",
	// 		"#1": "gsi1sk",
	// 	},
	// 	ExpressionAttributeValues: map[string]types.AttributeValue{
	// 		":0": &types.AttributeValueMemberS{Value: "USER#ana"},
	// 		":1": &types.AttributeValueMemberS{Value: "TX#"},
	// 	},
	// 	Limit:                  aws.Int32(25),
	// 	ReturnConsumedCapacity: types.ReturnConsumedCapacity("TOTAL"),
	// 	ScanIndexForward:       aws.Bool(false),
	// })
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ operation, body string }{
		{"DeleteTable", `{"TableName":"Shop"}`},
		{"Query", `{"Nothing":1}`},
		{"Query", `[]`},
		{"Query", `{`},
		{"", ``},
	} {
		if _, err := request.Parse(tt.operation, []byte(tt.body)); err == nil {
			t.Errorf("%s %s: no error", tt.operation, tt.body)
		}
	}
	for _, body := range []string{
		`{"TableName":1}`, `{"Limit":"x"}`, `{"ExclusiveStartKey":{"pk":{"X":"1"}}}`, `{"ExclusiveStartKey":{"pk":{"S":"1","N":"1"}}}`,
		`{"ExclusiveStartKey":{"pk":{"B":"%"}}}`, `{"ExpressionAttributeNames":[]}`, `{"ExclusiveStartKey":{"pk":"a"}}`,
	} {
		if source, err := parse(t, "Query", body).Go(); err == nil {
			t.Errorf("%s: no error, %s", body, source)
		}
	}
}

func FuzzGo(f *testing.F) {
	for _, tt := range bodies {
		f.Add(tt.operation, []byte(tt.body))
	}
	f.Fuzz(func(t *testing.T, operation string, body []byte) {
		r, err := request.Parse(operation, body)
		if err != nil {
			return
		}
		if _, err := r.Command(); err != nil {
			t.Error(err)
		}
		_, _ = r.Go() // It may refuse a value, and does not panic.
	})
}

func parse(t *testing.T, operation, body string) request.Request {
	t.Helper()
	r, err := request.Parse(operation, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}
