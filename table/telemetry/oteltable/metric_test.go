package oteltable_test

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
	"github.com/singletable/singletable/table/telemetry/oteltable"
)

// metrics opens a table and returns what is measured of it.
func metrics(t *testing.T) (fixture, func() map[string]metricdata.Metrics) {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	observe, err := oteltable.Metrics(
		sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), semconv.CloudRegion("eu-west-1"))
	must(t, err)
	return open(t, observe), func() map[string]metricdata.Metrics {
		var all metricdata.ResourceMetrics
		must(t, reader.Collect(t.Context(), &all))
		byName := make(map[string]metricdata.Metrics)
		for _, s := range all.ScopeMetrics {
			equal(t, "schema", s.Scope.SchemaURL, semconv.SchemaURL)
			for _, m := range s.Metrics {
				byName[m.Name] = m
			}
		}
		return byName
	}
}

// set returns the attributes of a measurement of the table.
func set(f fixture, operation string, more ...attribute.KeyValue) attribute.Set {
	return attribute.NewSet(append(more,
		semconv.DBSystemNameAWSDynamoDB, semconv.DBOperationName(operation),
		semconv.DBCollectionName(f.Schema().Name), semconv.CloudRegion("eu-west-1"))...)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	f, collect := metrics(t)
	must(t, f.get(t.Context()))
	must(t, f.get(t.Context()))
	ctx := telemetry.WithPattern(t.Context(), "newest")
	_, err := table.QueryPage[table.Item](ctx, f.Table, table.Query{Index: "GSI1", PK: "G"})
	must(t, err)
	must(t, f.BatchWrite(t.Context(), table.Put(missing, nil), table.Put(keys.Key{PK: "A", SK: "B"}, nil)))
	if f.create(t.Context()) == nil {
		t.Error("no error")
	}

	get, put := set(f, "GetItem"), set(f, "BatchWriteItem")
	query := set(f, "Query", semconv.DBQuerySummary("newest"), semconv.AWSDynamoDBIndexName("GSI1"))
	failed := set(f, "PutItem", semconv.ErrorTypeKey.String("ConditionalCheckFailedException"), semconv.DBResponseStatusCode("400"))
	histogram := func(set attribute.Set, count uint64) metricdata.HistogramDataPoint[float64] {
		return metricdata.HistogramDataPoint[float64]{
			Attributes: set, Count: count, Bounds: []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10},
		}
	}
	sum := func(name, description string, points ...metricdata.DataPoint[float64]) metricdata.Metrics {
		return metricdata.Metrics{
			Name: name, Unit: "{unit}", Description: description,
			Data: metricdata.Sum[float64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true, DataPoints: points},
		}
	}
	got := collect()
	duration := got["db.client.operation.duration"]
	equal(t, "unit", duration.Unit, "s")
	points := duration.Data.(metricdata.Histogram[float64]).DataPoints
	for i, p := range points {
		if p.Sum <= 0 {
			t.Errorf("%v took %v s", p.Attributes, p.Sum)
		}
		// What differs from run to run.
		points[i].Sum, points[i].Min, points[i].Max = 0, metricdata.Extrema[float64]{}, metricdata.Extrema[float64]{}
		points[i].BucketCounts = nil
	}
	metricdatatest.AssertEqual(t, metricdata.Histogram[float64]{
		Temporality: metricdata.CumulativeTemporality,
		DataPoints: []metricdata.HistogramDataPoint[float64]{
			histogram(get, 2), histogram(query, 1), histogram(put, 1), histogram(failed, 1),
		},
	}, duration.Data.(metricdata.Histogram[float64]), metricdatatest.IgnoreTimestamp())
	metricdatatest.AssertEqual(t, sum("singletable.consumed.read_units", "Read units that DynamoDB has charged.",
		metricdata.DataPoint[float64]{Attributes: get, Value: 1}, metricdata.DataPoint[float64]{Attributes: query, Value: 0.5},
	), got["singletable.consumed.read_units"], metricdatatest.IgnoreTimestamp())
	metricdatatest.AssertEqual(t, sum("singletable.consumed.write_units", "Write units that DynamoDB has charged.",
		metricdata.DataPoint[float64]{Attributes: put, Value: 2},
	), got["singletable.consumed.write_units"], metricdatatest.IgnoreTimestamp())
}
