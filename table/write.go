package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// Do runs one op by itself. A [Check] costs as much as a transaction, because
// DynamoDB has it as part of one only.
//
// A failed condition is [ErrConditionFailed], and [ErrExists] for a [Create]
// that met an item. If the op has several conditions and DynamoDB does not return the
// item, Do reads it to tell which one failed. If that read fails, the error matches
// ErrConditionFailed and the read's error, and has the class of the latter. If the item
// satisfies all conditions by then, another write came in between: [ErrConflict]. An item over 400 KB is [ErrTooLarge], and other invalid
// input is [ErrInvalid] or [keys.ErrInvalid]; these send nothing, except an
// update that makes a stored item grow over 400 KB, or close to it: see [ErrTooLarge].
//
// A write that meets a transaction is sent again within the budget of a call,
// see [Options].MaxAttempts: up to 10 times, the SDK's retries included.
//
// When the response to a write is lost, the SDK sends it again, and Do finds out
// whether the first attempt took effect: its own work is not reported as a
// failed condition. For that it compares the stored item with its own, so an
// item that serves as a lock must say whose it is. The retry is a write like the
// first, and so can undo what another writer did between the two. The first can be
// delayed and arrive last: a [Create] then brings back an item that was deleted in
// between, and a Put without a condition undoes what was written in between.
//
//   - An update that would count twice, such as an ADD, is not sent again.
//   - After a lost response to a write under a version, the outcome is unknown,
//     since two writers may have written the same. A delete under a version has
//     succeeded if the item is missing.
//   - What cannot be known is [ErrOutcomeUnknown]. As a transaction of one op, a
//     write takes effect once, however often it is sent.
//
// AWS: ConditionCheck and TransactWriteItems, Amazon DynamoDB API Reference. Seen:
// nubo-db/dynamodb-conformance, limits/itemSize.test.ts;
// paritysuite/dynamodb-conformance, limits/itemSizeBySurface.test.ts.
func (t *Table) Do(ctx context.Context, op Op) error {
	if err := t.do(ctx, op); err != nil {
		return t.opFailed(cmp.Or(op.verb, "Do"), op, err)
	}
	return nil
}

// opFailed returns the error of a call that runs one op.
func (t *Table) opFailed(call string, op Op, err error) error {
	e, refused := err.(*Error) //nolint:errorlint // conditionFailed's own
	if !refused {
		e = &Error{Err: explain(err)}
	}
	e.Op, e.Name, e.Table, e.Key = call, op.name, t.schema.Name, op.key
	return e
}

func (t *Table) do(ctx context.Context, op Op) error {
	w, err := t.prepare(&op)
	if err != nil {
		return err
	}
	if op.verb == verbCheck || op.adds != nil {
		return t.transact(ctx, []write{w})
	}
	return t.write(ctx, w, "", nil)
}

// write sends a single write until it is known what came of it. The item that was
// asked for is the only one of items, if there is one.
func (t *Table) write(ctx context.Context, w write, returned types.ReturnValue, items *items) error {
	if err := ended(ctx); err != nil {
		return err
	}
	tries := t.attempts(ctx)
	// An old item is gone after the first attempt.
	//mutants:guard a write that counts is not repeated after a lost response | TestSequence/DoReturning ./suites/schedules
	tries.once = !w.repeatable() || returned == types.ReturnValueAllOld
	for {
		err := t.writeOne(ctx, w, tries, returned, items)
		conflict, failed := (*types.TransactionConflictException)(nil), (*types.ConditionalCheckFailedException)(nil)
		switch {
		case err == nil:
			return nil
		case errors.As(err, &conflict) && tries.fail(false):
			if ended := tries.wait(ctx); ended != nil {
				return tries.outcome(join(ended, err))
			}
		case errors.As(err, &failed):
			stored, err := t.conditionFailed(ctx, w, tries, failed.Item, err)
			if err == nil && items != nil {
				items.begin(0)
				items.takeItem(stored, 0, 0)
			}
			return err
		default:
			return tries.outcome(err)
		}
	}
}

func (t *Table) writeOne(ctx context.Context, w write, tries *attempts, returned types.ReturnValue, items *items) (err error) {
	old := types.ReturnValuesOnConditionCheckFailure("")
	if w.condition != nil {
		old = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	r := &request{attempts: tries, items: items}
	switch w.op.verb {
	case verbUpdate:
		r.operation = "UpdateItem"
		_, err = call(ctx, t, r, t.api.updateItem, &dynamodb.UpdateItemInput{
			TableName: t.name, Key: w.key,
			UpdateExpression: w.update, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
			ReturnValues:                        returned,
			ReturnValuesOnConditionCheckFailure: old,
		})
	case verbDelete:
		r.operation = "DeleteItem"
		_, err = call(ctx, t, r, t.api.deleteItem, &dynamodb.DeleteItemInput{
			TableName: t.name, Key: w.key, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
			ReturnValues:                        returned,
			ReturnValuesOnConditionCheckFailure: old,
		})
	default:
		r.operation = "PutItem"
		_, err = call(ctx, t, r, t.api.putItem, &dynamodb.PutItemInput{
			TableName: t.name, Item: w.item, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
			ReturnValuesOnConditionCheckFailure: old,
		})
	}
	return err
}

// conditionFailed says what a failed condition means. stored is the item that
// made it fail, if the engine returned it. Without an error, the write was
// applied, and the item is the one stored.
//
// Middleware does not decrypt the items of errors. DynamoDB has compared such an item
// with the condition, so it tells the reason. It proves nothing about what was written,
// and the caller does not get it.
func (t *Table) conditionFailed(ctx context.Context, w write, tries *attempts, stored Item, cause error) (Item, error) {
	wrote := w.op.verb == verbPut || w.op.verb == verbCreate || w.op.guard.revision.set
	deletes := w.op.verb == verbDelete && w.op.guard.identifies() && !w.op.condition.IsSet()
	var shown Item
	if !t.mayRewrite {
		shown = stored
	}
	if shown == nil && tries.unsettled && (wrote || deletes) || stored == nil && len(w.op.reasons(nil, &t.schema)) > 1 {
		// Some engines do not return the item that tells which it is.
		item, err := t.readStored(ctx, w.op.key, tries.budget)
		switch {
		case err != nil && tries.unsettled:
			return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, join(cause, err))
		case err != nil:
			return nil, &unexplainedError{cause, explain(err)}
		}
		stored, shown = item, item
	}
	switch {
	case tries.unsettled && deletes && stored == nil:
		return nil, nil // by an earlier attempt, or by another writer
	case tries.unsettled && w.isStored(stored):
		// The condition failed on the work of an earlier attempt.
		return stored, nil
	//mutants:guard a condition that fails after a lost response is unknown | TestRepo/version/Update,_Update$ ./suites/schedules
	case tries.unsettled:
		return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, cause)
	}
	// The sentinel says all that the SDK's text does, which is long and has a request's id.
	kind := t.reason(w.op, stored)
	return nil, &Error{Stored: shown, Err: &withheld{kind.Error(), fmt.Errorf("%w: %w", kind, cause)}}
}

