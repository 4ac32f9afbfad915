package stream_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	stdlog "log"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Order is an order of a shop, and Mail a message that is to be sent.
type (
	Order struct {
		ID       string `dynamodbav:"orderId"`
		Customer string `dynamodbav:"customer"`
		Status   string `dynamodbav:"status"`
		Revision string `dynamodbav:"revision"`
	}
	Mail struct {
		ID   string `dynamodbav:"mailId"`
		To   string `dynamodbav:"to"`
		Text string `dynamodbav:"text"`
	}
)

func orderKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("ORDER").PK(id), SK: keys.Metadata}
}

// shop is a table with its repositories.
type shop struct {
	engine *tabletest.Engine
	client *dynamodb.Client
	table  *table.Table
	orders *repo.Repo[Order]
	mails  *repo.Repo[Mail]
}

func openShop(ctx context.Context) shop {
	engine, err := tabletest.Start(ctx, nil)
	check(err)
	s := shop{engine: engine, client: engine.Client()}
	spec := schema.Table{Name: "Shop-" + rand.Text(), TTLAttribute: "expiresAt", Stream: types.StreamViewTypeNewAndOldImages}
	check(spec.Ensure(ctx, s.client))
	s.table, err = table.New(s.client, spec, nil)
	check(err)
	s.orders, err = repo.New(s.table, repo.Entity[Order]{
		Type: "ORDER", Version: "revision",
		Key: func(o Order) keys.Key { return orderKey(o.ID) },
		Copies: []repo.Copy[Order]{{Key: func(o Order) keys.Key {
			return keys.Key{PK: keys.Prefix("CUSTOMER").PK(o.Customer), SK: keys.Prefix("ORDER").SK(keys.Str(o.ID))}
		}}},
	})
	check(err)
	s.mails, err = repo.New(s.table, repo.Entity[Mail]{
		Type: "MAIL", Key: func(m Mail) keys.Key { return keys.Key{PK: keys.Prefix("MAIL").PK(m.ID), SK: keys.Metadata} },
	})
	check(err)
	return s
}

func check(err error) {
	if err != nil {
		stdlog.Fatal(err)
	}
}

// A function on Lambda gets the event as it is. An order has two items and gives one
// change.
func ExampleRouter_Handle() {
	ctx := context.Background()
	shop := openShop(ctx)
	defer shop.engine.Close()

	router, err := stream.New(shop.table, nil,
		stream.On(shop.orders, func(_ context.Context, c stream.Change[Order]) error {
			switch c.Kind {
			case stream.Insert:
				fmt.Println("new order", c.New.ID)
			case stream.Modify:
				fmt.Println("order", c.New.ID, "has changed in", c.Changed, "to", c.New.Status)
			case stream.Remove, stream.Expire:
				fmt.Println("order", c.Old.ID, "is gone")
			}
			return nil
		}),
		stream.IgnoreOther(),
	)
	check(err)

	// On Lambda: lambda.Start(handler)
	handler := func(ctx context.Context, event json.RawMessage) (stream.Response, error) {
		response, err := router.Handle(ctx, event)
		if response.Err != nil {
			stdlog.Print(response.Err)
		}
		return response, err
	}

	order := Order{ID: "o-1", Customer: "ana", Status: "PLACED"}
	deliver := func(ops []table.Op) {
		event, err := streamtest.Transact(ctx, shop.client, shop.table, ops...)
		check(err)
		response, err := handler(ctx, event)
		check(err)
		check(response.Err)
	}
	deliver(shop.orders.CreateOps(&order))
	placed := order
	order.Status = "PAID"
	deliver(shop.orders.UpdateOps(placed, &order))
	deliver(shop.orders.DeleteOps(order))
	// Output:
	// new order o-1
	// order o-1 has changed in [status] to PAID
	// order o-1 is gone
}

// A program without Lambda reads the stream. When it is run again, it continues where
// it has stopped.
func ExampleReader_Run() {
	ctx, cancel := context.WithCancel(context.Background())
	shop := openShop(ctx)
	defer shop.engine.Close()
	for i := range 3 {
		check(shop.orders.Create(ctx, &Order{ID: fmt.Sprint("o-", i+1), Customer: "ana", Status: "PLACED"}))
	}

	router, err := stream.New(shop.table, &stream.Options{Concurrency: 1}, stream.On(shop.orders, func(_ context.Context, c stream.Change[Order]) error {
		fmt.Println(c.Kind, c.New.ID)
		if c.New.ID == "o-3" {
			cancel() // a service stops on a signal
		}
		return nil
	}))
	check(err)
	reader := stream.Reader{
		Name: "printer", Router: router,
		Client: streamtest.Client(shop.client), // on AWS: dynamodbstreams.NewFromConfig(config)
		Progress: func(p stream.Progress) {
			if p.Err != nil {
				stdlog.Printf("shard %s, %d records, %v behind: %v", p.Shard, p.Records, p.Lag, p.Err)
			}
		},
	}
	err = reader.Run(ctx)
	fmt.Println("stopped:", errors.Is(err, context.Canceled))
	// Output:
	// insert o-1
	// insert o-2
	// insert o-3
	// stopped: true
}

