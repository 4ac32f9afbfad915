package oteltable_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
	"github.com/singletable/singletable/table/telemetry/oteltable"
)

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// recorder returns a provider whose spans are kept in memory.
func recorder(t *testing.T, options ...sdktrace.TracerProviderOption) (*sdktrace.TracerProvider, *tracetest.SpanRecorder) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	return sdktrace.NewTracerProvider(append(options, sdktrace.WithSpanProcessor(spans))...), spans
}

// values returns attributes as a map.
func values(attributes []attribute.KeyValue) map[string]any {
	m := make(map[string]any)
	for _, a := range attributes {
		m[string(a.Key)] = a.Value.AsInterface()
	}
	return m
}

func TestTraces(t *testing.T) {
	t.Parallel()
	provider, spans := recorder(t)
	observe := oteltable.Traces(provider, semconv.ServerAddress("dynamodb.example"))
	ctx, parent := provider.Tracer("test").Start(t.Context(), "parent")
	before := time.Now()
	observe(ctx, table.Event{Operation: "GetItem", Table: "AppCore", Attempts: 2, Capacity: 0.5, Duration: time.Hour})
	observe(telemetry.WithPattern(ctx, "newest"), table.Event{Operation: "Query", Table: "AppCore", Index: "GSI1", Attempts: 1, Capacity: 0.5, Duration: time.Hour})
	observe(ctx, table.Event{Operation: "BatchWriteItem", Table: "AppCore", Batch: 2, Attempts: 1, Capacity: 2, Duration: time.Hour})
	observe(ctx, table.Event{Operation: "PutItem", Table: "AppCore", Attempts: 1, Capacity: 3, VectorBytes: 1024, Duration: time.Hour})
	after := time.Now()

	consumed := func(units float64) []string {
		return []string{fmt.Sprintf(`{"TableName":"AppCore","CapacityUnits":%v}`, units)}
	}
	want := []map[string]any{
		{"db.operation.name": "GetItem", "singletable.attempts": int64(2), "aws.dynamodb.consumed_capacity": consumed(0.5)},
		{
			"db.operation.name": "Query", "singletable.attempts": int64(1), "aws.dynamodb.consumed_capacity": consumed(0.5),
			"db.query.summary": "newest", "aws.dynamodb.index_name": "GSI1",
		},
		{
			"db.operation.name": "BatchWriteItem", "singletable.attempts": int64(1), "aws.dynamodb.consumed_capacity": consumed(2),
			string(semconv.DBOperationBatchSizeKey): int64(2),
		},
		{
			"db.operation.name": "PutItem", "singletable.attempts": int64(1), "aws.dynamodb.consumed_capacity": consumed(3),
			"singletable.consumed.vector_bytes": 1024.0,
		},
	}
	ended := spans.Ended()
	if len(ended) != len(want) {
		t.Fatalf("%d spans, want %d", len(ended), len(want))
	}
	for i, name := range []string{"GetItem AppCore", "newest", "BatchWriteItem AppCore", "PutItem AppCore"} {
		span, attributes := ended[i], want[i]
		attributes["db.system.name"], attributes["db.collection.name"] = "aws.dynamodb", "AppCore"
		attributes["aws.dynamodb.table_names"], attributes["server.address"] = []string{"AppCore"}, "dynamodb.example"
		equal(t, "name", span.Name(), name)
		equal(t, name, values(span.Attributes()), attributes)
		equal(t, name+": kind", span.SpanKind(), trace.SpanKindClient)
		equal(t, name+": status", span.Status(), sdktrace.Status{})
		equal(t, name+": parent", span.Parent().SpanID(), parent.SpanContext().SpanID())
		equal(t, name+": schema", span.InstrumentationScope().SchemaURL, semconv.SchemaURL)
		// A span is as long as the request was, though it is made afterwards.
		equal(t, name+": duration", span.EndTime().Sub(span.StartTime()), time.Hour)
		if span.EndTime().Before(before) || span.EndTime().After(after) {
			t.Errorf("%s: end %v, want between %v and %v", name, span.EndTime(), before, after)
		}
	}
}

func TestTracesOfFailures(t *testing.T) {
	t.Parallel()
	provider, spans := recorder(t)
	const secret = "s3cret"
	code, none := "ConditionalCheckFailed", "None"
	oteltable.Traces(provider)(t.Context(), table.Event{
		Operation: "TransactWriteItems", Table: "AppCore", Batch: 2, Attempts: 1,
		Err: fmt.Errorf("%s: %w", secret, &types.TransactionCanceledException{
			Message: new(secret), CancellationReasons: []types.CancellationReason{{Code: &none}, {Code: &code, Message: new(secret)}},
		}),
	})
	span := spans.Ended()[0]
	got := values(span.Attributes())
	equal(t, "type", got["error.type"], any("TransactionCanceledException"))
	equal(t, "reasons", got["singletable.cancellation_reasons"], any([]string{none, code}))
	equal(t, "status", span.Status(), sdktrace.Status{Code: codes.Error})
	equal(t, "events", len(span.Events()), 0)
	if text := fmt.Sprint(span.Name(), got); strings.Contains(text, secret) {
		t.Errorf("the span holds a key or value: %s", text)
	}
	if _, ok := got["aws.dynamodb.consumed_capacity"]; ok {
		t.Errorf("it has consumed capacity: %v", got)
	}
}

func TestTracesThatAreNotSampled(t *testing.T) {
	t.Parallel()
	provider, spans := recorder(t, sdktrace.WithSampler(sdktrace.NeverSample()))
	oteltable.Traces(provider)(t.Context(), table.Event{Operation: "GetItem", Table: "AppCore"})
	equal(t, "spans", len(spans.Ended()), 0)
}
