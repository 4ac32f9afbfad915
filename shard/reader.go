package shard

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// Options adjust a [Reader]. Nil and every zero value mean the default.
type Options[T any] struct {
	// Concurrency bounds the requests of one read that are in flight. By default
	// it is the number of shards, 16 at most.
	Concurrency int
	// Dedupe returns the identity of a value. It is for indexes that hold a value
	// more than once, as when another writer puts the index keys on both copies
	// of an entity. Each value is then returned once. Its copies must have the
	// same sort key; which of them is returned can differ between the two directions.
	// An identity of more than 4,096 bytes is [table.ErrInvalid]. An item with an empty
	// identity is like no other. By default every item is returned.
	Dedupe func(T) string
}

// Query asks for items of a sharded index. The zero value asks for all.
type Query struct {
	// Range narrows the sort keys; by default all of them. For sort keys that
	// begin with a time: keys.None.Since(t), Until(t), Between(a, b).
	Range keys.Range
	// Descending gives the greatest sort key first, which is the newest if sort
	// keys begin with a time. By default the least comes first, as in [table.Query].
	Descending bool
	// Limit is the maximum number of items. Zero means 100 for [Reader.Page], and
	// no limit for [Reader.All].
	Limit int
	// After is the cursor of the page to continue from. Empty means the start.
	//
	// A cursor belongs to its table, index, Prefix, direction, Scope and
	// Range.Prefix. The bounds of the Range may move between pages, as those of
	// the last 24 hours do, by the rules of [table.Query].
	After string
	// Scope is bound into the cursor, as in [table.Query].
	Scope string
}

// Stats is the cost of a read, over all shards and rounds.
type Stats struct {
	table.Stats
	// Rounds is the number of times that shards were asked, in parallel each
	// time.
	Rounds int
}

// Add returns the sum of both, as for a walk over several pages.
func (s Stats) Add(other Stats) Stats {
	return Stats{Stats: s.Stats.Add(other.Stats), Rounds: s.Rounds + other.Rounds}
}

// Page is one page of a query.
type Page[T any] struct {
	// Items are in the order of the query, and never nil in a page that was read.
	Items []T
	// Next is the cursor for [Query].After that gives the next page. It is empty
	// when there is nothing more. The last page can be empty.
	Next string
	// Prev is the cursor that gives the page before, as in [table.Page]. Only
	// [Reader.Page] takes it. It is empty for the first page.
	Prev string
	// Stats is the cost of the page.
	Stats Stats
}

const (
	defaultLimit       = 100
	defaultConcurrency = 16
	// guessedSize is the size of an item in bytes before any was seen, and
	// guessedCopies is how many items there are for a hundred values that take
	// Dedupe.
	guessedSize   = 1024
	guessedCopies = 200
)

// Reader reads a sharded index in order. [New] makes one. It is safe for
// concurrent use.
type Reader[T any] struct {
	table *table.Table
	index Index
	// shards are the partition keys.
	shards []keys.PK
	o      Options[T]
	ties   ties
	// sk is the sort key attribute of the index.
	sk string
	// size is the recent mean size of items in bytes, copies the recent number of
	// items for a hundred values.
	size, copies atomic.Int64
	fractions    fractions
}

// New returns a reader of an index of a table. A view made by
// [table.Table.OfType] refuses items of another type. With [table.Item] as type
// argument the reader returns items as they are stored. An index that does not project all
// attributes, and a projection, are for a type of their own: the view of a repository
// does not read less than whole entities into the entity's type. A consistent view of a global
// index is [table.ErrInvalid] in every read: see [table.Table.Consistent].
//
// An invalid index or option matches [table.ErrInvalid].
func New[T any](t *table.Table, index Index, options *Options[T]) (*Reader[T], error) {
	if t == nil {
		return nil, fmt.Errorf("singletable: %w: the table is nil", errInvalidIndex)
	}
	if err := index.Validate(); err != nil {
		return nil, err
	}
	var o Options[T]
	if options != nil {
		o = *options
	}
	if o.Concurrency < 0 {
		return nil, fmt.Errorf("singletable: %w: Options.Concurrency: %d is negative", errInvalidIndex, o.Concurrency)
	}
	r := &Reader[T]{table: t, index: index, o: o}
	for i := range index.count() {
		r.shards = append(r.shards, index.pk(i))
	}
	switch {
	case !index.NonUniqueSortKeys:
	case o.Dedupe != nil:
		r.ties = byIdentity
	default:
		r.ties = byTableKey
	}
	r.o.Concurrency = cmp.Or(o.Concurrency, min(len(r.shards), defaultConcurrency))
	r.fractions = newFractions(len(r.shards))
	r.size.Store(guessedSize)
	r.copies.Store(100)
	if o.Dedupe != nil {
		r.copies.Store(guessedCopies)
	}
	spec := t.Schema()
	for _, x := range spec.Indexes {
		if x.Name == index.Index && x.SKType == types.ScalarAttributeTypeS && x.PKType == types.ScalarAttributeTypeS {
			r.sk = x.SK
		}
	}
	if r.sk == "" {
		return nil, fmt.Errorf("singletable: %w: table %s has no index %q with a partition key and a sort key of strings",
			errInvalidIndex, spec.Name, index.Index)
	}
	return r, nil
}

