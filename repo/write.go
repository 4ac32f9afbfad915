package repo

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Create stores a new entity with all its items, and sets its version or
// revision in v. If there is a live item under one of their keys, nothing is
// written, v is as it was, and the error matches [table.ErrExists].
func (r *Repo[T]) Create(ctx context.Context, v *T) error {
	return writeAll(ctx, &r.core, "Create", r.core.createOps, []*T{v})
}

// TransactCreate creates several entities, all or none, and sets the version or
// revision of each. Together they may have 100 items.
func (r *Repo[T]) TransactCreate(ctx context.Context, vs ...*T) error {
	return writeAll(ctx, &r.core, "TransactCreate", r.core.createOps, vs)
}

// TransactPut stores several entities, all or none, by the ops of [Repo.PutOps],
// and sets the version or revision of each. One that has another version than the
// stored one makes all fail with [table.ErrStale]. Together they may have 100 items.
func (r *Repo[T]) TransactPut(ctx context.Context, vs ...*T) error {
	return writeAll(ctx, &r.core, "TransactPut", r.core.putOps, vs)
}

// writeAll runs the ops of several values, which get their stamps if they succeed. each
// appends the ops of a value, and makes another one with its stamp.
func writeAll[T any](ctx context.Context, c *core, op string, each func(ops []table.Op, v, made any) []table.Op, vs []*T) error {
	made := make([]T, len(vs))
	ops := make([]table.Op, 0, len(vs)*len(c.items))
	for i, v := range vs {
		if v == nil {
			return c.fail(op, keys.Key{}, fmt.Errorf("%w: value %d is nil", table.ErrInvalid, i))
		}
		ops = each(ops, v, &made[i])
	}
	if err := c.send(ctx, ops); err != nil {
		return err
	}
	for i, v := range vs {
		c.adopt(v, &made[i])
	}
	return nil
}

// create is [Repo.Create] of a value that is not nil.
func (c *core) create(ctx context.Context, v any) error {
	made := c.entity.zero()
	err := c.send(ctx, c.createOps(nil, v, made))
	if err == nil {
		c.adopt(v, made)
	}
	return err
}

// Put stores v, which is either new or a changed value of the stored entity. It
// sets the version or revision in v.
//
// With a version or revision, Put reads the stored entity and writes the
// differences, in all items. Attributes that T does not have stay as they are.
// The stored version must be the one that v was read with; a new entity has
// none. If the stored entity has no version yet, Put sets one. Put moves a copy
// whose key has changed. It cannot change the key of the entity itself:
// [Repo.Update] can.
//
// Without a version, Put replaces the whole item. With one, it still overwrites what a program
// has changed without the version since v was read, such as a count by an ADD of
// [table.Update]: keep that in an item of its own.
//
// Errors:
//   - [table.ErrStale]: the stored version is another one, or v has a version and
//     nothing is stored under its key.
//   - [table.ErrExists]: another item is stored under the new key of a copy.
//   - [table.ErrWrongType]: the item under the key is of another type.
//
// A lost response is as in [Repo.Update].
func (r *Repo[T]) Put(ctx context.Context, v *T) error { return r.core.putChanges(ctx, v) }

func (c *core) putChanges(ctx context.Context, v any) error {
	if isNil(v) {
		return c.fail("Put", keys.Key{}, fmt.Errorf("%w: %w", table.ErrInvalid, errNilValue))
	}
	if c.counter == unversioned {
		return c.table.Do(ctx, c.putOps(nil, v, v)[0].IfType(c.entity.Type).IfShape(0))
	}
	key, read := c.entity.Key(v), c.stampIn(v)
	return c.retry(ctx, func(ctx context.Context, doubted doubts) (error, bool) {
		old, err := c.loadMain(ctx, key)
		switch {
		case errors.Is(err, table.ErrNotFound) && read == stamp{}:
			return c.create(ctx, v), false
		case errors.Is(err, table.ErrNotFound):
			return c.fail("Put", key, fmt.Errorf("%w: nothing is stored under its key; it was deleted, or its key has changed", table.ErrStale)), false
		case err != nil:
			return c.named("Put", key, err), false
		//mutants:guard Put refuses a stale value | TestRepo/revision/Put,_Put ./suites/schedules
		case old.stamp != read:
			return c.fail("Put", key, fmt.Errorf("%w: another one is stored", table.ErrStale)), false
		}
		next := c.next(read)
		s := &snapshot{main: old, at: key, doubts: doubted}
		p, err := c.decide(ctx, s, wish{v: v, becomes: next})
		if err != nil {
			return c.named("Put", key, err), false
		}
		if len(p.steps) == 0 {
			return nil, false
		}
		written := c.entity.zero()
		if err := c.withStamp(written, v, next); err != nil {
			return c.fail("Put", key, err), false
		}
		again, err := c.run(ctx, s, p)
		if err == nil {
			c.adopt(v, written)
		}
		return err, again == doubtful
	})
}

func isNil(v any) bool { return reflect.ValueOf(v).IsNil() }

// assign sets what v points to.
func assign(v, to any) { reflect.ValueOf(v).Elem().Set(reflect.ValueOf(to).Elem()) }
