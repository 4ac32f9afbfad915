package repo

import (
	"context"
	"iter"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Repo reads and writes the entities of one type in a table. It is safe for
// concurrent use. Get one from [New].
type Repo[T any] struct{ core core }

// New returns a repository for an entity. A description that is invalid is
// a [*schema.Error] that lists everything that is wrong. A projection and a type of t do
// not count ([table.Table.Project], [table.Table.OfType]), nor does
// [table.Table.IncludingExpired]: a repository reads whole, live entities of its own type.
func New[T any](t *table.Table, entity Entity[T]) (*Repo[T], error) {
	r := new(Repo[T])
	if err := r.core.init(t, describe(entity)); err != nil {
		return nil, err
	}
	return r, nil
}

// View returns the table as the repository reads it: items of other types are
// [table.ErrWrongType], and those of former shapes are upgraded. It is for readers
// that take a table, such as shard.New. [table.Table.OfType] ends both.
//
// A [table.Item] that it has upgraded has the current shape in its shape attribute, so
// that nothing upgrades it again. It is not the item as it is stored: do not give it to
// [Repo.RefreshOps].
//
// By package table, it also reads less than whole entities, into another type than T:
//
//	page, err := table.QueryPage[Summary](ctx, r.View().Project("id", "title"), q)
//
// Into T, a pointer to it, a struct that embeds it, or an interface if T is a map, such reads
// are [table.ErrInvalid], and nothing is sent: a projection, an index that does not project all
// attributes, and a search. A write of such a value would remove what was not read. Nothing tells what a [table.Item] was read of, so do not
// decode a part of an item into T.
func (r *Repo[T]) View() *table.Table {
	if r == nil { // what New returns with an error, which the caller reports
		return nil
	}
	return r.core.reads
}

// Consistent returns a view of the repository whose reads are strongly
// consistent. See [table.Table.Consistent].
func (r *Repo[T]) Consistent() *Repo[T] {
	view := *r
	view.core.reads = r.core.reads.Consistent()
	return &view
}

// Get reads the entity under its key or that of one of its copies. A missing or
// expired one is [table.ErrNotFound], an item of another type
// [table.ErrWrongType].
func (r *Repo[T]) Get(ctx context.Context, key keys.Key) (T, error) {
	return table.Get[T](ctx, r.core.reads, key)
}

// BatchGet reads any number of entities and returns them by key. A key whose entity
// is missing or expired is not in the map. See [table.BatchGet].
func (r *Repo[T]) BatchGet(ctx context.Context, ks []keys.Key) (map[keys.Key]T, error) {
	return table.BatchGet[T](ctx, r.core.reads, ks)
}

// Query reads one page of a query whose items are all entities of this type.
// See [table.QueryPage], and [Collect] and [Stream] for partitions that hold
// several types.
//
// Page.Next is the cursor of the next page, for Query.After. A query of another index, partition,
// direction, Scope or prefix of the Range refuses it as paginate.ErrInvalidCursor. Everything
// else may change from page to page, such as Limit, Filter and the bounds of a time window.
//
// Query.Project, and an index that does not project all attributes, are [table.ErrInvalid]
// here and in the other reads of queries: see [Repo.View] for reads of less.
func (r *Repo[T]) Query(ctx context.Context, q table.Query) (table.Page[T], error) {
	if err := r.core.fail("Query", keys.Key{PK: q.PK}, r.core.checkFilter(q)); err != nil {
		return table.Page[T]{}, err
	}
	return table.QueryPage[T](ctx, r.core.reads, q)
}

// All reads the whole of a query whose items are all entities of this type. The
// error is yielded once, last, and must be looked at: see [table.All].
func (r *Repo[T]) All(ctx context.Context, q table.Query) iter.Seq2[T, error] {
	if err := r.core.fail("All", keys.Key{PK: q.PK}, r.core.checkFilter(q)); err != nil {
		return func(yield func(T, error) bool) { yield(*new(T), err) }
	}
	return table.All[T](ctx, r.core.reads, q)
}

// Count returns how many items of this type a query gives, as Stats.Items, and what
// it took: see [table.Table.Count]. Where copies of an entity are in the partition,
// they count too.
func (r *Repo[T]) Count(ctx context.Context, q table.Query) (table.Stats, error) {
	if err := r.core.fail("Count", keys.Key{PK: q.PK}, r.core.checkFilter(q)); err != nil {
		return table.Stats{}, err
	}
	return r.core.reads.Count(ctx, q)
}

// value returns what v points to, the zero T if there is an error.
func value[T any](v any, err error) (T, error) {
	if err != nil {
		return *new(T), err
	}
	return *v.(*T), nil
}
