package table

import (
	"context"
	"iter"
)

// All reads a query from beginning to end, request by request as it is ranged
// over, Query.Limit items at most.
//
// An error is yielded once, last, with a zero item. A loop that ignores it cannot
// tell a failure from the end of the data: bind it, or use [Collect].
// Breaking off sends no further request. Ranging a second time reads again from
// the start. Each request has the budget of a call, see [Options].MaxAttempts.
func All[T any](ctx context.Context, t *Table, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := all(ctx, t, q, yield); err != nil {
			var zero T
			yield(zero, t.readError("All", q.Index, q.PK, err))
		}
	}
}

// all returns nil when the data or the limit ended or yield wanted no more.
func all[T any](ctx context.Context, t *Table, q Query, yield func(T, error) bool) error {
	r, err := t.query(q)
	if err != nil {
		return err
	}
	rows := rowsOf(r, itself[T])
	for left := q.Limit; !r.done; {
		rows.values = rows.values[:0]
		failed := next(ctx, r, rows, left)
		for _, v := range rows.values {
			if err := ended(ctx); err != nil {
				return err
			}
			if !yield(v, nil) {
				return nil
			}
		}
		if failed != nil {
			return failed
		}
		if q.Limit > 0 {
			if left -= len(rows.values); left == 0 {
				return nil
			}
		}
	}
	return nil
}

// Collect returns the items of a sequence such as that of [All] as a slice, or
// its error and no items.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var items []T
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, nil
}
