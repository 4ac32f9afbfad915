package table_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// A program in JavaScript keeps the time of creation in milliseconds, as Date.now() returns it.
func ExampleUnixMilli() {
	ctx := context.Background()
	t, engine := openCounters(ctx)
	defer engine.Close()

	type order struct {
		Created table.UnixMilli  `dynamodbav:"created"`
		Shipped *table.UnixMilli `dynamodbav:"shipped,omitempty"`
	}
	key := keys.Key{PK: "order#1", SK: "order"}
	created := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	if err := t.Do(ctx, table.Put(key, order{Created: table.UnixMilli{Time: created}})); err != nil {
		log.Fatal(err)
	}
	stored, err := table.Get[map[string]any](ctx, t, key)
	fmt.Printf("%.0f %v\n", stored["created"], err)
	o, err := table.Get[order](ctx, t, key)
	fmt.Println(o.Created.Format(time.TimeOnly), o.Shipped, err)
	// Output:
	// 1767323045678 <nil>
	// 03:04:05 <nil> <nil>
}

// A text of toISOString sorts by time, so it can be in a sort key.
func ExampleISOTime() {
	ctx := context.Background()
	t, engine := openCounters(ctx)
	defer engine.Close()

	type event struct {
		At table.ISOTime `dynamodbav:"at"`
	}
	at := table.ISOTime{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	key := keys.Key{PK: "events", SK: keys.SK("event#" + at.String())}
	if err := t.Do(ctx, table.Put(key, event{At: at})); err != nil {
		log.Fatal(err)
	}
	page, err := table.QueryPage[map[string]any](ctx, t, table.Query{PK: "events", Filter: table.If("at = ?", at)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Items[0]["sk"], page.Items[0]["at"])
	// Output: event#2026-01-02T03:04:05.000Z 2026-01-02T03:04:05.000Z
}

// An upgrade is given items as they are stored. This one makes milliseconds of a text.
func ExampleUnixMilli_UnmarshalDynamoDBAttributeValue() {
	upgrade := func(stored table.Item) error {
		var text table.ISOTime
		if err := text.UnmarshalDynamoDBAttributeValue(stored["created"]); err != nil {
			return err
		}
		value, err := table.UnixMilli(text).MarshalDynamoDBAttributeValue()
		stored["created"] = value
		return err
	}
	created, err := table.ISOTime{Time: time.UnixMilli(1767323045678)}.MarshalDynamoDBAttributeValue()
	if err != nil {
		log.Fatal(err)
	}
	item := table.Item{"created": created}
	fmt.Println(upgrade(item))
	var milli table.UnixMilli
	fmt.Println(milli.UnmarshalDynamoDBAttributeValue(item["created"]), milli.UnixMilli())
	// Output:
	// <nil>
	// <nil> 1767323045678
}
