package table

import (
	"context"
	"iter"
)

// All reads a query from beginning to end, request by request as it is ranged
// over, Query.Limit items at most.
//
// An error is yielded once, last, beside a zero item: a loop that does not look
// at it takes a failure for the end of the data. Bind it, or use [Collect].
// Breaking off sends no further request. Ranging a second time reads again from
// the start.
func All[T any](ctx context.Context, t *Table, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := all(ctx, t, q, yield); err != nil {
			var zero T
			yield(zero, t.queryError("All", q, err))
		}
	}
}

// all returns nil when the data or the limit ended or yield wanted no more.
func all[T any](ctx context.Context, t *Table, q Query, yield func(T, error) bool) error {
	r, err := t.query(q)
	if err != nil {
		return err
	}
	var values []T
	for given := 0; !r.done; {
		var failed error
		values, failed = next(ctx, r, max(q.Limit-given, 0), values[:0])
		for _, v := range values {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !yield(v, nil) {
				return nil
			}
		}
		if failed != nil {
			return failed
		}
		if given += len(values); given == q.Limit {
			return nil
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
