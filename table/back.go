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
func (t *Table) turnedPage(ctx context.Context, q Query, rows *rows, to direction, at Item) (page, error) {
	q.After = ""
	r, err := t.query(q)
	if err != nil {
		return page{}, err
	}
	if to == fromStart {
		return r.page(ctx, rows, q.Limit)
	}
	reversed := q
	reversed.Descending = !q.Descending
	back, err := t.query(reversed)
	if err == nil && to == before {
		err = back.resumeQuery(reversed, at)
	}
	if err != nil {
		return page{}, err
	}
	return r.pageBefore(ctx, back, rows, min(cmp.Or(q.Limit, defaultLimit), math.MaxInt-1), at)
}

// pageBefore reads a page of back, which goes the other way, and gives it the cursors
// of r. It reads one item more than the page has, which tells whether there is a page
// before; an item there that does not fit T is an error of that page.
func (r *reader) pageBefore(ctx context.Context, back *reader, rows *rows, limit int, at Item) (p page, err error) {
	rows.marked = limit
	err = back.read(ctx, rows, limit+1)
	more := rows.count > limit
	if _, unfit := errors.AsType[*itemError](err); unfit && rows.count == limit {
		more, err = true, nil
	}
	if err != nil {
		return p, err
	}
	rows.cut(min(rows.count, limit))
	p.stats, p.reversed = back.stats, true
	p.stats.Items = rows.count

	switch {
	case rows.first != nil:
		p.next, err = r.seal(rows.first)
	case back.done:
		p.next, err = r.sealTo(fromStart, at)
	default:
		p.next, err = r.seal(back.start) // all that was read in between is left out
	}
	switch {
	case err != nil:
	case more:
		p.prev, err = r.sealTo(before, rows.mark)
	case !back.done:
		p.prev, err = r.sealTo(before, back.start)
	}
	return p, err
}
