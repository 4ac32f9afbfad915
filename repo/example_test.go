package repo_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Order is an entity that is stored twice: under its customer, and under its
// own id.
type Order struct {
	ID       string    `dynamodbav:"orderId"`
	Customer string    `dynamodbav:"customerId"`
	At       time.Time `dynamodbav:"createdAt"`
	Status   string    `dynamodbav:"status"`
	Revision string    `dynamodbav:"revision"`
}

const orderPrefix keys.Prefix = "ORDER"

func orderKey(id string) keys.Key {
	return keys.Key{PK: orderPrefix.PK(id), SK: keys.Metadata}
}

var orderEntity = repo.Entity[Order]{
	Type: "ORDER",
	Key:  func(o Order) keys.Key { return orderKey(o.ID) },
	Copies: []repo.Copy[Order]{{
		Name: "by customer",
		Key: func(o Order) keys.Key {
			return keys.Key{PK: keys.User.PK(o.Customer), SK: orderPrefix.SK(keys.Time(o.At), keys.Str(o.ID))}
		},
	}},
	Version: "revision",
}

// Customer is an entity with one item.
type Customer struct {
	ID   string `dynamodbav:"customerId"`
	Name string `dynamodbav:"name"`
}

var customerEntity = repo.Entity[Customer]{
	Type: "CUSTOMER",
	Key:  func(c Customer) keys.Key { return keys.Key{PK: keys.User.PK(c.ID), SK: keys.Profile} },
}

// shop is a table with a customer and two orders.
type shop struct {
	table     *table.Table
	customers *repo.Repo[Customer]
	orders    *repo.Repo[Order]
	engine    *tabletest.Engine
}

func openShop(ctx context.Context) (s shop) {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	var err error
	s.engine, err = tabletest.Start(ctx, nil)
	must(err)
	spec := schema.Table{Name: "Shop-" + time.Now().Format("150405.000000000")}
	must(spec.Ensure(ctx, s.engine.Client()))
	s.table, err = table.New(s.engine.Client(), spec, nil)
	must(err)
	s.customers, err = repo.New(s.table, customerEntity)
	must(err)
	s.orders, err = repo.New(s.table, orderEntity)
	must(err)

	morning := time.Date(2024, 1, 15, 10, 5, 0, 0, time.UTC)
	must(s.customers.Create(ctx, new(Customer{ID: "c-1", Name: "Ana"})))
	must(s.orders.TransactPut(ctx,
		&Order{ID: "o-1", Customer: "c-1", At: morning, Status: "open"},
		&Order{ID: "o-2", Customer: "c-1", At: morning.Add(time.Hour), Status: "open"},
	))
	return s
}

func ExampleNew() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.engine.Close()

	orders, err := repo.New(s.table, orderEntity)
	if err != nil {
		log.Fatal(err)
	}
	o, err := orders.Get(ctx, orderKey("o-1"))
	fmt.Println(o.ID, o.Status, err)

	_, err = orders.Get(ctx, orderKey("o-9"))
	fmt.Println(errors.Is(err, table.ErrNotFound))

	// An invalid description is refused at once, with all that is wrong with it.
	_, err = repo.New(s.table, repo.Entity[Order]{Type: "ORDER", Copies: []repo.Copy[Order]{{Key: orderEntity.Key}}})
	if invalid, ok := errors.AsType[*schema.Error](err); ok {
		fmt.Println(invalid.Entity)
		for _, problem := range invalid.Problems {
			fmt.Println("-", problem)
		}
	}
	// Output:
	// o-1 open <nil>
	// true
	// ORDER
	// - Key: is nil
	// - Copies: need a Version, or they would drift apart
}

// Update writes every item of the entity, and loses no change of others that write the version.
func ExampleRepo_Update() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.engine.Close()

	o, err := s.orders.Update(ctx, orderKey("o-1"), func(o *Order) error {
		if o.Status != "open" {
			return errors.New("order is not open")
		}
		o.Status = "paid"
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.ID, o.Status)

	// Its copy under the customer says the same.
	newestFirst := table.Query{PK: keys.User.PK("c-1"), Range: orderPrefix.All(), Descending: true}
	for o, err := range s.orders.All(ctx, newestFirst) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(o.ID, o.Status)
	}
	// Output:
	// o-1 paid
	// o-2 open
	// o-1 paid
}

// A stale value cannot overwrite a newer one.
func ExampleRepo_Save() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.engine.Close()

	mine, err := s.orders.Get(ctx, orderKey("o-1"))
	if err != nil {
		log.Fatal(err)
	}
	theirs := mine
	theirs.Status = "cancelled"
	fmt.Println(s.orders.Save(ctx, new(theirs)))

	mine.Status = "paid"
	fmt.Println(errors.Is(s.orders.Save(ctx, new(mine)), table.ErrStale))
	// Output:
	// <nil>
	// true
}

