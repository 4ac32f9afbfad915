package shard

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Options adjust a [Reader]. Nil and every zero value mean the default.
type Options[T any] struct {
	// Concurrency bounds the requests of one read that are under way; the
	// number of shards by default, and 16 if there are more.
	Concurrency int
	// Dedupe returns what identifies a value, for indexes that hold it more than
	// once, as when another writer put the index keys on both placements of an
	// entity. Of several values with the same identity the first is returned.
	// They must have the same sort key. By default nothing is left out.
	Dedupe func(T) string
}

// Query asks for items of a sharded index. The zero value asks for all, newest
// first.
type Query struct {
	// Range narrows the sort keys; by default all of them. For sort keys that
	// begin with a time: keys.None.Since(t), Until(t), Between(a, b).
	Range keys.Range
	// OldestFirst gives the least sort key first; by default the greatest comes
	// first, which is the newest if sort keys begin with a time.
	OldestFirst bool
	// Limit is how many items the caller gets at most. Zero means 100 for
	// [Reader.Page], and all of them for [Reader.All].
	Limit int
	// After is the token of the page to go on from; from the start by default.
	After string
	// Scope is bound into the token, as in [table.Query].
	Scope string
}

// Stats says what a read cost, over all shards and rounds.
type Stats struct {
	table.Stats
	// Rounds is how often shards were asked, in parallel each time.
	Rounds int
}

// Add returns the sum of the two, as for a walk over several pages.
func (s Stats) Add(other Stats) Stats {
	return Stats{Stats: s.Stats.Add(other.Stats), Rounds: s.Rounds + other.Rounds}
}

// Page is one page of a query.
type Page[T any] struct {
	// Items are in the order of the query.
	Items []T
	// Next is the token for [Query].After that gives the next page; empty when
	// there is nothing more. The last page can be empty.
	Next string
	// Stats is what the page cost.
	Stats Stats
}

// Error names the shard that made a read fail.
type Error struct {
	// Index and Shard are the table's index and the shard's label.
	Index, Shard string
	// Err is the cause; never nil.
	Err error
}

// Error names the shard and the cause.
func (e *Error) Error() string {
	return fmt.Sprintf("shard %q of index %s: %v", e.Shard, e.Index, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

const (
	defaultLimit       = 100
	defaultConcurrency = 16
	// guessedSize is the size of an item in bytes before any was seen, and
	// guessedCopies is how many items there are for a hundred values that take
	// Dedupe.
	guessedSize   = 1024
	guessedCopies = 200
)

// Reader reads a sharded index in order. It is safe for concurrent use. Get one
// from [New].
type Reader[T any] struct {
	table  *table.Table
	index  Index
	labels []string
	o      Options[T]
	// sk, tablePK and tableSK are the attributes that order the items.
	sk, tablePK, tableSK string
	// size is the mean size of the items seen lately, in bytes, and copies how
	// many of them there were for a hundred values.
	size, copies atomic.Int64
}

// New returns a reader of an index of a table. To have items of another type
// refused, give it a view made by [table.Table.OfType]. With [table.Item] as
// type argument it returns items as they are stored.
//
// What cannot be right matches [ErrInvalidIndex].
func New[T any](t *table.Table, index Index, options *Options[T]) (*Reader[T], error) {
	if t == nil {
		return nil, fmt.Errorf("singletable: %w: the table is nil", ErrInvalidIndex)
	}
	if err := index.Validate(); err != nil {
		return nil, err
	}
	var o Options[T]
	if options != nil {
		o = *options
	}
	if o.Concurrency < 0 {
		return nil, fmt.Errorf("singletable: %w: Options.Concurrency: %d is negative", ErrInvalidIndex, o.Concurrency)
	}
	r := &Reader[T]{table: t, index: index, o: o}
	for i := range index.count() {
		r.labels = append(r.labels, index.label(i))
	}
	r.o.Concurrency = cmp.Or(o.Concurrency, min(len(r.labels), defaultConcurrency))
	r.size.Store(guessedSize)
	r.copies.Store(100)
	if o.Dedupe != nil {
		r.copies.Store(guessedCopies)
	}
	schema := t.Schema()
	r.tablePK, r.tableSK = schema.PK, schema.SK
	for _, x := range schema.Indexes {
		if x.Name == index.Index && x.SKType == types.ScalarAttributeTypeS && x.PKType == types.ScalarAttributeTypeS {
			r.sk = x.SK
		}
	}
	if r.sk == "" {
		return nil, fmt.Errorf("singletable: %w: table %s has no index %q with a partition key and a sort key of strings",
			ErrInvalidIndex, schema.Name, index.Index)
	}
	return r, nil
}

// Latest returns the n items with the greatest sort keys, greatest first.
func (r *Reader[T]) Latest(ctx context.Context, n int) ([]T, error) {
	if n < 1 {
		return nil, r.invalid("n", fmt.Sprintf("%d is less than 1", n))
	}
	page, err := r.Page(ctx, Query{Limit: n})
	return page.Items, err
}

// Page reads one page: exactly Limit items, fewer only at the end. If a shard
// fails, the page does: the error is an [*Error] that names it.
//
// A query that cannot be right is [ErrInvalidIndex] or [keys.ErrInvalid], a
// token that is not one of this query's is [paginate.ErrInvalidCursor]; neither
// sends anything.
func (r *Reader[T]) Page(ctx context.Context, q Query) (Page[T], error) {
	limit := cmp.Or(q.Limit, defaultLimit)
	m, err := r.merge(q)
	if err != nil {
		return Page[T]{}, err
	}
	if err := m.fill(ctx, limit); err != nil {
		return Page[T]{}, err
	}
	var page Page[T]
	for _, row := range m.take(limit) {
		v, err := m.value(row)
		if err != nil {
			return Page[T]{}, err
		}
		page.Items = append(page.Items, v)
	}
	page.Stats = m.stats
	page.Stats.Items = len(page.Items)
	if !m.ended() {
		if page.Next, err = m.token(); err != nil {
			return Page[T]{}, err
		}
	}
	return page, nil
}

// All reads as many items ahead as firstStride, then twice as many each time, as
// long as they are about strideBytes together: those who stop soon pay for
// little more than they got, and others wait for few rounds.
const (
	firstStride = 100
	strideBytes = 1 << 20
)

// All reads a query to its end, in order, Query.Limit items at most. What it
// has read from the shards is kept, so that every item is read once.
//
// An error is yielded once, last, beside a zero item: bind it, or use
// [table.Collect]. Breaking off sends no further request. Ranging a second time
// reads again from the start.
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
	m, err := r.merge(q)
	if err != nil {
		return err
	}
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
			v, err := m.value(row)
			if err != nil {
				return err
			}
			if !yield(v, nil) {
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
	return fmt.Errorf("singletable: %w: %s: %s", ErrInvalidIndex, field, problem)
}
