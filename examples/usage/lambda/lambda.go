// Package lambda is the two AWS Lambda functions of the metering. One counts
// messages, of an SQS queue or of a direct invocation. The other returns usage.
package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/singletable/singletable/examples/internal/lambda"
	"github.com/singletable/singletable/examples/usage/metering"
)

// margin is what is left of a function's time to respond in. A function
// that is ended for its time has failed for the whole batch.
const margin = time.Second

// errPiped is the error of the records that EventBridge Pipes sends. As a message they would be
// dropped, and the pipe would take them for counted. AWS: "Amazon EventBridge Pipes batching and
// concurrency", Amazon EventBridge User Guide.
var errPiped = errors.New("the event is an array of records, as EventBridge Pipes sends: the function takes those of an event source mapping")

// Consumer is the function that counts.
type Consumer struct {
	meters *metering.Consumer
	log    *slog.Logger
}

// NewConsumer returns the function.
func NewConsumer(c *metering.Consumer, log *slog.Logger) *Consumer { return &Consumer{c, log} }

// Invoke counts what an event brings: the messages of an SQS event, or the one
// message that is the event itself.
func (c *Consumer) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	var batch struct {
		Records *json.RawMessage `json:"Records"`
	}
	var piped []struct {
		EventSource string `json:"eventSource"`
	}
	if json.Unmarshal(event, &piped) == nil && len(piped) > 0 && piped[0].EventSource != "" {
		return nil, errPiped
	}
	// What is no object is no message either, and refused as one.
	if err := json.Unmarshal(event, &batch); err != nil || batch.Records == nil {
		return respond(c.Direct(ctx, event))
	}
	var e events.SQSEvent
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return respond(c.SQS(ctx, e))
}

// respond returns the JSON of a response. The functions take and return bytes, as Lambda
// has them, since the decoder of its library stops at the end of the first value.
func respond[T any](response T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(response)
}

// SQS counts the messages of a batch and returns those that SQS should deliver
// again. The event source mapping must have the function response type
// ReportBatchItemFailures: without it, SQS deletes the messages of every batch
// that gets a response. AWS: "Handling errors for an SQS event source in Lambda", AWS
// Lambda Developer Guide.
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
	response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, o := range c.meters.Batch(ctx, deliveries) {
		c.tell(ctx, o)
		if o.Status == metering.Returned {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: o.ID})
		}
	}
	return response, nil
}

// Result is the response to a direct invocation.
type Result struct {
	Status metering.Status `json:"status"`
	// Reason says why a message was dropped.
	Reason string `json:"reason,omitempty"`
}

// Direct counts one message. Lambda repeats an asynchronous invocation that
// failed under the same request id, by which it counts once. A caller that
// waits for the response and repeats by itself has to give a messageId. A
// message that can never be counted is no error, since Lambda would repeat it. AWS: "How
// Lambda handles errors and retries with asynchronous invocation", AWS Lambda Developer
// Guide.
func (c *Consumer) Direct(ctx context.Context, message []byte) (Result, error) {
	d := metering.Delivery{Source: "lambda", ID: lambda.RequestID(ctx), Body: message}
	ctx, cancel := inTime(ctx)
	defer cancel()
	o := c.meters.Count(ctx, d)
	switch o.Status {
	case metering.Returned:
		return Result{}, o.Err // which is logged as the invocation's
	case metering.Dropped:
		c.tell(ctx, o)
		return Result{Status: o.Status, Reason: o.Err.Error()}, nil
	}
	return Result{Status: o.Status}, nil
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

// Reader is the function that returns usage.
type Reader struct{ meters *metering.Reader }

// NewReader returns the function.
func NewReader(r *metering.Reader) *Reader { return &Reader{r} }

// Usage is the response.
type Usage struct {
	Total int64  `json:"total"`
	Parts []Part `json:"parts"`
}

// Part is a part of the response's time, counted by the hour or by the day. Both
// dates are included, as in the question.
type Part struct {
	By       string   `json:"by"`
	FromDate Date     `json:"fromDate"`
	ToDate   Date     `json:"toDate"`
	Total    int64    `json:"total"`
	Used     []Period `json:"used"`
}

// Period is an hour or a day with something to count.
type Period struct {
	Date  Date  `json:"date"`
	Count int64 `json:"count"`
}

// Refusal is the response to an invalid question. It is not an error of the
// function, which would count in alarms and be repeated.
type Refusal struct {
	Error Problem `json:"error"`
}

// Problem says what is wrong with a question.
type Problem struct {
	// Code is VALIDATION_ERROR.
	Code string `json:"code"`
	// Message lists everything that is wrong, for people.
	Message string `json:"message"`
	// RequestID is the invocation's id, by which the log is searched.
	RequestID string `json:"requestId"`
}

// Invoke returns the [Usage] that a question asks for, or a [Refusal].
func (r *Reader) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	u, err := r.usage(ctx, event)
	if problems, ok := errors.AsType[metering.Problems](err); ok {
		return respond(Refusal{Problem{Code: "VALIDATION_ERROR", Message: problems.String(), RequestID: lambda.RequestID(ctx)}}, nil)
	}
	return respond(u, err)
}

func (r *Reader) usage(ctx context.Context, question []byte) (Usage, error) {
	q, err := r.meters.Decode(question)
	if err != nil {
		return Usage{}, err
	}
	found, err := r.meters.Usage(ctx, q)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Total: found.Total, Parts: []Part{}}
	for _, p := range found.Parts {
		part := Part{By: string(p.Kind), FromDate: Date(p.From), ToDate: Date(p.To.Add(-time.Hour)), Total: p.Total, Used: []Period{}}
		for _, period := range p.Periods {
			part.Used = append(part.Used, Period{Date(period.Start), period.Count})
		}
		u.Parts = append(u.Parts, part)
	}
	return u, nil
}

// Date is an hour in UTC that is written YYYY-MM-DDThh.
type Date time.Time

// MarshalJSON writes the date.
func (d Date) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time(d).UTC().Format("2006-01-02T15"))
}
