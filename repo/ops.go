package repo

import (
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// CreateOps returns the ops that store a new entity: one for each placement,
// each on the condition that there is no live item under its key. With
// versions, the first is 1.
func (r *Repo[T]) CreateOps(v T) []table.Op {
	entries := r.entries(v, 1)
	ops := make([]table.Op, len(entries))
	for i, e := range entries {
		ops[i] = table.Create(e.key, e.record).Named(e.name)
	}
	return ops
}

// PutOps returns the ops that store v over what is there: one for each
// placement. With versions, they expect the version of v and store one more.
//
// A copy whose key is another than before stays behind under the old one, and a
// copy replaces what it finds under its key, also if it is another entity's;
// where a change can do either, use [Repo.UpdateOps].
func (r *Repo[T]) PutOps(v T) []table.Op {
	version := r.version(v)
	entries := r.entries(v, version+1)
	ops := make([]table.Op, len(entries))
	for i, e := range entries {
		ops[i] = table.Put(e.key, e.record).Named(e.name)
	}
	ops[0] = r.guard(ops[0], version)
	return ops
}

// newOps returns the ops that store v where it is not stored yet: those of
// [Repo.PutOps], but no copy takes the place of another entity's.
func (r *Repo[T]) newOps(v T) []table.Op {
	ops := r.PutOps(v)
	for i, e := range r.entries(v, r.version(v)+1)[1:] {
		ops[i+1] = table.Create(e.key, e.record).Named(e.name)
	}
	return ops
}

// UpdateOps returns the ops that turn old, as it was read, into v: one for each
// placement, and where a key has changed, one that deletes the old item. With
// versions, they expect the version of old and store one more. An item that is
// new under its key must not meet another one there.
func (r *Repo[T]) UpdateOps(old, v T) []table.Op {
	version := r.version(old)
	var ops []table.Op
	for i, e := range r.entries(v, version+1) {
		before := r.placements[i].Key(old)
		if e.key == before {
			op := table.Put(e.key, e.record).Named(e.name)
			if i == 0 {
				op = r.guard(op, version)
			}
			ops = append(ops, op)
			continue
		}
		gone := table.Delete(before).Named(e.name + " (old key)")
		if i == 0 {
			gone = r.guard(gone, version)
		}
		ops = append(ops, gone, table.Create(e.key, e.record).Named(e.name))
	}
	return ops
}

// DeleteOps returns the ops that remove an entity: one for each placement. With
// versions, they expect the version of v.
func (r *Repo[T]) DeleteOps(v T) []table.Op {
	ops := make([]table.Op, len(r.placements))
	for i, p := range r.placements {
		ops[i] = table.Delete(p.Key(v)).Named(p.Name)
	}
	ops[0] = r.guard(ops[0], r.version(v))
	return ops
}

// guard makes the op expect a version. One placement is enough, since all are
// written together; it is the one under the entity's own key.
func (r *Repo[T]) guard(op table.Op, version int64) table.Op {
	if r.entity.Version == "" {
		return op
	}
	return op.AtVersion(r.entity.Version, version)
}

// key returns the entity's own key, for errors.
func (r *Repo[T]) key(v T) keys.Key { return r.entity.Key(v) }
