package table

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/singletable/singletable/paginate"
)

// turnedPage reads the page that a cursor leads to, which does not lead to what comes
// after its position.
func (r *reader) turnedPage(ctx context.Context, q Query, rows *rows, at Item, position paginate.Position) (page, error) {
	if !position.Before {
		return r.page(ctx, rows, q.Limit)
	}
	q.Descending = !q.Descending
	back, err := r.t.query(q)
	if err == nil && !position.FromEdge {
		err = back.resumeQuery(q, at)
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
		p.next, err = r.seal(rows.first, paginate.Position{})
	case back.done:
		p.next, err = r.seal(at, paginate.Position{FromEdge: true})
	default:
		p.next, err = r.seal(back.start, paginate.Position{}) // all that was read in between is left out
	}
	switch {
	case err != nil:
	case more:
		p.prev, err = r.seal(rows.mark, paginate.Position{Before: true})
	case !back.done:
		p.prev, err = r.seal(back.start, paginate.Position{Before: true})
	}
	return p, err
}
