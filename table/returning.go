package table

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

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
	view.views = t.views
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
