package repo

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// CreateOps returns the ops that store a new entity: one for each item, each
// on the condition that there is no live item under its key. It sets in v the
// version or revision that they store, whether they are run or not.
//
// For [table.FailedOp], ops of a repository have names: the entity's type, as USER; of a copy
// with the copy's name, as "USER by e-mail" or "USER copy 1"; and of claims "USER claim".
func (r *Repo[T]) CreateOps(v *T) []table.Op { return r.core.createOps(nil, v, v) }

// createOps appends the ops of [Repo.CreateOps]. It sets the stamp in made, which
// becomes the value of v, and may be v.
func (c *core) createOps(ops []table.Op, v, made any) []table.Op {
	if isNil(v) {
		return c.refused(errNilValue)
	}
	next := c.next(stamp{})
	made, fields, err := c.encodeNext(v, made, next)
	expiry := c.expiryIn(fields) // which become an item
	ops = c.eachMade(ops, made, nil, fields, next, err, func(made item.Made) step { return step{verb: create, made: made} })
	return c.claimOps(ops, made, nil, c.claimsOf(made), expiry, false)
}

// PutOps returns the ops that store v: one for each item. They expect the
// version or revision that v was read with, and store the next one. PutOps sets
// the next one in v, whether the ops are run or not. If v has no version, the
// ops are those of [Repo.CreateOps].
//
// They set every attribute that v has and remove T's others; attributes that T
// does not have stay, except for those inside of maps. They move no keys: they
// fail if a copy is not stored under its key of v, or does not hold the
// version. [Repo.Put] and [Repo.Update] move keys, and write changes only.
//
// For an item of a newer shape they fail with [table.ErrNewerShape], even if it
// admits this program: v does not have the attributes of the newer shape. Use
// [Repo.Put] or [Repo.Update].
//
// When the ops are run, it is [table.ErrInvalid]
//   - if v leaves a copy out, by a zero key: the copy may be stored, and would be
//     left behind. [Repo.UpdateOps] can tell;
//   - if the entity has [Entity].Claims: those of the stored one are not known;
//   - if T makes its attributes itself, by MarshalDynamoDBAttributeValue: then
//     it is unknown which attributes T does not have.
//
// For an entity without a Version, they replace any stored item without a
// condition, so [table.Table.BatchWrite] takes them.
func (r *Repo[T]) PutOps(v *T) []table.Op { return r.core.putOps(nil, v, v) }

// putOps appends the ops of [Repo.PutOps]. made is as in createOps.
func (c *core) putOps(ops []table.Op, v, made any) []table.Op {
	if isNil(v) {
		return c.refused(errNilValue)
	}
	if c.counter == unversioned {
		fields, err := c.encodeToStore(v)
		return c.eachMade(ops, v, nil, fields, stamp{}, err, func(made item.Made) step { return step{verb: overwrite, made: made} })
	}
	read := c.stampIn(v)
	if read == (stamp{}) {
		return c.createOps(ops, v, made)
	}
	if c.entity.Claims != nil {
		return append(ops, c.refused(fmt.Errorf("PutOps cannot tell which claims there are to remove; use UpdateOps, Put or Update"))...)
	}
	for _, p := range c.items[1:] {
		if p.Key(v) == (keys.Key{}) {
			return append(ops, c.refused(fmt.Errorf("PutOps cannot tell whether there is a %s to remove; use UpdateOps, Put or Update", p.Name))...)
		}
	}
	return c.replaceOps(ops, v, made, nil, read)
}

// replaceOps appends the ops that store v over the entity with a stamp, which was the value old
// if that is not nil: attributes with interfaces in them stay as they are, unless they changed.
// made is as in createOps.
func (c *core) replaceOps(ops []table.Op, v, made, old any, read stamp) []table.Op {
	if !read.hasNext() {
		return append(ops, c.refused(c.errNoVersion("value"))...)
	}
	var stay []string
	if old != nil {
		var err error
		if stay, err = c.unchanged(old, v); err != nil {
			return append(ops, c.refused(err)...)
		}
	}
	next := c.next(read)
	made, fields, err := c.encodeNext(v, made, next)
	return c.eachMade(ops, made, old, fields, next, err, func(made item.Made) step { return c.replace(read, made, stay) })
}

// UpdateOps is [Repo.PutOps] for a v that replaces old, the value that was
// read. Claims that only one of them has come and go: so old must be as it was read, and a
// slice or map that it shares with v must not be changed in place. The same is true of a value
// in an interface: an attribute with interfaces in it, such as an any, is written only if it
// changed, as the package's documentation says. A map or slice of them that old and v share may
// have changed, and is written. A T without a field for the
// expiry of its items has claims without one; use [Repo.Update]. The ops expect the version or revision of old. If the key of v or of a copy
// differs from that of old, running the ops returns an error; keys of indexes may
// change.
func (r *Repo[T]) UpdateOps(old T, v *T) []table.Op { return r.core.updateOps(&old, v) }

