package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/lambda/lambdatest"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/internal/samtest"
	usage "github.com/singletable/singletable/examples/usage/lambda"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// deploy returns the functions of the template.
func deploy(t *testing.T, level string) *lambdatest.Stack {
	t.Helper()
	return deployOn(t, tabletest.New(t, metering.Schema("any"), nil).Schema().Name, level)
}

// deployOn returns the functions on a table. Counters are kept long enough for events of any
// year.
func deployOn(t *testing.T, table, level string) *lambdatest.Stack {
	t.Helper()
	return lambdatest.New(t, "../../template.yaml", map[string]string{"usage-${Env}": table, "TtlDays": "36500", "LogLevel": level})
}

func event(t *testing.T, name string) json.RawMessage {
	t.Helper()
	return check.Must(os.ReadFile("../testdata/" + name + ".json"))(t)
}

// The ARNs of the table and the queue, also if the stack has not made them.
const (
	tableARN = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/usage-${Env}"
	queueARN = "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:usage-messages-${Env}"
)

// Each function responds to the events that it is for, and has permission for the requests
// that it sends, from its start on, for what the event source mapping does in its name, and
// for nothing else.
func TestFunctionsMayDoWhatTheyDoAndNoMore(t *testing.T) {
	t.Parallel()
	const message = `{"messageId":"p-1","workspaceId":"acme","userId":"ana","metricId":"exports","count":1,"date":"2024-01-15T14"}`
	question := func(who string) []byte {
		return fmt.Appendf(nil, `{%s,"metricId":"exports","fromDate":"2024-01-14T22","toDate":"2024-01-16T10"}`, who)
	}
	calls := map[string][]struct {
		event json.RawMessage
		fault tabletest.Fault
		want  string
		logs  string
	}{
		"count": {
			{event: event(t, "sqs"), want: `{"batchItemFailures":[]}`, logs: "message dropped"},
			{event: []byte(message), want: `{"status":"counted"}`},
			{event: []byte(message), want: `{"status":"duplicate"}`},
			{ // of which DynamoDB does not return the record
				event: []byte(message), want: `{"status":"duplicate"}`,
				fault: tabletest.CancelTransaction("None", "None", "None", "None", "None", "None", "ConditionalCheckFailed"),
			},
		},
		"query": {
			{event: question(`"workspaceId":"acme"`), want: `{"total":0,"parts":[{"by":"HOUR",`},
			{event: question(`"userId":"ana"`), want: `{"total":0,"parts":[{"by":"HOUR",`},
			{event: question(`"workspaceId":"acme","userId":"ana"`), want: `{"total":0,"parts":[{"by":"HOUR",`},
			{event: []byte(`{}`), want: `{"error":{"code":"VALIDATION_ERROR",`},
		},
	}
	mapping := samtest.Statement{Effect: "Allow", Action: []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}, Resource: queueARN}
	for handler, function := range deploy(t, "info").Functions {
		if calls[handler] == nil {
			t.Errorf("nothing calls %s", handler)
		}
		s := deploy(t, "info")
		f := s.Start(t, handler)
		for _, c := range calls[handler] {
			if c.fault != nil {
				s.Faults.Next("TransactWriteItems", c.fault)
			}
			o := f.Invoke(t, c.event)
			if !strings.HasPrefix(string(o.Response), c.want) {
				t.Errorf("%s of %s: response %s, error %q, want %s", handler, c.event, o.Response, o.Error, c.want)
			}
			if c.logs != "" {
				l := o.Line(t)
				check.Equal(t, "log", l.Msg+" "+l.RequestID, c.logs+" "+o.RequestID)
			} else if len(o.Lines) > 0 {
				t.Errorf("%s of %s: log %v", handler, c.event, o.Lines)
			}
		}
		want := samtest.Needed(t, s.Faults.Requests())
		for i := range want {
			want[i].Resource = strings.Replace(want[i].Resource, "Table.Arn", tableARN, 1)
		}
		if handler == "count" {
			want = append(want, mapping)
		}
		samtest.Allows(t, function, want...)
	}
}

