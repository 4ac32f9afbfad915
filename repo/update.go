package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Update changes the entity under its key or that of one of its copies. It reads
// the entity consistently, has change modify it, and writes the differences to
// all items, on condition that the version or revision is still the same. Otherwise it
// starts over, within the budget of [table.Table.Retry]. It returns the stored
// entity. Attributes that T does not have, such as those of a newer release, stay
// as they are; only a list is written as a whole. A slice whose attribute is stored as a set is
// written as one, whatever the tag of its field, and removed if it is empty; one with duplicates,
// and a list with sets in it that would become lists, are [table.ErrInvalid]. Without a
// difference, nothing is written.
//
// A program that changes the entity without its version, as [table.Update] does, is not
// noticed: its change is lost if it is of an attribute that this Update writes.
//
// If change gives the entity another main key, Update deletes the item under the old key
// and creates one under the new key, in the same transaction. A key that is taken is
// [table.ErrExists].
//
// change can be called several times, and must only modify its argument. An
// error of change ends Update, which returns it as it is.
//
// Errors:
//   - [table.ErrConflict], when the budget is used up.
//   - [table.ErrInvalid], for an entity without a Version, since updates would
//     be lost: use [Repo.Patch].
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
	err = c.retry(ctx, func(ctx context.Context, doubted doubts) (error, bool) {
		old, err := c.load(ctx, key)
		if err != nil {
			return c.named(op, key, err), false
		}
		changed, err := c.copied(old.main)
		if err != nil {
			return c.named(op, key, err), false
		}
		with, err := change(changed)
		if err != nil {
			return err, false
		}
		old.doubts = doubted
		p, err := c.decide(ctx, old, wish{v: changed, becomes: c.next(old.main.stamp)})
		if err != nil {
			return c.named(op, key, err), false
		}
		if v, err = c.valueAfter(old.main, p); err != nil {
			return c.named(op, key, err), false
		}
		if len(p.steps) == 0 && len(with) > 0 {
			p.steps = []step{c.stays(old)}
		}
		again, err := c.run(ctx, old, p, with...)
		before := met
		met = staleOver(err, len(p.steps))
		futile := len(met) > 0 && reflect.DeepEqual(met, before)
		return err, again != final && !futile
	})
	return v, err
}

// Delete removes the entity under its key or that of one of its copies, with all of
// them. It is no error if there is no item under the key. An item that no entity
// accounts for, such as a copy that was left behind, is [ErrOrphan] and stays; an
// item of another type is [table.ErrWrongType].
//
// An entity with a version is read first, and what is under the keys of its former copies
// ([Entity].FormerCopies), which is deleted with it. If another writer changes the entity in
// the meantime, Delete starts over, within the budget of [table.Table.Retry].
//
// An item of the type under the key that does not decode into T is deleted alone, on the condition
// that its version is as it was read; but not by an entity with Copies, Claims, Counters or
// Shared.Unique, since the item does not say which of these are its own.
func (r *Repo[T]) Delete(ctx context.Context, key keys.Key) error {
	return r.core.delete(ctx, key, false)
}

// delete is [Repo.Delete]. With orphans, it deletes an item that no entity has, too.
func (c *core) delete(ctx context.Context, key keys.Key, orphans bool) error {
	if c.counter == unversioned {
		return c.table.Do(ctx, table.Delete(key).IfType(c.entity.Type).Guarded(item.Guard{ByShape: true, Shape: item.Shape{Admits: true}}).WithName(c.entity.Type))
	}
	err := c.deleteLoaded(ctx, key)
	switch {
	case orphans && errors.Is(err, ErrOrphan):
		return c.deleteFound(ctx, key)
	case isUndecoded(err):
		return c.deleteUndecoded(ctx, key, err)
	}
	return err
}

// isUndecoded reports whether an error of reading an item is that it does not decode into T. One
// whose version does not is for no write: see [core.misfit].
func isUndecoded(err error) bool {
	_, is := errors.AsType[*item.Error](err)
	return is && !errors.Is(err, table.ErrInvalid)
}

// deleteUndecoded deletes an item of the entity's type that does not decode into T, if it is the
// only item of its entity. misfit is the error of reading it.
func (c *core) deleteUndecoded(ctx context.Context, key keys.Key, misfit error) error {
	//mutants:guard an item that does not decode is not deleted without its copies | TestDeleteOfWhatDoesNotDecode
	if len(c.items) > 1 || len(c.entity.FormerCopies) > 0 || c.entity.Claims != nil || len(c.entity.Counters) > 0 || c.entity.shared.Unique != nil {
		if e, ok := misfit.(*table.Error); ok { //nolint:errorlint // that of the operation
			e.Err = fmt.Errorf("an entity with Copies, Claims, Counters or Unique is deleted only if its items decode; "+
				"repair this one by package table, or delete it and the others by their keys: %w", e.Err)
		}
		return misfit
	}
	return c.carryOut(ctx, "Delete", key, func(ctx context.Context, _ doubts) (*snapshot, *plan, error) {
		is, err := c.peek(ctx, key)
		if err != nil || is == nil {
			return nil, nil, err
		}
		if err := cmp.Or(c.checkType(is), c.checkStamp(is)); err != nil {
			return nil, nil, err
		}
		s := &stored{item: is, stamp: c.stampOf(is)}
		remove := step{verb: remove, key: key, name: c.entity.Type, held: s.stamp, as: is, gone: true, main: true}
		return &snapshot{main: s, at: key}, &plan{steps: []step{remove}}, nil
	})
}

// deleteLoaded deletes the entity that a key leads to.
func (c *core) deleteLoaded(ctx context.Context, key keys.Key) error {
	return c.carryOut(ctx, "Delete", key, func(ctx context.Context, doubted doubts) (*snapshot, *plan, error) {
		old, err := c.load(ctx, key)
		switch {
		case errors.Is(err, table.ErrNotFound) && !errors.Is(err, ErrOrphan):
			return nil, nil, nil
		case err != nil:
			return nil, nil, err
		}
		old.doubts = doubted
		p, err := c.decide(ctx, old, wish{})
		return old, p, err
	})
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
		case f.OpNumber <= own:
			return nil
		case errors.Is(f, table.ErrStale):
			met[f.Key] = f.Stored
		}
	}
	return met
}
