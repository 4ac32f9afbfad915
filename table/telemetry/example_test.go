package telemetry_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
	"github.com/singletable/singletable/table/telemetry"
)

// newTable returns an observed table on a local engine, and what removes it. A
// service has dynamodb.NewFromConfig(cfg) for the client.
func newTable(observe table.Observer) (tbl *table.Table, drop func()) {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	client, schema := engine.Client(), table.Schema{Name: "Example-" + rand.Text()}
	if err := schema.Ensure(ctx, client); err != nil {
		log.Fatal(err)
	}
	tbl, err = table.New(client, schema, &table.Options{Observe: observe})
	if err != nil {
		log.Fatal(err)
	}
	return tbl, func() {
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &schema.Name}); err != nil {
			log.Print(err)
		}
		engine.Close()
	}
}

// register and list are two access patterns of an application.
func register(ctx context.Context, tbl *table.Table, user string) error {
	ctx = telemetry.WithPattern(ctx, "register user")
	return tbl.Do(ctx, table.Create(keys.Key{PK: keys.User.PK(user), SK: keys.Profile}, nil))
}

func list(ctx context.Context, tbl *table.Table, user string) error {
	ctx = telemetry.WithPattern(ctx, "list transactions")
	_, err := table.QueryPage[table.Item](ctx, tbl, table.Query{PK: keys.User.PK(user), Range: keys.Tx.All()})
	return err
}

// A summary tells what each access pattern has cost.
func ExampleSummary() {
	var summary telemetry.Summary
	tbl, drop := newTable(summary.Observe)
	defer drop()
	ctx := context.Background()
	for _, user := range []string{"ana", "bob", "ana"} {
		err := register(ctx, tbl, user)
		fmt.Println(user, "is new:", err == nil)
		if err := list(ctx, tbl, user); err != nil {
			log.Fatal(err)
		}
	}
	for _, r := range summary.Rows() {
		fmt.Printf("%s: %d × %s, %d failed, %g read units, %g write units\n",
			r.Pattern, r.Requests, r.Operation, r.Errors, r.ReadUnits, r.WriteUnits)
	}
	// Output:
	// ana is new: true
	// bob is new: true
	// ana is new: false
	// list transactions: 3 × Query, 0 failed, 1.5 read units, 0 write units
	// register user: 3 × PutItem, 1 failed, 0 read units, 2 write units
}

// As text, a summary is a table. The events here are made up.
func ExampleSummary_String() {
	var summary telemetry.Summary
	ctx := telemetry.WithPattern(context.Background(), "list transactions")
	summary.Observe(ctx, table.Event{Operation: "Query", Index: "GSI1", Attempts: 1, Capacity: 2.5, Duration: 3 * time.Millisecond})
	summary.Observe(ctx, table.Event{Operation: "Query", Index: "GSI1", Attempts: 2, Capacity: 0.5, Duration: 9 * time.Millisecond})
	fmt.Print(&summary)
	// Output:
	// pattern            operation  index  requests  attempts  errors  read units  write units  mean  slowest
	// list transactions  Query      GSI1   2         3         0       3           0            6ms   9ms
	// total              -          -      2         3         0       3           0            6ms   9ms
}

// The handler here leaves out what differs from run to run.
func ExampleLogs() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.TimeKey, "db.collection.name", "db.client.operation.duration", "aws.request_id":
				return slog.Attr{}
			}
			return a
		},
	}))
	tbl, drop := newTable(telemetry.Logs(logger))
	defer drop()
	ctx := context.Background()
	for range 2 {
		_ = register(ctx, tbl, "ana")
	}
	// Output:
	// level=DEBUG msg="DynamoDB request" db.system.name=aws.dynamodb db.operation.name=PutItem db.query.summary="register user" singletable.attempts=1 singletable.consumed.write_units=1
	// level=INFO msg="DynamoDB request" db.system.name=aws.dynamodb db.operation.name=PutItem db.query.summary="register user" error.type=ConditionalCheckFailedException db.response.status_code=400 singletable.attempts=1 singletable.error.class=permanent
}

// A service exports its spans to a collector; here they stay in memory.
func ExampleTraces() {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	tbl, drop := newTable(telemetry.Traces(provider, semconv.CloudRegion("eu-west-1")))
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

// Metrics and other observers share the events of one table.
func ExampleJoin() {
	reader := sdkmetric.NewManualReader()
	metrics, err := telemetry.Metrics(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	if err != nil {
		log.Fatal(err)
	}
	var summary telemetry.Summary
	tbl, drop := newTable(telemetry.Join(metrics, summary.Observe))
	defer drop()
	ctx := context.Background()
	for _, user := range []string{"ana", "bob"} {
		if err := register(ctx, tbl, user); err != nil {
			log.Fatal(err)
		}
	}

	fmt.Println("summary:", summary.Rows()[0].WriteUnits)
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			fmt.Println(m.Name, pattern(data.DataPoints[0].Attributes), "count", data.DataPoints[0].Count)
		case metricdata.Sum[float64]:
			fmt.Println(m.Name, pattern(data.DataPoints[0].Attributes), data.DataPoints[0].Value)
		}
	}
	// Output:
	// summary: 2
	// db.client.operation.duration "register user" count 2
	// singletable.consumed.write_units "register user" 2
}

// pattern returns the access pattern of a measurement, quoted.
func pattern(attributes attribute.Set) string {
	value, _ := attributes.Value(semconv.DBQuerySummaryKey)
	return fmt.Sprintf("%q", value.AsString())
}