func TestWhatIsCountedIsReturned(t *testing.T) {
	t.Parallel()
	s := deploy(t, "info")
	count, query := s.Start(t, "count"), s.Start(t, "query")
	for _, name := range []string{"sqs", "direct"} {
		count.Invoke(t, event(t, name))
	}
	var used struct{ Total int }
	check.OK(t, json.Unmarshal(query.Invoke(t, event(t, "question")).Response, &used))
	check.Equal(t, "total", used.Total, 3)
	var refused usage.Refusal
	o := query.Invoke(t, []byte(`{}`))
	check.OK(t, json.Unmarshal(o.Response, &refused))
	check.Equal(t, "request id", refused.Error.RequestID, o.RequestID)
}

func TestAFailedInvocationIsOneLine(t *testing.T) {
	t.Parallel()
	s := deploy(t, "info")
	count, query := s.Start(t, "count"), s.Start(t, "query")
	count.Fails(t, []byte(`{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","s3":{}}]}`), "record 0 is not of SQS")
	s.Faults.Always("", tabletest.DropRequest())
	count.Fails(t, event(t, "direct"), "TransactWriteItems")
	query.Fails(t, event(t, "question"), "Query")
	// Of a batch, only the messages fail.
	s.Faults.Always("", tabletest.Status(400, "AccessDeniedException", "denied"))
	o := count.Invoke(t, event(t, "sqs"))
	check.Equal(t, "response", string(o.Response),
		`{"batchItemFailures":[{"itemIdentifier":"059f36b4-87a3-44ab-83d2-661975830a7d"},{"itemIdentifier":"c80e8021-a70a-42c7-a470-796e1186f753"}]}`)
	for i, msg := range []string{"message returned", "message dropped", "message returned"} {
		check.Equal(t, "line", o.Lines[i].Msg+" "+o.Lines[i].RequestID, msg+" "+o.RequestID)
	}
}

// What the Lambda library prints is in the log too.
func TestTheLogHasTheLevelOfTheSettings(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]string{"debug": "ERROR DEBUG", "error": "ERROR"} {
		var levels []string
		for _, l := range deploy(t, level).Start(t, "count").Invoke(t, []byte(`{"Records":7}`)).Lines {
			levels = append(levels, l.Level)
		}
		check.Equal(t, level, strings.Join(levels, " "), want)
	}
}

//go:generate go test . -run "^TestAFunction|^TestAHalf" -update

// Counters that expire before the end of the time that can be asked for would be missing
// from totals. A consumer of the wrong table would return all messages.
func TestAFunctionWithWrongSettingsDoesNotStart(t *testing.T) {
	t.Parallel()
	s := deploy(t, "info")
	other := tabletest.New(t, schema.Table{Name: "any", PK: "PK", SK: "SK", TTLAttribute: "expiresAt"}, nil).Schema().Name
	for handler := range s.Functions {
		for _, c := range []struct {
			replaced map[string]string
			reasons  []string
		}{
			{map[string]string{"TABLE_NAME": "", "LOG_LEVEL": "loud", "TTL_DAYS": "0", "MAX_DATE_RANGE_DAYS": "a year"}, []string{"TABLE_NAME", "LOG_LEVEL", "TTL_DAYS", "MAX_DATE_RANGE_DAYS"}},
			{map[string]string{"TTL_DAYS": "90", "MAX_DATE_RANGE_DAYS": "90"}, []string{"MAX_DATE_RANGE_DAYS"}},
			{map[string]string{"TABLE_NAME": other}, []string{other}},
			{map[string]string{"TABLE_NAME": "missing"}, []string{"missing"}},
			{map[string]string{"_HANDLER": "other"}, []string{"it is count or query"}},
			{map[string]string{"_HANDLER": ""}, []string{"it is count or query"}},
		} {
			l := s.StartFails(t, handler, c.replaced)
			for _, reason := range c.reasons {
				if !strings.Contains(fmt.Sprint(l.Error), reason) {
					t.Errorf("%s with %v: %s, which does not tell of %s", handler, c.replaced, l.Text, reason)
				}
			}
		}
	}
	show(t, "start", `"msg":"the function does not start"`, s.StartFails(t, "count", map[string]string{"TTL_DAYS": "five"}))
}

// show compares a line with that of a file, of which the runbook has says.
func show(t *testing.T, part, says string, l lambdatest.Line) {
	t.Helper()
	text := l.Text
	for _, changing := range [][2]string{{`"time":"[^"]*"`, `"time":"…"`}, {`RequestID: [^,]*,`, "RequestID: …,"}, {`table [^ :]*:`, "table usage-dev:"}, {`"table":"[^"]*"`, `"table":"usage-dev"`}} {
		text = regexp.MustCompile(changing[0]).ReplaceAllString(text, changing[1])
	}
	generated.Quoted(t, "../../RUNBOOK.md", says, "../testdata/log/"+part+".json", text+"\n")
}

