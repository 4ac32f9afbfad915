// Package lambda is the two AWS Lambda functions of the metering: one counts
// messages, of an SQS queue or of a direct invocation, the other one answers
// questions.
package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/singletable/singletable/examples/usage/metering"
)

// margin is what is left of a function's time to give an answer in. A function
// that is ended for its time has failed for the whole batch.
const margin = time.Second

// Consumer is the function that counts.
type Consumer struct {
	meters *metering.Consumer
	log    *slog.Logger
}

// NewConsumer returns the function.
func NewConsumer(c *metering.Consumer, log *slog.Logger) *Consumer { return &Consumer{c, log} }

// Invoke counts what an event brings: the messages of an SQS event, or the one
// message that is the event itself.
func (c *Consumer) Invoke(ctx context.Context, event json.RawMessage) (any, error) {
	var batch struct {
		Records *json.RawMessage `json:"Records"`
	}
	// What is no object is no message either, and refused as one.
	if err := json.Unmarshal(event, &batch); err != nil || batch.Records == nil {
		return c.Direct(ctx, event)
	}
	var e events.SQSEvent
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return c.SQS(ctx, e)
}

// SQS counts the messages of a batch and answers which of them SQS should
// deliver again. The event source mapping must have the function response type
// ReportBatchItemFailures: without it, SQS deletes the messages of every batch
// that is answered.
func (c *Consumer) SQS(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	deliveries := make([]metering.Delivery, len(e.Records))
	for i, r := range e.Records {
		if r.EventSource != "aws:sqs" {
			// It is not the messages that are wrong, but who sends them here.
			return events.SQSEventResponse{}, fmt.Errorf("record %d is not of SQS", i)
		}
		deliveries[i] = metering.Delivery{Source: "sqs", ID: r.MessageId, Body: []byte(r.Body)}
	}
	ctx, cancel := inTime(ctx)
	defer cancel()
	// An empty list says that all is done; the field must be there.
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, o := range c.meters.Batch(ctx, deliveries) {
		c.tell(ctx, o)
		if o.Status == metering.Returned {
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: o.ID})
		}
	}
	return answer, nil
}

// Answer is what a direct invocation is told.
type Answer struct {
	Status metering.Status `json:"status"`
	// Reason says why a message was dropped.
	Reason string `json:"reason,omitempty"`
}

// Direct counts one message. Lambda repeats an asynchronous invocation that
// failed under the same request id, by which it counts once. A caller that
// waits for the answer and repeats by itself has to give a messageId. A
// message that can never be counted is no error, since Lambda would repeat it.
func (c *Consumer) Direct(ctx context.Context, message json.RawMessage) (Answer, error) {
	d := metering.Delivery{Source: "lambda", Body: message}
	if about, ok := lambdacontext.FromContext(ctx); ok {
		d.ID = about.AwsRequestID
	}
	ctx, cancel := inTime(ctx)
	defer cancel()
	o := c.meters.Count(ctx, d)
	c.tell(ctx, o)
	switch o.Status {
	case metering.Returned:
		return Answer{}, o.Err
	case metering.Dropped:
		return Answer{Status: o.Status, Reason: o.Err.Error()}, nil
	}
	return Answer{Status: o.Status}, nil
}

// tell logs what was not counted. Errors hold no identifiers of workspaces and
// users.
func (c *Consumer) tell(ctx context.Context, o metering.Outcome) {
	attributes := []any{slog.String("id", o.ID), slog.String("class", o.Class.String()), slog.Any("error", o.Err)}
	switch o.Status {
	case metering.Dropped:
		c.log.ErrorContext(ctx, "message dropped", attributes...)
	case metering.Returned:
		c.log.WarnContext(ctx, "message returned", attributes...)
	}
}

// inTime returns a context that ends before the function's time does.
func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-margin))
	}
	return context.WithCancel(ctx)
}

// Reader is the function that answers.
type Reader struct{ meters *metering.Reader }

// NewReader returns the function.
func NewReader(r *metering.Reader) *Reader { return &Reader{r} }

// Question is the event of the function that answers.
type Question struct {
	WorkspaceID string `json:"workspaceId"`
	UserID      string `json:"userId"`
	MetricID    string `json:"metricId"`
	From        Date   `json:"from"`
	To          Date   `json:"to"`
}

// Usage is the answer.
type Usage struct {
	Total int64  `json:"total"`
	Parts []Part `json:"parts"`
}

// Part is a part of the answer's time, counted by the hour or by the day.
type Part struct {
	By    string   `json:"by"`
	From  Date     `json:"from"`
	To    Date     `json:"to"`
	Total int64    `json:"total"`
	Used  []Period `json:"used"`
}

// Period is an hour or a day with something to count.
type Period struct {
	Date  Date  `json:"date"`
	Count int64 `json:"count"`
}

// Invoke answers a question.
func (r *Reader) Invoke(ctx context.Context, q Question) (Usage, error) {
	found, err := r.meters.Usage(ctx, metering.Question{
		Meter: metering.Meter{WorkspaceID: q.WorkspaceID, UserID: q.UserID, MetricID: q.MetricID},
		From:  q.From.Time, To: q.To.Time,
	})
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Total: found.Total, Parts: []Part{}}
	for _, p := range found.Parts {
		part := Part{By: string(p.Kind), From: Date{p.From}, To: Date{p.To}, Total: p.Total, Used: []Period{}}
		for _, period := range p.Periods {
			part.Used = append(part.Used, Period{Date{period.Start}, period.Count})
		}
		u.Parts = append(u.Parts, part)
	}
	return u, nil
}

// Date is an hour in UTC that is written YYYY-MM-DDThh.
type Date struct{ time.Time }

const layout = "2006-01-02T15"

// MarshalJSON writes the date.
func (d Date) MarshalJSON() ([]byte, error) { return json.Marshal(d.UTC().Format(layout)) }

// UnmarshalJSON reads a date.
func (d *Date) UnmarshalJSON(text []byte) (err error) {
	var s string
	if json.Unmarshal(text, &s) == nil && len(s) == len(layout) {
		if d.Time, err = time.Parse(layout, s); err == nil {
			return nil
		}
	}
	return errors.New("a date is not an hour of the calendar, as YYYY-MM-DDThh")
}
