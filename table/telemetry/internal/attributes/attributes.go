// Package attributes says what there is to write of a request, under the names of
// the OpenTelemetry semantic conventions. It does not depend on OpenTelemetry:
// what does, makes its own attributes of these.
package attributes

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/table"
)

// Names that more than one signal has, or that are its own.
const (
	Duration   = "db.client.operation.duration"
	ReadUnits  = "singletable.consumed.read_units"
	WriteUnits = "singletable.consumed.write_units"
)

// Target says what kind of request it was. The values are few, so that metrics
// can have them.
func Target(pattern string, e table.Event) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("db.system.name", "aws.dynamodb"),
		slog.String("db.operation.name", e.Operation),
		slog.String("db.collection.name", e.Table),
	}
	if pattern != "" {
		attrs = append(attrs, slog.String("db.query.summary", pattern))
	}
	if e.Index != "" {
		attrs = append(attrs, slog.String("aws.dynamodb.index_name", e.Index))
	}
	return attrs
}

// Failure says how a request failed, also in few values; nothing for a success.
func Failure(err error) []slog.Attr {
	if err == nil {
		return nil
	}
	attrs := []slog.Attr{slog.String("error.type", errorType(err))}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.HTTPStatusCode() != 0 {
		attrs = append(attrs, slog.String("db.response.status_code", strconv.Itoa(response.HTTPStatusCode())))
	}
	return attrs
}

// Details is what else there is to say of a single request.
func Details(e table.Event) []slog.Attr {
	attrs := []slog.Attr{slog.Int("singletable.attempts", e.Attempts)}
	if e.Batch > 1 { // of one it is none, by the conventions
		attrs = append(attrs, slog.Int("db.operation.batch.size", e.Batch))
	}
	if e.Err == nil {
		return attrs
	}
	attrs = append(attrs, slog.String("singletable.error.class", table.Classify(e.Err).String()))
	var response interface{ ServiceRequestID() string }
	if errors.As(e.Err, &response) && response.ServiceRequestID() != "" {
		attrs = append(attrs, slog.String("aws.request_id", response.ServiceRequestID()))
	}
	var cancelled *types.TransactionCanceledException
	if errors.As(e.Err, &cancelled) {
		codes := make([]string, len(cancelled.CancellationReasons))
		for i, r := range cancelled.CancellationReasons {
			codes[i] = aws.ToString(r.Code)
		}
		attrs = append(attrs, slog.Any("singletable.cancellation_reasons", codes))
	}
	return attrs
}

// errorType returns the error.type of a failure.
func errorType(err error) string {
	const other = "_OTHER"
	var api smithy.APIError
	var unsent *smithyhttp.RequestSendError
	switch {
	case errors.As(err, &api):
		return cmp.Or(api.ErrorCode(), other)
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.As(err, &unsent), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection"
	}
	return other
}

// Units returns what a request consumed. Each operation has units of one kind.
func Units(e table.Event) (read, write float64) {
	switch e.Operation {
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan":
		return e.Capacity, 0
	}
	return 0, e.Capacity
}
