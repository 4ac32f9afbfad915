package shard

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/singletable/singletable/paginate"
)

// pageBefore reads a page in reverse and turns it round. It reads one item more than
// it returns, which tells whether there is a page before. fromEdge is that of the
// cursor.
func (r *Reader[T]) pageBefore(ctx context.Context, q Query, at position, fromEdge bool) (Page[T], error) {
	limit := min(cmp.Or(q.Limit, defaultLimit), math.MaxInt-1)
	q.After = ""
	reversed, after := q, &at
	reversed.Descending = !q.Descending
	if fromEdge {
		after = nil
	}
	rows, page, err := r.mergeFrom(reversed, after).page(ctx, limit+1, limit)
	if err != nil {
		return Page[T]{}, err
	}
	if len(rows) > limit {
		if page.Prev, err = r.seal(q, rows[limit-1].position, paginate.Position{Before: true}); err != nil {
			return Page[T]{}, err
		}
		rows = rows[:limit]
	}
	slices.Reverse(page.Items)
	if page.Next, err = r.sealBack(q, rows, at, false); err != nil {
		return Page[T]{}, err
	}
	return page, nil
}
