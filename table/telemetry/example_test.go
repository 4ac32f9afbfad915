package telemetry_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
	"github.com/singletable/singletable/table/telemetry/internal/fixture"
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

// A summary tells what each access pattern has cost.
func ExampleSummary() {
	var summary telemetry.Summary
	tbl, drop := fixture.Example(summary.Observe)
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
	tbl, drop := fixture.Example(telemetry.Logs(logger))
	defer drop()
	ctx := context.Background()
	for range 2 {
		_ = register(ctx, tbl, "ana")
	}
	// Output:
	// level=DEBUG msg="DynamoDB request" db.system.name=aws.dynamodb db.operation.name=PutItem db.query.summary="register user" singletable.attempts=1 singletable.consumed.write_units=1
	// level=INFO msg="DynamoDB request" db.system.name=aws.dynamodb db.operation.name=PutItem db.query.summary="register user" error.type=ConditionalCheckFailedException db.response.status_code=400 singletable.attempts=1 singletable.error.class=permanent
}

// Observers of one's own are functions.
func ExampleJoin() {
	var summary telemetry.Summary
	slow := func(ctx context.Context, e table.Event) {
		if e.Duration > time.Minute {
			log.Printf("%s took %v", telemetry.Pattern(ctx), e.Duration)
		}
	}
	tbl, drop := fixture.Example(telemetry.Join(summary.Observe, slow))
	defer drop()
	if err := register(context.Background(), tbl, "ana"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Rows()[0].Pattern)
	// Output: register user
}
