package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/usage/lambda"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// functions are the Lambda functions, as Lambda calls them: bytes in, bytes out.
type functions struct {
	count, query awslambda.Handler
	faults       *tabletest.Faults
	log          *bytes.Buffer
}

func newFunctions(t *testing.T) functions {
	t.Helper()
	f := functions{faults: &tabletest.Faults{}, log: &bytes.Buffer{}}
	client := tabletest.Client(t, f.faults.Install, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	tbl := tabletest.NewWith(t, client, metering.Schema("any"), &table.Options{
		Now:         func() time.Time { return time.Date(2024, 1, 15, 13, 0, 0, 0, time.UTC) },
		MaxAttempts: 1,
	})
	var err error
	f.count, f.query, err = lambda.Settings{}.Functions(tbl, lambda.NewLog(f.log, nil))
	check.OK(t, err)
	return f
}

func event(t *testing.T, name string) string {
	t.Helper()
	text := check.Must(os.ReadFile(filepath.Join("testdata", name+".json")))(t)
	return string(text)
}

// invoke calls a function and compares its response.
func invoke(ctx context.Context, t *testing.T, f awslambda.Handler, event, want string) {
	t.Helper()
	got, err := f.Invoke(ctx, []byte(event))
	if err != nil || string(got) != want {
		t.Errorf("response %s, want %s; %v", got, want, err)
	}
}

// requested is the context of an invocation.
func requested(t *testing.T, id string) context.Context {
	return lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: id})
}

const (
	none   = `{"batchItemFailures":[]}`
	third  = `{"batchItemFailures":[{"itemIdentifier":"c80e8021-a70a-42c7-a470-796e1186f753"}]}`
	globex = `{"workspaceId":"globex","metricId":"exports","fromDate":"2024-01-15T11","toDate":"2024-01-15T11"}`
	acme   = `{"workspaceId":"acme","userId":"ana","metricId":"exports","fromDate":"2024-01-15T00","toDate":"2024-01-15T23"}`
)

func one(total, from, to, by, date string) string {
	return `{"total":` + total + `,"parts":[{"by":"` + by + `","fromDate":"` + from + `","toDate":"` + to + `","total":` + total +
		`,"used":[{"date":"` + date + `","count":` + total + `}]}]}`
}

func TestABatchReturnsWhatFailed(t *testing.T) {
	t.Parallel()
	f := newFunctions(t)
	f.faults.Always("TransactWriteItems", tabletest.Match(func(r tabletest.Request) bool {
		return strings.Contains(string(r.Body), "WORKSPACE#globex#")
	}, tabletest.Throttle()))
	invoke(t.Context(), t, f.count, event(t, "sqs"), third)
	for _, want := range []string{
		`"msg":"message dropped","service":"usage","id":"2e1424d4-f796-459a-8184-9c92662be6da","class":"permanent"`,
		`"msg":"message returned","service":"usage","id":"c80e8021-a70a-42c7-a470-796e1186f753","class":"transient"`,
	} {
		if !strings.Contains(f.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, f.log)
		}
	}
	if strings.Contains(f.log.String(), "globex") {
		t.Errorf("the log names a workspace:\n%s", f.log)
	}
	// Delivered again, all of it, only what had failed counts.
	f.faults.Always("TransactWriteItems", nil)
	invoke(t.Context(), t, f.count, event(t, "sqs"), none)
	invoke(t.Context(), t, f.query, globex, one("5", "2024-01-15T11", "2024-01-15T11", "HOUR", "2024-01-15T11"))
	invoke(t.Context(), t, f.query, acme, one("3", "2024-01-15T00", "2024-01-15T23", "DAY", "2024-01-15T00"))
	invoke(t.Context(), t, f.count, `{"Records":[]}`, none)
}

// A function that times out fails for the whole batch, so it responds before
// that.
func TestABatchReturnsInTime(t *testing.T) {
	t.Parallel()
	f := newFunctions(t)
	ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
	defer cancel()
	got, err := f.count.Invoke(ctx, []byte(event(t, "sqs")))
	if err != nil || strings.Count(string(got), "itemIdentifier") != 2 {
		t.Errorf("%s %v", got, err)
	}
	check.Equal(t, "requests were sent", len(f.faults.Requests("TransactWriteItems")), 0)
}