// isStored reports whether the stored item proves that the write was applied. A
// version proves nothing: two writers that count from the same one write the same
// item. A revision is drawn for one write.
func (w *write) isStored(stored Item) bool {
	if attribute := w.op.guard.revision.attribute; attribute != "" {
		own := item.Text(w.written(attribute))
		//mutants:guard only the own revision proves that a write was applied | TestRepo/revision/Save,_Save ./suites/schedules | && own == item.Text(stored[attribute]) =>
		return own != "" && own == item.Text(stored[attribute])
	}
	//mutants:guard a version proves nothing | TestRepo/version/Update,_Update$ ./suites/schedules | return => return w.op.guard.version.set ||
	return w.item != nil && !w.op.guard.version.set && item.SameItem(stored, w.item)
}

// written returns the value that the write gives an attribute, nil if that is
// not known.
func (w *write) written(attribute string) types.AttributeValue {
	if p, ok := w.op.value.(patch); ok {
		return p.set[attribute]
	}
	return w.item[attribute]
}

// repeatable reports whether executing the write twice leads to the same item.
func (w *write) repeatable() bool {
	if _, patches := w.op.value.(patch); patches && w.op.adds == nil {
		return true
	}
	return repeatable(w.update)
}

// repeatable reports whether executing an update expression twice leads to the
// same item: it assigns constants only, and touches no elements of lists, which
// move. Its placeholders are numbers, so its text holds no name or value that
// could deceive.
func repeatable(update *string) bool {
	if update == nil {
		return true
	}
	for _, sign := range []string{"ADD ", "list_append", " + ", " - ", "= #", "["} {
		if strings.Contains(*update, sign) {
			return false
		}
	}
	all := tokens(*update)
	for i, token := range all {
		// SET #0 = if_not_exists(#0, :0)
		if token == "if_not_exists" && (i < 2 || i+2 >= len(all) || all[i-2] != all[i+2]) {
			return false
		}
	}
	return true
}

// DoReturning runs an [Update], [Patch] or [Delete] op and returns the item: as it is
// stored after an update, and as it was before a delete. So a counter's new value or the
// next number of a sequence takes one request, and no two callers get the same:
//
//	c, err := table.DoReturning[Counter](ctx, t, table.Update(key,
//		expression.Add(expression.Name("value"), expression.Value(1))))
//
// The first one creates the item, without a type: see [Update]. An expired item is updated and returned too, unless the op has [Op.IfExists]. A delete of
// a missing item is [ErrNotFound], and so is that of an expired one, which is deleted
// unless a condition such as [Op.IfExists] keeps it.
//
// If the item does not decode into T, that is an error, although the op took effect: do
// not repeat an update that counts. Use [Item] as T if other programs write the items, or
// require the type with [Op.IfType]: a view made by [Table.OfType] does not check it. The
// view of a repository upgrades the item as its reads do.
//
// It costs what [Table.Do] costs. Other errors are those of Do. After a lost response, an
// update that counts, such as an ADD, and a delete are not repeated, and are
// [ErrOutcomeUnknown]: the effect of an ADD cannot be told from that of another caller, and
// the removed item is lost with the response. So a sequence has gaps only where a response
// was lost.
func DoReturning[T any](ctx context.Context, t *Table, op Op) (T, error) {
	var found []T
	if err := t.doReturning(ctx, op, into(&found)); err != nil {
		var zero T
		return zero, t.opFailed("DoReturning", op, err)
	}
	return found[0], nil
}

// doReturning runs an op. The item that DynamoDB returns is then the only one of items.
func (t *Table) doReturning(ctx context.Context, op Op, items *items) error {
	view, values := t.unfiltered(), types.ReturnValueAllNew
	switch op.verb {
	case verbUpdate:
	case verbDelete:
		view, values = t.OfType(""), types.ReturnValueAllOld // which still leaves out an expired one
	default:
		return fmt.Errorf("%w: only an update or a delete returns its item", errInvalidOp)
	}
	view.views, view.withExpired = t.views, op.verb == verbUpdate
	w, err := t.prepare(&op)
	if err != nil {
		return err
	}
	items.of(view)
	err = t.write(ctx, w, values, items)
	switch {
	case err != nil:
		return err
	case items.err == nil && items.count() == 0 && op.verb == verbUpdate:
		return fmt.Errorf("%w: the response has no item", ErrOutcomeUnknown)
	}
	return items.one()
}
