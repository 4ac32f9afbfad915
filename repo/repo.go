package repo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Repo reads and writes the entities of one type in a table. It is safe for
// concurrent use. Get one from [New].
type Repo[T any] struct {
	table      *table.Table // as given
	reads      *table.Table // refuses items of other types
	schema     table.Schema
	entity     Entity[T]
	placements []Placement[T]
	// indexAttributes are the key attributes of the indexes that the entity
	// declares. They are written on the placement that declares them only.
	indexAttributes []string
}

// New returns a repository for an entity. A description that cannot be right is
// an [*EntityError] that lists everything that is wrong.
func New[T any](t *table.Table, entity Entity[T]) (*Repo[T], error) {
	if t == nil {
		return nil, &EntityError{Type: entity.Type, Problems: []string{"the table is nil"}}
	}
	schema := t.Schema()
	if err := entity.validate(schema); err != nil {
		return nil, err
	}
	r := &Repo[T]{
		table: t, reads: t.OfType(entity.Type), schema: schema,
		entity: entity, placements: entity.placements(),
	}
	for _, p := range r.placements {
		for _, x := range schema.Indexes {
			if _, declared := p.Indexes[x.Name]; declared {
				r.indexAttributes = append(r.indexAttributes, x.PK)
				if x.SK != "" {
					r.indexAttributes = append(r.indexAttributes, x.SK)
				}
			}
		}
	}
	return r, nil
}

// Consistent returns a view of the repository whose reads are strongly
// consistent. See [table.Table.Consistent].
func (r *Repo[T]) Consistent() *Repo[T] {
	view := *r
	view.reads = r.reads.Consistent()
	return &view
}

// Get reads the entity under the key of any of its placements. A missing or
// expired one is [table.ErrNotFound], an item of another type
// [table.ErrWrongType].
func (r *Repo[T]) Get(ctx context.Context, key keys.Key) (T, error) {
	return table.Get[T](ctx, r.reads, key)
}

// GetMany reads any number of entities. It returns those found, in the order of
// the keys, and the keys of the others. See [table.BatchGet].
func (r *Repo[T]) GetMany(ctx context.Context, ks []keys.Key) (found []T, absent []keys.Key, err error) {
	return table.BatchGet[T](ctx, r.reads, ks)
}

// Query reads one page of a query whose items are all entities of this type.
// See [table.QueryPage], and [Collect] and [Stream] for partitions that hold
// several types.
func (r *Repo[T]) Query(ctx context.Context, q table.Query) (table.Page[T], error) {
	return table.QueryPage[T](ctx, r.reads, q)
}

// All reads the whole of a query whose items are all entities of this type. The
// error is yielded once, last, and must be looked at: see [table.All].
func (r *Repo[T]) All(ctx context.Context, q table.Query) iter.Seq2[T, error] {
	return table.All[T](ctx, r.reads, q)
}

// Create stores a new entity with all its placements. If there is a live item
// under one of their keys, nothing is written and the error matches
// [table.ErrExists]. With versions, the version stored is 1.
func (r *Repo[T]) Create(ctx context.Context, v T) error {
	return r.run(ctx, r.CreateOps(v))
}

// TransactPut creates several entities, all or none. Together they may have 100
// placements.
func (r *Repo[T]) TransactPut(ctx context.Context, vs ...T) error {
	var ops []table.Op
	for _, v := range vs {
		ops = append(ops, r.CreateOps(v)...)
	}
	return r.table.Transact(ctx, ops...)
}

// Put stores an entity over what is there, or anew. With versions, it expects
// the version that v was read with, which is 0 for a new value, and stores one
// more; another version is [table.ErrStale].
//
// A lost answer is as in [Repo.Update].
//
// An entity with copies is read first, to delete those whose key is another
// now. That takes a version: without one, Put is [ErrInvalidEntity] for it. A
// copy that is new under its key must not meet another item there, which is
// [table.ErrExists].
func (r *Repo[T]) Put(ctx context.Context, v T) error {
	if len(r.placements) == 1 {
		return r.run(ctx, r.PutOps(v))
	}
	if err := r.needVersion("Put", r.key(v)); err != nil {
		return err
	}
	old, err := table.Get[T](ctx, r.reads.Consistent(), r.key(v))
	switch {
	case errors.Is(err, table.ErrNotFound):
		return r.run(ctx, r.newOps(v))
	case err != nil:
		return err
	case r.version(old) != r.version(v):
		return r.fail("Put", r.key(v), fmt.Errorf("%w: version %d is stored, version %d was read",
			table.ErrStale, r.version(old), r.version(v)))
	}
	return r.run(ctx, r.UpdateOps(old, v))
}

