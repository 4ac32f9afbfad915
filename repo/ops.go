package repo

import (
	"errors"
	"maps"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// CreateOps returns the ops that store a new entity: one for each item, each on the condition
// that there is no live item under its key. It sets in v the version or revision that they
// store, whether they are run or not.
//
// For [table.FailedOp], ops of a repository have names: the entity's type, as USER; of a copy
// with the copy's name, as "USER by e-mail" or "USER copy 1"; and of claims "USER claim".
func (r *Repo[T]) CreateOps(v *T) []table.Op { return r.core.createOps(v, v) }

// createOps returns the ops of [Repo.CreateOps]. It sets the stamp in made, which becomes the
// value of v, and may be v.
func (c *core) createOps(v, made any) []table.Op { return c.createOver(v, made, nil) }

// createOver is createOps over expired items, which are taken out of what they are counted in.
func (c *core) createOver(v, made any, former map[keys.Key]over) []table.Op {
	if isNil(v) {
		return c.refused(errNilValue)
	}
	next := c.next(stamp{})
	made, fields, err := c.encodeNext(v, made, next)
	tallies, err := c.tallies(made, fields, former, err)
	expiry := c.expiryIn(fields) // which become an item
	ops := c.eachMade(made, fields, next, err, create, former)
	for _, key := range c.claimsOf(made) {
		s := c.newClaim(key, c.entity.Key(made), expiry)
		s.same = former[key].marked()
		ops = append(ops, c.op(s))
	}
	for _, key := range c.uniqueOf(made) {
		ops = append(ops, c.op(c.newUnique(key)))
	}
	for _, s := range tallies {
		ops = append(ops, c.op(s))
	}
	return ops
}

// tallies returns the steps that count a new entity, and adds its mark to its attributes. What
// others count in it is left out of these.
func (c *core) tallies(made any, fields table.Item, former map[keys.Key]over, err error) ([]step, error) {
	for _, name := range c.entity.Counted {
		delete(fields, name)
	}
	if len(c.entity.Counters) == 0 || err != nil {
		return nil, err
	}
	now, err := c.countsOf(made)
	if err != nil {
		return nil, err
	}
	mark, err := c.mark(c.entity.Key(made), now)
	if err == nil {
		err = c.checkCounts(now, c.keysOf(made))
	}
	if mark != nil {
		fields[item.Counted] = mark
	}
	was := make([]counts, 0, len(former))
	for _, key := range append(c.keysOf(made), c.claimsOf(made)...) {
		was = append(was, former[key].counts)
	}
	return c.countSteps(now, true, was...), err
}

// PutOps returns the op that stores v, for an entity without a Version. It has no condition, so
// [table.Table.BatchWrite] takes it. A slice is stored as a set only if its field has the tag option
// stringset, numberset or binaryset, whatever was stored. With a Version, running it is [table.ErrInvalid]: use
// CreateOps for a new entity, and UpdateOps for a stored one.
func (r *Repo[T]) PutOps(v *T) []table.Op { return r.core.putOps(v) }

func (c *core) putOps(v any) []table.Op {
	switch {
	case isNil(v):
		return c.refused(errNilValue)
	case c.entity.shared.is:
		return c.refused(c.errShared("PutOps"))
	//mutants:guard PutOps replace nothing that a version guards | TestOpsMoveNothing
	case c.counter != unversioned:
		return c.refused(errors.New("PutOps replace items without a condition, and the entity has a Version; use CreateOps for a new entity, and UpdateOps for a stored one"))
	}
	fields, err := c.encodeToStore(v)
	return c.eachMade(v, fields, stamp{}, err, overwrite, nil)
}

// UpdateOps returns the ops that store v in place of old, the value as it was read, and sets
// the next version or revision in v, whether they are run or not. They read nothing: an item
// that is not as old shows it is [table.ErrStale], and one of a newer shape
// [table.ErrNewerShape]. To change the key of the entity or of a copy is [table.ErrInvalid] when
// they are run: use [Repo.Update].
//
// They write all that v has, and maps as a whole; what T does not know stays. A slice is stored as
// a set only if its field has the tag option for it, as in PutOps. An attribute with
// interfaces in it stays as it is stored if it did not change. That can be seen only if old and
// v share no map, slice or pointer of it: clone it, or read twice. What both share in an interface
// and in claims must not be changed in place. If old has no version, the ops are those of CreateOps; if the entity has none, of
// PutOps. A change of what [Counter]s count is [table.ErrStale] until the entity was counted as
// old shows it.
func (r *Repo[T]) UpdateOps(old T, v *T) []table.Op { return r.core.updateOps(&old, v) }

func (c *core) updateOps(old, v any) []table.Op {
	switch {
	case c.counter == unversioned:
		return c.putOps(v)
	case isNil(v):
		return c.refused(errNilValue)
	case c.entity.shared.is:
		return c.refused(c.errShared("UpdateOps"))
	case c.stampIn(old) == stamp{}:
		return c.createOps(v, v)
	}
	s, err := c.snapshotOf(old)
	if err != nil {
		return c.refused(err)
	}
	stay, err := c.unchanged(old, v) // before v becomes another map
	if err != nil {
		return c.refused(err)
	}
	next := c.next(s.main.stamp)
	if err := c.withStamp(v, v, next); err != nil {
		return c.refused(err)
	}
	return c.opsOf(s, wish{v: v, becomes: next, unread: &unread{stay}})
}

// DeleteOps returns the ops that remove the entity that was read as v, with its copies and
// claims. They read nothing: an item that is not as v shows it is [table.ErrStale], and so is a
// former copy that is still there. Use [Repo.Delete] for these.
//
// An entity with [Counter]s that was not counted as v shows it, as before a backfill, is
// [table.ErrStale], too, and one whose owner is missing [table.ErrUncounted].
//
// If the entity has copies and v has no version, running the ops is [table.ErrInvalid]. For an
// entity without a Version, they have no condition.
func (r *Repo[T]) DeleteOps(v T) []table.Op { return r.core.deleteOps(&v) }

func (c *core) deleteOps(v any) []table.Op {
	if c.entity.shared.is {
		return c.refused(c.errShared("DeleteOps"))
	}
	if c.counter == unversioned {
		return c.each(v, func(int, keys.Key) step { return step{verb: erase} })
	}
	s, err := c.snapshotOf(v)
	switch {
	case err != nil:
		return c.refused(err)
	case s.main.stamp == stamp{} && len(c.items) > 1:
		return c.refused(errors.New("without a version, DeleteOps cannot tell whose the copies are; use Delete"))
	}
	//mutants:guard DeleteOps expect the revision that was read | TestRepo/copies/DeleteOps,_Delete_and_Create ./suites/schedules | => return c.each(v, func(int, keys.Key) step { return step{verb: erase} })
	return c.opsOf(s, wish{unread: new(unread)})
}

var errNilValue = errors.New("the value is nil")

// refused returns an op that fails with a reason when it is run.
func (c *core) refused(reason error) []table.Op {
	return []table.Op{table.Put(keys.Key{}, item.Made{Err: reason}).WithName(c.entity.Type)}
}

// each returns the op of a step for each item that v has.
func (c *core) each(v any, plan func(i int, key keys.Key) step) []table.Op {
	ops := make([]table.Op, 0, len(c.items))
	for i, p := range c.items {
		if key := p.Key(v); i == 0 || key != (keys.Key{}) {
			s := plan(i, key)
			s.key, s.name = key, p.Name
			ops = append(ops, c.op(s))
		}
	}
	return ops
}

// eachMade returns the op of a step for each item that is made of v: of its attributes, or the
// reason why there are none. former are expired items that they replace.
func (c *core) eachMade(v any, fields table.Item, next stamp, err error, does verb, former map[keys.Key]over) []table.Op {
	return c.each(v, func(i int, key keys.Key) step {
		if i == 0 && err == nil {
			err = c.checkValue(v, nil, key, fields, func(name string) bool { return fields[name] != nil })
		}
		return step{verb: does, made: c.made(i, key, v, fields, next, err), main: i == 0, same: former[key].marked()}
	})
}

// encodeNext writes v with the next stamp into made, and returns its attributes. The
// keys of its items are those of the value that it returns, which is v if that has no next one.
func (c *core) encodeNext(v, made any, next stamp) (any, table.Item, error) {
	if err := c.withStamp(made, v, next); err != nil {
		return v, nil, err
	}
	fields, err := c.encodeToStore(made)
	return made, fields, err
}

// made is [core.whole] of v's encoding, or the reason why there is no item. The
// main item takes the encoding itself; copies are made of that.
func (c *core) made(i int, key keys.Key, v any, fields table.Item, next stamp, err error) item.Made {
	if err != nil {
		return item.Made{Err: err}
	}
	if i > 0 {
		fields = maps.Clone(fields)
	}
	return c.whole(i, key, v, fields, next)
}
