package lambda

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/singletable/singletable/stream"
)

// Stream returns the function that gives events of a DynamoDB stream to a router. The
// event source mapping must have the function response type ReportBatchItemFailures: by
// the response, Lambda delivers what was not handled again. That is logged. AWS:
// "Configuring partial batch response with DynamoDB and Lambda", AWS Lambda Developer
// Guide.
func Stream(router *stream.Router, log *slog.Logger) func(context.Context, json.RawMessage) (stream.Response, error) {
	return func(ctx context.Context, event json.RawMessage) (stream.Response, error) {
		response, err := router.Handle(ctx, event)
		if response.Err != nil {
			log.WarnContext(ctx, "a change is delivered again", slog.Any("error", response.Err))
		}
		return response, err
	}
}