// Update changes the entity under the key of any of its placements: it reads it
// consistently, has change modify it, and writes all placements back, provided
// that nobody else has written it meanwhile; else it begins anew, a bounded
// number of times, and is [table.ErrConflict] after that. It returns the entity
// as it was stored. If the answer to the write is lost, an entity with copies is
// updated once all the same, as that is a transaction; one without is
// [table.ErrOutcomeUnknown].
//
// change can be called several times and must do nothing but modify its
// argument; an error of it ends Update, which returns it as it is. An entity
// without versions is [ErrInvalidEntity], since updates would be lost: use
// [table.Update] for changes that DynamoDB can carry out by itself.
func (r *Repo[T]) Update(ctx context.Context, key keys.Key, change func(*T) error) (T, error) {
	return r.update(ctx, "Update", key, func(v *T) ([]table.Op, error) { return nil, change(v) })
}

// UpdateWith is [Repo.Update] together with other writes: change modifies its
// argument and returns ops, and all of it is one transaction. When somebody else
// has written the entity meanwhile, change is called again, and returns ops for
// what it is given then. If one of its ops fails, nothing is written.
func (r *Repo[T]) UpdateWith(ctx context.Context, key keys.Key, change func(*T) ([]table.Op, error)) (T, error) {
	return r.update(ctx, "UpdateWith", key, change)
}

func (r *Repo[T]) update(ctx context.Context, op string, key keys.Key, change func(*T) ([]table.Op, error)) (T, error) {
	var zero T
	if err := r.needVersion(op, key); err != nil {
		return zero, err
	}
	for attempt := 1; ; attempt++ {
		old, err := r.load(ctx, key)
		if err != nil {
			return zero, err
		}
		v, err := r.copied(op, old)
		if err != nil {
			return zero, err
		}
		with, err := change(&v)
		if err != nil {
			return zero, err
		}
		err = r.run(ctx, append(r.UpdateOps(old, v), with...))
		if err == nil {
			err = setVersion(&v, r.entity.Version, r.version(old)+1)
			return v, err
		}
		if !r.again(ctx, err, attempt) {
			return zero, err
		}
	}
}

// copied returns a copy of a value that shares no memory with it, so that after
// a change of the copy the old keys can still be told.
func (r *Repo[T]) copied(op string, old T) (T, error) {
	var v T
	item, err := encode(old)
	if err == nil {
		err = item.Decode(&v)
	}
	if err != nil {
		return v, r.fail(op, r.key(old), err)
	}
	return v, nil
}

// Delete removes the entity under the key of any of its placements, with all of
// them. It is no error if there is none.
//
// An entity with copies or versions is read first. If it is written meanwhile,
// Delete begins anew, a bounded number of times.
func (r *Repo[T]) Delete(ctx context.Context, key keys.Key) error {
	if len(r.placements) == 1 && r.entity.Version == "" {
		return r.table.Do(ctx, table.Delete(key).Named(r.entity.Type))
	}
	for attempt := 1; ; attempt++ {
		old, err := r.load(ctx, key)
		if errors.Is(err, table.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		err = r.run(ctx, r.DeleteOps(old))
		if err == nil || !r.again(ctx, err, attempt) {
			return err
		}
	}
}

// load reads an entity consistently. A copy is not trusted: it leads to the
// item under the entity's own key, which the version is checked on.
func (r *Repo[T]) load(ctx context.Context, key keys.Key) (T, error) {
	reads := r.reads.Consistent()
	v, err := table.Get[T](ctx, reads, key)
	if err != nil || r.key(v) == key {
		return v, err
	}
	return table.Get[T](ctx, reads, r.key(v))
}

// run writes ops, as a transaction if there are several.
func (r *Repo[T]) run(ctx context.Context, ops []table.Op) error {
	if len(ops) == 1 {
		return r.table.Do(ctx, ops[0])
	}
	return r.table.Transact(ctx, ops...)
}

const (
	// maxUpdates bounds how often an update begins anew. It is enough for dozens
	// of writers of one entity at the same time.
	maxUpdates = 64
	// updateDelay and maxUpdateDelay span the pauses before, of full jitter.
	updateDelay    = 2 * time.Millisecond
	maxUpdateDelay = 100 * time.Millisecond
)

// again reports whether a write that failed should be tried once more with the
// entity read anew, and waits until then.
func (r *Repo[T]) again(ctx context.Context, err error, attempt int) bool {
	// A write that may have been carried out must not be made a second time.
	if !errors.Is(err, table.ErrConflict) || errors.Is(err, table.ErrOutcomeUnknown) || attempt >= maxUpdates {
		return false
	}
	timer := time.NewTimer(rand.N(min(updateDelay<<min(attempt-1, 10), maxUpdateDelay)) + 1)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (r *Repo[T]) needVersion(op string, key keys.Key) error {
	if r.entity.Version != "" {
		return nil
	}
	return r.fail(op, key, fmt.Errorf("%w: %q needs a Version for this, or writes could be lost", ErrInvalidEntity, r.entity.Type))
}

func (r *Repo[T]) fail(op string, key keys.Key, err error) error {
	return &table.Error{Op: op, Name: r.entity.Type, Table: r.schema.Name, Key: key, Err: err}
}
