package repo

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/table"
)

// Member is one of the types that a partition holds: a [*Repo], what
// [Repo.AppendTo] returns, or [IgnoreUnknown].
type Member interface {
	// member returns the type that it is for, "" for all that are left.
	member() string
	// decode makes a value of an item, or of a part of one: the attributes of
	// project, unless there are none. It is nil if the item is to be skipped.
	decode(item table.Item, project []string, part bool) (any, error)
	// keep is given each value of [Collect] after the last one was read.
	keep(any)
	// missing reports a nil repository or slice.
	missing() bool
	// check reports why the member cannot read a query.
	check(table.Query) error
	// upgrades reports whether it needs whole items.
	upgrades() bool
}

func (r *Repo[T]) member() string { return r.entity.Type }

func (r *Repo[T]) decode(item table.Item, project []string, part bool) (any, error) {
	item, err := r.upgraded(item)
	if err != nil {
		return nil, err
	}
	return r.decodePart(item, project, part)
}

// decodePart makes a value of an item of the current shape. If it is a part of one,
// the value has no version, and only the attributes of project, unless there are
// none.
func (r *Repo[T]) decodePart(item table.Item, project []string, part bool) (T, error) {
	var v T
	if len(project) > 0 {
		whole := item
		item = table.Item{}
		for _, name := range project {
			if value, ok := whole[name]; ok {
				item[name] = value
			}
		}
	}
	err := item.Decode(&v)
	if err == nil && part {
		err = r.forget(&v)
	}
	return v, err
}

func (r *Repo[T]) keep(any)      {}
func (r *Repo[T]) missing() bool { return r == nil }

func (r *Repo[T]) check(q table.Query) error {
	if len(r.shapes.upgrades) == 0 {
		return nil
	}
	return r.checkQuery(q)
}

func (r *Repo[T]) upgrades() bool { return len(r.shapes.upgrades) > 0 }

// into is a Repo with a slice to append to.
type into[T any] struct {
	*Repo[T]
	slice *[]T
}

func (i into[T]) keep(v any)    { *i.slice = append(*i.slice, v.(T)) }
func (i into[T]) missing() bool { return i.Repo == nil || i.slice == nil }

// AppendTo says where [Collect] is to append the entities of this type.
func (r *Repo[T]) AppendTo(slice *[]T) Member { return into[T]{Repo: r, slice: slice} }

type ignoreUnknown struct{}

func (ignoreUnknown) member() string                                 { return "" }
func (ignoreUnknown) decode(table.Item, []string, bool) (any, error) { return nil, nil }
func (ignoreUnknown) keep(any)                                       {}
func (ignoreUnknown) missing() bool                                  { return false }
func (ignoreUnknown) check(table.Query) error                        { return nil }
func (ignoreUnknown) upgrades() bool                                 { return false }

// IgnoreUnknown lets [Collect] and [Stream] pass over items of types that no other
// member is for. Without it they are [table.ErrWrongType].
func IgnoreUnknown() Member { return ignoreUnknown{} }

// Collect reads a query whose items are of several types and appends each to
// the slice of its type:
//
//	err := repo.Collect(ctx, tbl, q, users.AppendTo(&us), transactions.AppendTo(&txs))
//
// After an error the slices are as they were.
func Collect(ctx context.Context, t *table.Table, q table.Query, members ...Member) error {
	type kept struct {
		by Member
		v  any
	}
	var all []kept
	err := each(ctx, t, "Collect", q, members, func(m Member, v any) bool {
		all = append(all, kept{m, v})
		return true
	})
	if err != nil {
		return err
	}
	for _, k := range all {
		k.by.keep(k.v)
	}
	return nil
}

// Stream reads a query whose items are of several types, in the order of the
// query. Each value is of the type of its member; a type switch tells which:
//
//	for v, err := range repo.Stream(ctx, tbl, q, users, transactions) {
//		if err != nil {
//			return err
//		}
//		switch v := v.(type) {
//		case User:
//		case Transaction:
//		}
//	}
//
// The error is yielded once, last, and must be looked at.
func Stream(ctx context.Context, t *table.Table, q table.Query, members ...Member) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		if err := each(ctx, t, "Stream", q, members, func(_ Member, v any) bool { return yield(v, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// each gives every item of a query to its member and the value to do, until do
// returns false.
func each(ctx context.Context, t *table.Table, op string, q table.Query, members []Member, do func(Member, any) bool) error {
	fail := func(item table.Item, err error) error {
		e := &table.Error{Op: op, Table: t.Schema().Name, Index: q.Index, Key: t.KeyOf("", item), Err: err}
		if q.Index != "" {
			e.IndexKey = t.KeyOf(q.Index, item)
		}
		return e
	}
	byType := make(map[string]Member, len(members))
	for i, m := range members {
		if m == nil || m.missing() {
			return fail(nil, fmt.Errorf("%w: member %d is nil, or goes into a nil slice", table.ErrInvalid, i))
		}
		if _, twice := byType[m.member()]; twice {
			return fail(nil, fmt.Errorf("%w: two members for type %q", table.ErrInvalid, m.member()))
		}
		if err := m.check(q); err != nil {
			return fail(nil, err)
		}
		byType[m.member()] = m
	}
	attribute, part := t.Schema().Type, incomplete(t.Schema(), q)
	project := q.Project
	switch {
	case slices.ContainsFunc(members, Member.upgrades):
		q.Project = nil
	case len(project) > 0:
		q.Project = append(slices.Clone(project), t.Schema().Shape, t.Schema().Shape+shapeFrom)
	}
	for item, err := range table.All[table.Item](ctx, t, q) {
		if err != nil {
			return err
		}
		name := codec.Text(item[attribute])
		m, known := byType[name]
		if !known {
			m, known = byType[""]
		}
		if !known {
			return fail(item, fmt.Errorf("%w: no member for %q", table.ErrWrongType, name))
		}
		v, err := m.decode(item, project, part)
		if err != nil {
			return fail(item, fmt.Errorf("item of type %q: %w", name, err))
		}
		if v != nil && !do(m, v) {
			return nil
		}
	}
	return nil
}
