package table_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func ExampleGet() {
	t, done := exampleTable(nil)
	defer done()
	ctx := context.Background()

	tx, err := table.Get[Tx](ctx, t, txKey(morning, "tx-0"))
	fmt.Println(tx.ID, err)

	_, err = table.Get[User](ctx, t, userKey("u-456"))
	fmt.Println(errors.Is(err, table.ErrNotFound))
	// Output:
	// tx-0 <nil>
	// true
}

// A view refuses items of another type, so that no half-filled value comes out.
func ExampleTable_OfType() {
	t, done := exampleTable(nil)
	defer done()

	_, err := table.Get[User](context.Background(), t.OfType("user"), txKey(morning, "tx-0"))
	fmt.Println(errors.Is(err, table.ErrWrongType))
	// Output: true
}

func ExampleTable_Consistent() {
	t, done := exampleTable(nil)
	defer done()

	tx, err := table.Get[Tx](context.Background(), t.Consistent(), txKey(morning, "tx-0"))
	fmt.Println(tx.ID, err)
	// Output: tx-0 <nil>
}

func ExampleBatchGet() {
	t, done := exampleTable(nil)
	defer done()

	wanted := []keys.Key{txKey(morning, "tx-0"), txKey(morning, "tx-9")}
	txs, err := table.BatchGet[Tx](context.Background(), t, wanted)
	if err != nil {
		log.Fatal(err)
	}
	for _, key := range wanted {
		tx, ok := txs[key]
		fmt.Println(key.SK, ok, tx.ID)
	}
	// Output:
	// TX#2024-01-15T10:00:00.000Z#tx-0 true tx-0
	// TX#2024-01-15T10:00:00.000Z#tx-9 false
}

func ExampleTransactGet() {
	t, done := exampleTable(nil)
	defer done()

	first, second := txKey(morning, "tx-0"), txKey(morning.Add(time.Minute), "tx-1")
	txs, err := table.TransactGet[Tx](context.Background(), t, []keys.Key{first, second})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(txs[first].ID, txs[second].ID)
	// Output: tx-0 tx-1
}

// The newest transactions of a user, two at a time.
func ExampleQueryPage() {
	t, done := exampleTable(nil)
	defer done()

	q := table.Query{
		PK:         keys.User.PK("u-123"),
		Range:      keys.Tx.All(),
		Descending: true,
		Limit:      2,
		Scope:      "u-123", // who may go on from here
	}
	for {
		page, err := table.QueryPage[Tx](context.Background(), t, q)
		if err != nil {
			log.Fatal(err)
		}
		var ids []string
		for _, tx := range page.Items {
			ids = append(ids, tx.ID)
		}
		fmt.Println(ids)
		if page.Next == "" {
			break
		}
		q.After = page.Next // what a client sends back
	}
	// Output:
	// [tx-4 tx-3]
	// [tx-2 tx-1]
	// [tx-0]
}

