package table

import (
	"context"
	"iter"
	"slices"
)

// Page is one page of a query.
type Page[T any] struct {
	// Items are in the order of the query. They are never nil in a page that was read: an
	// empty page is [] in JSON.
	Items []T
	// Next is the cursor for [Query].After that gives the next page. It is empty
	// exactly when DynamoDB says that there is nothing more. DynamoDB stops at
	// a limit without looking further, so the last page can be empty. AWS: "Paginating
	// table query results in DynamoDB", Amazon DynamoDB Developer Guide.
	Next string
	// Prev is the cursor for [Query].After that gives the page before: the Limit
	// items before the first one of this page, in the order of the query. Only
	// [QueryPage] takes it. It is empty for the first page and for scans.
	//
	// A walk back gives the same pages as the walk forward if no item was added or
	// removed. Otherwise it gives each item at most once, and all that have stayed.
	Prev string
	// Stats is what the page cost.
	Stats Stats
}

// QueryPage reads one page of a query. It continues until the page is full or the
// data ends, in at most Options.MaxRounds requests: a page that is short or empty
// for that reason has a Next. Each request has the budget of a call, see
// [Options].MaxAttempts.
//
// An invalid query is [ErrInvalid] or [keys.ErrInvalid], a cursor that is not
// one of this query's is [paginate.ErrInvalidCursor]; neither sends anything.
func QueryPage[T any](ctx context.Context, t *Table, q Query) (Page[T], error) {
	var items []T
	p, err := t.queryPage(ctx, q, into(&items))
	if err != nil {
		return Page[T]{}, t.readError("QueryPage", q.Index, q.PK, err)
	}
	if p.reversed {
		slices.Reverse(items)
	}
	return Page[T]{Items: items, Next: p.next, Prev: p.prev, Stats: p.stats}, nil
}

func (t *Table) queryPage(ctx context.Context, q Query, items *items) (page, error) {
	cursor := q.After
	q.After = "" // query opens one that leads on
	r, err := t.query(q)
	if err != nil {
		return page{}, err
	}
	if cursor == "" {
		return r.page(ctx, items)
	}
	at, position, err := r.open(cursor)
	if err != nil {
		return page{}, err
	}
	if position.Before || position.FromEdge {
		return r.turnedPage(ctx, items, at, position)
	}
	if err := r.resumeQuery(at); err != nil {
		return page{}, err
	}
	return r.page(ctx, items)
}

// All reads a query from beginning to end, request by request as it is ranged
// over, Query.Limit items at most.
//
// An error is yielded once, last, with a zero item. A loop that ignores it cannot
// tell a failure from the end of the data: bind it, or use [Collect].
// Breaking off sends no further request. Ranging a second time reads again from
// the start. Each request has the budget of a call, see [Options].MaxAttempts.
func All[T any](ctx context.Context, t *Table, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var items []T
		err := t.all(ctx, q, into(&items), func(i int) bool { return yield(items[i], nil) })
		if err != nil {
			var zero T
			yield(zero, t.readError("All", q.Index, q.PK, err))
		}
	}
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
