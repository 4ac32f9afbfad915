package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/samtest"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/table/tabletest"
)

// A function has permission for the requests that it sends, from its start on, for
// what the event source mapping does in its name, and for nothing else.
func TestFunctionsMayDoWhatTheyDoAndNoMore(t *testing.T) {
	t.Parallel()
	const message = `{"workspaceId":"acme","userId":"ana","metricId":"exports","count":1,"date":"2026-01-15T14"}`
	events := map[string][]string{
		// Two duplicates. Of the last one, DynamoDB does not return the record.
		"count": {message, message, message},
	}
	for _, who := range []string{`"workspaceId":"acme"`, `"userId":"ana"`, `"workspaceId":"acme","userId":"ana"`} {
		events["query"] = append(events["query"], fmt.Sprintf(`{%s,"metricId":"exports","fromDate":"2026-01-14T22","toDate":"2026-01-16T10"}`, who))
	}
	mapping := samtest.Statement{Effect: "Allow", Action: []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}, Resource: "Queue.Arn"}
	functions := samtest.Functions(t, samtest.Read(t, "../../template.yaml"))
	check.Equal(t, "functions", len(functions), len(events))
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
	for handler, list := range events {
		var faults tabletest.Faults
		tbl := tabletest.New(t, metering.Schema("any"), nil)
		client := tabletest.Client(t, faults.Install)
		f := check.Must(open(t.Context(), client, configuration{table: tbl.Schema().Name, handler: handler}, slog.New(slog.DiscardHandler)))(t)
		for i, event := range list {
			if handler == "count" && i == 2 {
				faults.Next("TransactWriteItems", tabletest.CancelTransaction("None", "None", "None", "None", "None", "None", "ConditionalCheckFailed"))
			}
			response := check.Must(f.Invoke(ctx, []byte(event)))(t)
			var told struct{ Error json.RawMessage }
			check.OK(t, json.Unmarshal(response, &told))
			if told.Error != nil {
				t.Errorf("%s: %s", handler, response)
			}
		}
		want := samtest.Needed(t, faults.Requests())
		if handler == "count" {
			want = append(want, mapping)
		}
		samtest.Allows(t, functions[handler], want...)
	}
}
