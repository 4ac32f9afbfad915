package shardcost

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// What is measured: each number of items over each number of shards, as the
// average of so many pages in a row, of items of 1 KB.
var (
	shardCounts = []int{1, 2, 4, 8, 16, 32, 64}
	limits      = []int{10, 25, 50, 100, 200}
)

const (
	pages    = 20
	itemSize = 1024
)

// measure reads a new table on a local engine both ways.
func measure(ctx context.Context) ([]cost, error) {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	client := engine.Client()
	spec := schema.Table{
		Name:    fmt.Sprintf("shardcost-%d", time.Now().UnixNano()),
		Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
	}
	if err := spec.Ensure(ctx, client); err != nil {
		return nil, err
	}
	defer func() { _, _ = client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &spec.Name}) }()
	tbl, err := table.New(client, spec, nil)
	if err != nil {
		return nil, err
	}
	var costs []cost
	for _, shards := range shardCounts {
		fmt.Fprintf(os.Stderr, "measuring %d shards\n", shards)
		index := shard.Index{Index: "GSI1", Prefix: keys.Prefix(fmt.Sprint("S", shards)), Shards: shards}
		if err := fill(ctx, tbl, index); err != nil {
			return nil, err
		}
		for _, limit := range limits {
			c := cost{Shards: shards, Items: limit}
			if c.Units, c.Rounds, err = readerCost(ctx, tbl, index, limit); err != nil {
				return nil, err
			}
			if c.Each, err = eachCost(ctx, tbl, index, limit); err != nil {
				return nil, err
			}
			costs = append(costs, c)
		}
	}
	return costs, nil
}

// fill stores as many items as the pages take, and enough for every shard to
// have a page to itself. Their ids, and so the shards, are random.
func fill(ctx context.Context, tbl *table.Table, index shard.Index) error {
	biggest := limits[len(limits)-1]
	rnd := rand.New(rand.NewPCG(uint64(index.Shards), 1))
	started := time.Date(2024, time.January, 15, 12, 0, 0, 0, time.UTC)
	var ops []table.Op
	for i := range max(pages*biggest, index.Shards*biggest*3/2) {
		id := fmt.Sprintf("tx-%016x", rnd.Uint64())
		at := started.Add(time.Duration(i) * time.Second)
		item, err := tbl.IndexKey(index.Index, index.Key(id, keys.None.SK(keys.Time(at), keys.Str(id))))
		if err != nil {
			return err
		}
		key := keys.Key{PK: keys.Tx.PK(id), SK: keys.Metadata}
		size := item.Size() + len("pk") + len(key.PK) + len("sk") + len(key.SK) + len("note")
		item["note"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", itemSize-size)}
		ops = append(ops, table.Put(key, item))
	}
	return tbl.BatchWrite(ctx, ops...)
}

// readerCost returns the read units and rounds of a page by [shard.Reader].
func readerCost(ctx context.Context, tbl *table.Table, index shard.Index, limit int) (units, rounds float64, err error) {
	r, err := shard.New[table.Item](tbl, index, nil)
	if err != nil {
		return 0, 0, err
	}
	q := shard.Query{Limit: limit, Descending: true}
	for range pages {
		page, err := r.Page(ctx, q)
		if err != nil {
			return 0, 0, err
		}
		if len(page.Items) != limit {
			return 0, 0, fmt.Errorf("%d items on a page of %d", len(page.Items), limit)
		}
		units += page.Stats.Capacity / pages
		rounds += float64(page.Stats.Rounds) / pages
		q.After = page.Next
	}
	return units, rounds, nil
}

// eachCost returns the read units of asking each shard for a whole page.
func eachCost(ctx context.Context, tbl *table.Table, index shard.Index, limit int) (units float64, err error) {
	for i := range index.Shards {
		pk := index.Prefix.PK()
		if i > 0 {
			pk = index.Prefix.PK(fmt.Sprint(i))
		}
		page, err := table.QueryPage[table.Item](ctx, tbl, table.Query{Index: index.Index, PK: pk, Descending: true, Limit: limit})
		if err != nil {
			return 0, err
		}
		if len(page.Items) != limit {
			return 0, fmt.Errorf("%d items in shard %d, not %d", len(page.Items), i, limit)
		}
		units += page.Stats.Capacity
	}
	return units, nil
}
