package backfill_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Order is an order as the first release stores it.
type Order struct {
	ID       string `dynamodbav:"orderId"`
	Total    string `dynamodbav:"total"` // "12.50 EUR"
	Revision string `dynamodbav:"revision"`
}

func orderKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("ORDER").PK(id), SK: keys.Metadata}
}

// openShop returns a table with orders of the first release.
func openShop(ctx context.Context) (*table.Table, *tabletest.Engine) {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	spec := schema.Table{Name: "Shop-" + rand.Text(), Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		log.Fatal(err)
	}
	tbl, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	orders, err := repo.New(tbl, repo.Entity[Order]{
		Type: "ORDER", Version: "revision", Key: func(o Order) keys.Key { return orderKey(o.ID) },
	})
	if err != nil {
		log.Fatal(err)
	}
	for i, total := range []string{"12.50 EUR", "8.00 USD", "7.20 EUR", "free"} {
		if err := orders.Create(ctx, &Order{ID: fmt.Sprint("o-", i+1), Total: total}); err != nil {
			log.Fatal(err)
		}
	}
	return tbl, engine
}

// The second release splits the total, and lists orders by their currency in an
// index.
func ExampleJob_Run() {
	ctx := context.Background()
	tbl, engine := openShop(ctx)
	defer engine.Close()

	type Order struct {
		ID       string `dynamodbav:"orderId"`
		Amount   string `dynamodbav:"amount"`
		Currency string `dynamodbav:"currency"`
		Revision string `dynamodbav:"revision"`
	}
	orders, err := repo.New(tbl, repo.Entity[Order]{
		Type: "ORDER", Version: "revision",
		Key: func(o Order) keys.Key { return orderKey(o.ID) },
		Indexes: repo.Indexes[Order]{"GSI1": func(o Order) keys.Key {
			return keys.Key{PK: keys.Prefix("CURRENCY").PK(o.Currency), SK: keys.Prefix("ORDER").SK(keys.Str(o.ID))}
		}},
		Upgrades: []repo.Upgrade{{
			Writes: []string{"amount", "currency"}, Removes: []string{"total"},
			Change: func(item table.Item) error {
				total, _ := item["total"].(*types.AttributeValueMemberS)
				amount, currency, ok := strings.Cut(total.Value, " ")
				if !ok {
					return fmt.Errorf("a total without a currency")
				}
				item["amount"] = &types.AttributeValueMemberS{Value: amount}
				item["currency"] = &types.AttributeValueMemberS{Value: currency}
				delete(item, "total")
				return nil
			},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}

	job := backfill.Job{
		Name: "currencies", Table: tbl, Entities: []backfill.Entity{orders},
		ReadUnits: 500, WriteUnits: 200, // per second
		Segments: 1, Concurrency: 1, // this table is small
		Progress: func(p backfill.Progress) {
			fmt.Printf("segment %d: %d of %d done, %d items, %v left\n", p.Segment, p.SegmentsDone, p.Segments, p.Scanned, p.Left)
			log.Printf("%.0f items a second since %v", p.Rate, p.Elapsed)
		},
	}
	report, err := job.DryRun(ctx)
	fmt.Printf("%d to change for %.0f write units, %d cannot be: %v\n", report.Changed, report.WriteUnits, report.SetAside, err)
	report, err = job.Run(ctx)
	fmt.Println(report.Changed, "changed,", report.SetAside, "set aside:", err)

	page, err := orders.Query(ctx, table.Query{Index: "GSI1", PK: "CURRENCY#EUR"})
	fmt.Println(len(page.Items), "in euros:", err)
	for a, err := range backfill.SetAside(ctx, tbl, job.Name) {
		fmt.Println(a.Type, a.Key.PK, err)
		log.Print(a.At, a.Reason)
	}

	// Once the item that was set aside is repaired, the job is run again and
	// verified.
	total := expression.Set(expression.Name("total"), expression.Value("0.00 EUR"))
	if err := tbl.Do(ctx, table.Update(orderKey("o-4"), total)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(backfill.Forget(ctx, tbl, job.Name))
	job.Progress = nil
	if _, err := job.Run(ctx); err != nil {
		log.Fatal(err)
	}
	report, err = job.DryRun(ctx)
	fmt.Println("complete:", report.Complete(), report.Current, "current,", report.Newer, "newer:", err)
	log.Printf("%.1f read units", report.ReadUnits)
	// Output:
	// segment 0: 1 of 1 done, 4 items, 0s left
	// 3 to change for 3 write units, 1 cannot be: <nil>
	// segment 0: 1 of 1 done, 4 items, 0s left
	// 3 changed, 1 set aside: <nil>
	// 2 in euros: <nil>
	// ORDER ORDER#o-4 <nil>
	// <nil>
	// complete: true 4 current, 0 newer: <nil>
}

// Users come from a table of their own, in which each has one item under a number.
func ExampleJob_Run_fromAnotherTable() {
	ctx := context.Background()
	tbl, engine := openShop(ctx)
	defer engine.Close()
	spec := schema.Table{Name: "Users-" + rand.Text(), PK: "id", PKType: "N", SimpleKey: true}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		log.Fatal(err)
	}
	old, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	for id, name := range map[keys.PK]string{"1": "Ana", "2": "Eva"} {
		if err := old.Do(ctx, table.Put(keys.Key{PK: id}, map[string]any{"name": name, "version": 1})); err != nil {
			log.Fatal(err)
		}
	}

	type User struct {
		ID      int    `dynamodbav:"id"`
		Name    string `dynamodbav:"name"`
		Version int64  `dynamodbav:"version"`
	}
	key := func(u User) keys.Key { return keys.Key{PK: keys.User.PK(fmt.Sprint(u.ID)), SK: keys.Profile} }
	job := backfill.Job{
		Name: "users", Table: tbl, Source: old,
		Map: func(_ context.Context, item table.Item) ([]table.Op, error) {
			var u User
			if err := item.Decode(&u); err != nil {
				return nil, err
			}
			// A program that writes both tables may have been faster.
			older := expression.Name("version").AttributeNotExists().
				Or(expression.Name("version").LessThan(expression.Value(u.Version)))
			return []table.Op{table.Put(key(u), u).If(older)}, nil
		},
	}
	report, err := job.Run(ctx)
	fmt.Println(report.Matched, "read,", report.Changed, "copied:", err)
	u, err := table.Get[User](ctx, tbl.Consistent(), key(User{ID: 2}))
	fmt.Println(u.Name, err)
	// Output:
	// 2 read, 2 copied: <nil>
	// Eva <nil>
}

// The shop exports its table to S3 and imports it into a new one, with what the second
// release needs. The file is one of those that the export's manifest-files.json lists.
func ExampleTransfer() {
	file := strings.NewReader(`{"Item":{"pk":{"S":"ORDER#o-1"},"sk":{"S":"METADATA"},"entityType":{"S":"ORDER"},"orderId":{"S":"o-1"},"total":{"S":"12.50 EUR"},"revision":{"S":"R1"}}}
{"Item":{"pk":{"S":"ORDER#o-2"},"sk":{"S":"METADATA"},"entityType":{"S":"ORDER"},"orderId":{"S":"o-2"},"total":{"BOOL":true},"revision":{"S":"R2"}}}
{"Item":{"pk":{"S":"RATE#EUR"},"sk":{"S":"METADATA"},"rate":{"N":"1.08"}}}
`)
	type Order struct {
		ID       string `dynamodbav:"orderId"`
		Price    string `dynamodbav:"price"`
		Revision string `dynamodbav:"revision"`
	}
	// No request is sent, so a client without credentials will do.
	tbl, err := table.New(dynamodb.New(dynamodb.Options{Region: "eu-central-1"}), schema.Table{Name: "Shop2"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	orders, err := repo.New(tbl, repo.Entity[Order]{
		Type: "ORDER", Version: "revision",
		Key: func(o Order) keys.Key { return orderKey(o.ID) },
		Upgrades: []repo.Upgrade{repo.Convert("total", "price", func(total string) (string, error) {
			return strings.TrimSuffix(total, " EUR"), nil
		})},
	})
	if err != nil {
		log.Fatal(err)
	}
	transfer := &backfill.Transfer{
		Table: tbl, Entities: []backfill.Entity{orders},
		Map: func(item table.Item) ([]table.Item, error) {
			delete(item, "rate")
			return []table.Item{item}, nil
		},
	}
	var forImport, aside strings.Builder
	report, err := transfer.Run(file, &forImport, &aside)
	fmt.Println(report, err)
	fmt.Println(report.Lines == 3, report.Entities, report.Others, report.Newer, report.Dropped, report.SetAside, report.Written, report.Copies, report.Unchecked, report.Unmatched)
	before, _, _ := strings.Cut(forImport.String(), `"revision"`) // which is drawn at random
	fmt.Println(before)
	_, after, _ := strings.Cut(forImport.String(), "\n")
	fmt.Print(after)
	reason, _, _ := strings.Cut(aside.String(), `,"Item"`)
	fmt.Println(reason)
	// Output:
	// 3 lines: 1 entities, 1 others, 0 newer, 0 dropped, 1 set aside; 2 items written, 0 of them copies <nil>
	// true 1 1 0 0 1 2 0 0 0
	// {"Item":{"entityShape":{"N":"1"},"entityType":{"S":"ORDER"},"orderId":{"S":"o-1"},"pk":{"S":"ORDER#o-1"},"price":{"S":"12.50"},
	// {"Item":{"pk":{"S":"RATE#EUR"},"sk":{"S":"METADATA"}}}
	// {"Line":2,"Reason":"singletable: RefreshItems \"ORDER\" on table Shop2: upgrade from shape 0, which writes [\"price\"] and removes [\"total\"]: its Change has failed with a *item.Error"
}
