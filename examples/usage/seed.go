package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/examples/usage/metering"
)

// delivery is a message with words on it for the reader.
type delivery struct{ id, what, body string }

// deliver invokes the Lambda function with a batch, as SQS does, and prints what
// became of the messages.
func deliver(ctx context.Context, a app, out report.Report, batch []delivery) error {
	var e events.SQSEvent
	for _, d := range batch {
		e.Records = append(e.Records, events.SQSMessage{MessageId: d.id, Body: d.body, EventSource: "aws:sqs"})
	}
	event, err := json.Marshal(e)
	if err != nil {
		return err
	}
	response, err := a.function.Invoke(ctx, event)
	if err != nil {
		return err
	}
	var rows []string
	for _, d := range batch {
		rows = append(rows, fmt.Sprintf("%s\t%s", d.id, d.what))
	}
	out.Rows(rows...)
	requests, units := out.Meter.Take()
	out.Line("  response %s (requests %d, write units %g)", response, requests, units)
	return nil
}

// seedDays is for how many days there is sample data, up to today.
const seedDays = 31

// seed counts the sample data: exports of a workspace in every hour, some of
// them by a user, and reports in eight hours of a day.
func seed(ctx context.Context, a app) error {
	// A batch takes one hour of several days, whose counters are not the same.
	for h := range 24 {
		var batch []metering.Delivery
		for d := range seedDays {
			at := today.AddDate(0, 0, -d-1).Add(time.Duration(h) * time.Hour)
			exports := metering.Message{WorkspaceID: "acme", MetricID: "exports", Count: int64(1 + h%5), Hour: at}
			if h == 12 {
				exports.UserID = "ana"
			}
			messages := []metering.Message{exports}
			if 9 <= h && h < 17 {
				messages = append(messages, metering.Message{WorkspaceID: "acme", MetricID: "reports", Count: 2, Hour: at})
			}
			for _, m := range messages {
				body, err := json.Marshal(m)
				if err != nil {
					return err
				}
				id := fmt.Sprintf("%s-%d-%d", m.MetricID, d, h)
				batch = append(batch, metering.Delivery{Source: "sqs", ID: id, Body: body})
			}
		}
		for _, o := range a.consumer.Batch(ctx, batch) {
			if o.Err != nil {
				return errors.Join(fmt.Errorf("sample message %s", o.ID), o.Err)
			}
		}
	}
	return nil
}