func (c *core) updateOps(old, v any) []table.Op {
	if c.counter == unversioned {
		return c.putOps(nil, v, v)
	}
	if isNil(v) {
		return c.refused(errNilValue)
	}
	for _, p := range c.items {
		if p.Key(old) != p.Key(v) {
			return c.refused(fmt.Errorf("the key of %s changes; Update and Put move keys", p.Name))
		}
	}
	read := c.stampIn(old)
	if read == (stamp{}) {
		return c.createOps(nil, v, v)
	}
	ops := c.replaceOps(nil, v, v, old, read)
	if c.entity.Claims == nil {
		return ops
	}
	before, err := c.encode(old)
	after, errAfter := c.encode(v)
	now := c.claimsOf(v)
	if err := cmp.Or(err, errAfter, c.checkClaims(now, c.keysOf(v))); err != nil {
		return c.refused(err)
	}
	expiry := c.expiryIn(after)
	return c.claimOps(ops, v, c.claimsOf(old), now, expiry, !item.EqualUnordered(c.expiryIn(before), expiry))
}

// unchanged is [item.Unchanged], without what an upgrade makes: the stored item may not
// have that yet.
func (c *core) unchanged(old, v any) ([]string, error) {
	names, err := item.Unchanged(old, v)
	return slices.DeleteFunc(names, func(name string) bool {
		_, upgraded := c.shapes.touched[name]
		return upgraded
	}), err
}

var errNilValue = errors.New("the value is nil")

// refused returns an op that fails with a reason when it is run.
func (c *core) refused(reason error) []table.Op {
	return []table.Op{table.Put(keys.Key{}, item.Made{Err: reason}).WithName(c.entity.Type)}
}

// DeleteOps returns the ops that remove an entity: one for each item. They
// expect the version or revision that v was read with, in every item. Do not
// change other fields of v before: DeleteOps does not find a copy whose key has
// changed in v. It reads nothing, so former copies stay: see [Repo.Delete].
//
// If the entity has copies and v has no version, running the ops returns
// [table.ErrInvalid]: use [Repo.Delete]. For an entity without a Version, the
// ops have no condition.
func (r *Repo[T]) DeleteOps(v T) []table.Op { return r.core.deleteOps(&v) }

func (c *core) deleteOps(v any) []table.Op {
	if c.counter == unversioned {
		return c.each(nil, v, func(int, keys.Key) step { return step{verb: erase} })
	}
	read := c.stampIn(v)
	switch {
	case !read.hasNext():
		return c.refused(c.errNoVersion("value"))
	case read == (stamp{}) && len(c.items) > 1:
		return c.refused(errors.New("without a version, DeleteOps cannot tell whose the copies are; use Delete"))
	}
	//mutants:guard DeleteOps expect the revision that was read | TestRepo/copies/DeleteOps,_Delete_and_Create ./suites/schedules | remove, held: read, gone: true, unread: true => erase
	ops := c.each(nil, v, func(int, keys.Key) step { return step{verb: remove, held: read, gone: true, unread: true} })
	return c.claimOps(ops, v, c.claimsOf(v), nil, nil, false)
}

// each appends the op of a step for each item that v has.
func (c *core) each(ops []table.Op, v any, plan func(i int, key keys.Key) step) []table.Op {
	ops = slices.Grow(ops, len(c.items))
	for i, p := range c.items {
		if key := p.Key(v); i == 0 || key != (keys.Key{}) {
			s := plan(i, key)
			s.key, s.name = key, p.Name
			ops = append(ops, c.op(s))
		}
	}
	return ops
}

// eachMade appends the op of a step for each item that is made of v: of its attributes, or the
// reason why there are none. was is the value that v replaces, nil if that is not known.
func (c *core) eachMade(ops []table.Op, v, was any, fields table.Item, next stamp, err error, plan func(item.Made) step) []table.Op {
	return c.each(ops, v, func(i int, key keys.Key) step {
		if i == 0 && err == nil {
			err = c.checkValue(v, was, key, fields, func(name string) bool { return fields[name] != nil })
		}
		return plan(c.made(i, key, v, fields, next, err))
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

// replace is the step that sets all that v has in an item that is not known, except for
// the attributes that stay as they are.
func (c *core) replace(read stamp, made item.Made, stay []string) step {
	fail := func(format string) step {
		return step{verb: overwrite, made: item.Made{Err: fmt.Errorf(format, c.entity.typ)}}
	}
	switch {
	case made.Err != nil:
		return step{verb: overwrite, made: made}
	case !c.known && c.entity.typ.Kind() != reflect.Map:
		return fail("a %v makes its attributes itself, so the others are not known; use Put or Update")
	case !c.known:
		return step{verb: replace, held: read, made: made}
	}
	d := diff{set: made.Item}
	if len(stay) > 0 {
		d.set = maps.Clone(made.Item) // copies are made of it
	}
	for _, name := range c.attributes {
		if _, has := made.Item[name]; !has && !c.reserved[name] {
			d.remove = append(d.remove, name)
		}
	}
	for name, gone := range c.shapes.touched {
		if gone {
			d.remove = append(d.remove, name)
		}
	}
	for _, name := range c.indexAttributes {
		if _, has := made.Item[name]; !has {
			d.remove = append(d.remove, name)
		}
	}
	for _, name := range slices.Concat(stay, []string{c.schema.PK, c.schema.SK}) {
		delete(d.set, name)
	}
	if d.tooLong() {
		return fail("a %v has too many attributes for an update; use Put or Update")
	}
	if c.shapes.current > 0 && !c.shapes.derives() {
		d.remove = append(d.remove, c.shapes.from, c.shapes.at)
	}
	return step{verb: patch, held: read, diff: d, unread: true}
}
