package table

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/window"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
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
	r, err := t.newReader(q)
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

// page is a page of items, in reverse if reversed is set, without these.
type page struct {
	next, prev string
	stats      Stats
	reversed   bool
}

// defaultLimit is the Limit of a page that gives none.
const defaultLimit = 100

func (r *reader) page(ctx context.Context, items *items) (p page, err error) {
	walking := r.input != nil && r.after != nil
	if walking {
		items.noted = map[int]Item{1: nil}
	}
	if err := r.read(ctx, items, r.Limit); err != nil {
		return p, err
	}
	p.stats = r.stats
	if !r.done && len(r.startAttributes) > 0 { // without a sort key there is one item at most
		p.next, err = r.seal(r.start, paginate.Position{})
	}
	if err != nil || !walking {
		return p, err
	}
	switch {
	case items.noted[1] != nil:
		p.prev, err = r.seal(items.noted[1], paginate.Position{Before: true})
	case r.done:
		p.prev, err = r.seal(r.after, paginate.Position{Before: true, FromEdge: true})
	default:
		p.prev, err = r.seal(r.start, paginate.Position{Before: true})
	}
	return p, err
}

// seal makes the cursor of a position, whose values are given as a start key.
func (r *reader) seal(start Item, position paginate.Position) (string, error) {
	position.Values = make([]paginate.Value, len(r.startAttributes))
	for i, a := range r.startAttributes {
		kind, text := keyText(start[a.Name])
		if kind != a.Type {
			return "", fmt.Errorf("the item at the end of the page lacks key attribute %q", a.Name)
		}
		position.Values[i] = paginate.Value{Kind: kind[0], Data: text}
	}
	return r.t.options.Cursors.Seal(position, r.cursorScope())
}

// open returns the position of a cursor, with its values as a start key. They may have
// been forged if the codec does not seal, so all that DynamoDB would refuse in them is
// refused here.
func (r *reader) open(cursor string) (start Item, position paginate.Position, err error) {
	position, err = r.t.options.Cursors.Open(cursor, r.cursorScope())
	if err != nil {
		return nil, position, err
	}
	if len(position.Values) != len(r.startAttributes) {
		return nil, position, &paginate.Error{Reason: paginate.Malformed}
	}
	start = make(Item, len(r.startAttributes)+len(r.fixed))
	for i, a := range r.startAttributes {
		v := position.Values[i]
		if types.ScalarAttributeType(v.Kind) != a.Type || !r.holds(a, v.Data) {
			return nil, position, &paginate.Error{Reason: paginate.Malformed}
		}
		start[a.Name] = keyValue(a.Type, v.Data)
	}
	return start, position, nil
}

// openNext is open for a cursor that must lead to what comes after its position.
func (r *reader) openNext(cursor string) (Item, error) {
	start, position, err := r.open(cursor)
	if err == nil && (position.Before || position.FromEdge) {
		err = &paginate.Error{Reason: paginate.Mismatch}
	}
	return start, err
}

// holds reports whether the key attribute of a stored item can have the value.
func (r *reader) holds(a schema.Attribute, text string) bool {
	if a.Type == types.ScalarAttributeTypeN {
		return item.StorableNumber(text)
	}
	limit := keys.MaxSK
	if !slices.Contains(r.sort, a) && (slices.Contains(r.partition, a) || a.Name == r.t.schema.PK) {
		limit = keys.MaxPK
	}
	return text != "" && len(text) <= limit && (a.Type != types.ScalarAttributeTypeS || utf8.ValidString(text))
}

// cursorScope returns the hash of everything that a cursor is bound to. The rest
// of a query may change from page to page; see [Query].
func (r *reader) cursorScope() []byte {
	h := sha256.New()
	text := func(fields ...string) {
		for _, f := range fields {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
			h.Write([]byte(f))
		}
	}
	text("singletable cursor 1", r.t.schema.Name, r.Index, r.Scope)
	text(r.bound...)
	if r.scan != nil {
		text(r.partition[0].Name, string(r.partition[0].Type))
	}
	for _, k := range r.fixed {
		text(k.Name, string(k.Type))
	}
	for _, a := range r.startAttributes {
		text(a.Name, string(a.Type))
	}
	return h.Sum(nil)
}

// resumeQuery puts the reader at the position of the query's cursor. The partition
// comes from the query and never from the cursor, so no cursor leads into another
// partition; some engines would follow it there.
func (r *reader) resumeQuery(at Item) error {
	r.after = at
	_, text := keyText(at[r.ranged.Name])
	switch window.After(r.Range, keys.SK(text), r.order()) {
	case window.Other:
		return &paginate.Error{Reason: paginate.OutOfRange}
	case window.Nothing:
		r.done = true
	case window.Whole:
		// DynamoDB refuses a start key outside of the range. Seen:
		// architect/dynalite, test/query.js.
	case window.Part:
		for _, k := range r.fixed {
			at[k.Name] = k.value()
		}
		r.start = at
	}
	return nil
}

// turnedPage reads the page that a cursor leads to, which does not lead to what comes
// after its position.
func (r *reader) turnedPage(ctx context.Context, items *items, at Item, position paginate.Position) (page, error) {
	if !position.Before {
		return r.page(ctx, items)
	}
	q := r.Query
	q.Descending = !q.Descending
	back, err := r.t.newReader(q)
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