// Latest returns the n items with the greatest sort keys, greatest first.
func (r *Reader[T]) Latest(ctx context.Context, n int) ([]T, error) {
	if n < 1 {
		return nil, r.invalid("n", fmt.Sprintf("%d is less than 1", n))
	}
	page, err := r.Page(ctx, Query{Limit: n, Descending: true})
	return page.Items, err
}

// Page reads one page: exactly Limit items, fewer only at the end. If a shard
// fails, the page does: the error is a [*table.Error] whose Name says "shard 3". An
// item that cannot be decoded fails the page that it belongs to.
//
// An invalid query is [table.ErrInvalid] or [keys.ErrInvalid]. A cursor of another
// walk is [paginate.ErrInvalidCursor], with a reason; so is one from before
// NonUniqueSortKeys was changed, or Dedupe together with it. Then no request is
// sent.
func (r *Reader[T]) Page(ctx context.Context, q Query) (Page[T], error) {
	after, at, err := r.start(q)
	switch {
	case err != nil:
		return Page[T]{}, err
	case at.Before:
		return r.pageBefore(ctx, q, *after, at.FromEdge)
	case at.FromEdge:
		after = nil
	}
	m := r.mergeFrom(q, after)
	limit := cmp.Or(q.Limit, defaultLimit)
	rows, page, err := m.page(ctx, limit, limit)
	if err != nil {
		return Page[T]{}, err
	}
	if !m.ended() {
		page.Next, err = r.seal(q, *m.after, paginate.Position{})
	}
	if err == nil && after != nil {
		page.Prev, err = r.sealBack(q, rows, *after, true)
	}
	if err != nil {
		return Page[T]{}, err
	}
	return page, nil
}

// pageBefore reads a page in reverse and turns it round. It reads one item more than
// it returns, which tells whether there is a page before. fromEdge is that of the
// cursor.
func (r *Reader[T]) pageBefore(ctx context.Context, q Query, at rank, fromEdge bool) (Page[T], error) {
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
		if page.Prev, err = r.seal(q, rows[limit-1].rank, paginate.Position{Before: true}); err != nil {
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

// All prefetches firstStride items, then twice as many each time up to about
// strideBytes. A caller that stops early pays for little more than it used, and
// others wait for few rounds.
const (
	firstStride = 100
	strideBytes = 1 << 20
)

// All reads a query to its end, in order, Query.Limit items at most. It keeps the
// items that it has prefetched, so each item is read once. It needs no cursors of
// its own: the caller may take any time between two items.
//
// An error is yielded once, last, with a zero item: bind it, or use
// [table.Collect]. A break sends no further request. Each range over the sequence
// starts again.
func (r *Reader[T]) All(ctx context.Context, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := r.all(ctx, q, yield); err != nil {
			var zero T
			yield(zero, err)
		}
	}
}

// all returns nil when the data or the limit ended or yield wanted no more.
func (r *Reader[T]) all(ctx context.Context, q Query, yield func(T, error) bool) error {
	after, at, err := r.start(q)
	if err == nil && (at.Before || at.FromEdge) {
		err = &paginate.Error{Reason: paginate.Mismatch}
	}
	if err != nil {
		return err
	}
	m := r.mergeFrom(q, after)
	stride := firstStride
	for left := q.Limit; ; {
		n := stride
		if q.Limit > 0 {
			n = min(left, stride)
		}
		if err := m.fill(ctx, n); err != nil {
			return err
		}
		for _, row := range m.take(n) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if row.err != nil {
				return row.err
			}
			if !yield(row.value, nil) {
				return nil
			}
		}
		if left -= n; left == 0 || m.ended() {
			return nil
		}
		if int64(2*stride)*r.size.Load() <= strideBytes {
			stride *= 2
		}
	}
}

func (r *Reader[T]) invalid(field, problem string) error {
	return fmt.Errorf("singletable: %w: %s: %s", errInvalidIndex, field, problem)
}
