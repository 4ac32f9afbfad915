package table

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
// time. It returns those found, in the order of the keys, and the keys of those
// that are missing or expired. A key that is given twice is read once and
// returned twice.
//
// Each request has the budget of a call, see [Options].MaxAttempts: keys that
// DynamoDB leaves unprocessed are requested again, with growing delays, up to 10
// times in a row without progress, 80 times in all, for 30 seconds. Then the
// error holds a [*BatchError], and no items are returned.
func BatchGet[T any](ctx context.Context, t *Table, ks []keys.Key) (found []T, absent []keys.Key, err error) {
	fail := func(err error) error {
		return &Error{Op: "BatchGet", Table: t.schema.Name, Err: explain(err)}
	}
	unique := make([]keys.Key, 0, len(ks))
	answers := make(map[keys.Key]*answer[T], len(ks))
	for i, k := range ks {
		if err := t.checkKey(k); err != nil {
			return nil, nil, fail(&OpError{Op: "Get", Index: i, Key: k, Err: err})
		}
		if _, twice := answers[k]; !twice {
			answers[k] = nil
			unique = append(unique, k)
		}
	}
	var mu sync.Mutex
	err = inChunks(ctx, unique, maxBatchGet, func(ctx context.Context, chunk []keys.Key) ([]keys.Key, error) {
		return batchGet(ctx, t, chunk, func(got []answer[T]) {
			mu.Lock()
			defer mu.Unlock()
			for i := range got {
				answers[got[i].key] = &got[i]
			}
		})
	})
	if err != nil {
		return nil, nil, fail(err)
	}
	for i, k := range ks {
		switch a := answers[k]; {
		case a == nil:
			absent = append(absent, k)
		case a.err != nil:
			return nil, nil, fail(&OpError{Op: "Get", Index: i, Key: k, Err: a.err})
		default:
			found = append(found, a.value)
		}
	}
	return found, absent, nil
}

// answer is the result of a batch for a key.
type answer[T any] struct {
	key   keys.Key
	value T
	err   error
}

// batchGet reads up to 100 different keys and returns those that it could not
// read.
func batchGet[T any](ctx context.Context, t *Table, ks []keys.Key, got func([]answer[T])) ([]keys.Key, error) {
	want := types.KeysAndAttributes{Keys: make([]map[string]types.AttributeValue, len(ks))}
	if t.consistent {
		want.ConsistentRead = aws.Bool(true)
	}
	for i, k := range ks {
		want.Keys[i] = t.keyItem(k)
	}
	var answers []answer[T]
	rows := newRows[T](t, t.keyAttributes()...)
	rows.begin = func() { answers = make([]answer[T], 0, len(want.Keys)) }
	rows.take = func(_ int, err error) bool {
		answers = append(answers, answer[T]{t.KeyOf("", rows.position()), rows.value, err})
		return true
	}
	for b := t.budget(ctx); ; {
		in := &dynamodb.BatchGetItemInput{
			RequestItems:           map[string]types.KeysAndAttributes{t.schema.Name: want},
			ReturnConsumedCapacity: t.returnCapacity(),
		}
		out, err := receive(ctx, t, request{operation: "BatchGetItem", attempts: &attempts{budget: b}}, t.client.BatchGetItem, in,
			func(out *dynamodb.BatchGetItemOutput) float64 { return capacities(out.ConsumedCapacity) },
			rows, func(out *dynamodb.BatchGetItemOutput) []map[string]types.AttributeValue {
				return out.Responses[t.schema.Name]
			})
		if err != nil {
			return t.keysOf(want.Keys), err
		}
		got(answers)
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
		group  sync.WaitGroup
	)
	slots := make(chan struct{}, batchParallel)
	for chunk := range slices.Chunk(ks, size) {
		slots <- struct{}{}
		mu.Lock()
		stop := failed.Err != nil
		if stop {
			failed.Remaining = append(failed.Remaining, chunk...)
		}
		mu.Unlock()
		if stop {
			<-slots
			continue
		}
		group.Go(func() {
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
	group.Wait()
	if failed.Err == nil {
		return nil
	}
	return &failed
}
