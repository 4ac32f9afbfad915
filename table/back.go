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
func (r *reader) turnedPage(ctx context.Context, items *items, at Item, position paginate.Position) (page, error) {
	if !position.Before {
		return r.page(ctx, items)
	}
	q := r.Query
	q.Descending = !q.Descending
	back, err := r.t.query(q)
	if err == nil && !position.FromEdge {
		err = back.resumeQuery(at)
	}
	if err != nil {
		return page{}, err
	}
	return r.pageBefore(ctx, back, items, min(cmp.Or(q.Limit, defaultLimit), math.MaxInt-1), at)
}

// pageBefore reads a page of back, which goes the other way, and gives it the cursors
// of r. It reads one item more than the page has, which tells whether there is a page
// before; an item there that does not fit T is an error of that page.
func (r *reader) pageBefore(ctx context.Context, back *reader, items *items, limit int, at Item) (p page, err error) {
	items.noted = map[int]Item{1: nil, limit: nil}
	err = back.read(ctx, items, limit+1)
	more := items.count() > limit
	if _, unfit := errors.AsType[*itemError](err); unfit && items.count() == limit {
		more, err = true, nil
	}
	if err != nil {
		return p, err
	}
	items.values.SetLen(min(items.count(), limit))
	p.stats, p.reversed = back.stats, true
	p.stats.Items = items.count()

	switch {
	case items.noted[1] != nil:
		p.next, err = r.seal(items.noted[1], paginate.Position{})
	case back.done:
		p.next, err = r.seal(at, paginate.Position{FromEdge: true})
	default:
		p.next, err = r.seal(back.start, paginate.Position{}) // all that was read in between is left out
	}
	switch {
	case err != nil:
	case more:
		p.prev, err = r.seal(items.noted[limit], paginate.Position{Before: true})
	case !back.done:
		p.prev, err = r.seal(back.start, paginate.Position{Before: true})
	}
	return p, err
}
