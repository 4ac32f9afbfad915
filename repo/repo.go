package repo

import (
	"context"
	"iter"
	"slices"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Repo reads and writes the entities of one type in a table. It is safe for
// concurrent use. Get one from [New].
type Repo[T any] struct{ core core }

// New returns a repository for an entity. A description that is invalid is
// an [*EntityError] that lists everything that is wrong.
func New[T any](t *table.Table, entity Entity[T]) (*Repo[T], error) {
	r := new(Repo[T])
	if err := r.core.init(t, describe(entity)); err != nil {
		return nil, err
	}
	return r, nil
}

// Type returns the entity's type, "" of a nil repository.
func (r *Repo[T]) Type() string {
	if r == nil {
		return ""
	}
	return r.core.entity.Type
}

// View returns the table as the repository reads it: items of other types are
// [table.ErrWrongType], and those of former shapes are upgraded. It is for readers
// that take a table, such as shard.New. [table.Table.OfType] ends both.
func (r *Repo[T]) View() *table.Table { return r.core.reads }

// Consistent returns a view of the repository whose reads are strongly
// consistent. See [table.Table.Consistent].
func (r *Repo[T]) Consistent() *Repo[T] {
	view := *r
	view.core.reads = r.core.reads.Consistent()
	return &view
}

// Project returns a view of the repository whose reads give only these attributes of T:
// smaller responses at the same charge. The values are incomplete as those of a
// query with a projection, see [Repo.Query]. Writes are not changed. An attribute that
// T does not have is [table.ErrInvalid] in every read. Entities with upgrades are read
// whole and cut afterwards.
func (r *Repo[T]) Project(attributes ...string) *Repo[T] {
	view := *r
	view.core.project = slices.Clone(attributes)
	return &view
}

// Get reads the entity under its key or that of one of its copies. A missing or
// expired one is [table.ErrNotFound], an item of another type
// [table.ErrWrongType].
func (r *Repo[T]) Get(ctx context.Context, key keys.Key) (T, error) {
	c := &r.core
	if len(c.project) == 0 {
		return table.Get[T](ctx, c.reads, key)
	}
	t, direct, err := c.projected()
	if err != nil {
		return *new(T), c.fail("Get", key, err)
	}
	v := new(T)
	if direct {
		if *v, err = table.Get[T](ctx, t, key); err == nil {
			err = c.forget(v)
		}
	} else {
		var item table.Item
		if item, err = table.Get[table.Item](ctx, t, key); err == nil {
			err = c.decodePart(v, item, c.project, true)
		}
	}
	return value[T](v, err)
}

// GetMany reads any number of entities and returns them by key. A key whose entity
// is missing or expired is not in the map. See [table.BatchGet].
func (r *Repo[T]) GetMany(ctx context.Context, ks []keys.Key) (map[keys.Key]T, error) {
	c := &r.core
	if len(c.project) == 0 {
		return table.BatchGet[T](ctx, c.reads, ks)
	}
	t, direct, err := c.projected()
	if err != nil {
		return nil, c.fail("GetMany", keys.Key{}, err)
	}
	if direct {
		found, err := table.BatchGet[T](ctx, t, ks)
		for key, v := range found {
			if err := c.forget(&v); err != nil {
				return nil, c.fail("GetMany", key, err)
			}
			found[key] = v
		}
		return found, err
	}
	items, err := table.BatchGet[table.Item](ctx, t, ks)
	if err != nil {
		return nil, err
	}
	found := make(map[keys.Key]T, len(items))
	for key, item := range items {
		var v T
		if err := c.decodePart(&v, item, c.project, true); err != nil {
			return nil, c.fail("GetMany", key, err)
		}
		found[key] = v
	}
	return found, nil
}

// Query reads one page of a query whose items are all entities of this type.
// See [table.QueryPage], and [Collect] and [Stream] for partitions that hold
// several types.
//
// With Query.Project, or from an index that does not project all attributes, the
// values are incomplete, here and in the other reads of queries. They have no
// version, so that a write of one is [table.ErrStale] and does not take for empty
// what was not read. [Repo.Update] reads the whole entity first. An entity without
// Version has no such protection.
func (r *Repo[T]) Query(ctx context.Context, q table.Query) (table.Page[T], error) {
	c := &r.core
	q, cut, err := c.prepare("Query", q)
	if err != nil {
		return table.Page[T]{}, err
	}
	if len(cut) > 0 {
		items, err := table.QueryPage[table.Item](ctx, c.reads, q)
		page := table.Page[T]{Next: items.Next, Prev: items.Prev, Stats: items.Stats, Items: make([]T, len(items.Items))}
		for i, item := range items.Items {
			if err := c.decodePart(&page.Items[i], item, cut, true); err != nil {
				return table.Page[T]{}, c.fail("Query", keys.Key{PK: q.PK}, err)
			}
		}
		return page, err
	}
	page, err := table.QueryPage[T](ctx, c.reads, q)
	if err == nil && incomplete(c.schema, q) {
		for i := range page.Items {
			if err := c.forget(&page.Items[i]); err != nil {
				return table.Page[T]{}, c.fail("Query", keys.Key{PK: q.PK}, err)
			}
		}
	}
	return page, err
}

// All reads the whole of a query whose items are all entities of this type. The
// error is yielded once, last, and must be looked at: see [table.All].
func (r *Repo[T]) All(ctx context.Context, q table.Query) iter.Seq2[T, error] {
	c := &r.core
	q, cut, err := c.prepare("All", q)
	switch {
	case err != nil:
		return func(yield func(T, error) bool) { yield(*new(T), err) }
	case len(cut) > 0:
		return converted(table.All[table.Item](ctx, c.reads, q), func(item table.Item) (v T, err error) {
			err = c.decodePart(&v, item, cut, true)
			return v, err
		})
	case incomplete(c.schema, q):
		return converted(table.All[T](ctx, c.reads, q), func(v T) (T, error) {
			err := c.forget(&v)
			return v, err
		})
	}
	return table.All[T](ctx, c.reads, q)
}

// Count returns how many items of this type a query gives, as Stats.Items, and what
// it took: see [table.Table.Count]. Where copies of an entity are in the partition,
// they count too.
func (r *Repo[T]) Count(ctx context.Context, q table.Query) (table.Stats, error) {
	return r.core.count(ctx, q)
}

func (c *core) count(ctx context.Context, q table.Query) (table.Stats, error) {
	if err := c.checkQuery(q); err != nil {
		return table.Stats{}, c.fail("Count", keys.Key{PK: q.PK}, err)
	}
	return c.reads.Count(ctx, q)
}

// converted converts the values of a sequence.
func converted[A, B any](all iter.Seq2[A, error], convert func(A) (B, error)) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		for a, err := range all {
			var b B
			if err == nil {
				b, err = convert(a)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// value returns what v points to, the zero T if there is an error.
func value[T any](v any, err error) (T, error) {
	if err != nil {
		return *new(T), err
	}
	return *v.(*T), nil
}
