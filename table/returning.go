package table

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// UpdateReturning runs an [Update] or [Patch] op and returns the item as it is
// stored after it. So a counter's new value or the next number of a sequence
// takes one request, and no two callers get the same:
//
//	c, err := table.UpdateReturning[Counter](ctx, t, table.Update(key,
//		expression.Add(expression.Name("value"), expression.Value(1))))
//
// It costs what [Table.Do] costs. Errors are those of Do. After a lost
// response, an update that counts, such as an ADD, is not repeated but
// [ErrOutcomeUnknown]: its effect cannot be told from that of another caller.
// So a sequence has gaps only where a response was lost.
//
// If the item does not decode into T, that is an error, although the update was
// applied: do not repeat an update that counts. Use [Item] as T if other
// programs write the items, or require the type with [Op.IfType].
//
// An expired item is updated and returned too, unless the op has [Op.IfExists].
func UpdateReturning[T any](ctx context.Context, t *Table, op Op) (T, error) {
	var stored []T
	items := into(&stored).of(t.unfiltered(), share{})
	if err := t.returning(ctx, "UpdateReturning", op, verbUpdate, types.ReturnValueAllNew, items); err != nil {
		var zero T
		return zero, err
	}
	return stored[0], nil
}

// DeleteReturning runs a [Delete] op and returns the item as it was. A missing
// item is [ErrNotFound]. So is an expired item, which is deleted unless a
// condition such as [Op.IfExists] keeps it.
//
// If the item does not decode into T, that is an error, although it was
// deleted. Use [Item] as T if other programs write the items, or require the
// type with [Op.IfType]: a view made by [Table.OfType] does not check it.
//
// It costs what [Table.Do] costs. Other errors are those of Do. After a lost
// response the delete is not repeated, since the removed item is lost with the
// response. The error is [ErrOutcomeUnknown].
func DeleteReturning[T any](ctx context.Context, t *Table, op Op) (T, error) {
	var deleted []T
	items := into(&deleted).of(t.OfType(""), share{}) // which still leaves out an expired one
	if err := t.returning(ctx, "DeleteReturning", op, verbDelete, types.ReturnValueAllOld, items); err != nil {
		var zero T
		return zero, err
	}
	return deleted[0], nil
}

// returning runs an op. The item that DynamoDB returns is then the only one of items, if
// there is one.
func (t *Table) returning(ctx context.Context, operation string, op Op, verb string, values types.ReturnValue, items *items) (err error) {
	defer func() {
		if err != nil {
			err = t.opFailed(operation, op, err)
		}
	}()
	if op.verb != verb {
		return fmt.Errorf("%w: %s takes ops of %s only", errInvalidOp, operation, verb)
	}
	w, err := t.prepare(&op)
	if err != nil {
		return err
	}
	err = t.write(ctx, w, values, items)
	switch {
	case err != nil:
		return err
	case items.err == nil && items.count() == 0 && verb == verbUpdate:
		return fmt.Errorf("%w: the response has no item", ErrOutcomeUnknown)
	}
	return items.one()
}
