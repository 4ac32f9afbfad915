package table

import (
	"cmp"
	"context"
	"errors"
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
	// AWS: BatchGetItem and BatchWriteItem, Amazon DynamoDB API Reference. Seen:
	// nubo-db/dynamodb-conformance, limits/batchLimits.test.ts.
	maxBatchGet   = 100
	maxBatchWrite = 25
	// batchParallel bounds the requests of one batch that are in flight.
	batchParallel = 8
)

// BatchGet reads any number of items, 100 a request, several requests at a
// time, and returns them by key. A key whose item is missing or expired is not in
// the map. A key may be given twice.
//
// Keys that DynamoDB leaves unprocessed are requested again, within a budget for each
// request: see [Options].MaxAttempts. Then the error says which keys remain, and no items
// are returned.
//
// Seen: nubo-db/dynamodb-conformance, limits/batchLimits.test.ts.
func BatchGet[T any](ctx context.Context, t *Table, ks []keys.Key) (map[keys.Key]T, error) {
	chunks, remaining, err := t.batchGet(ctx, ks, func() *items { return into(new([]T)) })
	if err != nil {
		return nil, &Error{Op: "BatchGet", Name: t.ofType, Table: t.schema.Name, Remaining: remaining, Err: explain(err)}
	}
	found := make(map[keys.Key]T, len(ks))
	for _, chunk := range chunks {
		for i, v := range valuesOf[T](chunk) {
			found[chunk.places[i].at.key] = v
		}
	}
	return found, nil
}

// batchGet reads items, in chunks of which each is made by chunk. After an error it returns
// the keys that remain.
func (t *Table) batchGet(ctx context.Context, ks []keys.Key, chunk func() *items) (chunks []*items, remaining []keys.Key, err error) {
	first := make(map[keys.Key]int, len(ks))
	unique := make([]keys.Key, 0, len(ks))
	for i, k := range ks {
		if err := t.checkKey(k); err != nil {
			return nil, nil, getError(i, k, err)
		}
		if _, twice := first[k]; !twice {
			first[k] = i
			unique = append(unique, k)
		}
	}
	p, err := t.projection()
	if err = cmp.Or(err, chunk().of(t).setExtent(p.extent)); err != nil {
		return nil, nil, err // of all keys: nothing is sent, so none of them remains
	}
	var mu sync.Mutex
	remaining, err = inChunks(ctx, unique, maxBatchGet, func(ctx context.Context, ks []keys.Key) ([]keys.Key, error) {
		items := chunk().of(t).in("")
		items.placed, items.extent = true, p.extent
		remaining, err := t.batchGetChunk(ctx, ks, items, p)
		mu.Lock()
		defer mu.Unlock()
		chunks = append(chunks, items)
		return remaining, err
	})
	if err != nil {
		return nil, remaining, err
	}
	return chunks, nil, firstRefused(chunks, first)
}

// firstRefused returns the error of the item that is no value and whose key is the
// first one of a call, or nil. numbers has the number of each key.
func firstRefused(chunks []*items, numbers map[keys.Key]int) error {
	var refused *Error
	for _, chunk := range chunks {
		for _, p := range chunk.places {
			if i := numbers[p.at.key]; p.err != nil && (refused == nil || i < refused.OpNumber-1) {
				refused = getError(i, p.at.key, p.err)
			}
		}
	}
	if refused == nil {
		return nil
	}
	return refused
}

