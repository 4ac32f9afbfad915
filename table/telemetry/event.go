package telemetry

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/singletable/singletable/table"
)

// The names that the semantic conventions lack.
const (
	attemptsKey   = attribute.Key("singletable.attempts")
	classKey      = attribute.Key("singletable.error.class")
	reasonsKey    = attribute.Key("singletable.cancellation_reasons")
	readUnitsKey  = attribute.Key("singletable.consumed.read_units")
	writeUnitsKey = attribute.Key("singletable.consumed.write_units")
)

// target says what kind of request it was. Its values are few, so that metrics
// can have it.
func target(ctx context.Context, e table.Event) []attribute.KeyValue {
	attrs := []attribute.KeyValue{
		semconv.DBSystemNameAWSDynamoDB,
		semconv.DBOperationName(e.Operation),
		semconv.DBCollectionName(e.Table),
	}
	if pattern := Pattern(ctx); pattern != "" {
		attrs = append(attrs, semconv.DBQuerySummary(pattern))
	}
	if e.Index != "" {
		attrs = append(attrs, semconv.AWSDynamoDBIndexName(e.Index))
	}
	return attrs
}

// failure says how a request failed, also in few values; nothing for a success.
func failure(err error) []attribute.KeyValue {
	if err == nil {
		return nil
	}
	attrs := []attribute.KeyValue{semconv.ErrorTypeKey.String(errorType(err))}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.HTTPStatusCode() != 0 {
		attrs = append(attrs, semconv.DBResponseStatusCode(strconv.Itoa(response.HTTPStatusCode())))
	}
	return attrs
}

// details is what else there is to say of a single request.
func details(e table.Event) []attribute.KeyValue {
	attrs := []attribute.KeyValue{attemptsKey.Int(e.Attempts)}
	if e.Batch > 1 {
		attrs = append(attrs, semconv.DBOperationBatchSize(e.Batch))
	}
	if e.Err == nil {
		return attrs
	}
	attrs = append(attrs, classKey.String(table.Classify(e.Err).String()))
	var response interface{ ServiceRequestID() string }
	if errors.As(e.Err, &response) && response.ServiceRequestID() != "" {
		attrs = append(attrs, semconv.AWSRequestID(response.ServiceRequestID()))
	}
	var cancelled *types.TransactionCanceledException
	if errors.As(e.Err, &cancelled) {
		codes := make([]string, len(cancelled.CancellationReasons))
		for i, r := range cancelled.CancellationReasons {
			codes[i] = aws.ToString(r.Code)
		}
		attrs = append(attrs, reasonsKey.StringSlice(codes))
	}
	return attrs
}

// errorType returns the error.type of a failure.
func errorType(err error) string {
	other := semconv.ErrorTypeOther.Value.AsString()
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

// units returns what a request consumed. Each operation has units of one kind.
func units(e table.Event) (read, write float64) {
	switch e.Operation {
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan":
		return e.Capacity, 0
	}
	return 0, e.Capacity
}
