package shard_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Payment is the value of the examples.
type Payment struct {
	ID   string    `dynamodbav:"id"`
	Made time.Time `dynamodbav:"made"`
}

// payments is the index of the examples: all payments of a service by time.
var payments = shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: 16}

var engine = sync.OnceValue(func() *tabletest.Engine {
	e, err := tabletest.Start(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	return e
})

// newTable returns a new table of its own for an example.
func newTable(ctx context.Context) *table.Table {
	s := spec
	s.Name = "Example-" + rand.Text()
	client := engine().Client()
	if err := s.Ensure(ctx, client); err != nil {
		log.Fatal(err)
	}
	t, err := table.New(client, s, nil)
	if err != nil {
		log.Fatal(err)
	}
	return t
}

// storePayment stores a payment that was made n minutes after noon. With a repo,
// this is a function in repo.Entity.Indexes.
func storePayment(ctx context.Context, t *table.Table, index shard.Index, n int) {
	p := Payment{ID: fmt.Sprintf("pay-%d", n), Made: noon.Add(time.Duration(n) * time.Minute)}
	item, err := t.IndexKey(index.Index, index.Key(p.ID, keys.None.SK(keys.Time(p.Made), keys.Str(p.ID))))
	if err != nil {
		log.Fatal(err)
	}
	item["id"] = attribute(p.ID)
	item["made"] = attribute(p.Made.Format(time.RFC3339))
	if err := t.Do(ctx, table.Put(keys.Key{PK: keys.Tx.PK(p.ID), SK: keys.Metadata}, item)); err != nil {
		log.Fatal(err)
	}
}

// An index gives each id a shard, and an item its key in the index.
func ExampleIndex() {
	index := shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: 16}
	at := time.Date(2024, time.January, 15, 10, 5, 0, 0, time.UTC)

	key := index.Key("tx-abc", keys.None.SK(keys.Time(at), keys.Str("tx-abc")))
	fmt.Println(key.PK)
	fmt.Println(key.SK)
	// Output:
	// GLOBAL_TX#14
	// 2024-01-15T10:05:00.000Z#tx-abc
}

// An index of another program: partition keys are numbered from 0 behind an
// underscore, and the number is String.hashCode in Java, modulo 10.
func ExampleIndex_java() {
	index := shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", ShardFunc: javaShard}
	for n := range 10 {
		index.Suffixes = append(index.Suffixes, "_"+strconv.Itoa(n))
	}
	fmt.Println(index.Validate())
	for _, id := range []string{"tx-abc", "order-42", "polygenelubricants"} {
		fmt.Println(index.Key(id, "2024-01-15T10:05:00.000Z").PK)
	}
	// Output:
	// <nil>
	// GLOBAL_TX_1
	// GLOBAL_TX_7
	// GLOBAL_TX_8
}

// javaShard is Math.abs(id.hashCode() % 10) in Java, for ids in ASCII.
func javaShard(id string) int {
	var hash int32
	for _, c := range []byte(id) {
		hash = 31*hash + int32(c)
	}
	return max(int(hash%10), -int(hash%10))
}

// The newest ten of all payments, whichever shards they are in.
func ExampleReader_Latest() {
	ctx := context.Background()
	t := newTable(ctx)
	for n := range 40 {
		storePayment(ctx, t, payments, n)
	}

	reader, err := shard.New[Payment](t, payments, nil)
	if err != nil {
		log.Fatal(err)
	}
	newest, err := reader.Latest(ctx, 3)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range newest {
		fmt.Println(p.ID, p.Made.Format(time.TimeOnly))
	}
	// Output:
	// pay-39 12:39:00
	// pay-38 12:38:00
	// pay-37 12:37:00
}

// A page has the cursor of the next one, which is bound to the reader's scope.
func ExampleReader_Page() {
	ctx := context.Background()
	t := newTable(ctx)
	for n := range 50 {
		storePayment(ctx, t, payments, n)
	}
	reader, err := shard.New(t, payments, &shard.Options[Payment]{Concurrency: 4})
	if err != nil {
		log.Fatal(err)
	}

	var cost shard.Stats
	query := shard.Query{
		Range: keys.None.Since(noon.Add(5 * time.Minute)),
		Limit: 20,
		Scope: "auditor-7", Descending: true,
	}
	for {
		page, err := reader.Page(ctx, query)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(page.Items), "from", page.Items[0].ID)
		cost = cost.Add(page.Stats)
		if page.Next == "" {
			query.After = page.Prev
			break
		}
		query.After = page.Next
	}
	before, err := reader.Page(ctx, query)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("before the last:", len(before.Items), "from", before.Items[0].ID)
	fmt.Println("requests of a round:", cost.Requests/cost.Rounds <= payments.Shards)
	// Output:
	// 20 from pay-49
	// 20 from pay-29
	// 5 from pay-9
	// before the last: 20 from pay-29
	// requests of a round: true
}

// One shard cannot be read. The error names it.
func ExampleError() {
	ctx := context.Background()
	t := newTable(ctx)
	storePayment(ctx, t, payments, 1)
	var faults tabletest.Faults
	faults.Always("Query", tabletest.Match(func(r tabletest.Request) bool {
		return strings.Contains(string(r.Body), "GLOBAL_TX#7")
	}, tabletest.Throttle()))
	broken, err := table.New(engine().Client(faults.Install), t.Schema(), &table.Options{MaxAttempts: 2})
	if err != nil {
		log.Fatal(err)
	}
	reader, err := shard.New(broken, payments, &shard.Options[Payment]{Concurrency: 4})
	if err != nil {
		log.Fatal(err)
	}

	_, err = reader.Latest(ctx, 10)
	if failed, ok := errors.AsType[*table.Error](err); ok {
		fmt.Println(failed.Index, failed.Name, table.Classify(err))
	}
	fmt.Println("requests at once, at most 4:", faults.MaxInFlight() <= 4)
	// Output:
	// GSI1 shard 7 transient
	// requests at once, at most 4: true
}

