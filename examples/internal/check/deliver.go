package check

import (
	"encoding/json"
	"testing"

	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// Deliver gives an event to a router as Lambda does: after a failure again, from the
// first record that was not handled on. It returns how often that took, and ends the test
// after 100 times.
func Deliver(tb testing.TB, router *stream.Router, event json.RawMessage) int {
	tb.Helper()
	for deliveries := 1; ; deliveries++ {
		response := Must(router.Handle(tb.Context(), event))(tb)
		if len(response.BatchItemFailures) == 0 {
			return deliveries
		}
		if deliveries == 100 {
			tb.Fatalf("delivered %d times: %v", deliveries, response.Err)
		}
		event = rest(tb, event, response.BatchItemFailures[0].ItemIdentifier)
	}
}

// StreamOf returns the ARN of a stream of a table, for events that a test makes itself.
func StreamOf(t *table.Table) string {
	return "arn:aws:dynamodb:eu-west-1:123456789012:table/" + t.Schema().Name + "/stream/2024-01-16T00:00:00.000"
}

// rest returns the event that begins with a record.
func rest(tb testing.TB, event json.RawMessage, sequence string) json.RawMessage {
	tb.Helper()
	var all struct{ Records []json.RawMessage }
	OK(tb, json.Unmarshal(event, &all))
	for i, raw := range all.Records {
		var r struct {
			DynamoDB struct{ SequenceNumber string } `json:"dynamodb"`
		}
		OK(tb, json.Unmarshal(raw, &r))
		if r.DynamoDB.SequenceNumber == sequence {
			all.Records = all.Records[i:]
			return Must(json.Marshal(all))(tb)
		}
	}
	tb.Fatalf("no record %s in the event", sequence)
	return nil
}
