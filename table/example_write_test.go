package table_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func ExampleTable_Do() {
	t, done := exampleTable(nil)
	defer done()
	ctx, key := context.Background(), userKey("u-123")

	create := table.Create(key, User{Type: "user", Name: "Ann"})
	fmt.Println(t.Do(ctx, create))
	fmt.Println(errors.Is(t.Do(ctx, create), table.ErrExists))

	rename := table.Update(key, expression.Set(expression.Name("name"), expression.Value("Anna"))).IfExists()
	fmt.Println(t.Do(ctx, rename))
	fmt.Println(t.Do(ctx, table.Delete(key)))
	// Output:
	// <nil>
	// true
	// <nil>
	// <nil>
}

// A condition makes a write depend on what is stored.
func ExampleOp_If() {
	t, done := exampleTable(nil)
	defer done()

	amount := expression.Name("amount")
	spend := table.Update(txKey(morning, "tx-0"), expression.Add(amount, expression.Value(-5))).
		If(amount.GreaterThanEqual(expression.Value(5)))
	err := t.Do(context.Background(), spend)
	fmt.Println(errors.Is(err, table.ErrConditionFailed))
	// Output: true
}

// All of the ops are carried out, or none.
func ExampleTable_Transact() {
	t, done := exampleTable(nil)
	defer done()
	ctx := context.Background()

	ann, ben := userKey("u-123"), userKey("u-456")
	if err := t.BatchWrite(ctx, table.Put(ann, User{Type: "user"}), table.Put(ben, User{Type: "user"})); err != nil {
		log.Fatal(err)
	}

	balance := expression.Name("balance")
	err := t.Transact(ctx,
		table.Update(ann, expression.Add(balance, expression.Value(-5))).IfExists(),
		table.Update(ben, expression.Add(balance, expression.Value(5))).IfExists(),
		table.Check(txKey(morning, "tx-0"), expression.Name("amount").Equal(expression.Value(0))),
	)
	if err != nil {
		log.Fatal(err)
	}
	got, err := table.Get[struct {
		Balance int `dynamodbav:"balance"`
	}](ctx, t, ben)
	fmt.Println(got.Balance, err)
	// Output: 5 <nil>
}

// A TxError says which of the ops failed, and on what.
func ExampleTxError() {
	t, done := exampleTable(nil)
	defer done()

	err := t.Transact(context.Background(),
		table.Create(userKey("u-123"), User{Type: "user", Name: "Ann"}).WithName("user"),
		table.Create(txKey(morning, "tx-0"), Tx{Type: "tx", ID: "tx-0"}).WithName("first transaction"),
	)
	tx, ok := errors.AsType[*table.TxError](err)
	if !ok {
		log.Fatal(err)
	}
	for _, failed := range tx.Failed {
		var old Tx
		if err := failed.Stored.Decode(&old); err != nil {
			log.Fatal(err)
		}
		fmt.Println(failed)
		fmt.Println("there is", old.ID, "already:", errors.Is(failed, table.ErrExists))
	}
	// Output:
	// op 2 (Create "first transaction"): item exists already
	// there is tx-0 already: true
}

func ExampleTable_TransactPut() {
	t, done := exampleTable(nil)
	defer done()
	ctx := context.Background()

	profile := keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}
	settings := keys.Key{PK: keys.User.PK("u-123"), SK: "SETTINGS"}
	for _, theme := range []string{"light", "dark"} {
		err := t.TransactPut(ctx,
			table.Entry{Key: profile, Value: map[string]string{"name": "Ann"}},
			table.Entry{Key: settings, Value: map[string]string{"theme": theme}},
		)
		if err != nil {
			log.Fatal(err)
		}
	}
	got, err := table.Get[map[string]any](ctx, t, settings)
	fmt.Println(got["theme"], err)
	// Output: dark <nil>
}

// Any number of items are written, without the promise of a transaction.
func ExampleTable_BatchWrite() {
	t, done := exampleTable(nil)
	defer done()
	ctx := context.Background()

	ops := []table.Op{table.Delete(txKey(morning, "tx-0"))}
	for i := range 60 {
		ops = append(ops, table.Put(userKey(fmt.Sprint("u-", i)), User{Type: "user"}))
	}
	fmt.Println(t.BatchWrite(ctx, ops...))
	// Output: <nil>
}