func TestADirectInvocationCountsOneMessage(t *testing.T) {
	t.Parallel()
	f := newFunctions(t)
	invoke(requested(t, "r-1"), t, f.count, event(t, "direct"), `{"status":"counted"}`)
	invoke(requested(t, "r-1"), t, f.count, event(t, "direct"), `{"status":"duplicate"}`)
	invoke(requested(t, "r-2"), t, f.count, event(t, "direct"), `{"status":"counted"}`)
	invoke(t.Context(), t, f.count, event(t, "direct"),
		`{"status":"dropped","reason":"metering: not valid: invalid: nothing tells the message from another one"}`)
	named := strings.Replace(event(t, "direct"), "{", `{"messageId":"p-1",`, 1)
	invoke(t.Context(), t, f.count, named, `{"status":"counted"}`)
	invoke(requested(t, "r-3"), t, f.count, named, `{"status":"duplicate"}`)
	for _, text := range []string{``, `{`, `{}`, `[]`, `"x"`, `null`, named + named} {
		got, err := f.count.Invoke(requested(t, "r-4"), []byte(text))
		if err != nil || !strings.Contains(string(got), `{"status":"dropped","reason":"`) {
			t.Errorf("%s: %s %v", text, got, err)
		}
	}
	for _, text := range []string{`{"schemaVersion":2}`, `{"Records":null}`} {
		check.Is(t, check.Err(f.count.Invoke(requested(t, "r-4"), []byte(text))), metering.ErrLater, text)
	}
	// Lambda repeats what failed, under the same id.
	f.faults.Always("", tabletest.DropResponse())
	if got, err := f.count.Invoke(requested(t, "r-5"), []byte(event(t, "direct"))); table.Classify(err) != table.Transient {
		t.Errorf("%s %v", got, err)
	}
	f.faults.Always("", nil)
	invoke(requested(t, "r-5"), t, f.count, event(t, "direct"), `{"status":"duplicate"}`)
	invoke(t.Context(), t, f.query, acme, one("8", "2024-01-15T00", "2024-01-15T23", "DAY", "2024-01-15T00"))
}

func TestAQuestionReturnsUsage(t *testing.T) {
	t.Parallel()
	f := newFunctions(t)
	for id, date := range map[string]string{"1": "2024-01-13T22", "2": "2024-01-14T07", "3": "2024-01-15T10", "4": "2024-01-15T11"} {
		invoke(requested(t, id), t, f.count, strings.Replace(event(t, "direct"), "2024-01-15T12", date, 1), `{"status":"counted"}`)
	}
	invoke(t.Context(), t, f.query, event(t, "question"), `{"total":6,"parts":[`+
		`{"by":"HOUR","fromDate":"2024-01-13T20","toDate":"2024-01-13T23","total":2,"used":[{"date":"2024-01-13T22","count":2}]},`+
		`{"by":"DAY","fromDate":"2024-01-14T00","toDate":"2024-01-14T23","total":2,"used":[{"date":"2024-01-14T00","count":2}]},`+
		`{"by":"HOUR","fromDate":"2024-01-15T00","toDate":"2024-01-15T10","total":2,"used":[{"date":"2024-01-15T10","count":2}]}]}`)
	nobody := strings.Replace(event(t, "question"), "acme", "nobody", 1)
	invoke(t.Context(), t, f.query, strings.Replace(nobody, "15T10", "13T20", 1),
		`{"total":0,"parts":[{"by":"HOUR","fromDate":"2024-01-13T20","toDate":"2024-01-13T20","total":0,"used":[]}]}`)
}

func TestWhatIsNotForTheFunctionIsAnError(t *testing.T) {
	t.Parallel()
	f := newFunctions(t)
	var batch struct{ Records json.RawMessage }
	check.OK(t, json.Unmarshal([]byte(event(t, "sqs")), &batch))
	texts := []string{
		`{"Records":[{"eventSource":"aws:s3","s3":{}}]}`, `{"Records":[{"EventSource":"aws:sns","Sns":{}}]}`, `{"Records":7}`, string(batch.Records),
	}
	for _, form := range []string{"lambda", "pipes", "kinesis", "kinesis-pipes"} {
		texts = append(texts, event(t, "../../../../stream/testdata/"+form))
	}
	for _, text := range texts {
		if got, err := f.count.Invoke(t.Context(), []byte(text)); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
	check.Equal(t, "lines", strings.Count(f.log.String(), `"msg":"invocation failed"`), len(texts))
	// A question whose query fails is an error as well.
	f.faults.Always("Query", tabletest.Throttle())
	got, err := f.query.Invoke(requested(t, "r-1"), []byte(event(t, "question")))
	if err == nil || !strings.Contains(f.log.String(), `"requestId":"r-1"`) {
		t.Errorf("%s: %s", got, f.log)
	}
}

func TestWhatIsNoQuestionIsToldSo(t *testing.T) {
	t.Parallel()
	f := newFunctions(t)
	for text, want := range map[string]string{
		`{"workspaceId":"acme","metricId":7,"fromDate":"2024-01-15T11","toDate":"2024-01-15T10","from":1}`: "metricId is not a string; fromDate is after toDate; from is unknown",
		event(t, "question") + "}": "it is not JSON in UTF-8: see line 7, column 1",
		"":                         "it is not JSON in UTF-8: see line 1, column 1",
	} {
		invoke(requested(t, "r-1"), t, f.query, text, `{"error":{"code":"VALIDATION_ERROR","message":"`+want+`","requestId":"r-1"}}`)
	}
	check.Equal(t, "log", f.log.String(), "")
}
