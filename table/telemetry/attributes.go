package telemetry

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

// Attributes describe one request under the names that the package documentation
// lists. They hold no key, no value and no text of an error. [Logs] and package
// oteltable write them; an exporter to another system can do the same.
type Attributes struct {
	// Target says what was requested: operation, table, index and access
	// pattern. Its values are few, so that metrics can have them as labels.
	Target []slog.Attr
	// Failure says how the request failed, also with few values. It is empty
	// after success.
	Failure []slog.Attr
	// Details are for logs and traces: attempts, size of the batch, class of
	// the error, AWS's request id, reasons of a cancelled transaction.
	Details []slog.Attr
	// ReadUnits and WriteUnits are what the request consumed. DynamoDB does not
	// report them for a failed request. AWS: ConsumedCapacity, Amazon DynamoDB API
	// Reference.
	ReadUnits, WriteUnits float64
}

// Describe returns the attributes of an event, for observers of your own. The
// context is the one that the observer was given: it names the access pattern
// (see [WithPattern]).
func Describe(ctx context.Context, e table.Event) Attributes {
	read, write := units(e)
	return Attributes{
		Target:     target(Pattern(ctx), e),
		Failure:    failure(e.Err),
		Details:    details(e),
		ReadUnits:  read,
		WriteUnits: write,
	}
}

func target(pattern string, e table.Event) []slog.Attr {
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

func failure(err error) []slog.Attr {
	if err == nil {
		return nil
	}
	attrs := []slog.Attr{slog.String("error.type", errorType(err))}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.HTTPStatusCode() != 0 {
		attrs = append(attrs, slog.String("db.response.status_code", strconv.Itoa(response.HTTPStatusCode())))
	}
	return attrs
}

func details(e table.Event) []slog.Attr {
	attrs := []slog.Attr{slog.Int("singletable.attempts", e.Attempts)}
	if e.Batch > 1 { // the conventions do not count one as a batch
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
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](e.Err); ok {
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

// units returns what a request consumed. Each operation has units of one kind.
func units(e table.Event) (read, write float64) {
	switch e.Operation {
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan":
		return e.Capacity, 0
	}
	return 0, e.Capacity
}
