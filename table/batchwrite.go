package table

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
)

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
		out, err := send(ctx, t, &request{operation: "BatchWriteItem", attempts: tries}, t.client.BatchWriteItem, in)
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