// Several entities change together, or none does.
func ExampleRepo_TransactPut() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.engine.Close()

	read, err := s.orders.BatchGet(ctx, []keys.Key{orderKey("o-1"), orderKey("o-2")})
	if err != nil {
		log.Fatal(err)
	}
	first, second := read[orderKey("o-1")], read[orderKey("o-2")]
	stale := first
	first.Status, second.Status = "merged into o-2", "packed"
	fmt.Println(s.orders.TransactPut(ctx, &first, &second))

	stale.Status, second.Status = "cancelled", "sent"
	fmt.Println(errors.Is(s.orders.TransactPut(ctx, &stale, &second), table.ErrStale))
	// Output:
	// <nil>
	// true
}

// The main item of an order was deleted by hand, so its copy is an orphan. Delete
// reports it and leaves it in place.
func ExampleRepo_Delete() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.engine.Close()
	if err := s.table.Do(ctx, table.Delete(orderKey("o-1"))); err != nil {
		log.Fatal(err)
	}

	copies, err := s.orders.Query(ctx, table.Query{PK: keys.User.PK("c-1"), Range: orderPrefix.All(), Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	key := orderEntity.Copies[0].Key(copies.Items[0])
	err = s.orders.Delete(ctx, key)
	if errors.Is(err, repo.ErrOrphan) {
		fmt.Println("orphan:", copies.Items[0].ID)
		err = s.table.Do(ctx, table.Delete(key).IfType("ORDER"))
	}
	fmt.Println(err)
	// Output:
	// orphan: o-1
	// <nil>
}

// Ops of several entities make one transaction.
func ExampleRepo_UpdateOps() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.engine.Close()

	o, err := s.orders.Get(ctx, orderKey("o-1"))
	if err != nil {
		log.Fatal(err)
	}
	paid := o
	paid.Status = "paid"
	ops := append(s.orders.UpdateOps(o, new(paid)), s.customers.CreateOps(new(Customer{ID: "c-1", Name: "Ana"}))...)

	err = s.table.Transact(ctx, ops...)
	failed, _ := table.FailedOp(err, "")
	fmt.Println(failed.Name, errors.Is(failed, table.ErrExists))

	o, err = s.orders.Get(ctx, orderKey("o-1"))
	fmt.Println(o.Status, err)
	// Output:
	// CUSTOMER true
	// open <nil>
}

// One query reads a customer with all orders.
func ExampleCollect() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.engine.Close()

	var customers []Customer
	var orders []Order
	q := table.Query{PK: keys.User.PK("c-1")}
	if err := repo.Collect(ctx, s.table, q, s.customers.AppendTo(&customers), s.orders.AppendTo(&orders)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(customers[0].Name, "has", len(orders), "orders")
	// Output: Ana has 2 orders
}

// The next release may add types to the partition; this one passes over them.
func ExampleStream() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.engine.Close()
	cart := keys.Key{PK: keys.User.PK("c-1"), SK: "CART"}
	if err := s.table.Do(ctx, table.Put(cart, map[string]string{"entityType": "CART"})); err != nil {
		log.Fatal(err)
	}

	q := table.Query{PK: keys.User.PK("c-1"), Descending: true}
	for v, err := range repo.Stream(ctx, s.table, q, s.customers, s.orders, repo.IgnoreOther()) {
		if err != nil {
			log.Fatal(err)
		}
		switch v := v.(type) {
		case Customer:
			fmt.Println("customer", v.Name)
		case Order:
			fmt.Println("order", v.ID)
		}
	}
	// Output:
	// customer Ana
	// order o-2
	// order o-1
}

// Counter counts the visits of a page.
type Counter struct {
	Page   string `dynamodbav:"page"`
	Visits int    `dynamodbav:"visits"`
}

// Each caller gets a number of its own, with one request.
func ExampleRepo_Upsert() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.engine.Close()

	counters, err := repo.New(s.table, repo.Entity[Counter]{
		Type: "COUNTER",
		Key:  func(c Counter) keys.Key { return keys.Key{PK: keys.Prefix("PAGE").PK(c.Page), SK: keys.Metadata} },
	})
	if err != nil {
		log.Fatal(err)
	}
	visit := repo.Patch{Add: map[string]any{"visits": 1}}
	for range 2 {
		c, err := counters.Upsert(ctx, Counter{Page: "home"}, visit)
		fmt.Println(c.Visits, err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
}
