package store

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

// CounterShards is how many items a counter is spread over. An item takes 1,000
// write units a second and a transactional write costs two, so this is for some
// 4,000 events a second. It may be raised at any time, and not lowered. AWS: "Best
// practices for designing and using partition keys effectively in DynamoDB" and
// "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
const CounterShards = 8

// CounterPrefix is the prefix of the partitions of counters.
const CounterPrefix keys.Prefix = "COUNTER"

var counterShards = shard.Index{Prefix: CounterPrefix, Shards: CounterShards}

// CounterKey is the key of the item of a counter that an event is counted in:
// COUNTER#<name>#<shard> / METADATA, with the shard a hash of the event.
func CounterKey(name, event string) keys.Key {
	return shardKey(name, counterShards.Shard(event))
}

func shardKey(name string, shard int) keys.Key {
	return keys.Key{PK: CounterPrefix.PK(name, strconv.Itoa(shard)), SK: keys.Metadata}
}

// ViewsOf is the name of the counter of a post's views.
func ViewsOf(post string) string { return "views-" + post }

// Count adds n to a counter, for an event. It runs as a transaction, which the
// SDK can repeat after a lost response without counting twice. Callers that repeat
// use [CountOp] with [Once].
func (s *Store) Count(ctx context.Context, name, event string, n int64) error {
	return s.Table.Transact(ctx, CountOp(name, event, n))
}

// CountOp returns the op of [Store.Count].
func CountOp(name, event string, n int64) table.Op {
	return table.Update(CounterKey(name, event), expression.Add(expression.Name("count"), expression.Value(n)).
		Set(expression.Name("entityType"), expression.Value("COUNTER")))
}

func shardKeys(name string) (all []keys.Key) {
	for i := range CounterShards {
		all = append(all, shardKey(name, i))
	}
	return all
}

// Total returns the sum of a counter: one batch read of all its shards, whose
// keys are known.
func (s *Store) Total(ctx context.Context, name string) (int64, error) {
	type counter struct {
		Count int64 `dynamodbav:"count"`
	}
	counters, err := table.BatchGet[counter](ctx, s.Table.Consistent(), shardKeys(name))
	var total int64
	for _, c := range counters {
		total += c.Count
	}
	return total, err
}

// deleteCounter removes all items of a counter.
func (s *Store) deleteCounter(ctx context.Context, name string) error {
	var ops []table.Op
	for _, key := range shardKeys(name) {
		ops = append(ops, table.Delete(key))
	}
	return s.Table.Transact(ctx, ops...)
}
