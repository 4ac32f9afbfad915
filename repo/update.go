package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Update changes the entity under its key or that of one of its copies. It reads
// the entity consistently, has change modify it, and writes the differences to
// all items, on condition that the entity has not changed since. Otherwise it
// starts over, within the budget of [table.Table.Retry]. It returns the stored
// entity. Attributes that T does not have, such as those of a newer release, stay
// as they are; only a list is written as a whole. Without a difference, nothing
// is written.
//
// change can be called several times, and must only modify its argument. An
// error of change ends Update, which returns it as it is.
//
// Errors:
//   - [table.ErrConflict], when the budget is used up.
//   - [table.ErrInvalid], for an entity without a Version, since updates would
//     be lost: use [Repo.Upsert] or [table.Update].
//   - [table.ErrOutcomeUnknown], if no attempt got a response; and after a lost
//     response for an entity without copies, if it has a version, or if another
//     writer has changed its revision since. In other cases the entity is updated
//     once in spite of a lost response.
func (r *Repo[T]) Update(ctx context.Context, key keys.Key, change func(*T) error) (T, error) {
	var with func(any) ([]table.Op, error)
	if change != nil {
		with = func(v any) ([]table.Op, error) { return nil, change(v.(*T)) }
	}
	return value[T](r.core.update(ctx, "Update", key, with))
}

// UpdateWith is [Repo.Update] together with other writes: change modifies its
// argument and returns ops, which are part of the transaction. If another writer
// changes the entity concurrently, change is called again, and returns ops for
// the new state. If one of its ops fails, nothing is written. If the entity does
// not change, the ops are run on condition that it is as it was read.
//
// After an op that is [table.ErrStale], change is called again, too: it can read what
// the op is about, consistently. If an op of the next call is stale over the same stored
// item, UpdateWith returns the error.
func (r *Repo[T]) UpdateWith(ctx context.Context, key keys.Key, change func(*T) ([]table.Op, error)) (T, error) {
	var with func(any) ([]table.Op, error)
	if change != nil {
		with = func(v any) ([]table.Op, error) { return change(v.(*T)) }
	}
	return value[T](r.core.update(ctx, "UpdateWith", key, with))
}

func (c *core) update(ctx context.Context, op string, key keys.Key, change func(any) ([]table.Op, error)) (v any, err error) {
	if c.counter == unversioned {
		return v, c.fail(op, key, fmt.Errorf("%w: %q needs a Version for this, or writes could be lost", errInvalidEntity, c.entity.Type))
	}
	if change == nil {
		return v, c.fail(op, key, fmt.Errorf("%w: the change is nil", table.ErrInvalid))
	}
	var met map[keys.Key]table.Item
	err = c.retry(ctx, func(ctx context.Context, look looks) (error, bool) {
		old, err := c.load(ctx, key)
		if err != nil {
			return c.named(op, key, err), false
		}
		changed, err := c.copied(old)
		if err != nil {
			return c.named(op, key, err), false
		}
		with, err := change(changed)
		if err != nil {
			return err, false
		}
		if err := c.checkWhole(changed); err != nil {
			return c.fail(op, key, err), false
		}
		s, err := c.newSave(ctx, old, changed, look)
		if err != nil {
			return c.named(op, key, err), false
		}
		if v, err = s.valueAfter(); err != nil {
			return c.named(op, key, err), false
		}
		ops := s.ops
		if len(ops) == 0 && len(with) > 0 {
			ops, s.main = []table.Op{s.unchanged()}, 1
		}
		if len(ops) > 0 {
			if err := c.run(ctx, append(ops[:len(ops):len(ops)], with...)); err != nil {
				before := met
				met = staleOver(err, len(ops))
				futile := len(met) > 0 && reflect.DeepEqual(met, before)
				return err, !futile && (s.markCopies(err, look) || s.overtaken(err))
			}
		}
		return nil, false
	})
	return v, err
}

// named gives an error the operation that it ended, of which a read of table's may be a
// part.
func (c *core) named(op string, key keys.Key, err error) error {
	e, ok := err.(*table.Error) //nolint:errorlint // one further in may be the caller's
	if !ok {
		return c.fail(op, key, err)
	}
	e.Op, e.Name = op, cmp.Or(e.Name, c.entity.Type)
	return e
}

// Delete removes the entity under its key or that of one of its copies, with all of
// them. It is no error if there is no item under the key. An item that no entity
// accounts for, such as a copy that was left behind, is [ErrOrphan] and stays; an
// item of another type is [table.ErrWrongType].
//
// An entity with a version is read first. If another writer changes it in the
// meantime, Delete starts over, within the budget of [table.Table.Retry].
func (r *Repo[T]) Delete(ctx context.Context, key keys.Key) error { return r.core.delete(ctx, key) }