// batchGetChunk reads up to 100 different keys and returns those that it could
// not read.
func (t *Table) batchGetChunk(ctx context.Context, ks []keys.Key, items *items, p projection) ([]keys.Key, error) {
	want := types.KeysAndAttributes{
		Keys: make([]map[string]types.AttributeValue, len(ks)), ProjectionExpression: p.expression, ExpressionAttributeNames: p.names,
	}
	if t.consistent {
		want.ConsistentRead = aws.Bool(true)
	}
	for i, k := range ks {
		want.Keys[i] = t.keyItem(k)
	}
	for b := t.budget(ctx); ; {
		in := &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{t.schema.Name: want},
		}
		out, err := call(ctx, t, &request{operation: "BatchGetItem", attempts: &attempts{budget: b}, items: items}, t.api.batchGetItem, in)
		if err != nil {
			return t.keysOf(want.Keys), err
		}
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
		if err := b.wait(ctx); !errors.Is(err, errLate) {
			return err
		}
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
// further one is begun. It returns every key that do returned or that was not begun, and why.
func inChunks(
	ctx context.Context, ks []keys.Key, size int, do func(context.Context, []keys.Key) ([]keys.Key, error),
) (remaining []keys.Key, failed error) {
	var (
		mu  sync.Mutex
		all group.Group
	)
	slots := make(chan struct{}, batchParallel)
	for chunk := range slices.Chunk(ks, size) {
		slots <- struct{}{}
		mu.Lock()
		stop := failed != nil || all.Unwound()
		if stop {
			remaining = append(remaining, chunk...)
		}
		mu.Unlock()
		if stop {
			<-slots
			continue
		}
		all.Go(func() {
			defer func() { <-slots }()
			left, err := do(ctx, chunk)
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			remaining = append(remaining, left...)
			failed = join(failed, explain(err))
		})
	}
	all.Wait()
	return remaining, failed
}

// BatchWrite runs any number of [Put] and [Delete] ops without conditions, 25 a
// request, or as many as have 16 MB of JSON, several requests at a time. It is no transaction: when it fails, part
// of it may have been done, and the error says which keys remain. Ops of another kind and two ops on one item are refused before
// anything is sent.
//
// Writes that DynamoDB leaves unprocessed are sent again, within a budget for each
// request: see [Options].MaxAttempts.
//
// Seen: nubo-db/dynamodb-conformance, limits/batchLimits.test.ts.
func (t *Table) BatchWrite(ctx context.Context, ops ...Op) error {
	if remaining, err := t.batchWrite(ctx, ops); err != nil {
		return &Error{Op: "BatchWrite", Table: t.schema.Name, Remaining: remaining, Err: explain(err)}
	}
	return nil
}

func (t *Table) batchWrite(ctx context.Context, ops []Op) (remaining []keys.Key, err error) {
	requests := make(map[keys.Key]types.WriteRequest, len(ops))
	ks := make([]keys.Key, len(ops))
	for i, op := range ops {
		w, err := t.prepare(&ops[i])
		if err != nil {
			return nil, opError(i, op, err)
		}
		if _, twice := requests[op.key]; twice {
			return nil, opError(i, op, fmt.Errorf("%w: an earlier op is about the same item", errInvalidOp))
		}
		switch {
		case w.condition != nil:
			return nil, opError(i, op, fmt.Errorf("%w: a batch takes no conditions", errInvalidOp))
		case op.verb == verbPut:
			requests[op.key] = types.WriteRequest{PutRequest: &types.PutRequest{Item: w.item}}
		case op.verb == verbDelete:
			requests[op.key] = types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: w.key}}
		default:
			return nil, opError(i, op, fmt.Errorf("%w: a batch takes Put and Delete only", errInvalidOp))
		}
		ks[i] = op.key
	}
	return inChunks(ctx, ks, maxBatchWrite, func(ctx context.Context, chunk []keys.Key) ([]keys.Key, error) {
		want := make([]types.WriteRequest, len(chunk))
		for i, k := range chunk {
			want[i] = requests[k]
		}
		for len(want) > 0 {
			fits := fitting(want)
			if left, err := t.batchWriteChunk(ctx, want[:fits]); err != nil {
				return append(left, t.writtenKeys(want[fits:])...), err
			}
			want = want[fits:]
		}
		return nil, nil
	})
}

// fitting returns how many writes one request can have: an item can be many times as large in
// JSON as DynamoDB counts it.
func fitting(want []types.WriteRequest) int {
	size := 0
	for i, w := range want {
		if w.PutRequest != nil {
			size += jsonItemSize(w.PutRequest.Item)
		}
		if size > maxRequestSize && i > 0 {
			return i
		}
	}
	return len(want)
}

// batchWriteChunk sends up to 25 writes and returns the keys of those that are
// not known to have taken effect.
func (t *Table) batchWriteChunk(ctx context.Context, want []types.WriteRequest) ([]keys.Key, error) {
	for b := t.budget(ctx); ; {
		in := &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{t.schema.Name: want},
		}
		tries := &attempts{budget: b}
		out, err := call(ctx, t, &request{operation: "BatchWriteItem", attempts: tries}, t.api.batchWriteItem, in)
		if err != nil {
			return t.writtenKeys(want), tries.outcome(err)
		}
		left := out.UnprocessedItems[t.schema.Name]
		if len(left) == 0 {
			return nil, nil
		}
		before := len(want)
		//mutants:guard unprocessed writes are sent again as they were before middleware | TestWritesThroughMiddleware | t.sameWrites(want, left) => left
		want = t.sameWrites(want, left)
		if err := b.unprocessed(ctx, before, len(want)); err != nil {
			return t.writtenKeys(want), err
		}
	}
}

// sameWrites returns those of the writes that were left unprocessed. They are as they
// were before middleware changed them, which would change them again.
func (t *Table) sameWrites(sent, left []types.WriteRequest) []types.WriteRequest {
	byKey := make(map[keys.Key]types.WriteRequest, len(sent))
	for i, k := range t.writtenKeys(sent) {
		byKey[k] = sent[i]
	}
	for i, k := range t.writtenKeys(left) {
		if own, ok := byKey[k]; ok {
			left[i] = own
		}
	}
	return left
}

func (t *Table) writtenKeys(requests []types.WriteRequest) []keys.Key {
	ks := make([]keys.Key, len(requests))
	for i, r := range requests {
		switch {
		case r.PutRequest != nil:
			ks[i] = t.KeyOf("", r.PutRequest.Item)
		case r.DeleteRequest != nil:
			ks[i] = t.KeyOf("", r.DeleteRequest.Key)
		}
	}
	return ks
}
