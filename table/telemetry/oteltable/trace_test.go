package oteltable_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
	"github.com/singletable/singletable/table/telemetry"
	"github.com/singletable/singletable/table/telemetry/internal/fixture"
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
	f := fixture.Open(t, oteltable.Traces(provider, semconv.ServerAddress("dynamodb.example")), 3)
	ctx, parent := provider.Tracer("test").Start(t.Context(), "parent")
	name := f.Schema().Name

	f.Faults.Next("GetItem", tabletest.Throttle())
	fixture.Must(t, f.Get(ctx))
	_, err := table.QueryPage[table.Item](telemetry.WithPattern(ctx, "newest"), f.Table, table.Query{Index: "GSI1", PK: "G"})
	fixture.Must(t, err)
	fixture.Must(t, f.BatchWrite(ctx, table.Put(fixture.Profile, nil), table.Put(fixture.Absent, nil)))

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
		fixture.Equal(t, "name", span.Name(), w.name)
		fixture.Equal(t, w.name, values(span.Attributes()), w.attributes)
		fixture.Equal(t, w.name+": kind", span.SpanKind(), trace.SpanKindClient)
		fixture.Equal(t, w.name+": status", span.Status(), sdktrace.Status{})
		fixture.Equal(t, w.name+": parent", span.Parent().SpanID(), parent.SpanContext().SpanID())
		fixture.Equal(t, w.name+": schema", span.InstrumentationScope().SchemaURL, semconv.SchemaURL)
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
	fixture.Equal(t, "duration", span.EndTime().Sub(span.StartTime()), time.Hour)
	if span.EndTime().Before(before) || span.EndTime().After(after) {
		t.Errorf("end %v, want between %v and %v", span.EndTime(), before, after)
	}
}

func TestTracesOfFailures(t *testing.T) {
	t.Parallel()
	provider, spans := recorder(t)
	f := fixture.Open(t, oteltable.Traces(provider), 1)
	for name, call := range f.Failures() {
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
		fixture.Equal(t, name, got["error.type"], any(name))
		fixture.Equal(t, name+": status", ended[0].Status(), sdktrace.Status{Code: codes.Error})
		fixture.Equal(t, name+": events", len(ended[0].Events()), 0)
		if text := fmt.Sprint(ended[0].Name(), got); strings.Contains(text, fixture.Secret) {
			t.Errorf("%s: what it was about is in the span: %s", name, text)
		}
		if _, ok := got["aws.dynamodb.consumed_capacity"]; ok {
			t.Errorf("%s: it has consumed capacity: %v", name, got)
		}
	}
}

func TestTracesThatAreNotSampled(t *testing.T) {
	t.Parallel()
	provider, spans := recorder(t, sdktrace.WithSampler(sdktrace.NeverSample()))
	f := fixture.Open(t, oteltable.Traces(provider), 3)
	fixture.Must(t, f.Get(t.Context()))
	fixture.Equal(t, "spans", len(spans.Ended()), 0)
}
