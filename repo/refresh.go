package repo

import (
	"context"
	"fmt"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Refresh brings the stored entity under its key, or that of one of its copies, to
// its present description, as [Repo.RefreshOps] does. It reports whether anything
// was written. If another writer changes the entity concurrently, Refresh starts
// over, within the budget of [table.Table.Retry].
func (r *Repo[T]) Refresh(ctx context.Context, key keys.Key) (changed bool, err error) {
	return r.core.refreshStored(ctx, key)
}

func (c *core) refreshStored(ctx context.Context, key keys.Key) (changed bool, err error) {
	_, changed, err = c.refreshFrom(ctx, key, nil)
	return changed, err
}

// refreshFrom refreshes an item, and returns the stamp that it has then. Another stamp than the
// one that is expected, nil for any, is [table.ErrStale].
func (c *core) refreshFrom(ctx context.Context, key keys.Key, expected *stamp) (next stamp, changed bool, err error) {
	err = c.carryOut(ctx, "Refresh", key, func(ctx context.Context, doubted doubts) (*snapshot, *plan, error) {
		f, err := c.find(ctx, key, nil)
		switch {
		case err != nil:
			return nil, nil, err
		case f == nil:
			return nil, nil, table.ErrNotFound
		case f.isGiven():
			f = &found{key: f.of.at, item: f.of.main, of: f.of}
		}
		if expected != nil && f.item.stamp != *expected {
			return nil, nil, fmt.Errorf("%w: another one is stored", table.ErrStale)
		}
		next, changed = f.item.stamp, false
		becomes := c.next(next)
		p, err := c.refresh(ctx, f, doubted, becomes)
		if err == nil && len(p.steps) > 0 {
			next, changed = becomes, true
		}
		return f.of, p, err
	})
	return next, changed && err == nil, err
}

// RefreshOps returns the ops that bring a stored item of the entity to its present
// description: shape, index keys, copies and version. They are one transaction,
// guarded against concurrent writes. There are none if the item is as described.
// Package backfill runs them for a whole table.
//
// item is a whole item as it is stored, read consistently, and not through [Repo.View]: of
// an item that the view has upgraded, the ops do not store the upgrades.
//   - The main item: the ops write what differs in it and in its copies, which
//     RefreshOps reads. A missing copy is created.
//   - A copy: there are no ops, since those of its main item are about it, too. If
//     there is no main item, or if that gives no copy under this key, they delete the
//     copy.
//   - A copy under one of [Entity].FormerCopies: they delete it, if there is a main item.
//
// A copy of another version than its main item becomes equal to that: what only the copy
// has goes, except for keys of indexes that the entity does not declare. An item without a
// version is guarded by all attributes that it and T have.
//
// If another writer changes the entity between the reads, RefreshOps reads it again,
// within the budget of [table.Table.Retry].
//
// Errors, after which nothing is to be written:
//   - [table.ErrInvalid], if a value in the item is nil.
//   - [table.ErrWrongType], [table.ErrNewerShape] and [ErrUpgrade].
//   - [ErrOrphan], if no key of the entity leads to the item.
//   - [table.ErrExists], if the key of a copy is another entity's.
//   - [table.ErrConflict], if the entity changes all the time.
//   - [table.ErrTooLarge], if T has too many attributes to guard an item that has
//     no version.
func (r *Repo[T]) RefreshOps(ctx context.Context, item table.Item) ([]table.Op, error) {
	key := r.core.table.KeyOf("", item)
	ops, err := r.core.refreshOps(ctx, key, item)
	return ops, r.core.fail("RefreshOps", key, err)
}

func (c *core) refreshOps(ctx context.Context, key keys.Key, attributes table.Item) (ops []table.Op, err error) {
	err = c.retry(ctx, func(ctx context.Context, doubted doubts) (error, bool) {
		f, err := c.find(ctx, key, attributes)
		attributes = nil // the next time it has changed since it was given
		if err != nil || f == nil {
			return err, false
		}
		p, err := c.refresh(ctx, f, doubted, c.next(f.item.stamp))
		if err == nil {
			ops, err = c.ops(p.steps)
		}
		return err, false
	})
	return ops, err
}

// RefreshItems returns the items that store an entity as described at present, for
// a table that is written as a whole, as by an import. It does not read the table.
//
// item is an item as it is stored:
//   - The main item: RefreshItems returns it as [Repo.RefreshOps] would leave it, and
//     then all copies, with its version. If it changes, the version is the next one.
//   - A copy, present or former: there are no items. The main item gives the copies.
//
// An item that [Repo.View] has upgraded counts as one of the current shape: the upgrades
// alone are no change of it.
//
// A copy has all attributes of the main item, except for the keys of indexes. An
// attribute that only a stored copy has is lost.
//
// Errors: those of [Repo.RefreshOps]. The items are for the caller to check, with
// [table.Table.CheckItem], and whether another item has one of the keys.
func (r *Repo[T]) RefreshItems(item table.Item) ([]table.Item, error) {
	key := r.core.table.KeyOf("", item)
	items, err := r.core.refreshItems(key, item)
	return items, r.core.fail("RefreshItems", key, err)
}

func (c *core) refreshItems(key keys.Key, attributes table.Item) ([]table.Item, error) {
	if c.isClaim(attributes) {
		return nil, nil // the main item gives it
	}
	old, kind, err := c.identify(key, attributes)
	if err != nil || kind == copyItem || kind == formerCopy {
		return nil, err
	}
	v, err := c.copied(old)
	if err != nil {
		return nil, err
	}
	p := c.newPlanner(&snapshot{main: old, at: key}, wish{v: v, becomes: c.next(old.stamp), exact: true})
	if _, err := p.compare(); err != nil {
		return nil, err
	}
	if !p.differs {
		p.becomes = old.stamp
	}
	items := make([]table.Item, 0, len(p.keys))
	for i, key := range p.keys {
		var made item.Made
		switch {
		case i == 0:
			made = c.whole(0, key, v, p.fields.apply(old.raw), p.becomes)
		case key == keys.Key{}:
			continue
		default:
			made = p.copyOf(i, nil)
		}
		if made.Err != nil {
			return nil, fmt.Errorf("%s: %w", c.items[i].Name, made.Err)
		}
		items = append(items, made.Item)
	}
	claims := c.claimsOf(v)
	if err := c.checkClaims(claims, p.keys); err != nil {
		return nil, err
	}
	for _, key := range claims {
		made := c.claim(key, p.keys[0], c.expiryIn(items[0]))
		if made.Err != nil {
			return nil, fmt.Errorf("%s: %w", c.claimType(), made.Err)
		}
		items = append(items, made.Item)
	}
	return items, nil
}

// refresh plans that an item is as described, and then has a stamp. The plan for the main item
// is about its copies, too.
func (c *core) refresh(ctx context.Context, f *found, doubted doubts, becomes stamp) (*plan, error) {
	if f.of == nil || f.of.at != f.key {
		return c.planLoose(f, doubted)
	}
	v, err := c.copied(f.item)
	if err != nil {
		return nil, err
	}
	f.of.doubts = doubted
	return c.decide(ctx, f.of, wish{v: v, becomes: becomes, exact: true})
}
