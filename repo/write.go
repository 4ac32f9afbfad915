package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Create stores a new entity with all its items, and sets its version or
// revision in v. If there is a live item under one of their keys, nothing is
// written, v is as it was, and the error matches [table.ErrExists].
func (r *Repo[T]) Create(ctx context.Context, v *T) error { return r.create(ctx, "Create", v) }

// TransactCreate creates several entities, all or none, and sets the version or
// revision of each. Together they may have 100 items.
func (r *Repo[T]) TransactCreate(ctx context.Context, vs ...*T) error {
	return r.create(ctx, "TransactCreate", vs...)
}

// TransactPut stores several entities, all or none, by the ops of [Repo.PutOps],
// and sets the version or revision of each. One that has another version than the
// stored one makes all fail with [table.ErrStale]. Together they may have 100 items.
func (r *Repo[T]) TransactPut(ctx context.Context, vs ...*T) error {
	return r.writeAll(ctx, "TransactPut", func(ops []table.Op, v *T) []table.Op { return append(ops, r.PutOps(v)...) }, vs)
}

func (r *Repo[T]) create(ctx context.Context, op string, vs ...*T) error {
	return r.writeAll(ctx, op, r.appendCreateOps, vs)
}

// writeAll runs the ops of copies of the values, which replace the values if they
// succeed. each appends the ops of a value.
func (r *Repo[T]) writeAll(ctx context.Context, op string, each func([]table.Op, *T) []table.Op, vs []*T) error {
	made := make([]T, len(vs))
	ops := make([]table.Op, 0, len(vs)*len(r.items))
	for i, v := range vs {
		if v == nil {
			return r.fail(op, keys.Key{}, fmt.Errorf("%w: value %d is nil", table.ErrInvalid, i))
		}
		made[i] = *v
		ops = each(ops, &made[i])
	}
	if err := r.run(ctx, ops); err != nil {
		return err
	}
	for i, v := range vs {
		*v = made[i]
	}
	return nil
}

// Put stores v, which is either new or a changed value of the stored entity. It
// sets the version or revision in v. v must be the whole entity: see
// [Repo.Query] for reads that give less.
//
// With a version or revision, Put reads the stored entity and writes the
// differences, in all items. Attributes that T does not have stay as they are.
// The stored version must be the one that v was read with; a new entity has
// none. If the stored entity has no version yet, Put sets one. Put moves a copy
// whose key has changed. It cannot change the key of the entity itself:
// [Repo.Update] can.
//
// Without a version, Put replaces the whole item.
//
// Errors:
//   - [table.ErrStale]: the stored version is another one, or v has a version and
//     nothing is stored under its key.
//   - [table.ErrExists]: another item is stored under the new key of a copy.
//   - [table.ErrWrongType]: the item under the key is of another type.
//
// A lost response is as in [Repo.Update].
func (r *Repo[T]) Put(ctx context.Context, v *T) error {
	if v == nil {
		return r.fail("Put", keys.Key{}, fmt.Errorf("%w: %w", table.ErrInvalid, errNilValue))
	}
	if r.counter == unversioned {
		return r.table.Do(ctx, r.PutOps(v)[0].IfType(r.entity.Type).IfShape(0))
	}
	key, read := r.entity.Key(*v), r.read(v)
	return r.attempts(ctx, func(ctx context.Context, look looks) (error, bool) {
		old, err := r.loadMain(ctx, key)
		switch {
		case errors.Is(err, table.ErrNotFound) && read == stamp{}:
			return r.Create(ctx, v), false
		case errors.Is(err, table.ErrNotFound):
			return r.fail("Put", key, fmt.Errorf("%w: nothing is stored under its key; it was deleted, or its key has changed", table.ErrStale)), false
		case err != nil:
			return r.named("Put", key, err), false
		case old.stamp != read:
			return r.fail("Put", key, fmt.Errorf("%w: another one is stored", table.ErrStale)), false
		}
		s, err := r.save(ctx, old, v, look)
		if err != nil {
			return r.named("Put", key, err), false
		}
		if len(s.ops) == 0 {
			return nil, false
		}
		written := *v
		if err := r.write(&written, s.next); err != nil {
			return r.fail("Put", key, err), false
		}
		if err := r.run(ctx, s.ops); err != nil {
			return err, s.look(err, look)
		}
		*v = written
		return nil, false
	})
}
