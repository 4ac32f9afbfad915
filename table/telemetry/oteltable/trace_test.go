package oteltable_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
	"github.com/singletable/singletable/table/telemetry"
	"github.com/singletable/singletable/table/telemetry/oteltable"
)

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
	f := open(t, oteltable.Traces(provider, semconv.ServerAddress("dynamodb.example")))
	ctx, parent := provider.Tracer("test").Start(t.Context(), "parent")
	name := f.Schema().Name

	f.faults.Next("GetItem", tabletest.Throttle())
	must(t, f.get(ctx))
	_, err := table.QueryPage[table.Item](telemetry.WithPattern(ctx, "newest"), f.Table, table.Query{Index: "GSI1", PK: "G"})
	must(t, err)
	must(t, f.BatchWrite(ctx, table.Put(profile, nil), table.Put(missing, nil)))

	want := []struct {
		name       string
		attributes map[string]any
	}{
		{"GetItem " + name, map[string]any{
			"db.operation.name": "GetItem", "singletable.attempts": int64(2),
			"aws.dynamodb.consumed_capacity": []string{fmt.Sprintf(`{"TableName":"%s","CapacityUnits":0.5}`, name)},
		}},
		{"newest", map[string]any{
			"db.operation.name": "Query", "singletable.attempts": int64(1),
			"db.query.summary": "newest", "aws.dynamodb.index_name": "GSI1",
			"aws.dynamodb.consumed_capacity": []string{fmt.Sprintf(`{"TableName":"%s","CapacityUnits":0.5}`, name)},
		}},
		{"BatchWriteItem " + name, map[string]any{
			"db.operation.name": "BatchWriteItem", "singletable.attempts": int64(1),
			string(semconv.DBOperationBatchSizeKey): int64(2),
			"aws.dynamodb.consumed_capacity":        []string{fmt.Sprintf(`{"TableName":"%s","CapacityUnits":2}`, name)},
		}},
	}
	ended := spans.Ended()
	if len(ended) != len(want) {
		t.Fatalf("%d spans, want %d", len(ended), len(want))
	}
	for i, w := range want {
		span := ended[i]
		w.attributes["db.system.name"] = "aws.dynamodb"
		w.attributes["db.collection.name"] = name
		w.attributes["aws.dynamodb.table_names"] = []string{name}
		w.attributes["server.address"] = "dynamodb.example"
		equal(t, "name", span.Name(), w.name)
		equal(t, w.name, values(span.Attributes()), w.attributes)
		equal(t, w.name+": kind", span.SpanKind(), trace.SpanKindClient)
		equal(t, w.name+": status", span.Status(), sdktrace.Status{})
		equal(t, w.name+": parent", span.Parent().SpanID(), parent.SpanContext().SpanID())
		equal(t, w.name+": schema", span.InstrumentationScope().SchemaURL, semconv.SchemaURL)
	}
}

// TestSpansCoverTheRequest shows that a span is as long as the request was,
// though it is made afterwards.
func TestSpansCoverTheRequest(t *testing.T) {
	t.Parallel()
	provider, spans := recorder(t)
	before := time.Now()
	oteltable.Traces(provider)(t.Context(), table.Event{Operation: "GetItem", Table: "AppCore", Duration: time.Hour})
	after := time.Now()
	span := spans.Ended()[0]
	equal(t, "duration", span.EndTime().Sub(span.StartTime()), time.Hour)
	if span.EndTime().Before(before) || span.EndTime().After(after) {
		t.Errorf("end %v, want between %v and %v", span.EndTime(), before, after)
	}
}

func TestTracesOfFailures(t *testing.T) {
	t.Parallel()
	provider, spans := recorder(t)
	f := open(t, oteltable.Traces(provider))
	banned := expression.Name("name").AttributeNotExists()
	for name, call := range map[string]func(context.Context) error{
		"ConditionalCheckFailedException": f.create,
		"TransactionCanceledException": func(ctx context.Context) error {
			return f.Transact(ctx, table.Put(missing, nil), table.Check(profile, banned))
		},
	} {
		if call(t.Context()) == nil {
			t.Errorf("%s: no error", name)
		}
		ended := spans.Ended()
		spans.Reset()
		if len(ended) != 1 {
			t.Errorf("%s: %d spans", name, len(ended))
			continue
		}
		got := values(ended[0].Attributes())
		equal(t, name, got["error.type"], any(name))
		equal(t, name+": status", ended[0].Status(), sdktrace.Status{Code: codes.Error})
		equal(t, name+": events", len(ended[0].Events()), 0)
		if text := fmt.Sprint(ended[0].Name(), got); strings.Contains(text, secret) {
			t.Errorf("%s: the span holds a key or value: %s", name, text)
		}
		if _, ok := got["aws.dynamodb.consumed_capacity"]; ok {
			t.Errorf("%s: it has consumed capacity: %v", name, got)
		}
		if reasons := got["singletable.cancellation_reasons"]; strings.HasPrefix(name, "Transaction") {
			equal(t, name+": reasons", reasons, any([]string{"None", "ConditionalCheckFailed"}))
		}
	}
}

func TestTracesThatAreNotSampled(t *testing.T) {
	t.Parallel()
	provider, spans := recorder(t, sdktrace.WithSampler(sdktrace.NeverSample()))
	f := open(t, oteltable.Traces(provider))
	must(t, f.get(t.Context()))
	equal(t, "spans", len(spans.Ended()), 0)
}
