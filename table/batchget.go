package table

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/keys"
)

const (
	// AWS: BatchGetItem and BatchWriteItem, Amazon DynamoDB API Reference.
	maxBatchGet   = 100
	maxBatchWrite = 25
	// batchParallel bounds the requests of one batch that are in flight.
	batchParallel = 8
)

// BatchError means that a batch ended before all of it was done. Err says why.
type BatchError struct {
	// Remaining are the keys that were not read, or are not known to have been
	// written. It is safe to give them to the same call again.
	Remaining []keys.Key
	// Err is the cause, [ErrThrottled] if DynamoDB kept leaving items out.
	Err error
}

// Error says how many keys remain, and why.
func (e *BatchError) Error() string {
	return fmt.Sprintf("%d keys remain: %v", len(e.Remaining), e.Err)
}

// Unwrap returns the cause.
func (e *BatchError) Unwrap() error { return e.Err }

// BatchGet reads any number of items, 100 a request, several requests at a
// time, and returns them by key. A key whose item is missing or expired is not in
// the map. A key may be given twice.
//
// Each request has the budget of a call, see [Options].MaxAttempts: keys that
// DynamoDB leaves unprocessed are requested again, with growing delays, up to 10
// times in a row without progress, 80 times in all, for 30 seconds. Then the
// error holds a [*BatchError], and no items are returned.
func BatchGet[T any](ctx context.Context, t *Table, ks []keys.Key) (map[keys.Key]T, error) {
	found := make(map[keys.Key]T, len(ks))
	err := t.batchGet(ctx, ks, func() (*rows, func(int, keys.Key)) {
		items := newItems[T]()
		return &items.rows, func(i int, key keys.Key) { found[key] = items.all[i] }
	})
	if err != nil {
		return nil, &Error{Op: "BatchGet", Name: t.ofType, Table: t.schema.Name, Err: explain(err)}
	}
	return found, nil
}

// batchGet reads items. chunk returns rows for a chunk of them, and what is to be
// called for each of these, one at a time.
func (t *Table) batchGet(ctx context.Context, ks []keys.Key, chunk func() (*rows, func(i int, key keys.Key))) error {
	first := make(map[keys.Key]int, len(ks))
	unique := make([]keys.Key, 0, len(ks))
	for i, k := range ks {
		if err := t.checkKey(k); err != nil {
			return &OpError{Op: "Get", Index: i, Key: k, Err: err}
		}
		if _, twice := first[k]; !twice {
			first[k] = i
			unique = append(unique, k)
		}
	}
	var mu sync.Mutex
	var refused *OpError // the first one in the order of ks
	err := inChunks(ctx, unique, maxBatchGet, func(ctx context.Context, ks []keys.Key) ([]keys.Key, error) {
		rows, found := chunk()
		return t.batchGetChunk(ctx, ks, rows, func(got []keyed) {
			mu.Lock()
			defer mu.Unlock()
			for n, g := range got {
				if i := first[g.key]; g.err != nil && (refused == nil || i < refused.Index) {
					refused = &OpError{Op: "Get", Index: i, Key: g.key, Err: g.err}
				}
				found(n, g.key)
			}
		})
	})
	if err == nil && refused != nil {
		err = refused
	}
	return err
}

// keyed is the key of an item that was read, and why the item is no T.
type keyed struct {
	key keys.Key
	err error
}

// batchGetChunk reads up to 100 different keys and returns those that it could
// not read. got is given the keys of rows after each response.
func (t *Table) batchGetChunk(ctx context.Context, ks []keys.Key, rows *rows, got func([]keyed)) ([]keys.Key, error) {
	want := types.KeysAndAttributes{Keys: make([]map[string]types.AttributeValue, len(ks))}
	if t.consistent {
		want.ConsistentRead = aws.Bool(true)
	}
	p, err := t.projection()
	if err != nil {
		return ks, err
	}
	want.ProjectionExpression, want.ExpressionAttributeNames = p.expression, p.names
	for i, k := range ks {
		want.Keys[i] = t.keyItem(k)
	}
	var read []keyed
	rows.of(t, p.share, t.shapes[""].keys...)
	rows.met = func(r *row, err error) error {
		read = append(read[:rows.count], keyed{t.KeyOf("", r.position()), err})
		return nil
	}
	for b := t.budget(ctx); ; {
		in := &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{t.schema.Name: want},
		}
		out, err := receive(ctx, t, &request{operation: "BatchGetItem", attempts: &attempts{budget: b}}, rows, t.client.BatchGetItem, in,
			func(out *dynamodb.BatchGetItemOutput) float64 { return capacities(out.ConsumedCapacity) },
			func(out *dynamodb.BatchGetItemOutput) []map[string]types.AttributeValue {
				return out.Responses[t.schema.Name]
			})
		if err != nil {
			return t.keysOf(want.Keys), err
		}
		got(read[:rows.count])
		before := len(want.Keys)
		want.Keys = out.UnprocessedKeys[t.schema.Name].Keys
		if len(want.Keys) == 0 {
			return nil, nil
		}
		if err := b.unprocessed(ctx, before, len(want.Keys)); err != nil {
			return t.keysOf(want.Keys), err
		}
	}
}

// unprocessed waits before a batch is sent again of which left entries of asked
// were not processed.
func (b *budget) unprocessed(ctx context.Context, asked, left int) error {
	if b.fail(left < asked) {
		return b.wait(ctx)
	}
	return fmt.Errorf("%w: left unprocessed %d times", ErrThrottled, b.failures())
}

func (t *Table) keysOf(items []map[string]types.AttributeValue) []keys.Key {
	ks := make([]keys.Key, len(items))
	for i, item := range items {
		ks[i] = t.KeyOf("", item)
	}
	return ks
}

// inChunks runs do for chunks of the keys, several at a time. When one fails no
// further one is begun. It returns a *BatchError with every key that do
// returned or that was not begun.
func inChunks(ctx context.Context, ks []keys.Key, size int, do func(context.Context, []keys.Key) ([]keys.Key, error)) error {
	var (
		mu     sync.Mutex
		failed BatchError
		all    group.Group
	)
	slots := make(chan struct{}, batchParallel)
	for chunk := range slices.Chunk(ks, size) {
		slots <- struct{}{}
		mu.Lock()
		stop := failed.Err != nil || all.Unwound()
		if stop {
			failed.Remaining = append(failed.Remaining, chunk...)
		}
		mu.Unlock()
		if stop {
			<-slots
			continue
		}
		all.Go(func() {
			defer func() { <-slots }()
			remaining, err := do(ctx, chunk)
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			failed.Remaining = append(failed.Remaining, remaining...)
			failed.Err = join(failed.Err, explain(err))
		})
	}
	all.Wait()
	if failed.Err == nil {
		return nil
	}
	return &failed
}
