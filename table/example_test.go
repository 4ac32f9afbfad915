package table_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The types and keys of the examples.

type User struct {
	Type string `dynamodbav:"entityType"`
	Name string `dynamodbav:"name"`
}

type Tx struct {
	Type   string `dynamodbav:"entityType"`
	ID     string `dynamodbav:"id"`
	Amount int    `dynamodbav:"amount"`
}

func userKey(user string) keys.Key {
	return keys.Key{PK: keys.User.PK(user), SK: keys.Profile}
}

func txKey(at time.Time, id string) keys.Key {
	return keys.Key{PK: keys.User.PK("u-123"), SK: keys.Tx.SK(keys.Time(at), keys.Str(id))}
}

var morning = time.Date(2024, time.January, 15, 10, 0, 0, 0, time.UTC)

var engine = sync.OnceValue(func() *tabletest.Engine {
	e, err := tabletest.Start(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	return e
})

// exampleSchema returns a schema under a new table name.
func exampleSchema() schema.Table {
	return schema.Table{
		Name:         "Example-" + rand.Text(),
		TTLAttribute: "expiresAt",
		Indexes:      []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}},
	}
}

// drop removes a table.
func drop(spec schema.Table) {
	if _, err := engine().Client().DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &spec.Name}); err != nil {
		log.Fatal(err)
	}
}

// exampleTable returns a new table on a local engine that holds five
// transactions of a user, and what removes it.
func exampleTable(options *table.Options) (*table.Table, func()) {
	ctx, spec, client := context.Background(), exampleSchema(), engine().Client()
	if err := spec.Ensure(ctx, client); err != nil {
		log.Fatal(err)
	}
	t, err := table.New(client, spec, options)
	if err != nil {
		log.Fatal(err)
	}
	var ops []table.Op
	for i := range 5 {
		id := fmt.Sprint("tx-", i)
		ops = append(ops, table.Put(txKey(morning.Add(time.Duration(i)*time.Minute), id), Tx{Type: "tx", ID: id, Amount: 10 * i}))
	}
	if err := t.BatchWrite(ctx, ops...); err != nil {
		log.Fatal(err)
	}
	return t, func() { drop(spec) }
}

// A table is created, an item written and read.
func Example() {
	ctx := context.Background()
	client := engine().Client() // or dynamodb.NewFromConfig(cfg)

	spec := schema.Table{
		Name:         "Example-" + rand.Text(),
		TTLAttribute: "expiresAt",
		Indexes: []schema.Index{
			{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"},
		},
	}
	defer drop(spec)
	if err := spec.Ensure(ctx, client); err != nil {
		log.Fatal(err)
	}
	t, err := table.New(client, spec, nil)
	if err != nil {
		log.Fatal(err)
	}

	err = t.Do(ctx, table.Create(userKey("u-123"), User{Type: "user", Name: "Ann"}))
	if err != nil {
		log.Fatal(err)
	}
	user, err := table.Get[User](ctx, t, userKey("u-123"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(user.Name)
	// Output: Ann
}

// The SDK's client makes the first two calls of an operation. The third is a replay, unless the
// table has DisableReplay.
func ExampleOptions_replays() {
	for _, disabled := range []bool{false, true} {
		t, cleanup := exampleTable(&table.Options{
			DisableReplay: disabled,
			Observe: func(_ context.Context, e table.Event) {
				if e.Operation == "GetItem" {
					fmt.Print(e.Replayed, " ")
				}
			},
		})
		defer cleanup()
		for range 3 {
			if _, err := table.Get[Tx](context.Background(), t, txKey(morning, "tx-0")); err != nil {
				log.Fatal(err)
			}
		}
	}
	// Output: false false true false false false
}

// An error is logged as a group of fields. The key, which is personal data, is not
// one of them.
func ExampleError_LogValue() {
	err := &table.Error{
		Op: "Get", Table: "AppCore", Key: keys.Key{PK: keys.User.PK("ana@example.com"), SK: keys.Profile}, Err: table.ErrNotFound,
	}
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	logger := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	logger.Error("no profile", "err", err)
	// Output: {"level":"ERROR","msg":"no profile","err":{"op":"Get","table":"AppCore","class":"permanent","error":"item not found"}}
}
