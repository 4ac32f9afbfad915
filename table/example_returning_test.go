package table_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// openCounters returns a new table.
func openCounters(ctx context.Context) (*table.Table, *tabletest.Engine) {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	spec := schema.Table{Name: "Counters-" + rand.Text()}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		log.Fatal(err)
	}
	t, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	return t, engine
}

// A sequence takes one request for each number.
func ExampleDoReturning() {
	ctx := context.Background()
	t, engine := openCounters(ctx)
	defer engine.Close()

	type sequence struct {
		Last int `dynamodbav:"last"`
	}
	key := keys.Key{PK: keys.Prefix("SEQ").PK("orders"), SK: keys.Metadata}
	for range 3 {
		next := table.Update(key, expression.Add(expression.Name("last"), expression.Value(1)))
		s, err := table.DoReturning[sequence](ctx, t, next)
		fmt.Println(s.Last, err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
}

func ExampleDoReturning_delete() {
	ctx := context.Background()
	t, engine := openCounters(ctx)
	defer engine.Close()

	key := keys.Key{PK: keys.Prefix("JOB").PK("j-1"), SK: keys.Metadata}
	if err := t.Do(ctx, table.Put(key, map[string]string{"task": "send"})); err != nil {
		log.Fatal(err)
	}
	job, err := table.DoReturning[map[string]string](ctx, t, table.Delete(key))
	fmt.Println(job["task"], err)
	_, err = table.DoReturning[map[string]string](ctx, t, table.Delete(key))
	fmt.Println(errors.Is(err, table.ErrNotFound))
	// Output:
	// send <nil>
	// true
}

// A patch sets and removes whole attributes of an item that is there.
func ExamplePatch() {
	ctx := context.Background()
	t, engine := openCounters(ctx)
	defer engine.Close()

	key := keys.Key{PK: keys.User.PK("u-1"), SK: keys.Profile}
	name := table.Item{"name": &types.AttributeValueMemberS{Value: "Ana"}}
	err := t.Do(ctx, table.Patch(key, name, "nickname").IfExists())
	fmt.Println(errors.Is(err, table.ErrNotFound))

	if err := t.Do(ctx, table.Put(key, map[string]string{"nickname": "A", "city": "Lima"})); err != nil {
		log.Fatal(err)
	}
	if err := t.Do(ctx, table.Patch(key, name, "nickname").IfExists()); err != nil {
		log.Fatal(err)
	}
	user, err := table.Get[map[string]string](ctx, t, key)
	fmt.Println(user["name"], user["nickname"] == "", user["city"], err)
	// Output:
	// true
	// Ana true Lima <nil>
}