// A limit counts what passes the filter.
func ExampleQuery_filter() {
	t, done := exampleTable(nil)
	defer done()

	page, err := table.QueryPage[Tx](context.Background(), t, table.Query{
		PK:     keys.User.PK("u-123"),
		Range:  keys.Tx.Since(morning),
		Filter: expression.Name("amount").GreaterThan(expression.Value(15)),
		Limit:  2,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, tx := range page.Items {
		fmt.Println(tx.ID, tx.Amount)
	}
	// Output:
	// tx-2 20
	// tx-3 30
}

func ExampleAll() {
	t, done := exampleTable(nil)
	defer done()

	q := table.Query{PK: keys.User.PK("u-123"), Range: keys.Tx.Until(morning.Add(3 * time.Minute))}
	sum := 0
	for tx, err := range table.All[Tx](context.Background(), t, q) {
		if err != nil {
			log.Fatal(err)
		}
		sum += tx.Amount
	}
	fmt.Println(sum)
	// Output: 30
}

func ExampleCollect() {
	t, done := exampleTable(nil)
	defer done()

	q := table.Query{PK: keys.User.PK("u-123"), Range: keys.Tx.All()}
	txs, err := table.Collect(table.All[Tx](context.Background(), t, q))
	fmt.Println(len(txs), err)
	// Output: 5 <nil>
}

// Items of several types are read as they are stored, and then decoded.
// An item that is read undecoded tells its keys.
func ExampleTable_KeyOf() {
	t, done := exampleTable(nil)
	defer done()

	item, err := table.Get[table.Item](context.Background(), t, txKey(morning, "tx-0"))
	fmt.Println(t.KeyOf("", item), err)
	// Output: {USER#u-123 TX#2024-01-15T10:00:00.000Z#tx-0} <nil>
}

func ExampleItem_Decode() {
	t, done := exampleTable(nil)
	defer done()

	for item, err := range table.All[table.Item](context.Background(), t, table.Query{PK: keys.User.PK("u-123"), Limit: 1}) {
		if err != nil {
			log.Fatal(err)
		}
		var tx Tx
		if err := item.Decode(&tx); err != nil {
			log.Fatal(err)
		}
		fmt.Println(tx.Type, tx.ID)
	}
	// Output: tx tx-0
}

func ExampleOptions() {
	t, done := exampleTable(&table.Options{
		Observe: func(_ context.Context, e table.Event) {
			fmt.Println(e.Operation, e.Capacity, e.Err)
		},
	})
	defer done()

	_, err := table.Get[Tx](context.Background(), t.Consistent(), txKey(morning, "tx-0"))
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// BatchWriteItem 5 <nil>
	// GetItem 1 <nil>
}

// A scan reads the whole table. Each segment can be read by a goroutine or
// process of its own, and goes on from its last token after an interruption.
func ExampleScanPage() {
	t, done := exampleTable(nil)
	defer done()

	items, size := 0, 0
	for segment := range 4 {
		s := table.Scan{Segment: segment, Segments: 4, Limit: 2}
		for {
			page, err := table.ScanPage[table.Item](context.Background(), t, s)
			if err != nil {
				log.Fatal(err)
			}
			for _, item := range page.Items {
				items, size = items+1, size+item.Size()
			}
			if page.Next == "" {
				break
			}
			s.After = page.Next
		}
	}
	fmt.Println(items, "items,", size, "bytes")
	// Output: 5 items, 359 bytes
}

// A sparse index lists the open tickets. The cursor of a page is valid for one
// operator.
func ExampleScan_sparseIndex() {
	t, done := exampleTable(&table.Options{MaxRounds: 3})
	defer done()
	ctx := context.Background()
	for id, open := range map[string]bool{"t-1": false, "t-2": true, "t-3": false} {
		ticket := map[string]string{"id": id, "body": "…"}
		if open {
			ticket["gsi1pk"], ticket["gsi1sk"] = "OPEN", id
		}
		if err := t.Do(ctx, table.Put(keys.Key{PK: keys.Prefix("TICKET").PK(id), SK: keys.Metadata}, ticket)); err != nil {
			log.Fatal(err)
		}
	}

	page, err := table.ScanPage[map[string]string](ctx, t, table.Scan{
		Index:   "GSI1",
		Project: []string{"id"},
		Scope:   "operator ana",
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, ticket := range page.Items {
		fmt.Println(ticket["id"], "without its body:", ticket["body"] == "")
	}
	// Output: t-2 without its body: true
}

// A merge of several queries, or a walk on the server that may take days, reads
// rows from raw positions, which do not expire.
func ExampleQueryRows() {
	t, done := exampleTable(nil)
	defer done()

	query := table.Query{PK: keys.User.PK("u-123"), Range: keys.Tx.All(), Limit: 2}
	var start table.Item
	for {
		page, err := table.QueryRows[Tx](context.Background(), t, query, start)
		if err != nil {
			log.Fatal(err)
		}
		for _, row := range page.Rows {
			if row.Err != nil {
				log.Fatal(row.Err)
			}
			fmt.Println(row.Key.SK, row.Value.ID, row.Size > 0)
		}
		if page.Next == nil {
			break
		}
		start = page.Next
	}
	// Output:
	// TX#2024-01-15T10:00:00.000Z#tx-0 tx-0 true
	// TX#2024-01-15T10:01:00.000Z#tx-1 tx-1 true
	// TX#2024-01-15T10:02:00.000Z#tx-2 tx-2 true
	// TX#2024-01-15T10:03:00.000Z#tx-3 tx-3 true
	// TX#2024-01-15T10:04:00.000Z#tx-4 tx-4 true
}
