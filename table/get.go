package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
)

// Get reads the item under a key. A missing item and an expired one are
// [ErrNotFound], an item that a view made by [Table.OfType] is not for is
// [ErrWrongType], a key that cannot be right is [keys.ErrInvalid] and sends
// nothing.
//
// It costs one read unit for each 4 KB, half of that unless the table is
// [Table.Consistent].
func Get[T any](ctx context.Context, t *Table, key keys.Key) (T, error) {
	v, err := get[T](ctx, t, key)
	if err != nil {
		return v, &Error{Op: "Get", Table: t.schema.Name, Key: key, Err: explain(err)}
	}
	return v, nil
}

func get[T any](ctx context.Context, t *Table, key keys.Key) (T, error) {
	var zero T
	if err := t.checkKey(key); err != nil {
		return zero, err
	}
	item, err := t.getItem(ctx, key, t.consistent)
	if err != nil {
		return zero, err
	}
	if item == nil {
		return zero, ErrNotFound
	}
	v, live, err := read[T](t, item, t.Now())
	if err == nil && !live {
		err = ErrNotFound
	}
	return v, err
}

// getItem reads an item as it is stored, expired or not; nil if there is none.
func (t *Table) getItem(ctx context.Context, key keys.Key, consistent bool) (Item, error) {
	in := &dynamodb.GetItemInput{
		TableName:              t.name,
		Key:                    t.keyItem(key),
		ReturnConsumedCapacity: t.returnCapacity(),
	}
	if consistent {
		in.ConsistentRead = aws.Bool(true)
	}
	out, err := send(ctx, t, request{operation: "GetItem"}, t.client.GetItem, in,
		func(out *dynamodb.GetItemOutput) float64 { return capacity(out.ConsumedCapacity) })
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// maxTransaction is how many items one transaction may touch. AWS: "Service,
// account, and table quotas", Amazon DynamoDB Developer Guide.
const maxTransaction = 100

// TransactGet reads up to 100 items as they were at one moment, at twice the
// read units of a consistent read. It returns those found, in the order of the
// keys, and the keys of those that are missing or expired. The same key may not
// be given twice.
//
// It tries again when DynamoDB cancels the transaction because of a write to
// one of the items.
func TransactGet[T any](ctx context.Context, t *Table, ks []keys.Key) (found []T, absent []keys.Key, err error) {
	fail := func(err error) error {
		return &Error{Op: "TransactGet", Table: t.schema.Name, Err: explain(err)}
	}
	if len(ks) == 0 {
		return nil, nil, nil
	}
	if len(ks) > maxTransaction {
		return nil, nil, fail(fmt.Errorf("%w: %d keys, a transaction has at most %d", ErrTooLarge, len(ks), maxTransaction))
	}
	in := &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: t.returnCapacity()}
	seen := make(map[keys.Key]int, len(ks))
	for i, k := range ks {
		err := t.checkKey(k)
		if first, twice := seen[k]; twice && err == nil {
			err = fmt.Errorf("%w: the same key as op %d", ErrInvalidOp, first)
		}
		if err != nil {
			return nil, nil, fail(&OpError{Op: "Get", Index: i, Key: k, Err: err})
		}
		seen[k] = i
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{
			Get: &types.Get{TableName: t.name, Key: t.keyItem(k)},
		})
	}
	out, err := t.transactGet(ctx, in)
	if err != nil {
		return nil, nil, fail(err)
	}
	now := t.Now()
	for i, r := range out.Responses {
		if i >= len(ks) {
			break
		}
		var v T
		live := false
		if r.Item != nil {
			if v, live, err = read[T](t, r.Item, now); err != nil {
				return nil, nil, fail(&OpError{Op: "Get", Index: i, Key: ks[i], Err: err})
			}
		}
		if live {
			found = append(found, v)
		} else {
			absent = append(absent, ks[i])
		}
	}
	return found, absent, nil
}

func (t *Table) transactGet(ctx context.Context, in *dynamodb.TransactGetItemsInput) (*dynamodb.TransactGetItemsOutput, error) {
	for attempt := 1; ; attempt++ {
		out, err := send(ctx, t, request{operation: "TransactGetItems"}, t.client.TransactGetItems, in,
			func(out *dynamodb.TransactGetItemsOutput) float64 { return capacities(out.ConsumedCapacity) })
		if err == nil && len(out.Responses) != len(in.TransactItems) {
			return nil, fmt.Errorf("%d answers to %d reads", len(out.Responses), len(in.TransactItems))
		}
		cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
		if !ok {
			return out, err
		}
		if !passing(cancelled) || attempt >= t.options.MaxAttempts {
			return nil, reasonsError(cancelled, err)
		}
		if err := wait(ctx, attempt); err != nil {
			return nil, err
		}
	}
}

// reasonsError puts the sentinels of all reasons before the SDK's error.
func reasonsError(cancelled *types.TransactionCanceledException, err error) error {
	all := []error{err}
	for _, r := range cancelled.CancellationReasons {
		if kind := kindOf(aws.ToString(r.Code)); kind != nil {
			all = append(all, kind)
		}
	}
	return errors.Join(all...)
}
