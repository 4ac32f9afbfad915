package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

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

// A client that got no response repeats its request. The second time a new id is
// drawn, and the result is the first one.
func ExampleDo() {
	ctx := context.Background()
	tbl, closeTable := openTable(ctx, "ExampleDo", nil)
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
			Payload: idempotency.Text(body),
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
	former, err := idempotency.Request{Payload: idempotency.JSON(comparedV1{To: "bob", Amount: 250})}.Fingerprint()
	if err != nil {
		log.Fatal(err)
	}
	for _, currency := range []string{"", "ARS"} {
		now, err := idempotency.Request{Payload: idempotency.JSON(comparedV2{To: "bob", Amount: 250, Currency: currency})}.Fingerprint()
		fmt.Println(now == former, err)
	}
	// Output:
	// true <nil>
	// false <nil>
}

// A queue delivers a message twice. It counts once.
func ExampleExec() {
	ctx := context.Background()
	tbl, closeTable := openTable(ctx, "ExampleExec", nil)
	defer closeTable()
	store, err := idempotency.New(tbl, nil)
	if err != nil {
		log.Fatal(err)
	}

	user := keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}
	if err := tbl.Do(ctx, table.Put(user, map[string]int{"points": 0})); err != nil {
		log.Fatal(err)
	}
	for _, messageID := range []string{"m-1", "m-2", "m-1"} {
		first, err := idempotency.Exec(ctx, store, idempotency.Request{Scope: "points", Key: messageID},
			func(context.Context) ([]table.Op, error) {
				return []table.Op{
					table.Update(user, expression.Add(expression.Name("points"), expression.Value(10))).IfExists(),
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
	tbl, closeTable := openTable(ctx, "ExampleReference", nil)
	defer closeTable()
	store, err := idempotency.New(tbl, nil)
	if err != nil {
		log.Fatal(err)
	}

	request := idempotency.Request{Key: "req-uuid-1", Payload: idempotency.Text("250 to bob")} // IDE#req-uuid-1 / METADATA
	plan := func(context.Context) (idempotency.Plan[payment], error) {
		p := payment{ID: "tx-1", Amount: 250}
		return idempotency.Reference(p, paymentKey(p.ID), table.Create(paymentKey(p.ID), p)).
			With(map[string]string{"txId": p.ID, "userId": "u-123"}), nil
	}
	if _, err := idempotency.Do(ctx, store, request, plan); err != nil {
		log.Fatal(err)
	}
	refund := expression.Set(expression.Name("amount"), expression.Value(0))
	if err := tbl.Do(ctx, table.Update(paymentKey("tx-1"), refund).IfExists()); err != nil {
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
	tbl, closeTable := openTable(ctx, "ExampleStore_Lookup", nil)
	defer closeTable()
	store, err := idempotency.New(tbl, nil)
	if err != nil {
		log.Fatal(err)
	}

	request := idempotency.Request{Scope: "u-123", Key: "8e03978e", Payload: idempotency.Text("")}
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

// An operator checks which payload a record belongs to, and deletes it. The same key
// is then a new request.
func ExampleStore_Delete() {
	ctx := context.Background()
	tbl, closeTable := openTable(ctx, "ExampleStore_Delete", nil)
	defer closeTable()
	store, err := idempotency.New(tbl, nil)
	if err != nil {
		log.Fatal(err)
	}
	request := idempotency.Request{Key: "8e03978e", Payload: idempotency.Text(`{"amount": 250}`)}
	nothing := func(context.Context) ([]table.Op, error) { return nil, nil }
	if _, err := idempotency.Exec(ctx, store, request, nothing); err != nil {
		log.Fatal(err)
	}

	record, err := store.Lookup(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	fingerprint, err := request.Fingerprint()
	fmt.Println("of this payload:", bytes.Equal(record.Fingerprint, fingerprint[:]), err)
	if err := store.Delete(ctx, request); err != nil {
		log.Fatal(err)
	}
	fmt.Println(idempotency.Exec(ctx, store, request, nothing))
	// Output:
	// of this payload: true <nil>
	// true <nil>
}

// Observe counts replays, and reports clients that use one key for two payloads.
// Records are kept for a day, those of these requests for an hour.
func ExampleOptions() {
	ctx := context.Background()
	now := time.Date(2024, time.January, 15, 10, 0, 0, 0, time.UTC)
	tbl, closeTable := openTable(ctx, "ExampleOptions", &table.Options{Now: func() time.Time { return now }})
	defer closeTable()
	store, err := idempotency.New(tbl, &idempotency.Options{
		TTL: 24 * time.Hour,
		Observe: func(_ context.Context, e idempotency.Event) {
			switch e.Kind {
			case idempotency.Replayed, idempotency.Replaced:
				fmt.Println("count one", e.Kind)
			case idempotency.PayloadMismatch:
				fmt.Println("look at", e.Scope, e.Key.PK)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	pay := func(key, body string) error {
		_, err := idempotency.Exec(ctx, store, idempotency.Request{
			Scope: "u-123", Key: key, Payload: idempotency.Text(body), TTL: time.Hour,
		}, func(context.Context) ([]table.Op, error) { return nil, nil })
		return err
	}
	for _, body := range []string{`{"amount":250}`, `{"amount":250}`, `{"amount":999}`} {
		fmt.Println(pay("8e03978e", body))
	}
	now = now.Add(2 * time.Hour)
	fmt.Println(pay("8e03978e", `{"amount":999}`))

	// Output:
	// <nil>
	// count one replayed
	// <nil>
	// look at u-123 IDE#u-123#8e03978e
	// singletable: Exec on table ExampleOptions: idempotency key was used for another payload: condition failed
	// count one replaced
	// <nil>
}

// A handler maps each error to a status. Scope and key are fields of the error and
// not part of its text.
func ExampleError() {
	ctx := context.Background()
	tbl, closeTable := openTable(ctx, "ExampleError", nil)
	defer closeTable()
	store, err := idempotency.New(tbl, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range []idempotency.Request{
		{Scope: "u-123", Key: "8e03978e", Payload: idempotency.JSON(250)},
		{Scope: "u-123", Key: "8e03978e", Payload: idempotency.JSON(999)},
		{Scope: "u-123"},
	} {
		_, err := idempotency.Exec(ctx, store, r, func(context.Context) ([]table.Op, error) { return nil, nil })
		e, _ := errors.AsType[*table.Error](err)
		switch {
		case err == nil:
			fmt.Println(http.StatusOK)
		case errors.Is(err, idempotency.ErrInvalidRequest):
			fmt.Println(http.StatusBadRequest, e.Op)
		case errors.Is(err, idempotency.ErrPayloadMismatch):
			fmt.Println(http.StatusUnprocessableEntity, e.Op, e.Key.PK)
		}
	}
	// Output:
	// 200
	// 422 Exec IDE#u-123#8e03978e
	// 400 Exec
}

// The service used to write records of its own, with the id of a payment. A retry of
// such a request returns that payment.
func ExampleOptions_legacy() {
	ctx := context.Background()
	tbl, closeTable := openTable(ctx, "ExampleOptions_legacy", nil)
	defer closeTable()
	err := tbl.Transact(ctx,
		table.Create(paymentKey("tx-1"), payment{ID: "tx-1", Amount: 250}),
		table.Create(keys.Key{PK: keys.Ide.PK("8e03978e"), SK: keys.Metadata}, map[string]string{"txId": "tx-1"}),
	)
	if err != nil {
		log.Fatal(err)
	}

	store, err := idempotency.New(tbl, &idempotency.Options{
		Legacy: func(record table.Item) (keys.Key, error) {
			var r struct {
				Payment string `dynamodbav:"txId"`
			}
			err := record.Decode(&r)
			return paymentKey(r.Payment), err
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := idempotency.Do(ctx, store, idempotency.Request{Key: "8e03978e", Payload: idempotency.Text("250 to bob")},
		func(context.Context) (idempotency.Plan[payment], error) {
			return idempotency.Plan[payment]{}, errors.New("not called")
		})
	fmt.Println(result.Value, result.Replayed, err)
	// Output: {tx-1 250} true <nil>
}

// openTable returns a new table, and what closes it.
func openTable(ctx context.Context, name string, options *table.Options) (*table.Table, func()) {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	client := engine.Client()
	own := spec
	own.Name = name
	tbl, err := table.New(client, own, options)
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