// An effect in the table is made once, also when a change is delivered again.
func ExampleChange_Request() {
	ctx := context.Background()
	shop := openShop(ctx)
	defer shop.engine.Close()
	store, err := idempotency.New(shop.table, nil)
	check(err)

	type totals struct {
		Orders int `dynamodbav:"orders"`
	}
	counter := keys.Key{PK: "TOTALS", SK: keys.Metadata}
	router, err := stream.New(shop.table, nil, stream.On(shop.orders, func(ctx context.Context, c stream.Change[Order]) error {
		if c.Kind != stream.Insert {
			return nil
		}
		_, err := idempotency.Exec(ctx, store, c.Request("totals"), func(context.Context) ([]table.Op, error) {
			return []table.Op{table.Update(counter, expression.Add(expression.Name("orders"), expression.Value(1)))}, nil
		})
		return err
	}), stream.IgnoreOther())
	check(err)

	event, err := streamtest.Transact(ctx, shop.client, shop.table, shop.orders.CreateOps(&Order{ID: "o-1", Customer: "ana"})...)
	check(err)
	for range 3 {
		_, err := router.Handle(ctx, event)
		check(err)
	}
	t, err := table.Get[totals](ctx, shop.table, counter)
	check(err)
	fmt.Println(t.Orders)
	// Output: 1
}

// An outbox: the message is stored in the transaction of the order, and sent when the
// stream delivers it. So there is no order without its message, and no message without
// its order.
func ExampleOn_outbox() {
	ctx := context.Background()
	shop := openShop(ctx)
	defer shop.engine.Close()

	send := func(_ context.Context, idempotencyKey string, m Mail) error {
		fmt.Println("to", m.To+":", m.Text, idempotencyKey != "")
		return nil
	}
	router, err := stream.New(shop.table, nil,
		stream.On(shop.mails, func(ctx context.Context, c stream.Change[Mail]) error {
			if c.Kind != stream.Insert {
				return nil
			}
			return send(ctx, c.EventID, *c.New)
		}),
		stream.IgnoreOther(),
	)
	check(err)

	order := Order{ID: "o-1", Customer: "ana", Status: "PLACED"}
	mail := Mail{ID: "m-1", To: "ana@example.com", Text: "Thank you."}
	ops := append(shop.orders.CreateOps(&order), shop.mails.CreateOps(&mail)...)
	event, err := streamtest.Transact(ctx, shop.client, shop.table, ops...)
	check(err)
	_, err = router.Handle(ctx, event)
	check(err)
	// Output: to ana@example.com: Thank you. true
}

// The router's filter goes into the template of the function, so that Lambda calls it
// for its entities only.
func ExampleRouter_EventFilter() {
	ctx := context.Background()
	shop := openShop(ctx)
	defer shop.engine.Close()
	router, err := stream.New(shop.table, nil, stream.On(shop.mails, func(context.Context, stream.Change[Mail]) error { return nil }))
	check(err)
	fmt.Println(string(router.EventFilter()))
	// Output: {"Filters":[{"Pattern":"{\"dynamodb\":{\"NewImage\":{\"entityType\":{\"S\":[\"MAIL\"]}}}}"},{"Pattern":"{\"dynamodb\":{\"OldImage\":{\"entityType\":{\"S\":[\"MAIL\"]}}}}"}]}
}

// A record on which its handler always fails is set aside after some attempts, so that
// its shard goes on. Items of other types are given to a handler of their own.
func ExampleReader_SetAside() {
	ctx, cancel := context.WithCancel(context.Background())
	shop := openShop(ctx)
	defer shop.engine.Close()
	check(shop.orders.Create(ctx, &Order{ID: "o-1", Customer: "ana", Status: "?"}))
	check(shop.mails.Save(ctx, &Mail{ID: "m-1"}))

	router, err := stream.New(shop.table, nil,
		stream.On(shop.orders, func(context.Context, stream.Change[Order]) error { return errors.New("unknown status") }),
		stream.OnOther(func(_ context.Context, c stream.Change[table.Item]) error {
			fmt.Println("other item:", c.Kind, c.Key)
			stdlog.Printf("record %s of %s, made at %v", c.Sequence, c.Stream, c.At)
			cancel()
			return nil
		}),
	)
	check(err)
	reader := stream.Reader{Name: "billing", Router: router, Client: streamtest.Client(shop.client), Attempts: 2}
	if err := reader.Run(ctx); !errors.Is(err, context.Canceled) {
		stdlog.Fatal(err)
	}
	for a, err := range reader.SetAside(context.Background()) {
		check(err)
		fmt.Println("set aside:", a.Type, a.Key)
		stdlog.Printf("record %s (event %s) at %v: %s", a.Sequence, a.EventID, a.At, a.Reason)
	}
	check(reader.Forget(context.Background())) // the next run tries it again
	// Output:
	// other item: insert {MAIL#m-1 METADATA}
	// set aside: ORDER {ORDER#o-1 METADATA}
}

