package oteltable_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
	"github.com/singletable/singletable/table/telemetry/oteltable"
)

// TestHotKeys has a key that was throttled, and shows the metrics of it.
func TestHotKeys(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	metrics, err := oteltable.Metrics(provider)
	if err != nil {
		t.Fatal(err)
	}
	var summary telemetry.Summary
	if err := oteltable.HotKeys(provider, &summary, 1, semconv.CloudRegion("eu-west-1")); err != nil {
		t.Fatal(err)
	}
	observe := telemetry.Join(metrics, summary.Observe)
	reason := "TableWriteKeyRangeThroughputExceeded"
	hot := table.Event{
		Operation: "PutItem", Table: "T", Capacity: 5000, Partitions: []keys.PK{"USER#1"},
		Throttles: []types.ThrottlingReason{{Reason: &reason}, {Reason: &reason}, {}},
	}
	observe(t.Context(), hot)
	hot.Capacity = 0
	observe(t.Context(), hot)
	observe(t.Context(), table.Event{Operation: "PutItem", Table: "T", Partitions: []keys.PK{"USER#2"}})

	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			var points []metricdata.DataPoint[int64]
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				points = data.DataPoints
			case metricdata.Sum[int64]:
				points = data.DataPoints
			}
			for _, p := range points {
				got[m.Name+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = p.Value
			}
		}
	}
	key := " aws.dynamodb.index_name=,cloud.region=eu-west-1,singletable.key_hash=e1e1594b3f90e0d6"
	target := "singletable.throttles db.collection.name=T,db.operation.name=PutItem,db.system.name=aws.dynamodb,singletable.throttle.reason="
	want := map[string]int64{
		"singletable.hot_key.requests" + key: 2, "singletable.hot_key.throttles" + key: 6, "singletable.hot_key.shards" + key: 5,
		target + reason: 4, target: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
