package repo

import (
	"context"
	"errors"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// An entity that has expired is still counted. What takes it out of the numbers is a Create
// over it, [Repo.Uncount] or [Repo.UncountOps].

// over is an expired item that an entity is created over, and what it is still counted as.
type over struct {
	item   table.Item
	counts counts
}

// marked returns what a Create expects: no expired entity that is counted, or just this one.
func (o over) marked(c *core) table.Item {
	if len(c.entity.Counters) == 0 || c.schema.TTLAttribute == "" {
		return nil
	}
	return table.Item{item.Counted: o.item[item.Counted]}
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
	for name, is := range o.counts {
		if !doubted[is.key] {
			continue
		}
		owner, err := c.peek(ctx, is.key)
		if err != nil {
			return o, err
		}
		if of := c.counterNamed(name).Owner; owner == nil || of != "" && item.Text(owner[c.schema.TypeAttribute]) != of {
			delete(o.counts, name)
		}
	}
	return o, nil
}

// doubt notes what a Create under a key did not know: that an expired entity is still counted,
// or that an owner of that is gone. It reports whether another attempt can succeed.
func (c *core) doubt(failed []*table.Error, key keys.Key, doubted doubts) (again bool) {
	if len(c.entity.Counters) == 0 {
		return false
	}
	for _, f := range failed {
		switch {
		case f.Key == key && errors.Is(f, table.ErrConditionFailed):
			doubted[key], again = true, true
		case doubted[key] && !doubted[f.Key] && errors.Is(f, table.ErrUncounted):
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
	for _, s := range c.countSteps(c.countsIn(image), nil, false) {
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
		for _, s := range c.countSteps(o.counts, nil, false) {
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
