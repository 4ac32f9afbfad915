package repo

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// CreateOps returns the ops that store a new entity: one for each item, each
// on the condition that there is no live item under its key. It sets in v the
// version or revision that they store, whether they are run or not.
func (r *Repo[T]) CreateOps(v *T) []table.Op {
	if v == nil {
		return r.refused(errNilValue)
	}
	return r.appendCreateOps(nil, v)
}

func (r *Repo[T]) appendCreateOps(ops []table.Op, v *T) []table.Op {
	next := r.next(stamp{})
	err := r.write(v, next)
	return r.each(ops, v, func(i int, key keys.Key) table.Op {
		return table.Create(key, r.put(i, key, v, next, err))
	})
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
//   - if T makes its attributes itself, by MarshalDynamoDBAttributeValue: then
//     it is unknown which attributes T does not have.
//
// For an entity without a Version, they replace any stored item without a
// condition, so [table.Table.BatchWrite] takes them.
func (r *Repo[T]) PutOps(v *T) []table.Op {
	if v == nil {
		return r.refused(errNilValue)
	}
	if r.counter == unversioned {
		return r.each(nil, v, func(i int, key keys.Key) table.Op {
			return table.Put(key, r.put(i, key, v, stamp{}, nil))
		})
	}
	read := r.read(v)
	if read == (stamp{}) {
		return r.CreateOps(v)
	}
	for _, p := range r.items[1:] {
		if p.Key(*v) == (keys.Key{}) {
			return r.refused(fmt.Errorf("PutOps cannot tell whether there is a %s to remove; use UpdateOps, Put or Update", p.Name))
		}
	}
	return r.replaceOps(v, read)
}

// replaceOps returns the ops that store v over the entity with a stamp.
func (r *Repo[T]) replaceOps(v *T, read stamp) []table.Op {
	next := r.next(read)
	fields, err := r.stamped(v, next)
	return r.each(nil, v, func(i int, key keys.Key) table.Op {
		return r.guard(r.replace(i, key, v, fields, next, err), read).IfExists()
	})
}

// UpdateOps is [Repo.PutOps] for a v that replaces old, the value that was
// read. The ops expect the version or revision of old. If the key of v or of a copy
// differs from that of old, running the ops returns an error; keys of indexes may
// change.
func (r *Repo[T]) UpdateOps(old T, v *T) []table.Op {
	if r.counter == unversioned {
		return r.PutOps(v)
	}
	if v == nil {
		return r.refused(errNilValue)
	}
	for _, p := range r.items {
		if p.Key(old) != p.Key(*v) {
			return r.refused(fmt.Errorf("the key of %s changes; Update and Put move keys", p.Name))
		}
	}
	read := r.read(&old)
	if read == (stamp{}) {
		return r.CreateOps(v)
	}
	return r.replaceOps(v, read)
}

var errNilValue = errors.New("the value is nil")

// refused returns an op that fails with a reason when it is run.
func (r *Repo[T]) refused(reason error) []table.Op {
	return []table.Op{table.Put(keys.Key{}, codec.Made{Err: reason}).WithName(r.entity.Type)}
}

// DeleteOps returns the ops that remove an entity: one for each item. They
// expect the version or revision that v was read with, in every item. Do not
// change other fields of v before: DeleteOps does not find a copy whose key has
// changed in v.
//
// If the entity has copies and v has no version, running the ops returns
// [table.ErrInvalid]: use [Repo.Delete]. For an entity without a Version, the
// ops have no condition.
func (r *Repo[T]) DeleteOps(v T) []table.Op {
	if r.counter == unversioned {
		return r.each(nil, &v, func(_ int, key keys.Key) table.Op { return table.Delete(key) })
	}
	read := r.read(&v)
	if read == (stamp{}) && len(r.items) > 1 {
		return r.refused(errors.New("without a version, DeleteOps cannot tell whose the copies are; use Delete"))
	}
	return r.each(nil, &v, func(_ int, key keys.Key) table.Op {
		return r.guard(table.Delete(key), read).IfAdmits(r.shapes.current)
	})
}

// each appends an op for each item that v has.
func (r *Repo[T]) each(ops []table.Op, v *T, op func(i int, key keys.Key) table.Op) []table.Op {
	ops = slices.Grow(ops, len(r.items))
	for i, p := range r.items {
		if key := p.Key(*v); i == 0 || key != (keys.Key{}) {
			ops = append(ops, op(i, key).WithName(p.Name))
		}
	}
	return ops
}

// put makes the ith item of v, which holds the stamp, or returns the reason why
// v does not have it.
func (r *Repo[T]) put(i int, key keys.Key, v *T, s stamp, err error) any {
	var fields table.Item
	if err == nil {
		var own [10]codec.Attribute
		// A map may have a shape of its own.
		if set, err := r.appendOwn(own[:0], i, key, v, s); err == nil && (r.known || r.shapes.current == 0) {
			if put, ok := codec.MakePut(v, set, r.indexAttributes, r.indexKeyNames); ok && !r.hasEmptyPart(put) {
				return put
			}
		}
		fields, err = r.encode(v)
	}
	if err != nil {
		return codec.Made{Err: err}
	}
	return r.whole(i, key, v, fields, s)
}

// stamped sets a stamp in v and returns v's encoding.
func (r *Repo[T]) stamped(v *T, next stamp) (table.Item, error) {
	if err := r.write(v, next); err != nil {
		return nil, err
	}
	return r.encode(v)
}

// made is [Repo.whole] of v's encoding, or the reason why there is no item. The
// main item takes the encoding itself; copies are made of that.
func (r *Repo[T]) made(i int, key keys.Key, v *T, fields table.Item, next stamp, err error) codec.Made {
	if err != nil {
		return codec.Made{Err: err}
	}
	if i > 0 {
		fields = maps.Clone(fields)
	}
	return r.whole(i, key, v, fields, next)
}

// replace returns the op that sets all that v has in an item that is not known.
func (r *Repo[T]) replace(i int, key keys.Key, v *T, fields table.Item, next stamp, err error) table.Op {
	made := r.made(i, key, v, fields, next, err)
	switch {
	case made.Err != nil:
		return table.Put(key, made)
	case !r.known && reflect.TypeFor[T]().Kind() != reflect.Map:
		return table.Put(key, codec.Made{Err: fmt.Errorf("a %T makes its attributes itself, so the others are not known; use Put or Update", *v)})
	case !r.known:
		return table.Put(key, made)
	}
	d := diff{set: table.Item{}}
	for name, value := range made.Item {
		if name != r.schema.PK && name != r.schema.SK {
			d.set[name] = value
		}
	}
	for _, name := range r.attributes {
		if _, has := made.Item[name]; !has && !r.reserved[name] {
			d.remove = append(d.remove, name)
		}
	}
	for name, gone := range r.shapes.touched {
		if gone {
			d.remove = append(d.remove, name)
		}
	}
	for _, name := range r.indexAttributes {
		if _, has := made.Item[name]; !has && r.declares(i, name) {
			d.remove = append(d.remove, name)
		}
	}
	if d.tooLong() {
		return table.Put(key, codec.Made{Err: fmt.Errorf("a %T has too many attributes for an update; use Put or Update", *v)})
	}
	if _, has := made.Item[r.shapes.from]; !has && r.shapes.current > 0 {
		d.remove = append(d.remove, r.shapes.from)
	}
	// v may have been read from an item of a newer shape.
	return table.Patch(key, d.set, d.remove...).IfShape(r.shapes.current)
}
