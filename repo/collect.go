package repo

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/table"
)

// Member is one of the types that a partition holds: a [*Repo], what
// [Repo.AppendTo] returns, or [IgnoreOther].
type Member interface {
	// member is nil for a repository that is not of [New], and for a nil slice.
	member() *member
}

// member is a Member of any type.
type member struct {
	*core // an empty one for all types that are left
	// keep is given each value of [Collect] after the last one was read, unless it
	// is nil.
	keep func(any)
}

func (m *member) member() *member { return m }

func (r *Repo[T]) member() *member {
	if r == nil || r.core.table == nil {
		return nil
	}
	return &member{core: &r.core}
}

// AppendTo says where [Collect] is to append the entities of this type.
func (r *Repo[T]) AppendTo(slice *[]T) Member {
	if r.member() == nil || slice == nil {
		return (*member)(nil)
	}
	return &member{core: &r.core, keep: func(v any) { *slice = append(*slice, *v.(*T)) }}
}

// IgnoreOther lets [Collect] and [Stream] pass over items of types that no other
// member is for. Without it they are [table.ErrWrongType].
func IgnoreOther() Member { return &member{core: new(core)} }

// Collect reads a query whose items are of several types and appends each to
// the slice of its type:
//
//	err := repo.Collect(ctx, tbl, q, users.AppendTo(&us), transactions.AppendTo(&txs))
//
// It reads all pages: a Limit of the query is one of items in all, and zero means no limit. The
// entities are whole: a projection of the query or of t, and an index that does not
// project all attributes, are [table.ErrInvalid]. A type of t ([table.Table.OfType]) does not
// count, since the members have the types.
//
// After an error the slices are as they were.
func Collect(ctx context.Context, t *table.Table, q table.Query, members ...Member) error {
	type kept struct {
		by *member
		v  any
	}
	var all []kept
	err := each(ctx, t, "Collect", q, members, func(m *member, v any) bool {
		all = append(all, kept{m, v})
		return true
	})
	if err != nil {
		return err
	}
	for _, k := range all {
		if k.by.keep != nil {
			k.by.keep(k.v)
		}
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
// The error is yielded once, last, and must be looked at. Projections, indexes and the type
// of t are as in [Collect].
func Stream(ctx context.Context, t *table.Table, q table.Query, members ...Member) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		if err := each(ctx, t, "Stream", q, members, func(_ *member, v any) bool {
			return yield(reflect.ValueOf(v).Elem().Interface(), nil)
		}); err != nil {
			yield(nil, err)
		}
	}
}

// each gives every item of a query to its member and the value to do, until do
// returns false.
func each(ctx context.Context, t *table.Table, op string, q table.Query, members []Member, do func(*member, any) bool) error {
	if isZero(t) {
		return &table.Error{Op: op, Err: fmt.Errorf("%w: %w", table.ErrInvalid, errNoTable)}
	}
	fail := func(attributes table.Item, err error) error {
		e := &table.Error{Op: op, Table: t.Schema().Name, Index: q.Index, Key: t.KeyOf("", attributes), Err: err}
		if q.Index != "" {
			e.IndexKey = t.KeyOf(q.Index, attributes)
		}
		return e
	}
	byType, err := byTypes(members, q)
	if err != nil {
		return fail(nil, err)
	}
	var views []item.View
	for _, m := range byType {
		if m.entity.Type != "" {
			view := m.view
			//mutants:guard Collect reads whole entities | TestEntitiesAreNotReadInPart | view.Whole, view.Check, view.Equal = reflect.TypeFor[table.Item](), nil, nil => view.Check, view.Equal = nil, nil
			view.Whole, view.Check, view.Equal = reflect.TypeFor[table.Item](), nil, nil // which memberOf makes a T of
			views = append(views, view)
		}
	}
	for attributes, err := range table.All[table.Item](ctx, t.Reading(item.Reading{Views: views}), q) {
		if err != nil {
			if e, ok := err.(*table.Error); ok { //nolint:errorlint // it is All's own
				e.Op = op
			}
			return err
		}
		m, v, err := memberOf(byType, t.Schema().TypeOf(attributes), attributes)
		switch {
		case err != nil:
			return fail(attributes, err)
		case v != nil && !do(m, v):
			return nil
		}
	}
	return nil
}

// memberOf returns the member for an item of a type, and the item's value; nil if the member
// takes none.
func memberOf(byType map[string]*member, name string, attributes table.Item) (m *member, v any, err error) {
	m, known := byType[name]
	var wrong error
	if known {
		wrong = m.checkConstants(attributes)
	} else {
		wrong = fmt.Errorf("%w: no member for %q", table.ErrWrongType, name)
	}
	if wrong != nil {
		m, known = byType[""]
	}
	switch {
	case !known:
		return nil, nil, wrong
	case m.entity.Type == "":
		return m, nil, nil
	}
	v = m.entity.zero()
	err = attributes.Decode(v)
	if err == nil && len(m.vectors) > 0 {
		err = m.checkMain(v, m.table.KeyOf("", attributes))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("item of type %q: %w", name, err)
	}
	return m, v, nil
}

// byTypes returns the members by the types that they are for.
func byTypes(members []Member, q table.Query) (map[string]*member, error) {
	all := make(map[string]*member, len(members))
	for i, each := range members {
		var m *member
		if each != nil {
			m = each.member()
		}
		if m == nil {
			return nil, fmt.Errorf("%w: member %d is no repository of New, or goes into a nil slice", table.ErrInvalid, i)
		}
		name := m.entity.Type
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("%w: two members for type %q", table.ErrInvalid, name)
		}
		all[name] = m
		if m.entity.Claims != nil { // which are no values
			all[m.claimType()] = &member{core: new(core)}
		}
		if name != "" && len(m.shapes.upgrades) > 0 {
			if err := m.checkFilter(q); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