// singletable ensure can end after it has created the table, and before it has set the TTL.
func TestAHalfMadeTableIsRepairedByEnsure(t *testing.T) {
	t.Parallel()
	table := tabletest.New(t, schema.Table{Name: "any"}, nil).Schema().Name
	s := deployOn(t, table, "info")
	show(t, "table", "table differs from its schema", s.StartFails(t, "count", nil))
	check.OK(t, metering.Schema(table).Ensure(t.Context(), s.Client))
	check.Equal(t, "response", string(s.Start(t, "count").Invoke(t, event(t, "direct")).Response), `{"status":"counted"}`)
}

// Whatever the control plane responds, messages are counted on the right table, and on a
// wrong one they are returned.
func TestAFunctionStartsWithoutTheControlPlane(t *testing.T) {
	t.Parallel()
	other := tabletest.New(t, schema.Table{Name: "any", PK: "PK", SK: "SK", TTLAttribute: "expiresAt"}, nil).Schema().Name
	const returned = `{"batchItemFailures":[{"itemIdentifier":"059f36b4-87a3-44ab-83d2-661975830a7d"},{"itemIdentifier":"c80e8021-a70a-42c7-a470-796e1186f753"}]}`
	for _, c := range []struct {
		operation string
		fault     tabletest.Fault
		part      string
	}{
		{"DescribeTable", tabletest.Throttle(), "unverified"},
		{"DescribeTable", tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "denied"), ""},
		{"DescribeTimeToLive", tabletest.DropRequest(), ""},
	} {
		right, wrong := deploy(t, "info"), deployOn(t, other, "info")
		for s, want := range map[*lambdatest.Stack]string{right: `{"batchItemFailures":[]}`, wrong: returned} {
			s.Faults.Always(c.operation, c.fault)
			o := s.Start(t, "count").Invoke(t, event(t, "sqs"))
			check.Equal(t, "response", string(o.Response), want)
			if c.part != "" {
				show(t, c.part, o.Lines[0].Msg, o.Lines[0])
			}
			check.Equal(t, "log", o.Lines[0].Level+" "+o.Lines[0].Msg, "WARN the table was not compared with its schema")
		}
	}
	// A request that is refused once is sent again.
	s := deploy(t, "info")
	s.Environment["AWS_MAX_ATTEMPTS"] = "3"
	s.Faults.Next("DescribeTable", tabletest.Throttle())
	check.Equal(t, "lines", len(s.Start(t, "query").Invoke(t, event(t, "question")).Lines), 0)
}

// A connection that hangs is left after the timeout, and the message is counted by
// the next attempt.
func TestARequestThatHangsIsSentAgain(t *testing.T) {
	t.Parallel()
	direct := tabletest.Client(t)
	tbl := tabletest.NewWith(t, direct, metering.Schema("any"), nil)
	engine := check.Must(url.Parse(*direct.Options().BaseEndpoint))(t)
	var hung atomic.Int32
	next := httputil.NewSingleHostReverseProxy(engine)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") && hung.Add(1) == 1 {
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client has gone
			<-r.Context().Done()
			return
		}
		next.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	o := direct.Options()
	o.BaseEndpoint, o.HTTPClient = &proxy.URL, httpClient(time.Second)
	tbl = check.Must(table.New(dynamodb.New(o), tbl.Schema(), nil))(t)
	count, _, err := usage.Settings{Metering: metering.Options{RetentionDays: 36500}}.Functions(tbl, slog.New(slog.DiscardHandler))
	check.OK(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	event := `{"messageId":"m-1","workspaceId":"acme","metricId":"exports","count":1,"date":"2026-01-15T14"}`
	check.Equal(t, "response", string(check.Must(count.Invoke(ctx, []byte(event)))(t)), `{"status":"counted"}`)
	if n := hung.Load(); n < 2 {
		t.Errorf("%d transactions", n)
	}
	// What the function itself has.
	client := httpClient(5 * time.Second).(*awshttp.BuildableClient)
	check.Equal(t, "timeouts", []time.Duration{client.GetDialer().Timeout, client.GetTimeout()}, []time.Duration{3 * time.Second, 5 * time.Second})
}
