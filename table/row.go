package table

import (
	"context"
	"slices"

	"github.com/singletable/singletable/internal/window"
	"github.com/singletable/singletable/keys"
)

// Row is an item with its place in a query or scan. See [QueryRows].
type Row[T any] struct {
	// Value is the item; the zero value if Err is not nil.
	Value T
	// Key is the item's key in the table, and IndexKey its key in the index that
	// was read; the zero Key without an index, and in one whose keys have several
	// attributes. A number is its decimal text, a binary value its bytes.
	Key, IndexKey keys.Key
	// Size is the approximate size of the item in bytes, as DynamoDB counts it.
	Size int
	// Err is the reason why there is no Value: the item does not fit T, or it is
	// of another type than the view's ([Table.OfType]). It is an [*Error].
	Err error
}

// RowPage is one page of rows.
type RowPage[T any] struct {
	// Rows are in the order of the query.
	Rows []Row[T]
	// Next is the position to continue from: the key attributes of an item in the
	// table and the index. It is nil exactly when DynamoDB reports the end. A page
	// can be empty and still have a Next. AWS: Query, Amazon DynamoDB API Reference.
	Next Item
	// Stats is the cost of the page.
	Stats Stats
}

// ScanRows reads one page of a scan as [ScanPage] does, from a raw position instead
// of a cursor, and without failing for an item that does not fit T: see [QueryRows].
// It is for jobs that walk a table for days and store how far they are. A start
// belongs to the segment that it is of: nothing checks this.
//
// A nil start is the beginning; another one is the Next of an earlier page of the
// same segment. Scan.After must be empty, and Scan.Scope has no meaning.
//
// A scan or a start that is not valid is [ErrInvalid]. Then no request is sent.
func ScanRows[T any](ctx context.Context, t *Table, s Scan, start Item) (RowPage[T], error) {
	var values []T
	p, err := t.scanRows(ctx, s, start, into(&values))
	if err != nil {
		return RowPage[T]{}, t.readError("ScanRows", s.Index, "", err)
	}
	return RowPage[T]{Rows: rowsOf(values, p.places), Next: p.next, Stats: p.stats}, nil
}

func (t *Table) scanRows(ctx context.Context, s Scan, start Item, items *items) (p rowPage, err error) {
	if s.After != "" {
		return p, invalid("After", "is a cursor; rows continue from a start")
	}
	r, err := t.scan(s)
	if err == nil {
		err = r.startAt(start)
	}
	if err != nil {
		return p, err
	}
	return r.rowPage(ctx, items, "ScanRows")
}

// QueryRows reads one page of a query as [QueryPage] does, from a raw position
// instead of a cursor. It is for programs that merge several queries, or that
// walk a partition on the server and must not depend on the lifetime of cursors.
// The position is readable and not bound to the query: keep it away from
// clients, who need the cursors of [QueryPage].
//
// A nil start is the beginning; another one is the Next of an earlier page of
// the same query. Query.After must be empty, and Query.Scope has no meaning.
//
// An item that does not fit T does not fail the page: its row has an Err. Each
// request has the budget of a call, see [Options].MaxAttempts.
//
// A query or a start that is not valid is [ErrInvalid] or [keys.ErrInvalid].
// Then no request is sent.
func QueryRows[T any](ctx context.Context, t *Table, q Query, start Item) (RowPage[T], error) {
	var values []T
	p, err := t.queryRows(ctx, q, start, into(&values))
	if err != nil {
		return RowPage[T]{}, t.readError("QueryRows", q.Index, q.PK, err)
	}
	return RowPage[T]{Rows: rowsOf(values, p.places), Next: p.next, Stats: p.stats}, nil
}

func (t *Table) queryRows(ctx context.Context, q Query, start Item, items *items) (p rowPage, err error) {
	if q.After != "" {
		return p, invalid("After", "is a cursor; rows continue from a start")
	}
	r, err := t.newReader(q)
	if err == nil {
		err = r.startAt(start)
	}
	if err != nil {
		return p, err
	}
	return r.rowPage(ctx, items, "QueryRows")
}

func rowsOf[T any](values []T, places []place) []Row[T] {
	rows := slices.Grow([]Row[T](nil), len(values))
	for i, p := range places {
		rows = append(rows, Row[T]{Value: values[i], Key: p.at.key, IndexKey: p.at.indexKey, Size: p.size, Err: p.err})
	}
	return rows
}

// rowPage is a page of rows, without their values.
type rowPage struct {
	places []place
	next   Item
	stats  Stats
}

// rowPage reads the rows of one page of op.
func (r *reader) rowPage(ctx context.Context, items *items, op string) (p rowPage, err error) {
	items.placed = true
	err = r.read(ctx, items, r.Limit)
	for i, place := range items.places {
		if place.err != nil {
			items.places[i].err = r.t.readError(op, r.Index, "", &itemError{place.at, place.err})
		}
	}
	p.places, p.stats = items.places, r.stats
	if !r.done {
		p.next = r.start
	}
	return p, err
}

// startAt puts the reader at a raw position, which must be one of the query's. Engines
// differ in what they do with another one: some read on in another partition.
func (r *reader) startAt(start Item) error {
	if start == nil {
		return nil
	}
	if len(start) != len(r.keys) {
		return invalid("start", "is not the key of an item in the table and the index")
	}
	for _, a := range r.keys {
		if kind, text := keyText(start[a.Name]); kind != a.Type || !r.holds(a, text) {
			return invalid("start", "key attribute %q is missing, or of a value that it cannot have", a.Name)
		}
	}
	for _, k := range r.fixed {
		if _, text := keyText(start[k.Name]); text != k.text {
			return invalid("start", "is in another partition than the query")
		}
	}
	_, sk := keyText(start[r.ranged.Name])
	if !inRange(r.ranged, r.Range, keys.SK(sk)) {
		return invalid("start", "is outside the query's range")
	}
	// At the end of the range, nothing is sent: an engine can refuse such a start.
	r.start, r.done = start, window.After(r.Range, keys.SK(sk), r.order()) == window.Nothing
	return nil
}
