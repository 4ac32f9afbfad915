package shard

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/singletable/singletable/paginate"
)

// direction is what a cursor leads to. It is bound into the cursor, as in package
// table.
type direction string

const (
	// forward leads to the items after the position.
	forward direction = ""
	// before leads to the items before the position.
	before direction = "before"
	// fromEnd leads to the last items, and is the Prev of an empty page.
	fromEnd direction = "end"
	// fromStart leads to the first page, and is the Next of an empty page.
	fromStart direction = "start"
)

// isMismatch reports whether a cursor is not one of the query's, of a direction.
func isMismatch(err error) bool {
	e, ok := errors.AsType[*paginate.Error](err)
	return ok && e.Reason == paginate.Mismatch
}

// turned opens a cursor of another direction than forward. It returns forward for
// any other.
func (r *Reader[T]) turned(q Query) (to direction, at position, err error) {
	for _, to := range []direction{before, fromEnd, fromStart} {
		if at, err = r.open(q, to); !isMismatch(err) {
			return to, at, err
		}
	}
	return forward, position{}, nil
}

// pageBefore reads a page in reverse and turns it round. It reads one item more than
// it returns, which tells whether there is a page before.
func (r *Reader[T]) pageBefore(ctx context.Context, q Query, to direction, at position) (Page[T], error) {
	limit := min(cmp.Or(q.Limit, defaultLimit), math.MaxInt-1)
	q.After = ""
	reversed, after := q, &at
	reversed.Descending = !q.Descending
	if to == fromEnd {
		after = nil
	}
	rows, page, err := r.mergeFrom(reversed, after).page(ctx, limit+1, limit)
	if err != nil {
		return Page[T]{}, err
	}
	if len(rows) > limit {
		if page.Prev, err = r.seal(q, before, rows[limit-1].position); err != nil {
			return Page[T]{}, err
		}
		rows = rows[:limit]
	}
	slices.Reverse(page.Items)
	if len(rows) > 0 {
		page.Next, err = r.seal(q, forward, rows[0].position)
	} else {
		page.Next, err = r.seal(q, fromStart, at)
	}
	if err != nil {
		return Page[T]{}, err
	}
	return page, nil
}