// A consumer that was off for more than a day has lost records. It does not go on in
// silence.
func ExampleReader() {
	ctx, cancel := context.WithCancel(context.Background())
	shop := openShop(ctx)
	defer shop.engine.Close()
	check(shop.orders.Create(ctx, &Order{ID: "o-1", Customer: "ana"}))

	// Positions can be in a table of their own, which has no stream.
	positions := schema.Table{Name: "Positions-" + rand.Text()}
	check(positions.Ensure(ctx, shop.client))
	elsewhere, err := table.New(shop.client, positions, nil)
	check(err)
	router, err := stream.New(shop.table, nil, stream.On(shop.orders, func(_ context.Context, c stream.Change[Order]) error {
		fmt.Println(c.Kind, c.New.ID)
		cancel()
		return nil
	}))
	check(err)
	reader := stream.Reader{
		Name: "search", Router: router, Client: streamtest.Client(shop.client), Table: elsewhere,
		StreamARN: "",                             // the newest stream of the table
		Since:     time.Now().Add(-6 * time.Hour), // older changes are not of interest
		Interval:  time.Second / 4,
	}
	err = reader.Run(ctx)
	if errors.Is(err, stream.ErrTrimmed) {
		// Build the search index again from the table. Then continue.
		reader.AcceptLoss = true
		err = reader.Run(ctx)
	}
	fmt.Println("stopped:", errors.Is(err, context.Canceled))
	// Output:
	// insert o-1
	// stopped: true
}

// Kinesis can deliver an older change after a newer one. A consumer that shows the latest state of
// an order stores the time of the change with it, and leaves what is newer.
func ExampleRouter_Handle_kinesis() {
	ctx := context.Background()
	shop := openShop(ctx)
	defer shop.engine.Close()
	var recorder streamtest.Recorder
	tbl, err := table.New(shop.engine.Client(recorder.Install), shop.table.Schema(), nil)
	check(err)
	orders, err := repo.New(tbl, repo.Entity[Order]{Type: "ORDER", Version: "revision", Key: func(o Order) keys.Key { return orderKey(o.ID) }})
	check(err)
	type summary struct {
		Customer string `dynamodbav:"customer"`
		At       int64  `dynamodbav:"at"` // microseconds since 1970
	}
	summaryKey := keys.Key{PK: "SUMMARY#o-1", SK: keys.Metadata}
	router, err := stream.New(tbl, nil, stream.On(orders, func(ctx context.Context, c stream.Change[Order]) error {
		s := summary{At: c.At.UnixMicro()}
		if c.New != nil { // of an order that is gone, the time stays
			s.Customer = c.New.Customer
		}
		newest := table.If("attribute_not_exists(at) OR at < ?", s.At)
		if err := tbl.Do(ctx, table.Put(summaryKey, s).If(newest)); !errors.Is(err, table.ErrConditionFailed) {
			return err
		}
		fmt.Println("older:", c.Kind)
		return nil
	}), stream.IgnoreOther())
	check(err)

	o := Order{ID: "o-1", Customer: "ana"}
	first, err := recorder.Kinesis(tbl, func() error { return orders.Create(ctx, &o) })
	check(err)
	o.Customer = "ben"
	second, err := recorder.Kinesis(tbl, func() error { return orders.Save(ctx, &o) })
	check(err)
	for _, event := range []json.RawMessage{second, first} {
		_, err = router.Handle(ctx, event)
		check(err)
	}
	s, err := table.Get[summary](ctx, tbl, summaryKey)
	fmt.Println(s.Customer, err)
	// Output:
	// older: insert
	// ben <nil>
}

// Of a batch in which a change fails, Lambda gets the first record that was not handled.
// It delivers that record again, with all behind it.
func ExampleResponse() {
	ctx := context.Background()
	shop := openShop(ctx)
	defer shop.engine.Close()
	router, err := stream.New(shop.table, nil, stream.On(shop.mails, func(_ context.Context, c stream.Change[Mail]) error {
		if c.New.To == "" {
			return errors.New("no address")
		}
		return nil
	}))
	check(err)
	var ops []table.Op
	for _, to := range []string{"ana@example.com", "", "bo@example.com"} {
		ops = append(ops, shop.mails.CreateOps(&Mail{ID: "to " + to, To: to})...)
	}
	event, err := streamtest.Transact(ctx, shop.client, shop.table, ops...)
	check(err)
	var sent struct {
		Records []struct {
			Dynamodb struct{ SequenceNumber string }
		}
	}
	check(json.Unmarshal(event, &sent))

	response, err := router.Handle(ctx, event)
	check(err)
	failure := response.BatchItemFailures[0]
	fmt.Println(failure.ItemIdentifier == sent.Records[1].Dynamodb.SequenceNumber)
	// Output: true
}
