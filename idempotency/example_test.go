package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

type payment struct {
	ID     string `dynamodbav:"txId"`
	Amount int    `dynamodbav:"amount"`
}

func paymentKey(id string) keys.Key { return keys.Key{PK: keys.Tx.PK(id), SK: keys.Metadata} }

// A client that got no answer repeats its request. The second time a new id is
// drawn, and the answer is the first one.
func ExampleDo() {
	ctx := context.Background()
	tbl, closeTable := openTable(ctx, "ExampleDo")
	defer closeTable()
	store, err := idempotency.New(tbl, nil)
	if err != nil {
		log.Fatal(err)
	}

	ids := []string{"tx-1", "tx-2", "tx-3"}
	pay := func(body string) (idempotency.Result[payment], error) {
		return idempotency.Do(ctx, store, idempotency.Request{
			Scope:   "u-123 POST /payments",
			Key:     "8e03978e",
			Payload: []byte(body),
		}, func(context.Context) (idempotency.Plan[payment], error) {
			p := payment{ID: ids[0], Amount: 250}
			ids = ids[1:]
			return idempotency.Snapshot(p, table.Create(paymentKey(p.ID), p)), nil
		})
	}
	for _, body := range []string{`{"amount": 250, "to": "bob"}`, `{"to":"bob","amount":250}`} {
		result, err := pay(body)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Value.ID, "replayed:", result.Replayed)
	}
	_, err = pay(`{"to":"mallory","amount":250}`)
	fmt.Println(errors.Is(err, idempotency.ErrPayloadMismatch))
	// Output:
	// tx-1 replayed: false
	// tx-1 replayed: true
	// true
}

// A request has one idempotency key. API Gateway joins two headers with a comma.
func ExampleRequest_header() {
	key := func(header http.Header) (string, error) {
		values := header.Values("Idempotency-Key")
		if len(values) != 1 || strings.Contains(values[0], ",") {
			return "", errors.New("send one Idempotency-Key, without a comma")
		}
		return values[0], nil
	}
	for _, header := range []http.Header{
		{"Idempotency-Key": {"8e03978e"}},
		{"Idempotency-Key": {"8e03978e", "c1d4a0b2"}},
		{"Idempotency-Key": {"8e03978e,c1d4a0b2"}},
		{},
	} {
		fmt.Println(key(header))
	}
	// Output:
	// 8e03978e <nil>
	//  send one Idempotency-Key, without a comma
	//  send one Idempotency-Key, without a comma
	//  send one Idempotency-Key, without a comma
}

// A release adds a currency to its requests. The payload is a type of its own,
// and the new field is left out where it is not set: a request of the former
// release stays the same request.
func ExampleRequest_releases() {
	type comparedV1 struct {
		To     string `json:"to"`
		Amount int    `json:"amount"`
	}
	type comparedV2 struct {
		To       string `json:"to"`
		Amount   int    `json:"amount"`
		Currency string `json:"currency,omitzero"`
	}
	former, err := idempotency.Request{Payload: comparedV1{To: "bob", Amount: 250}}.Fingerprint()
	if err != nil {
		log.Fatal(err)
	}
	for _, currency := range []string{"", "ARS"} {
		now, err := idempotency.Request{Payload: comparedV2{To: "bob", Amount: 250, Currency: currency}}.Fingerprint()
		fmt.Println(now == former, err)
	}
	// Output:
	// true <nil>
	// false <nil>
}

// A queue delivers a message twice. It counts once.
func ExampleExec() {
	ctx := context.Background()
	tbl, closeTable := openTable(ctx, "ExampleExec")
	defer closeTable()
	store, err := idempotency.New(tbl, nil)
	if err != nil {
		log.Fatal(err)
	}

	for _, messageID := range []string{"m-1", "m-2", "m-1"} {
		first, err := idempotency.Exec(ctx, store, idempotency.Request{Scope: "points", Key: messageID},
			func(context.Context) ([]table.Op, error) {
				user := keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}
				return []table.Op{
					table.Update(user, expression.Add(expression.Name("points"), expression.Value(10))),
				}, nil
			})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(messageID, first)
	}
	// Output:
	// m-1 true
	// m-2 true
	// m-1 false
}

// The record refers to the item, and carries what those who look at the table
// want to know. A repeated request gets the item as it is by then.
func ExampleReference() {
	ctx := context.Background()
	tbl, closeTable := openTable(ctx, "ExampleReference")
	defer closeTable()
	store, err := idempotency.New(tbl, nil)
	if err != nil {
		log.Fatal(err)
	}

	request := idempotency.Request{Key: "req-uuid-1"} // IDE#req-uuid-1 / METADATA
	plan := func(context.Context) (idempotency.Plan[payment], error) {
		p := payment{ID: "tx-1", Amount: 250}
		return idempotency.Reference(p, paymentKey(p.ID), table.Create(paymentKey(p.ID), p)).
			With(map[string]string{"txId": p.ID, "userId": "u-123"}), nil
	}
	if _, err := idempotency.Do(ctx, store, request, plan); err != nil {
		log.Fatal(err)
	}
	refund := expression.Set(expression.Name("amount"), expression.Value(0))
	if err := tbl.Do(ctx, table.Update(paymentKey("tx-1"), refund)); err != nil {
		log.Fatal(err)
	}
	result, err := idempotency.Do(ctx, store, request, plan)
	fmt.Println(result.Value, result.Replayed, err)

	if err := tbl.Do(ctx, table.Delete(paymentKey("tx-1"))); err != nil {
		log.Fatal(err)
	}
	_, err = idempotency.Do(ctx, store, request, plan)
	fmt.Println(errors.Is(err, idempotency.ErrResultGone))
	// Output:
	// {tx-1 0} true <nil>
	// true
}

// An operator looks at what became of a request.
func ExampleStore_Lookup() {
	ctx := context.Background()
	tbl, closeTable := openTable(ctx, "ExampleStore_Lookup")
	defer closeTable()
	store, err := idempotency.New(tbl, nil)
	if err != nil {
		log.Fatal(err)
	}

	request := idempotency.Request{Scope: "u-123", Key: "8e03978e"}
	_, err = store.Lookup(ctx, request)
	fmt.Println("before:", errors.Is(err, table.ErrNotFound))

	_, err = idempotency.Do(ctx, store, request, func(context.Context) (idempotency.Plan[string], error) {
		return idempotency.Snapshot("done").With(map[string]string{"userId": "u-123"}), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	record, err := store.Lookup(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	var about struct {
		UserID string `dynamodbav:"userId"`
	}
	if err := record.Item.Decode(&about); err != nil {
		log.Fatal(err)
	}
	fmt.Println("after:", about.UserID, record.ExpiresAt.Sub(record.CreatedAt).Round(1e10))
	// Output:
	// before: true
	// after: u-123 24h0m0s
}

// openTable returns a new table on an engine of its own, and what closes it.
func openTable(ctx context.Context, name string) (*table.Table, func()) {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	client := engine.Client()
	own := schema
	own.Name = name
	tbl, err := table.New(client, own, nil)
	if err == nil {
		err = own.Ensure(ctx, client)
	}
	if err != nil {
		log.Fatal(err)
	}
	return tbl, func() {
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			log.Print(err)
		}
		_ = engine.Close()
	}
}
