package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/keys"
)

// Get reads the item under a key, within the budget of a call, see
// [Options].MaxAttempts. Errors:
//
//   - [ErrNotFound]: the item is missing or has expired.
//   - [ErrWrongType]: the view is for another type, see [Table.OfType].
//   - [keys.ErrInvalid]: the key is invalid; nothing was sent.
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
	rows := newRows[T](t)
	found := ErrNotFound
	rows.begin = func() { found = ErrNotFound }
	rows.take = func(_ int, err error) bool { found = err; return true }
	_, err := receive(ctx, t, request{operation: "GetItem"}, t.client.GetItem, t.getItemInput(key, t.consistent), getItemUnits,
		rows, func(out *dynamodb.GetItemOutput) []map[string]types.AttributeValue {
			return []map[string]types.AttributeValue{out.Item}
		})
	if err != nil {
		return zero, err
	}
	if found != nil {
		return zero, found
	}
	return rows.value, nil
}

// stored reads an item as it is stored, expired or not; nil if there is none.
func (t *Table) stored(ctx context.Context, key keys.Key, b *budget) (Item, error) {
	out, err := send(ctx, t, &request{operation: "GetItem", attempts: &attempts{budget: b}}, t.client.GetItem, t.getItemInput(key, true), getItemUnits)
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

func (t *Table) getItemInput(key keys.Key, consistent bool) *dynamodb.GetItemInput {
	in := &dynamodb.GetItemInput{
		TableName:              t.name,
		Key:                    t.keyItem(key),
		ReturnConsumedCapacity: t.returnCapacity(),
	}
	if consistent {
		in.ConsistentRead = aws.Bool(true)
	}
	return in
}

func getItemUnits(out *dynamodb.GetItemOutput) float64 { return capacity(out.ConsumedCapacity) }

// maxTransaction is how many items one transaction may touch. AWS: "Service,
// account, and table quotas", Amazon DynamoDB Developer Guide.
const maxTransaction = 100

// TransactGet reads up to 100 items as they were at one moment, at twice the
// read units of a consistent read. It returns those found, in the order of the
// keys, and the keys of those that are missing or expired. The same key may not
// be given twice.
//
// When DynamoDB cancels the transaction because of a write to one of the items,
// or for lack of capacity, it is sent again within the budget of a call, see
// [Options].MaxAttempts: up to 10 times.
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
	values, errs := make([]*T, len(ks)), make([]error, len(ks))
	rows := newRows[T](t)
	rows.begin = func() { clear(values); clear(errs) }
	rows.take = func(i int, err error) bool {
		if i < len(ks) {
			values[i], errs[i] = new(rows.value), err
		}
		return true
	}
	if err := t.transactGet(ctx, in, rows); err != nil {
		return nil, nil, fail(err)
	}
	for i, k := range ks {
		switch {
		case errs[i] != nil:
			return nil, nil, fail(&OpError{Op: "Get", Index: i, Key: k, Err: errs[i]})
		case values[i] != nil:
			found = append(found, *values[i])
		default:
			absent = append(absent, k)
		}
	}
	return found, absent, nil
}

func (t *Table) transactGet(ctx context.Context, in *dynamodb.TransactGetItemsInput, into intake) error {
	for tries := t.attempts(ctx); ; {
		out, err := receive(ctx, t, request{operation: "TransactGetItems", attempts: tries}, t.client.TransactGetItems, in,
			func(out *dynamodb.TransactGetItemsOutput) float64 { return capacities(out.ConsumedCapacity) },
			into, transactGetItems)
		if err == nil && len(out.Responses) != len(in.TransactItems) {
			return &smithy.DeserializationError{Err: fmt.Errorf("%d responses to %d reads", len(out.Responses), len(in.TransactItems))}
		}
		cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
		if !ok {
			return err
		}
		if !passing(cancelled) || !tries.fail(false) {
			return reasonsError(cancelled, err)
		}
		if ended := tries.wait(ctx); ended != nil {
			return join(ended, reasonsError(cancelled, err))
		}
	}
}

func transactGetItems(out *dynamodb.TransactGetItemsOutput) []map[string]types.AttributeValue {
	items := make([]map[string]types.AttributeValue, len(out.Responses))
	for i, r := range out.Responses {
		items[i] = r.Item
	}
	return items
}

// reasonsError puts the sentinels of all reasons before the SDK's error.
func reasonsError(cancelled *types.TransactionCanceledException, err error) error {
	var all []error
	for _, r := range cancelled.CancellationReasons {
		if kind := kindOf(aws.ToString(r.Code)); kind != nil {
			all = append(all, kind)
		}
	}
	return join(append(all, err)...)
}