func (c *core) delete(ctx context.Context, key keys.Key) error {
	if c.counter == unversioned {
		return c.table.Do(ctx, table.Delete(key).IfType(c.entity.Type).IfAdmits(0).WithName(c.entity.Type))
	}
	return c.retry(ctx, func(ctx context.Context, look looks) (error, bool) {
		old, err := c.load(ctx, key)
		if errors.Is(err, table.ErrNotFound) && !errors.Is(err, ErrOrphan) {
			return nil, false
		}
		if err != nil {
			return c.named("Delete", key, err), false
		}
		s, err := c.remove(ctx, old, look)
		if err != nil {
			return c.named("Delete", key, err), false
		}
		if err := c.run(ctx, s.ops); err != nil {
			return err, s.markCopies(err, look) || s.overtaken(err)
		}
		return nil, false
	})
}

// remove returns the ops that remove an entity that is stored.
func (c *core) remove(ctx context.Context, old *stored, look looks) (*save, error) {
	s := &save{core: c, old: old, main: 1}
	for i, key := range old.keys {
		held := old.stamp
		if key == (keys.Key{}) {
			continue
		}
		if i > 0 && s.mustRead(look, key) {
			item, err := s.copyUnder(ctx, key)
			if err != nil {
				return nil, err
			}
			if item == nil {
				continue
			}
			held = c.stampOf(item)
		}
		s.ops = append(s.ops, c.guard(table.Delete(key), held).WithName(c.items[i].Name))
	}
	return s, nil
}

// markCopies takes note of the copies that made a write fail and were not read, and
// reports whether the write is to be made again with them read. A lost race marks them
// too: then their conditions fail together with that of the main item.
func (s *save) markCopies(err error, look looks) bool {
	tx, ok := errors.AsType[*table.TxError](err)
	if !ok {
		return false
	}
	again := false
	for _, f := range tx.Failed {
		if f.Index < s.main || f.Index >= len(s.ops) || look[f.Key] {
			continue
		}
		if f.Stored != nil && errors.Is(f, table.ErrExists) && !s.isCopy(f.Stored) {
			return false // the key is another entity's
		}
		look[f.Key] = true
		again = true
	}
	return again
}

// overtaken reports whether a write failed since the entity is no longer as it was
// read, or for a conflict that may pass.
func (s *save) overtaken(err error) bool {
	if errors.Is(err, table.ErrOutcomeUnknown) {
		return false
	}
	tx, ok := errors.AsType[*table.TxError](err)
	if !ok {
		return errors.Is(err, table.ErrConflict) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrWrongType)
	}
	for _, f := range tx.Failed {
		if f.Index < s.main && !errors.Is(f, table.ErrExists) || errors.Is(f, table.ErrConflict) {
			return true
		}
	}
	return false
}

// staleOver returns what was stored where the ops of the caller were stale: those behind
// the first own ones. Nil means that own ones failed too, so that the caller is given
// another entity the next time.
func staleOver(err error, own int) map[keys.Key]table.Item {
	tx, ok := errors.AsType[*table.TxError](err)
	if !ok {
		return nil
	}
	met := map[keys.Key]table.Item{}
	for _, f := range tx.Failed {
		switch {
		case f.Index < own:
			return nil
		case errors.Is(f, table.ErrStale):
			met[f.Key] = f.Stored
		}
	}
	return met
}

// run writes ops, as a transaction if there are several.
func (c *core) run(ctx context.Context, ops []table.Op) error {
	if len(ops) == 1 {
		return c.table.Do(ctx, ops[0])
	}
	return c.table.Transact(ctx, ops...)
}

// retry makes an attempt to write, and another as long as it asks for that, within
// the budget of [table.Table.Retry]. look is kept from one attempt to the next.
func (c *core) retry(ctx context.Context, attempt func(ctx context.Context, look looks) (err error, again bool)) error {
	look := looks{}
	var failed error // not to be retried
	err := c.table.Retry(ctx, func(ctx context.Context) error {
		err, again := attempt(ctx, look)
		switch {
		case err == nil || !again:
			failed = err
			return nil
		case !errors.Is(err, table.ErrConflict):
			return fmt.Errorf("%w: %w", table.ErrConflict, err) // the entity was re-created, or a copy has drifted
		}
		return err
	})
	if err != nil {
		return err
	}
	return failed
}
