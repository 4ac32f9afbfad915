package table

import (
	"cmp"
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
//
// AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
func Get[T any](ctx context.Context, t *Table, key keys.Key) (T, error) {
	var found []T
	if err := t.get(ctx, key, into(&found)); err != nil {
		var zero T
		return zero, &Error{Op: "Get", Name: t.ofType, Table: t.schema.Name, Key: key, Err: explain(err)}
	}
	return found[0], nil
}

// get reads an item, which is then the only one of items.
func (t *Table) get(ctx context.Context, key keys.Key, items *items) error {
	if err := t.checkKey(key); err != nil {
		return err
	}
	in := t.getItemInput(key, t.consistent)
	p, err := t.projection()
	if err = cmp.Or(err, items.of(t).setExtent(p.extent)); err != nil {
		return err
	}
	in.ProjectionExpression, in.ExpressionAttributeNames = p.expression, p.names
	_, err = call(ctx, t, &request{operation: "GetItem", items: items}, t.api.getItem, in)
	if err != nil {
		return err
	}
	return items.one()
}

// readStored reads an item as it is stored, expired or not. A missing item is nil.
func (t *Table) readStored(ctx context.Context, key keys.Key, b *budget) (Item, error) {
	var found []Item
	r := &request{operation: "GetItem", attempts: &attempts{budget: b}, items: into(&found).of(t.unfiltered())}
	if _, err := call(ctx, t, r, t.api.getItem, t.getItemInput(key, true)); err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// unfiltered returns a view whose reads give items of every type, as they are stored,
// expired or not.
func (t *Table) unfiltered() *Table {
	view := *t
	view.ofType, view.views, view.withExpired = "", nil, true
	return &view
}

func (t *Table) getItemInput(key keys.Key, consistent bool) *dynamodb.GetItemInput {
	in := &dynamodb.GetItemInput{
		TableName: t.name,
		Key:       t.keyItem(key),
	}
	if consistent {
		in.ConsistentRead = aws.Bool(true)
	}
	return in
}

// projection is what reads by key ask for: all if it has no expression.
type projection struct {
	expression *string
	names      map[string]string
	extent
}

// projection returns the projection of a read by key.
func (t *Table) projection() (p projection, err error) {
	if len(t.project) == 0 {
		return p, nil
	}
	r := reader{t: t}
	if err := r.setLayout(); err != nil {
		return p, err
	}
	names := map[string]string{}
	_, p.expression, err = r.expressions(names, nil)
	if p.extent = r.extent; p.expression != nil {
		p.names = names
	}
	return p, err
}

// TransactGet reads up to 100 items as they were at one moment, at twice the
// read units of a consistent read, and returns them by key. A key whose item is
// missing or expired is not in the map. The same key may not be given twice.
//
// When DynamoDB cancels the transaction because of a write to one of the items,
// or for lack of capacity, it is sent again within the budget of a call, see
// [Options].MaxAttempts: up to 10 times.
//
// AWS: TransactGetItems, Amazon DynamoDB API Reference. Seen:
// nubo-db/dynamodb-conformance, transactions/transactGet.test.ts.
func TransactGet[T any](ctx context.Context, t *Table, ks []keys.Key) (map[keys.Key]T, error) {
	var values []T
	places, err := t.transactGet(ctx, ks, into(&values))
	if err != nil {
		return nil, &Error{Op: "TransactGet", Name: t.ofType, Table: t.schema.Name, Err: explain(err)}
	}
	found := make(map[keys.Key]T, len(ks))
	for i, p := range places {
		found[ks[p.index]] = values[i]
	}
	return found, nil
}

// transactGet reads items, and returns the place of each: the number of its key.
func (t *Table) transactGet(ctx context.Context, ks []keys.Key, items *items) ([]place, error) {
	if len(ks) == 0 {
		return nil, nil
	}
	p, err := t.projection()
	if err = cmp.Or(err, items.of(t).setExtent(p.extent)); err != nil {
		return nil, err
	}
	in, err := t.transactGetInput(ks, p)
	if err != nil {
		return nil, err
	}
	items.placed = true
	for tries := t.attempts(ctx); ; {
		out, err := call(ctx, t, &request{operation: "TransactGetItems", attempts: tries, items: items}, t.api.transactGetItems, in)
		if err == nil {
			if len(out.Responses) != len(ks) {
				return nil, &smithy.DeserializationError{Err: fmt.Errorf("%d responses to %d reads", len(out.Responses), len(ks))}
			}
			break
		}
		cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
		if !ok {
			return nil, err
		}
		if !passing(cancelled) || !tries.fail(false) {
			return nil, reasonsError(cancelled, err)
		}
		if ended := tries.wait(ctx); ended != nil {
			return nil, join(ended, reasonsError(cancelled, err))
		}
	}
	for _, p := range items.places {
		if p.err != nil {
			return nil, getError(p.index, ks[p.index], p.err)
		}
	}
	return items.places, nil
}

func (t *Table) transactGetInput(ks []keys.Key, p projection) (*dynamodb.TransactGetItemsInput, error) {
	if len(ks) > maxTransaction {
		return nil, fmt.Errorf("%w: %d keys, a transaction has at most %d", ErrTooLarge, len(ks), maxTransaction)
	}
	in := &dynamodb.TransactGetItemsInput{}
	seen := make(map[keys.Key]int, len(ks))
	for i, k := range ks {
		err := t.checkKey(k)
		if first, twice := seen[k]; twice && err == nil {
			err = fmt.Errorf("%w: the same key as op %d", errInvalidOp, first+1)
		}
		if err != nil {
			return nil, getError(i, k, err)
		}
		seen[k] = i
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{
			Get: &types.Get{TableName: t.name, Key: t.keyItem(k), ProjectionExpression: p.expression, ExpressionAttributeNames: p.names},
		})
	}
	return in, nil
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
