package oteltable_test

import (
	"errors"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry/oteltable"
)

// TestGlobalProviders is the only test that sets them.
func TestGlobalProviders(t *testing.T) {
	provider, spans := recorder(t)
	otel.SetTracerProvider(provider)
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))

	e := table.Event{Operation: "GetItem", Table: "AppCore", Attempts: 1}
	oteltable.Traces(nil)(t.Context(), e)
	equal(t, "spans", len(spans.Ended()), 1)

	metrics, err := oteltable.Metrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	metrics(t.Context(), e)
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	equal(t, "metrics", all.ScopeMetrics[0].Metrics[0].Name, "db.client.operation.duration")
}

var errMeter = errors.New("no such instrument")

// broken is a provider whose meters cannot make the instrument of a name.
type broken struct {
	noop.MeterProvider
	name string
}

func (b broken) Meter(string, ...metric.MeterOption) metric.Meter { return brokenMeter{name: b.name} }

type brokenMeter struct {
	noop.Meter
	name string
}

func (m brokenMeter) Float64Histogram(name string, options ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	if name == m.name {
		return nil, errMeter
	}
	return m.Meter.Float64Histogram(name, options...)
}

func (m brokenMeter) Float64Counter(name string, options ...metric.Float64CounterOption) (metric.Float64Counter, error) {
	if name == m.name {
		return nil, errMeter
	}
	return m.Meter.Float64Counter(name, options...)
}

func TestMeterErrors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"db.client.operation.duration", "singletable.consumed.read_units", "singletable.consumed.write_units",
	} {
		if _, err := oteltable.Metrics(broken{name: name}); !errors.Is(err, errMeter) {
			t.Errorf("%s: error %v, want %v", name, err, errMeter)
		}
	}
}
