package benchmarks_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The sharded index of these benchmarks, and one that has everything in one
// partition to compare with.
var (
	sharded = shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: 16}
	whole   = shard.Index{Index: "GSI1", Prefix: "WHOLE_TX", Shards: 1}
)

// partition returns the partition key of a shard.
func partition(shard int) keys.PK {
	if shard == 0 {
		return sharded.Prefix.PK()
	}
	return sharded.Prefix.PK(fmt.Sprint(shard))
}

// payment is an item of 1 KB in either index.
type payment struct {
	ID     string  `dynamodbav:"id"`
	GSI1PK keys.PK `dynamodbav:"GSI1PK"`
	GSI1SK keys.SK `dynamodbav:"GSI1SK"`
	Note   string  `dynamodbav:"note"`
}

// paymentTable returns a table with 3,200 payments in each index.
func paymentTable(b *testing.B, client *dynamodb.Client) *table.Table {
	b.Helper()
	tbl := tabletest.NewWith(b, client, schema.Table{
		Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
	}, nil)
	var ops []table.Op
	for i := range 3200 {
		id := fmt.Sprintf("pay-%06d", i)
		sk := keys.None.SK(keys.Time(started.Add(time.Duration(i)*time.Second)), keys.Str(id))
		for _, index := range []shard.Index{sharded, whole} {
			key := index.Key(id, sk)
			ops = append(ops, table.Put(keys.Key{PK: keys.Tx.PK(id), SK: keys.SK(index.Prefix)},
				payment{ID: id, GSI1PK: key.PK, GSI1SK: key.SK, Note: strings.Repeat("x", 850)}))
		}
	}
	must(b, tbl.BatchWrite(b.Context(), ops...))
	return tbl
}

// BenchmarkShardLatest10 compares the newest ten items over 16 shards with ten
// items of one partition.
//
// A request to a local engine is nothing but CPU time, and 16 of them need that
// 16 times, whoever sends them: read=parallel-sdk is 16 queries by the SDK alone,
// the least that there can be. With net=5ms every response is that much later, as
// it is with DynamoDB, where the requests wait together.
func BenchmarkShardLatest10(b *testing.B) {
	for _, delay := range []time.Duration{0, 5 * time.Millisecond} {
		b.Run("net="+delay.String(), func(b *testing.B) {
			var faults tabletest.Faults
			client := tabletest.Client(b)
			tbl := paymentTable(b, client)
			if delay > 0 {
				client = tabletest.Client(b, faults.Install)
				faults.Always("Query", late(delay))
			}
			tbl, err := table.New(client, tbl.Schema(), nil)
			must(b, err)
			reader, err := shard.New[payment](tbl, sharded, nil)
			must(b, err)
			ctx := b.Context()
			b.Run("read=query", func(b *testing.B) {
				measure(b, func() error {
					page, err := table.QueryPage[payment](ctx, tbl, table.Query{
						Index: "GSI1", PK: whole.Prefix.PK(), Descending: true, Limit: 10,
					})
					return full(len(page.Items), 10, err)
				})
			})
			b.Run("read=parallel-sdk", func(b *testing.B) {
				measure(b, func() error { return parallelQueries(ctx, client, tbl.Schema().Name) })
			})
			b.Run("read=latest", func(b *testing.B) {
				measure(b, func() error {
					items, err := reader.Latest(ctx, 10)
					return full(len(items), 10, err)
				})
			})
		})
	}
}

// full is the error of a read that did not give what it should.
func full(items, want int, err error) error {
	if err == nil && items != want {
		err = fmt.Errorf("%d items, want %d", items, want)
	}
	return err
}

// late lets a request wait before it is carried out.
func late(delay time.Duration) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			return next.RoundTrip(r)
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// parallelQueries asks every shard for the four items that the reader asks it
// for, all at once, and decodes them.
func parallelQueries(ctx context.Context, client *dynamodb.Client, tableName string) error {
	var wg sync.WaitGroup
	errs := make([]error, sharded.Shards)
	for i := range errs {
		wg.Go(func() {
			out, err := client.Query(ctx, &dynamodb.QueryInput{
				TableName:              &tableName,
				IndexName:              aws.String("GSI1"),
				KeyConditionExpression: aws.String("GSI1PK = :pk"),
				ExpressionAttributeValues: map[string]types.AttributeValue{
					":pk": &types.AttributeValueMemberS{Value: string(partition(i))},
				},
				ScanIndexForward:       aws.Bool(false),
				Limit:                  aws.Int32(4),
				ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
			})
			if err == nil {
				var items []payment
				err = attributevalue.UnmarshalListOfMaps(out.Items, &items)
				err = full(len(items), 4, err)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkShardPage100 reads a page of 100 items of 1 KB over 16 shards, by the
// reader and by asking each shard for all 100, page after page.
func BenchmarkShardPage100(b *testing.B) {
	const limit, pages = 100, 10
	tbl := paymentTable(b, tabletest.Client(b))
	ctx := b.Context()
	report := func(b *testing.B, total shard.Stats) {
		b.ReportMetric(total.Capacity/float64(b.N), "RCU/op")
		b.ReportMetric(float64(total.Rounds)/float64(b.N), "rounds/op")
		b.ReportMetric(float64(total.Requests)/float64(b.N), "requests/op")
	}
	b.Run("strategy=reader", func(b *testing.B) {
		reader, err := shard.New[payment](tbl, sharded, nil)
		must(b, err)
		var total shard.Stats
		q, n := shard.Query{Limit: limit, Descending: true}, 0
		measure(b, func() error {
			if n%pages == 0 {
				q.After = ""
			}
			n++
			page, err := reader.Page(ctx, q)
			q.After = page.Next
			total = total.Add(page.Stats)
			return full(len(page.Items), limit, err)
		})
		report(b, total)
	})
	b.Run("strategy=each-shard", func(b *testing.B) {
		var total shard.Stats
		measure(b, func() error {
			stats, err := eachShard(ctx, tbl, limit)
			total.Capacity += stats.Capacity
			total.Requests += stats.Requests
			total.Rounds++
			return err
		})
		report(b, total)
	})
}

// eachShard asks all shards for limit items, in parallel. Merging them is left
// out.
func eachShard(ctx context.Context, tbl *table.Table, limit int) (total table.Stats, err error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range sharded.Shards {
		wg.Go(func() {
			page, pageErr := table.QueryPage[payment](ctx, tbl, table.Query{
				Index: "GSI1", PK: partition(i), Descending: true, Limit: limit,
			})
			mu.Lock()
			defer mu.Unlock()
			total.Capacity += page.Stats.Capacity
			total.Requests += page.Stats.Requests
			if pageErr = full(len(page.Items), limit, pageErr); pageErr != nil {
				err = pageErr
			}
		})
	}
	wg.Wait()
	return total, err
}
