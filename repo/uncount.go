package repo

import (
	"context"
	"errors"
	"maps"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// An entity that has expired is still counted. What takes it out of the numbers is a Create
// over it, [Repo.Uncount] or [Repo.UncountOps].

// over is an expired item that is replaced, and what it is still counted as.
type over struct {
	item   table.Item
	counts counts
}

// marked returns the mark that a create expects to replace, if one was read.
func (o over) marked() table.Item {
	if o.item == nil {
		return nil
	}
	return table.Item{item.Counted: o.item[item.Counted]}
}

// overs returns the expired items that v replaces, by key, as far as they are doubted: a create
// of them has failed.
func (c *core) overs(ctx context.Context, v any, doubted doubts) (map[keys.Key]over, error) {
	all := map[keys.Key]over{}
	for _, key := range append(c.keysOf(v), c.claimsOf(v)...) {
		if !doubted[key] {
			continue
		}
		o, err := c.stillCounted(ctx, key, doubted)
		if err != nil {
			return nil, err
		}
		ours := key == c.entity.Key(v) && c.checkType(o.item) == nil
		//mutants:guard a copy that is replaced takes nothing back | TestCreateOverExpiredCopies
		if !ours && c.countedOf(o.item) != key { // its main item counts
			o.counts = nil
		}
		all[key] = o
	}
	return all, nil
}

// stillCounted reads the item under a key, expired or not, and what is to be taken back of it:
// what doubted owners that are missing counted is lost with them.
func (c *core) stillCounted(ctx context.Context, key keys.Key, doubted doubts) (o over, err error) {
	o.item, err = table.Get[table.Item](ctx, c.table.IncludingExpired().Consistent(), key)
	if errors.Is(err, table.ErrNotFound) {
		return over{}, nil
	}
	if err != nil {
		return o, err
	}
	o.counts = c.countsIn(o.item)
	all := maps.Clone(o.counts)
	for name, is := range all {
		if !doubted[is.key] && !all.contest(is) {
			continue
		}
		owner, err := c.peek(ctx, is.key)
		if err != nil {
			return o, err
		}
		if !c.countsAs(owner, is) {
			delete(o.counts, name)
		}
	}
	return o, nil
}

// doubt notes what a Create did not know: that an expired entity under one of its keys is still
// counted, or that an owner of that is gone. It reports whether another attempt can succeed.
func (c *core) doubt(failed []*table.Error, doubted doubts) (again bool) {
	if len(c.entity.Counters) == 0 {
		return false
	}
	for _, f := range failed {
		switch {
		case errors.Is(f, table.ErrConditionFailed):
			doubted[f.Key], again = true, true
		case len(doubted) > 0 && !doubted[f.Key] && errors.Is(f, table.ErrUncounted):
			doubted[f.Key], again = true, true
		}
	}
	return again
}

// failedOps returns the ops because of which a call failed.
func failedOps(err error) []*table.Error {
	if tx, several := errors.AsType[*table.TxError](err); several {
		return tx.Failed
	}
	if failed, ok := table.FailedOp(err, ""); ok {
		return []*table.Error{failed}
	}
	return nil
}

// UncountOps returns the ops that take back what an expired entity was counted as: one for each
// owner. image is its item as DynamoDB has deleted it, of the stream's record. There are none for
// items that count nothing, as copies and items of other types.
//
// Run each op once for each record, by package idempotency. One of an owner that is missing is
// [table.ErrUncounted]: there is nothing to take back. [Repo.Uncount] is for items that are still
// stored.
func (r *Repo[T]) UncountOps(image table.Item) []table.Op {
	return r.core.uncountOps(r.core.table.KeyOf("", image), image)
}

func (c *core) uncountOps(key keys.Key, image table.Item) (ops []table.Op) {
	if len(c.entity.Counters) == 0 || image[item.Counted] == nil || c.checkType(image) != nil {
		return nil
	}
	switch _, kind, err := c.identify(key, image); {
	case err != nil && !errors.Is(err, ErrOrphan):
		return c.refused(err)
	//mutants:guard a copy is not uncounted | TestUncount | kind != mainItem => kind < mainItem
	case err != nil, kind != mainItem:
		return nil
	}
	for _, s := range c.countSteps(nil, false, c.countsIn(image)) {
		ops = append(ops, c.op(s))
	}
	return ops
}

// Uncount takes back what an expired entity is counted as, which is still stored under its key,
// and reports whether there was anything. The item stays, and counts no longer. So a sweeper
// frees the seats of expired reservations in time: it reads the items by a view of
// [table.Table.IncludingExpired]. An entity that has not expired stays as it is.
//
// Concurrent calls, and a Create of the entity, take back once. Errors are those of [Repo.Delete].
func (r *Repo[T]) Uncount(ctx context.Context, key keys.Key) (bool, error) {
	return r.core.uncount(ctx, key)
}

func (c *core) uncount(ctx context.Context, key keys.Key) (done bool, err error) {
	err = c.retry(ctx, func(ctx context.Context, doubted doubts) (error, bool) {
		done = false
		o, err := c.stillCounted(ctx, key, doubted)
		if err != nil || !c.table.Expired(o.item, c.table.Now()) || len(c.uncountOps(key, o.item)) == 0 {
			return c.named("Uncount", key, err), false
		}
		as := table.Item{item.Counted: o.item[item.Counted], c.schema.TTLAttribute: o.item[c.schema.TTLAttribute]}
		//mutants:guard an entity is uncounted once | TestUncountMeetsOthers | ifSame => func(op table.Op, _ table.Item) table.Op { return op }
		ops := []table.Op{ifSame(table.Patch(key, nil, item.Counted).WithName(c.entity.Type), as)}
		for _, s := range c.countSteps(nil, false, o.counts) {
			ops = append(ops, c.op(s))
		}
		if err = c.commit(ctx, ops); err == nil {
			done = true
			return nil, false
		}
		again := errors.Is(err, table.ErrConditionFailed)
		for _, f := range failedOps(err) {
			if errors.Is(f, table.ErrUncounted) && !doubted[f.Key] {
				doubted[f.Key], again = true, true
			}
		}
		return err, again && !errors.Is(err, table.ErrOutcomeUnknown)
	})
	return done, err
}