// The sort key of the index is the time alone, so two payments can share it. A page
// can end between the two, and none is lost.
func ExampleIndex_nonUniqueSortKeys() {
	ctx := context.Background()
	t := newTable(ctx)
	byTime := shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: 4, NonUniqueSortKeys: true}
	for _, id := range []string{"pay-1", "pay-2", "pay-3"} {
		item, err := t.IndexKey("GSI1", byTime.Key(id, keys.None.SK(keys.Time(noon))))
		if err != nil {
			log.Fatal(err)
		}
		item["id"], item["made"] = attribute(id), attribute(noon.Format(time.RFC3339))
		if err := t.Do(ctx, table.Put(keys.Key{PK: keys.Tx.PK(id), SK: keys.Metadata}, item)); err != nil {
			log.Fatal(err)
		}
	}
	reader, err := shard.New[Payment](t, byTime, nil)
	if err != nil {
		log.Fatal(err)
	}
	for query := (shard.Query{Limit: 2}); ; {
		page, err := reader.Page(ctx, query)
		if err != nil {
			log.Fatal(err)
		}
		for _, p := range page.Items {
			fmt.Println(p.ID)
		}
		if query.After = page.Next; query.After == "" {
			break
		}
	}
	// Output:
	// pay-1
	// pay-2
	// pay-3
}

// All payments of some hours, oldest first, as a stream.
func ExampleReader_All() {
	ctx := context.Background()
	t := newTable(ctx)
	for n := range 300 {
		storePayment(ctx, t, payments, n)
	}
	reader, err := shard.New[Payment](t, payments, nil)
	if err != nil {
		log.Fatal(err)
	}

	one := keys.None.Between(noon.Add(time.Hour), noon.Add(2*time.Hour))
	count := 0
	for p, err := range reader.All(ctx, shard.Query{Range: one}) {
		if err != nil {
			log.Fatal(err)
		}
		if count == 0 {
			fmt.Println("first:", p.ID)
		}
		count++
	}
	fmt.Println(count, "payments")
	// Output:
	// first: pay-60
	// 60 payments
}

// An index in which each payment stands twice, because its writers put the
// index's keys on both of its items.
func ExampleOptions_dedupe() {
	ctx := context.Background()
	t := newTable(ctx)
	for n := range 10 {
		p := Payment{ID: fmt.Sprintf("pay-%d", n), Made: noon.Add(time.Duration(n) * time.Minute)}
		item, err := t.IndexKey("GSI1", payments.Key(p.ID, keys.None.SK(keys.Time(p.Made), keys.Str(p.ID))))
		if err != nil {
			log.Fatal(err)
		}
		item["id"], item["made"] = attribute(p.ID), attribute(p.Made.Format(time.RFC3339))
		err = t.Transact(ctx,
			table.Put(keys.Key{PK: keys.Tx.PK(p.ID), SK: keys.Metadata}, item),
			table.Put(keys.Key{PK: keys.User.PK("u-123"), SK: keys.Tx.SK(keys.Str(p.ID))}, item),
		)
		if err != nil {
			log.Fatal(err)
		}
	}

	reader, err := shard.New(t, payments, &shard.Options[Payment]{
		Dedupe: func(p Payment) string { return p.ID },
	})
	if err != nil {
		log.Fatal(err)
	}
	newest, err := reader.Latest(ctx, 4)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range newest {
		fmt.Println(p.ID)
	}
	// Output:
	// pay-9
	// pay-8
	// pay-7
	// pay-6
}

// An index of one partition grows to 16: readers first, then writers. A cursor
// from before is valid for the new readers.
func Example_growing() {
	ctx := context.Background()
	t := newTable(ctx)
	single := shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: 1}
	for n := range 30 {
		storePayment(ctx, t, single, n)
	}
	before, err := shard.New[Payment](t, single, nil)
	if err != nil {
		log.Fatal(err)
	}
	first, err := before.Page(ctx, shard.Query{Limit: 20})
	if err != nil {
		log.Fatal(err)
	}

	grown := single
	grown.Shards = 16
	after, err := shard.New[Payment](t, grown, nil) // 1. the readers
	if err != nil {
		log.Fatal(err)
	}
	for n := 30; n < 35; n++ {
		storePayment(ctx, t, grown, n) // 2. the writers
	}
	second, err := after.Page(ctx, shard.Query{Limit: 20, After: first.Next})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("first page ends with", first.Items[19].ID)
	fmt.Println("second page is", second.Items[0].ID, "to", second.Items[len(second.Items)-1].ID)
	// Output:
	// first page ends with pay-19
	// second page is pay-20 to pay-34
}

// An update keeps an item in the shard where it is stored.
func ExampleIndex_KeyAt() {
	const sk = "2024-01-15T12:01:00.000Z#pay-1"
	grown := payments
	grown.Shards = 32
	stored := payments.Key("pay-1", sk).PK

	fmt.Println("stored in", stored)
	fmt.Println("a new item would be in", grown.Key("pay-1", sk).PK)
	fmt.Println("an update stays in", grown.KeyAt(stored, "pay-1", sk).PK)
	// Output:
	// stored in GLOBAL_TX#5
	// a new item would be in GLOBAL_TX#21
	// an update stays in GLOBAL_TX#5
}
