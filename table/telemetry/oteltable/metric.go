package oteltable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/dbconv"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
)

// buckets are those that the semantic conventions ask for, in seconds.
var buckets = metric.WithExplicitBucketBoundaries(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)

// Metrics returns an observer that measures each request, by operation, table,
// index and access pattern. It records the histogram
// db.client.operation.duration in seconds, and the counters
// singletable.consumed.read_units, singletable.consumed.write_units,
// singletable.consumed.vector_bytes and singletable.throttles. Throttles are also by DynamoDB's reason. The provider
// is by default the global one. The extra attributes, such as
// semconv.ServerAddress, are added to each measurement.
//
// Units that failed requests consume, as writes with failed conditions do, are
// not known and not counted.
//
// AWS: "Working with items and attributes in DynamoDB", Amazon DynamoDB Developer
// Guide.
func Metrics(provider metric.MeterProvider, extra ...attribute.KeyValue) (func(context.Context, table.Event), error) {
	m, err := newMeters(cmp.Or(provider, otel.GetMeterProvider()).Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)))
	if err != nil {
		return nil, fmt.Errorf("oteltable: %w", err)
	}
	extra = slices.Clone(extra)
	return func(ctx context.Context, e table.Event) {
		m.record(ctx, e, extra)
	}, nil
}

// meters are the instruments of [Metrics].
type meters struct {
	duration              metric.Float64Histogram
	readUnits, writeUnits metric.Float64Counter
	vectorBytes           metric.Float64Counter
	throttles             metric.Int64Counter
}

func newMeters(meter metric.Meter) (meters, error) {
	duration, err := dbconv.NewClientOperationDuration(meter, buckets)
	readUnits, errRead := meter.Float64Counter("singletable.consumed.read_units",
		metric.WithUnit("{unit}"), metric.WithDescription("Read units that DynamoDB has charged."))
	writeUnits, errWrite := meter.Float64Counter("singletable.consumed.write_units",
		metric.WithUnit("{unit}"), metric.WithDescription("Write units that DynamoDB has charged."))
	vectorBytes, errVector := meter.Float64Counter("singletable.consumed.vector_bytes",
		metric.WithUnit("By"), metric.WithDescription("Bytes of searches of vectors, or of writes in vector indexes, that DynamoDB has charged."))
	throttles, errThrottles := meter.Int64Counter("singletable.throttles",
		metric.WithUnit("{attempt}"), metric.WithDescription("Attempts that DynamoDB refused for lack of capacity."))
	return meters{duration.Inst(), readUnits, writeUnits, vectorBytes, throttles}, errors.Join(err, errRead, errWrite, errVector, errThrottles)
}

func (m meters) record(ctx context.Context, e table.Event, extra []attribute.KeyValue) {
	described := telemetry.Describe(ctx, e)
	target := slices.Concat(extra, keyValues(described.Target))
	failure := keyValues(described.Failure)
	m.duration.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(slices.Concat(target, failure)...))
	if described.ReadUnits > 0 {
		m.readUnits.Add(ctx, described.ReadUnits, metric.WithAttributes(target...))
	}
	if described.WriteUnits > 0 {
		m.writeUnits.Add(ctx, described.WriteUnits, metric.WithAttributes(target...))
	}
	if e.VectorBytes > 0 {
		m.vectorBytes.Add(ctx, e.VectorBytes, metric.WithAttributes(target...))
	}
	for _, r := range e.Throttles {
		var reason string
		if r.Reason != nil {
			reason = *r.Reason
		}
		m.throttles.Add(ctx, 1, metric.WithAttributes(append(slices.Clone(target), attribute.String("singletable.throttle.reason", reason))...))
	}
}

// HotKeys reports the n hottest partition keys of a summary as gauges, by index and
// by the hash of the key, see [telemetry.HashKey]: singletable.hot_key.requests,
// singletable.hot_key.throttles, and singletable.hot_key.shards, the number of
// partition keys that the peak needs. Keep n small: each key is a series of its own.
// The provider is by default the global one.
func HotKeys(provider metric.MeterProvider, summary *telemetry.Summary, n int, extra ...attribute.KeyValue) error {
	meter := cmp.Or(provider, otel.GetMeterProvider()).Meter(scope, metric.WithSchemaURL(semconv.SchemaURL))
	extra = slices.Clone(extra)
	for _, gauge := range []struct {
		name, unit, description string
		value                   func(telemetry.HotKey) int
	}{
		{"requests", "{request}", "Requests for the partition key.", func(k telemetry.HotKey) int { return k.Requests }},
		{"throttles", "{attempt}", "Attempts for the partition key that were refused for lack of capacity.", func(k telemetry.HotKey) int { return k.Throttled }},
		{"shards", "{shard}", "Partition keys that the peak of the partition key needs.", func(k telemetry.HotKey) int { return k.Shards }},
	} {
		_, err := meter.Int64ObservableGauge("singletable.hot_key."+gauge.name, metric.WithUnit(gauge.unit), metric.WithDescription(gauge.description),
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				for _, k := range summary.Hottest(n) {
					o.Observe(int64(gauge.value(k)), metric.WithAttributes(append(slices.Clone(extra),
						attribute.String("aws.dynamodb.index_name", k.Index), attribute.String("singletable.key_hash", fmt.Sprintf("%016x", k.Hash)))...))
				}
				return nil
			}))
		if err != nil {
			return fmt.Errorf("oteltable: %w", err)
		}
	}
	return nil
}
