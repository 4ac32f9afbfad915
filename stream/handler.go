package stream

import (
	"context"
	"errors"
	"maps"

	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Handler is given the changes of one type of entities. Get one from [On], [OnOther]
// or [IgnoreOther].
type Handler interface {
	// handles returns the type, "" for all others.
	handles() string
	// owns returns further types of the entity's items, which are no values.
	owns() []string
	// version returns the attribute of the entity's Version, "" for none.
	version() string
	// problem returns what is wrong with the handler, for a table.
	problem(schema.Table) string
	// handle is given the images of a record that are of the type. One of them can be
	// nil. It returns those that are no item of the entity.
	handle(ctx context.Context, t *table.Table, r *record, old, new table.Item) (orphans [2]table.Item, err error)
}

// on is the handler of an entity.
type on[T any] struct {
	repo *repo.Repo[T]
	do   func(context.Context, Change[T]) error
}

// On returns a handler for the changes of an entity. do is called once for each
// change of an entity, however many copies it has. An error of do ends the batch at
// the record: see [Router]. do must be idempotent, since a change can be delivered
// more than once: see [Change.Request].
//
// do is not called if no attribute of T has changed, other than the version and those of
// [repo.Entity].Counted.
func On[T any](r *repo.Repo[T], do func(ctx context.Context, c Change[T]) error) Handler {
	return on[T]{repo: r, do: do}
}

func (h on[T]) handles() string {
	if all := h.repo.Types(); len(all) > 0 {
		return all[0]
	}
	return ""
}

func (h on[T]) owns() []string {
	all := h.repo.Types()
	return all[min(1, len(all)):]
}

func (h on[T]) version() string { return h.repo.Form().Version }

func (h on[T]) problem(spec schema.Table) string {
	if h.handles() == "" || h.do == nil {
		return "its repository or its function is nil, or the repository is not one of repo.New"
	}
	switch of := h.repo.View().Schema(); {
	case of.Name != spec.Name:
		return "its repository is of another table"
	case of.PK != spec.PK || of.SK != spec.SK || of.TypeAttribute != spec.TypeAttribute:
		return "its repository has other names for the attributes of keys or type"
	}
	return ""
}

func (h on[T]) handle(ctx context.Context, t *table.Table, r *record, old, new table.Item) (orphans [2]table.Item, err error) {
	c := newChange[T](r)
	for i, side := range []struct {
		item table.Item
		into **T
	}{{old, &c.Old}, {new, &c.New}} {
		if side.item == nil {
			continue
		}
		v, main, err := h.repo.Decode(side.item)
		switch {
		//mutants:guard stream: an item with other constants is no change of the entity | TestConstantsOfOthers ./repo | , errors.Is(err, table.ErrWrongType) =>
		case errors.Is(err, repo.ErrOrphan), errors.Is(err, table.ErrWrongType): // the type is right, its constants are not
			orphans[i] = side.item
		case err != nil:
			return orphans, err
		//mutants:guard stream: a copy gives no change | TestOneChangeForAnEntityWithCopies | main => main || true
		case main:
			*side.into = &v
		}
	}
	c.settle(t, r, old, new)
	if c.Kind == Modify {
		c.Changed, err = h.repo.Changes(*c.Old, *c.New)
		//mutants:guard stream: a change of the version alone is none | TestUpgrades | || len(c.Changed) == 0 =>
		if err != nil || len(c.Changed) == 0 {
			return orphans, err
		}
	}
	if c.Kind == "" {
		return orphans, nil
	}
	return orphans, h.do(ctx, c)
}

func newChange[T any](r *record) Change[T] {
	return Change[T]{Key: r.key, At: r.at, Sequence: r.sequence, EventID: r.id, Stream: r.arn}
}

// settle sets the kind of a change, given the values: none if there are none.
func (c *Change[T]) settle(t *table.Table, r *record, old, new table.Item) {
	expired := r.expired || c.Old != nil && t.Expired(old, r.at)
	switch {
	case c.Old == nil && c.New == nil:
	case c.New == nil && expired:
		c.Kind = Expire
	case c.New == nil:
		c.Kind = Remove
	//mutants:guard stream: an expired entity is missing | TestExpiry | || expired && !t.Expired(new, r.at) =>
	case c.Old == nil || expired && !t.Expired(new, r.at):
		c.Kind, c.Old = Insert, nil
	default:
		c.Kind = Modify
	}
}

// other is the handler of what no other handler is for.
type other struct {
	do func(context.Context, Change[table.Item]) error
}

// OnOther returns a handler for all other items: those of a type that no other
// handler is for, and those of an entity that no key of the entity leads to. Without it
// or [IgnoreOther] such an item is an error, [table.ErrWrongType] or [repo.ErrOrphan],
// and its record is delivered again. do is called for every record, also if nothing has
// changed; Changed is nil. do may change the maps of c, but not the values in them.
func OnOther(do func(ctx context.Context, c Change[table.Item]) error) Handler { return other{do} }

// IgnoreOther returns a handler that passes over the items of [OnOther].
func IgnoreOther() Handler {
	return other{func(context.Context, Change[table.Item]) error { return nil }}
}

func (other) handles() string { return "" }

func (other) version() string { return "" }

func (other) owns() []string { return nil }

func (h other) problem(schema.Table) string {
	if h.do == nil {
		return "its function is nil"
	}
	return ""
}

func (h other) handle(ctx context.Context, t *table.Table, r *record, old, new table.Item) (orphans [2]table.Item, err error) {
	c := newChange[table.Item](r)
	old, new = maps.Clone(old), maps.Clone(new) // a Reader gives the record again after a failure
	if old != nil {
		c.Old = &old
	}
	if new != nil {
		c.New = &new
	}
	c.settle(t, r, old, new)
	return orphans, h.do(ctx, c)
}
