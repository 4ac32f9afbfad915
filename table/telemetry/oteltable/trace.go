package oteltable

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
)

// scope is the name under which spans and metrics are made.
const scope = "github.com/singletable/singletable/table/telemetry/oteltable"

// Traces returns an observer that makes a client span of each request, a child
// of the span in the context. The provider is by default the global one. The
// extra attributes are added to each span: semconv.ServerAddress and
// semconv.CloudRegion are known to the application only.
//
// A span has the name of the access pattern (see [telemetry.WithPattern]), or
// else that of the operation and the table. It is made when the request has
// ended, so spans of the HTTP client beneath are its siblings and not its
// children.
func Traces(provider trace.TracerProvider, extra ...attribute.KeyValue) func(context.Context, table.Event) {
	tracer := cmp.Or(provider, otel.GetTracerProvider()).Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))
	extra = slices.Clone(extra)
	return func(ctx context.Context, e table.Event) {
		end := time.Now()
		described := telemetry.Describe(ctx, e)
		// What samplers look at is there from the start.
		_, span := tracer.Start(ctx, spanName(ctx, e),
			trace.WithSpanKind(trace.SpanKindClient),
			trace.WithTimestamp(end.Add(-e.Duration)),
			trace.WithAttributes(extra...),
			trace.WithAttributes(keyValues(described.Target)...),
			trace.WithAttributes(semconv.AWSDynamoDBTableNames(e.Table)))
		defer span.End(trace.WithTimestamp(end))
		if !span.IsRecording() {
			return
		}
		span.SetAttributes(keyValues(described.Failure)...)
		span.SetAttributes(keyValues(described.Details)...)
		if e.Capacity > 0 {
			span.SetAttributes(semconv.AWSDynamoDBConsumedCapacity(consumed(e)))
		}
		if e.VectorBytes > 0 { // of all indexes, so not as in the response
			span.SetAttributes(attribute.Float64("singletable.consumed.vector_bytes", e.VectorBytes))
		}
		if e.Err != nil {
			span.SetStatus(codes.Error, "") // the text can quote values
		}
	}
}

func spanName(ctx context.Context, e table.Event) string {
	if pattern := telemetry.Pattern(ctx); pattern != "" {
		return pattern
	}
	return e.Operation + " " + e.Table
}

// consumed returns the JSON of the response's ConsumedCapacity, as far as the
// request asked for it.
func consumed(e table.Event) string {
	text, _ := json.Marshal(struct { // no value of the two fails
		TableName     string
		CapacityUnits float64
	}{e.Table, e.Capacity})
	return string(text)
}

// keyValues returns attributes as those of OpenTelemetry.
func keyValues(attrs []slog.Attr) []attribute.KeyValue {
	all := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		key := attribute.Key(a.Key)
		switch v := a.Value.Any().(type) {
		case int64:
			all[i] = key.Int64(v)
		case []string:
			all[i] = key.StringSlice(v)
		default:
			all[i] = key.String(a.Value.String())
		}
	}
	return all
}