// A job stops after a few attempts while the table is throttled, and leaves the rest
// to its next run.
func ExampleTable_BatchWrite_remaining() {
	var faults tabletest.Faults
	spec := exampleSchema()
	defer drop(spec)
	ctx, client := context.Background(), engine().Client(faults.Install)
	if err := spec.Ensure(ctx, client); err != nil {
		log.Fatal(err)
	}
	t, err := table.New(client, spec, &table.Options{MaxAttempts: 2, MaxElapsed: 5 * time.Second})
	if err != nil {
		log.Fatal(err)
	}

	faults.Always("BatchWriteItem", tabletest.Unprocessed(10))
	var ops []table.Op
	for i := range 25 {
		ops = append(ops, table.Put(userKey(fmt.Sprint("u-", i)), User{Type: "user"}))
	}
	err = t.BatchWrite(ctx, ops...)
	if batch, ok := errors.AsType[*table.Error](err); ok {
		fmt.Println(len(batch.Remaining), "for the next run, throttled:", errors.Is(err, table.ErrThrottled))
	}
	// Output: 10 for the next run, throttled: true
}

// A counter is read, checked and written back, unless somebody was faster.
func ExampleTable_Retry() {
	t, done := exampleTable(nil)
	defer done()
	type counter struct {
		N       int   `dynamodbav:"n"`
		Version int64 `dynamodbav:"version"`
	}
	key := keys.Key{PK: keys.Prefix("COUNTER").PK("visits"), SK: keys.Metadata}

	runs := 0
	err := t.Retry(context.Background(), func(ctx context.Context) error {
		runs++
		c, err := table.Get[counter](ctx, t.Consistent(), key)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		if runs == 1 { // another writer, between the read and the write
			if err := t.Do(ctx, table.Put(key, counter{N: 10, Version: 1})); err != nil {
				return err
			}
		}
		next := counter{N: c.N + 1, Version: c.Version + 1}
		return t.Do(ctx, table.Put(key, next).IfVersion("version", c.Version))
	})
	got, _ := table.Get[counter](context.Background(), t.Consistent(), key)
	fmt.Println(runs, got.N, err)
	// Output: 2 11 <nil>
}

// A consumer of a queue decides what becomes of a message. To put one aside
// rather than to delete it makes up for a program that was wrong.
func ExampleClassify() {
	t, done := exampleTable(nil)
	defer done()

	err := t.Do(context.Background(), table.Create(txKey(morning, "tx-0"), Tx{}))
	switch class := table.Classify(err); class {
	case table.Permanent:
		fmt.Println("to the dead-letter queue:", class)
	case table.Transient, table.Unclassified:
		fmt.Println("try it again:", class)
	}
	// Output: to the dead-letter queue: permanent
}

// An op is found by its name in the error of a transaction.
func ExampleFailedOp() {
	t, done := exampleTable(nil)
	defer done()

	err := t.Transact(context.Background(),
		table.Put(userKey("u-456"), nil),
		table.Create(txKey(morning, "tx-0"), nil).WithName("transaction"),
	)
	op, failed := table.FailedOp(err, "transaction")
	fmt.Println(failed, op.Op, op.Name, errors.Is(op, table.ErrExists))

	_, failed = table.FailedOp(err, "something else")
	fmt.Println(failed)
	// Output:
	// true Create transaction true
	// false
}

// A log of what a transaction does, without keys and values.
func ExampleOp_Verb() {
	key := keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}
	for _, op := range []table.Op{
		table.Create(key, nil).WithName("user"),
		table.Delete(key).WithName("former user"),
	} {
		fmt.Println(op.Verb(), op.Name())
	}
	// Output:
	// Create user
	// Delete former user
}

// A condition is its text, with a ? for each value. Names may be reserved words, such as status.
func ExampleIf() {
	t, cleanup := exampleTable(nil)
	defer cleanup()
	ctx := context.Background()
	key := keys.Key{PK: "TRIP#7", SK: keys.Metadata}
	if err := t.Do(ctx, table.Create(key, table.Item{
		"status": &types.AttributeValueMemberS{Value: "open"}, "seats": &types.AttributeValueMemberN{Value: "3"},
	})); err != nil {
		log.Fatal(err)
	}
	for _, seats := range []int{2, 4} {
		take := table.Update(key, expression.Add(expression.Name("seats"), expression.Value(-seats))).
			If(table.If("status = ? AND seats >= ?", "open", seats))
		fmt.Println(seats, errors.Is(t.Do(ctx, take), table.ErrConditionFailed))
	}
	// Output:
	// 2 false
	// 4 true
}
