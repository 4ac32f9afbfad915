package table

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/singletable/singletable/paginate"
)

// direction is what a cursor leads to. It is bound into the cursor, whose text stays
// as long as it was: it is no cursor of another direction.
type direction string

const (
	// forward leads to the items after the position.
	forward direction = ""
	// before leads to the items before the position.
	before direction = "before"
	// fromEnd leads to the last items of the query. It is the Prev of an empty page,
	// after whose position there was nothing.
	fromEnd direction = "end"
	// fromStart leads to the first page. It is the Next of an empty page, before whose
	// position there was nothing.
	fromStart direction = "start"
)

// sealTo makes the cursor of a position for a direction.
func (r *reader) sealTo(to direction, at Item) (string, error) {
	if to == forward || len(r.position) == 0 {
		return r.seal(at)
	}
	other := *r
	other.bound = append(slices.Clone(r.bound), string(to))
	return other.seal(at)
}

// isMismatch reports whether a cursor is not one of the query's, of a direction.
func isMismatch(err error) bool {
	e, ok := errors.AsType[*paginate.Error](err)
	return ok && e.Reason == paginate.Mismatch
}

// turned opens a cursor of another direction than forward. It returns forward for
// any other.
func (t *Table) turned(q Query) (to direction, at Item, err error) {
	cursor := q.After
	q.After = ""
	for _, to := range []direction{before, fromEnd, fromStart} {
		r, err := t.query(q)
		if err != nil {
			return to, nil, err
		}
		r.bound = append(r.bound, string(to))
		if at, err = r.open(cursor); !isMismatch(err) {
			return to, at, err
		}
	}
	return forward, nil, nil
}

// turnedPage reads the page that such a cursor leads to.
func turnedPage[T any](ctx context.Context, t *Table, q Query, to direction, at Item) (Page[T], error) {
	q.After = ""
	r, err := t.query(q)
	if err != nil {
		return Page[T]{}, err
	}
	if to == fromStart {
		return readPage[T](ctx, r, q.Limit)
	}
	reversed := q
	reversed.Descending = !q.Descending
	back, err := t.query(reversed)
	if err == nil && to == before {
		err = back.resumeQuery(reversed, at)
	}
	if err != nil {
		return Page[T]{}, err
	}
	return pageBefore[T](ctx, back, r, min(cmp.Or(q.Limit, defaultLimit), math.MaxInt-1), at)
}

// pageBefore reads a page in reverse, turns it round, and gives it the cursors of r. It
// reads one item more than it returns, which tells whether there is a page before; an
// item there that does not fit T is an error of that page.
func pageBefore[T any](ctx context.Context, back, r *reader, limit int, at Item) (page Page[T], err error) {
	rows := rowsOf(back, itself[T])
	rows.marked = limit
	err = readRows(ctx, back, rows, limit+1)
	more := len(rows.values) > limit
	if _, unfit := errors.AsType[*itemError](err); unfit && len(rows.values) == limit {
		more, err = true, nil
	}
	if err != nil {
		return page, err
	}
	page.Items, page.Stats = rows.values[:min(len(rows.values), limit)], back.stats
	page.Stats.Items = len(page.Items)
	slices.Reverse(page.Items)

	switch {
	case rows.first != nil:
		page.Next, err = r.seal(rows.first)
	case back.done:
		page.Next, err = r.sealTo(fromStart, at)
	default:
		page.Next, err = r.seal(back.start) // all that was read in between is left out
	}
	switch {
	case err != nil:
	case more:
		page.Prev, err = r.sealTo(before, rows.mark)
	case !back.done:
		page.Prev, err = r.sealTo(before, back.start)
	}
	return page, err
}
