package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/singletable/singletable/table"
)

// Response is what a function returns to Lambda, in JSON. The event source
// mapping must have ReportBatchItemFailures; without it Lambda treats every
// response as success, and the records of a failed batch are lost.
//
// AWS: "Configuring partial batch response with DynamoDB and Lambda", AWS Lambda
// Developer Guide.
type Response struct {
	// BatchItemFailures holds the first record that was not handled, if there is one; for
	// EventBridge Pipes, it and all behind it. Lambda delivers it again with all records behind it. AWS: "Configuring partial batch
	// response with DynamoDB and Lambda", AWS Lambda Developer Guide.
	BatchItemFailures []ItemFailure `json:"batchItemFailures"`
	// Err is why the record was not handled, for the function's log. It is not part of
	// the JSON.
	Err error `json:"-"`
}

// ItemFailure names a record by its sequence number, for EventBridge Pipes by its event ID.
type ItemFailure struct {
	ItemIdentifier string `json:"itemIdentifier"`
}

// Handle gives the records of an event to the handlers. event is the JSON that a function is
// given for a stream with the view NEW_AND_OLD_IMAGES, by an event source mapping of Lambda or by
// EventBridge Pipes; or for the Kinesis data stream that the table streams to, by either:
//
//	lambda.Start(func(ctx context.Context, event json.RawMessage) (stream.Response, error) {
//		response, err := router.Handle(ctx, event)
//		if response.Err != nil {
//			slog.ErrorContext(ctx, "stream", "error", response.Err)
//		}
//		return response, err
//	})
//
// Kinesis can deliver a change twice, and changes of an item out of order. Handle gives those of
// one event to the handlers in order, each once: by their times, and at one time by their images,
// so that each old one is the new one before it; if a change between is missing, by the entity's
// integer version. A change is known by its event ID.
// Nothing is known of other events, so a consumer that must not go back compares [Change].At,
// which needs a stream with microseconds, with what it has stored; or an integer version, if no
// entity is created again.
//
// When the context ends, Handle calls no further handlers, and the first record that
// was not handled is in the response.
//
// Errors: [table.ErrInvalid], before any handler is called, if the event is not that of
// a stream of the router's table, or a record lacks images or the ARN of the stream.
// Lambda then delivers the event again.
//
// AWS: "How Lambda handles errors from DynamoDB event sources", AWS Lambda Developer
// Guide; "Amazon DynamoDB stream as a source for EventBridge Pipes", Amazon EventBridge User
// Guide; "Kinesis Data Streams for DynamoDB", Amazon DynamoDB Developer Guide.
func (r *Router) Handle(ctx context.Context, event json.RawMessage) (Response, error) {
	response := Response{BatchItemFailures: []ItemFailure{}}
	d, err := parseEvent(event)
	if err == nil {
		d.arrange(r.version)
		err = r.identify(d.records)
	}
	if err != nil {
		return response, r.fail("Handle", nil, err)
	}
	done, err := r.run(ctx, d.records)
	if err != nil {
		response.Err = err
		response.BatchItemFailures = d.failures(done)
	}
	return response, nil
}

// identify sets the keys of records and reports those of another table, or of none.
func (r *Router) identify(records []*record) error {
	for i, rec := range records {
		name := tableOf(rec.arn)
		if rec.source != "" {
			name = rec.source
		}
		if name == "" || rec.arn == "" { // Change.Request takes the scope of an effect from it
			return fmt.Errorf("%w: record %d does not have the ARN of a stream", errEvent, i)
		}
		if name != r.schema.Name {
			return fmt.Errorf("%w: record %d is of table %s", errEvent, i, name)
		}
		rec.key = r.table.KeyOf("", rec.keys)
		if rec.key.PK == "" || rec.key.SK == "" && !r.schema.SimpleKey {
			return fmt.Errorf("%w: record %d does not have the key attributes of the table", errEvent, i)
		}
		for _, image := range []table.Item{rec.old, rec.new} {
			if image != nil && r.table.KeyOf("", image) != rec.key {
				return fmt.Errorf("%w: record %d has an image with another key", errEvent, i)
			}
		}
	}
	return nil
}

// EventFilter returns the filter criteria of an event source mapping, in JSON, that
// pass only the items of the router's entities: the value of FilterCriteria in
// a CloudFormation or SAM template. Records that are filtered out cost nothing and
// reach no handler, [OnOther] included. A router without entities, or with those of a
// [schema.Kind], has no filters, and everything passes.
//
// AWS: "Using event filtering with a DynamoDB event source", AWS Lambda Developer Guide;
// "AWS Lambda pricing", AWS pricing pages.
func (r *Router) EventFilter() json.RawMessage {
	type filter struct{ Pattern string }
	criteria := struct{ Filters []filter }{[]filter{}}
	for _, image := range []string{"NewImage", "OldImage"} {
		if len(r.types) == 0 || slices.ContainsFunc(r.types, func(name string) bool { return r.schema.KindOf(name) != nil }) {
			break
		}
		pattern, _ := json.Marshal(map[string]any{ // maps of strings have JSON
			"dynamodb": map[string]any{image: map[string]any{r.schema.TypeAttribute: map[string]any{"S": r.types}}},
		})
		criteria.Filters = append(criteria.Filters, filter{string(pattern)})
	}
	all, _ := json.Marshal(criteria)
	return all
}
