package oteltable_test

import (
	"context"
	"fmt"
	"log"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/singletable/singletable/table/telemetry"
	"github.com/singletable/singletable/table/telemetry/oteltable"
)

// A service that already has a Summary reports its hottest partition keys.
func ExampleHotKeys() {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	var summary telemetry.Summary
	if err := oteltable.HotKeys(provider, &summary, 5); err != nil {
		log.Fatal(err)
	}
	tbl, drop := exampleTable(summary.Observe)
	defer drop()
	ctx := context.Background()
	for _, user := range []string{"ana", "bob", "ana"} {
		_ = register(ctx, tbl, user)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		fmt.Println(m.Name, len(m.Data.(metricdata.Gauge[int64]).DataPoints), "keys")
	}
	// Output:
	// singletable.hot_key.requests 2 keys
	// singletable.hot_key.throttles 2 keys
	// singletable.hot_key.shards 2 keys
}
