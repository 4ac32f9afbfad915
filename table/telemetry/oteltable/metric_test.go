package oteltable_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
	"github.com/singletable/singletable/table/telemetry/oteltable"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	observe, err := oteltable.Metrics(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), semconv.CloudRegion("eu-west-1"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	event := table.Event{Operation: "GetItem", Table: "AppCore", Attempts: 1, Capacity: 0.5, Duration: 2 * time.Millisecond}
	observe(ctx, event)
	observe(ctx, event)
	event.Operation, event.Index = "Query", "GSI1"
	observe(telemetry.WithPattern(ctx, "newest"), event)
	event.Operation, event.Index, event.Batch, event.Capacity = "BatchWriteItem", "", 2, 2
	observe(ctx, event)
	event.Operation, event.Index, event.Batch, event.Capacity, event.VectorBytes = "SearchVectors", "similar", 0, 0, 400.5
	observe(ctx, event)
	event.Operation, event.Index, event.VectorBytes, event.Err = "PutItem", "", 0, &types.ConditionalCheckFailedException{}
	observe(ctx, event)

	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		t.Fatal(err)
	}
	set := func(operation string, more ...attribute.KeyValue) attribute.Set {
		return attribute.NewSet(append(more, semconv.DBSystemNameAWSDynamoDB, semconv.DBOperationName(operation),
			semconv.DBCollectionName("AppCore"), semconv.CloudRegion("eu-west-1"))...)
	}
	get, put := set("GetItem"), set("BatchWriteItem")
	query := set("Query", semconv.DBQuerySummary("newest"), semconv.AWSDynamoDBIndexName("GSI1"))
	search := set("SearchVectors", semconv.AWSDynamoDBIndexName("similar"))
	failed := set("PutItem", semconv.ErrorTypeKey.String("ConditionalCheckFailedException"))
	took := func(set attribute.Set, count uint64) metricdata.HistogramDataPoint[float64] {
		least := metricdata.NewExtrema(0.002)
		return metricdata.HistogramDataPoint[float64]{
			Attributes: set, Count: count, Sum: 0.002 * float64(count), Min: least, Max: least,
			Bounds:       []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10},
			BucketCounts: []uint64{0, count, 0, 0, 0, 0, 0, 0, 0, 0},
		}
	}
	sum := func(name, description string, points ...metricdata.DataPoint[float64]) metricdata.Metrics {
		return metricdata.Metrics{
			Name: name, Unit: "{unit}", Description: description,
			Data: metricdata.Sum[float64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true, DataPoints: points},
		}
	}
	want := []metricdata.Metrics{
		{
			Name: "db.client.operation.duration", Unit: "s", Description: "Duration of database client operations.",
			Data: metricdata.Histogram[float64]{
				Temporality: metricdata.CumulativeTemporality,
				DataPoints:  []metricdata.HistogramDataPoint[float64]{took(get, 2), took(query, 1), took(put, 1), took(search, 1), took(failed, 1)},
			},
		},
		sum("singletable.consumed.read_units", "Read units that DynamoDB has charged.",
			metricdata.DataPoint[float64]{Attributes: get, Value: 1}, metricdata.DataPoint[float64]{Attributes: query, Value: 0.5}),
		sum("singletable.consumed.write_units", "Write units that DynamoDB has charged.",
			metricdata.DataPoint[float64]{Attributes: put, Value: 2}),
		sum("singletable.consumed.vector_bytes", "Bytes of searches of vectors, or of writes in vector indexes, that DynamoDB has charged.",
			metricdata.DataPoint[float64]{Attributes: search, Value: 400.5}),
	}
	want[3].Unit = "By"
	equal(t, "scopes", len(all.ScopeMetrics), 1)
	equal(t, "schema", all.ScopeMetrics[0].Scope.SchemaURL, semconv.SchemaURL)
	equal(t, "metrics", len(all.ScopeMetrics[0].Metrics), len(want))
	for i, w := range want {
		metricdatatest.AssertEqual(t, w, all.ScopeMetrics[0].Metrics[i], metricdatatest.IgnoreTimestamp())
	}
}
