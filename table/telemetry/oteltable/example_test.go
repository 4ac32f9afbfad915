package oteltable_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
	"github.com/singletable/singletable/table/telemetry"
	"github.com/singletable/singletable/table/telemetry/oteltable"
)

// register is an access pattern of an application.
func register(ctx context.Context, tbl *table.Table, user string) error {
	ctx = telemetry.WithPattern(ctx, "register user")
	return tbl.Do(ctx, table.Create(keys.Key{PK: keys.User.PK(user), SK: keys.Profile}, nil))
}

// exampleTable returns an observed table on a local engine, and a function that
// removes it.
func exampleTable(observe func(context.Context, table.Event)) (tbl *table.Table, drop func()) {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	client, spec := engine.Client(), schema.Table{Name: "Example-" + rand.Text()}
	if err := spec.Ensure(ctx, client); err != nil {
		log.Fatal(err)
	}
	tbl, err = table.New(client, spec, &table.Options{Observe: observe})
	if err != nil {
		log.Fatal(err)
	}
	return tbl, func() {
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &spec.Name}); err != nil {
			log.Print(err)
		}
		engine.Close()
	}
}

// A service exports its spans to a collector; here they stay in memory.
func ExampleTraces() {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	tbl, drop := exampleTable(oteltable.Traces(provider, semconv.CloudRegion("eu-west-1")))
	defer drop()

	ctx, span := provider.Tracer("shop").Start(context.Background(), "POST /users")
	if err := register(ctx, tbl, "ana"); err != nil {
		log.Fatal(err)
	}
	span.End()
	for _, s := range exporter.GetSpans() {
		fmt.Printf("%s: %s, a child: %t\n", s.Name, s.SpanKind, s.Parent.IsValid())
		for _, a := range s.Attributes {
			switch a.Key {
			case semconv.DBOperationNameKey, semconv.DBQuerySummaryKey, semconv.CloudRegionKey:
				fmt.Printf("  %s = %s\n", a.Key, a.Value.AsString())
			}
		}
	}
	// Output:
	// register user: client, a child: true
	//   cloud.region = eu-west-1
	//   db.operation.name = PutItem
	//   db.query.summary = register user
	// POST /users: internal, a child: false
}

// A service exports what is measured every minute; here it is read once.
func ExampleMetrics() {
	reader := sdkmetric.NewManualReader()
	metrics, err := oteltable.Metrics(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	if err != nil {
		log.Fatal(err)
	}
	tbl, drop := exampleTable(metrics)
	defer drop()
	ctx := context.Background()
	for _, user := range []string{"ana", "bob"} {
		if err := register(ctx, tbl, user); err != nil {
			log.Fatal(err)
		}
	}

	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			fmt.Println(m.Name, "of", data.DataPoints[0].Count, "requests")
		case metricdata.Sum[float64]:
			pattern, _ := data.DataPoints[0].Attributes.Value(semconv.DBQuerySummaryKey)
			fmt.Println(m.Name, "by", pattern.AsString(), "is", data.DataPoints[0].Value)
		}
	}
	// Output:
	// db.client.operation.duration of 2 requests
	// singletable.consumed.write_units by register user is 2
}
