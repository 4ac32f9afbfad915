package telemetry_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
	"github.com/singletable/singletable/table/telemetry"
)

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

// exampleTable returns an observed table on a local engine, with a transaction for each of
// three users, and a function that removes it.
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
	unobserved, err := table.New(client, spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, user := range []string{"ana", "bob", "cem"} {
		key := keys.Key{PK: keys.User.PK(user), SK: keys.Tx.SK(keys.Str("1"))}
		if err := unobserved.Do(ctx, table.Put(key, nil)); err != nil {
			log.Fatal(err)
		}
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

// A summary tells what each access pattern has cost.
func ExampleSummary() {
	var summary telemetry.Summary
	tbl, drop := exampleTable(summary.Observe)
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

// Rows are for alarms of your own. As text, a summary is a table. The events here are
// made up.
func ExampleSummary_Rows() {
	var summary telemetry.Summary
	ctx := telemetry.WithPattern(context.Background(), "list transactions")
	summary.Observe(ctx, table.Event{Operation: "Query", Index: "GSI1", Attempts: 1, Capacity: 2.5, Duration: 3 * time.Millisecond})
	summary.Observe(ctx, table.Event{Operation: "Query", Index: "GSI1", Attempts: 2, Capacity: 0.5, Duration: 9 * time.Millisecond})
	for _, r := range summary.Rows() {
		mean := r.Duration / time.Duration(r.Requests)
		if r.Slowest > mean*5/4 && r.Attempts > r.Requests {
			fmt.Printf("%s is slow on index %s: %d retries\n", r.Pattern, r.Index, r.Attempts-r.Requests)
		}
	}
	fmt.Print(&summary)
	// Output:
	// list transactions is slow on index GSI1: 1 retries
	// pattern            operation  index  requests  attempts  errors  read units  write units  mean  slowest
	// list transactions  Query      GSI1   2         3         0       3           0            6ms   9ms
	// total              -          -      2         3         0       3           0            6ms   9ms
}

// Vectors are charged by the bytes that a search examines, or a write changes in the
// indexes. The events here are made up.
func ExampleSummary_vectors() {
	var summary telemetry.Summary
	ctx := telemetry.WithPattern(context.Background(), "similar products")
	summary.Observe(ctx, table.Event{Operation: "SearchVectors", Index: "similar", Attempts: 1, VectorBytes: 41714})
	summary.Observe(ctx, table.Event{Operation: "SearchVectors", Index: "similar", Attempts: 1, VectorBytes: 6914})
	for _, r := range summary.Rows() {
		fmt.Printf("%s: %.0f bytes a search\n", r.Pattern, r.VectorBytes/float64(r.Requests))
	}
	// Output:
	// similar products: 24314 bytes a search
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
	tbl, drop := exampleTable(telemetry.Logs(logger))
	defer drop()
	ctx := context.Background()
	for range 2 {
		_ = register(ctx, tbl, "ana")
	}
	// Output:
	// level=DEBUG msg="DynamoDB request" db.system.name=aws.dynamodb db.operation.name=PutItem db.query.summary="register user" singletable.attempts=1 singletable.consumed.write_units=1
	// level=INFO msg="DynamoDB request" db.system.name=aws.dynamodb db.operation.name=PutItem db.query.summary="register user" error.type=ConditionalCheckFailedException db.response.status_code=400 singletable.attempts=1 singletable.error.class=permanent
}

// Your own observers are functions.
func ExampleJoin() {
	var summary telemetry.Summary
	slow := func(ctx context.Context, e table.Event) {
		if e.Duration > time.Minute {
			log.Printf("%s took %v", telemetry.Pattern(ctx), e.Duration)
		}
	}
	tbl, drop := exampleTable(telemetry.Join(summary.Observe, slow))
	defer drop()
	if err := register(context.Background(), tbl, "ana"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Rows()[0].Pattern)
	// Output: register user
}

// An exporter to another system writes the attributes in its own format. This one
// writes labels for a metric. The event is made up.
func ExampleDescribe() {
	observe := func(ctx context.Context, e table.Event) {
		d := telemetry.Describe(ctx, e)
		labels := slices.Concat(d.Target, d.Failure)
		fmt.Println("dynamodb_read_units_total", labels, d.ReadUnits)
	}
	ctx := telemetry.WithPattern(context.Background(), "list transactions")
	observe(ctx, table.Event{Operation: "Query", Table: "App", Index: "GSI1", Attempts: 1, Capacity: 2.5})
	// Output:
	// dynamodb_read_units_total [db.system.name=aws.dynamodb db.operation.name=Query db.collection.name=App db.query.summary=list transactions aws.dynamodb.index_name=GSI1] 2.5
}
