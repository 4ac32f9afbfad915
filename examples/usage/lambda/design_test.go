package lambda_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/singletable/singletable/examples/internal/check"
)

// The JSON of the source design, as its clients send it.
const (
	designMessage = `{
  "workspaceId": "ws-456",
  "userId": "user-123",
  "metricId": "emails-sent",
  "count": 1,
  "date": "2024-01-15T14"
}`
	designSent     = `{"workspaceId":"ws-456","metricId":"emails-sent","count":1,"date":"2024-01-15T14"}`
	designQuestion = `{
  "metricId": "emails-sent",
  "userId": "user-123",
  "workspaceId": "ws-456",
  "fromDate": "2024-01-15T00",
  "toDate": "2024-01-15T23"
}`
	designAsked   = `{"workspaceId":"ws-456","metricId":"emails-sent","fromDate":"2024-01-01T00","toDate":"2024-12-31T23"}`
	designRefusal = `{
  "error": {
    "code": "VALIDATION_ERROR",
    "message": "metricId is required and must be a non-empty string",
    "requestId": "abc-123-def"
  }
}`
)

// messages returns the event of a batch.
func messages(t *testing.T, bodies ...string) string {
	t.Helper()
	var e events.SQSEvent
	for i, body := range bodies {
		e.Records = append(e.Records, events.SQSMessage{MessageId: string(rune('a' + i)), Body: body, EventSource: "aws:sqs"})
	}
	return string(check.Must(json.Marshal(e))(t))
}

func TestTheMessagesAndQuestionsOfTheDesign(t *testing.T) {
	t.Parallel()
	f := newFunctions(t)
	last := strings.Replace(designMessage, "T14", "T23", 1) // the last hour of the day that is asked for
	next := strings.Replace(designMessage, "15T14", "16T00", 1)
	invoke(t.Context(), t, f.count, messages(t, designMessage, designSent, last, next), none)
	check.Equal(t, "log", f.log.String(), "")
	for question, want := range map[string]int64{
		designQuestion: 2,
		strings.Replace(designQuestion, `"userId": "user-123",`, "", 1):                 3,
		strings.Replace(designQuestion, `"workspaceId": "ws-456",`, "", 1):              2,
		strings.NewReplacer("T00", "T14", "T23", "T14").Replace(designQuestion):         1, // an hour
		strings.NewReplacer("15T00", "15T05", "15T23", "20T18").Replace(designQuestion): 3, // hours, days, hours
		designAsked: 4,
	} {
		var u struct{ Total int64 }
		check.OK(t, json.Unmarshal(check.Must(f.query.Invoke(t.Context(), []byte(question)))(t), &u))
		check.Equal(t, question, u.Total, want)
	}
}

func TestTheRefusalOfTheDesign(t *testing.T) {
	t.Parallel()
	f := newFunctions(t)
	var got, want map[string]map[string]string
	check.OK(t, json.Unmarshal([]byte(designRefusal), &want))
	response := check.Must(f.query.Invoke(requested(t, "abc-123-def"), []byte(strings.Replace(designQuestion, `"metricId": "emails-sent",`, "", 1))))(t)
	check.OK(t, json.Unmarshal(response, &got))
	check.Equal(t, "response", got, want)
}
