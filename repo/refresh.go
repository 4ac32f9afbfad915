package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
	err = c.retry(ctx, func(ctx context.Context, _ looks) (error, bool) {
		ops, err := c.refreshKey(ctx, key)
		if err != nil {
			return c.named("Refresh", key, err), false
		}
		if changed = len(ops) > 0; !changed {
			return nil, false
		}
		err = c.run(ctx, ops)
		return err, errors.Is(err, table.ErrConditionFailed) || (&save{main: len(ops)}).overtaken(err)
	})
	return changed && err == nil, err
}

// refreshKey returns the ops for what is stored under a key, or for the main item of
// the copy there.
func (c *core) refreshKey(ctx context.Context, key keys.Key) ([]table.Op, error) {
	item, err := c.peek(ctx, key)
	if err == nil && item == nil {
		err = table.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if err := c.checkType(item); err != nil {
		return nil, err
	}
	v, err := c.decodeStored(item)
	if err != nil {
		return nil, err
	}
	if main := c.entity.Key(v); main != key {
		above, err := c.peek(ctx, main)
		if err != nil {
			return nil, err
		}
		if above != nil {
			key, item = main, above
		}
	}
	return c.refreshOps(ctx, key, item)
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
//     there is no main item, they delete the copy.
//   - An item under one of [Entity].FormerKeys: they move it. If the entity is under
//     its present key already, they delete the former item.
//   - An item under one of [Entity].FormerCopies: they delete it, if there is a main
//     item.
//
// An item without a version is guarded by all attributes that T has.
//
// Errors, after which nothing is to be written:
//   - [table.ErrInvalid], if a value in the item is nil.
//   - [table.ErrStale], if a view of the repository has read the item in part.
//   - [table.ErrWrongType], [table.ErrNewerShape] and [ErrOlderShape].
//   - [ErrOrphan], if no key of the entity leads to the item.
//   - [table.ErrExists], if the present key, or that of a copy, is another entity's.
//   - [table.ErrTooLarge], if T has too many attributes to guard an item that has
//     no version.
func (r *Repo[T]) RefreshOps(ctx context.Context, item table.Item) ([]table.Op, error) {
	key := r.core.table.KeyOf("", item)
	if r.core.isPartOf(item) {
		return nil, r.core.fail("RefreshOps", key, fmt.Errorf("%w: %w", table.ErrInvalid, errPart))
	}
	ops, err := r.core.refreshOps(ctx, key, item)
	if err != nil {
		return nil, r.core.fail("RefreshOps", key, err)
	}
	return ops, nil
}

func (c *core) refreshOps(ctx context.Context, key keys.Key, item table.Item) ([]table.Op, error) {
	old, found, err := c.identify(key, item)
	if err != nil {
		return nil, err
	}
	switch found {
	case copyItem:
		return c.refreshCopy(ctx, key, old)
	case formerItem:
		return c.refreshFormer(ctx, key, old)
	case formerCopy:
		return c.refreshFormerCopy(ctx, key, old)
	}
	s, err := c.refresh(ctx, old)
	if err != nil {
		return nil, err
	}
	return s.ops, nil
}

// RefreshItems returns the items that store an entity as described at present, for
// a table that is written as a whole, as by an import. It does not read the table.
//
// item is an item as it is stored:
//   - The main item: RefreshItems returns it as [Repo.RefreshOps] would leave it, and
//     then all copies, with its version. If it changes, the version is the next one.
//   - An item under one of [Entity].FormerKeys: the same, under the present key.
//   - A copy, or an item under one of [Entity].FormerCopies: there are no items. The
//     main item gives the copies.
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
	if r.core.isPartOf(item) {
		return nil, r.core.fail("RefreshItems", key, fmt.Errorf("%w: %w", table.ErrInvalid, errPart))
	}
	items, err := r.core.refreshItems(key, item)
	if err != nil {
		return nil, r.core.fail("RefreshItems", key, err)
	}
	return items, nil
}

func (c *core) refreshItems(key keys.Key, item table.Item) ([]table.Item, error) {
	old, found, err := c.identify(key, item)
	if err != nil || found == copyItem || found == formerCopy {
		return nil, err
	}
	s, fields, _, err := c.refreshed(old)
	if err != nil {
		return nil, err
	}
	next := old.stamp
	if s.drifted || found == formerItem {
		next = s.next
	}
	items := make([]table.Item, 0, len(s.keys))
	for i, key := range s.keys {
		if i > 0 && key == (keys.Key{}) {
			continue
		}
		attributes := fields.apply(old.raw)
		if i > 0 {
			maps.DeleteFunc(attributes, c.onlyMain)
		}
		made := c.whole(i, key, s.v, attributes, next)
		if made.Err != nil {
			return nil, fmt.Errorf("%s: %w", c.items[i].Name, made.Err)
		}
		items = append(items, made.Item)
	}
	return items, nil
}

// onlyMain reports whether an attribute is a key of an index, which another release
// has given the main item. T does not have it, so copies must not: a query of the
// index would return the entity twice.
func (c *core) onlyMain(name string, _ types.AttributeValue) bool {
	_, own := c.own[name]
	return c.known && !own && slices.Contains(c.indexKeyNames, name)
}

// refresh returns the ops that write an entity as it is, with all of its copies;
// none if nothing differs.
func (c *core) refresh(ctx context.Context, old *stored) (*save, error) {
	s, fields, d, err := c.refreshed(old)
	if err != nil {
		return nil, err
	}
	op, _, err := s.patch(0, d, old.raw, old.stamp)
	if err != nil {
		return nil, err
	}
	if op, err = c.unlessWritten(op, old); err != nil {
		return nil, err
	}
	s.ops = append(s.ops, op)
	for i, key := range s.keys {
		if i == 0 || key == (keys.Key{}) {
			continue
		}
		op, drifted, err := s.restoreCopy(ctx, i, fields, nil)
		if err != nil {
			return nil, err
		}
		s.ops, s.drifted = append(s.ops, op), s.drifted || drifted
	}
	if !s.drifted {
		s.ops = nil
	}
	return s, nil
}

// refreshed begins the refresh of an entity. It returns what changes of the main item:
// of its fields alone, and with its index keys.
func (c *core) refreshed(old *stored) (s *save, fields, d diff, err error) {
	v, err := c.copied(old)
	if err != nil {
		return nil, fields, d, err
	}
	s = &save{core: c, old: old, v: v, next: c.next(old.stamp), keys: old.keys, main: 1, pending: c.pendingUpgrades(old)}
	if fields, err = c.fields(old.raw, old.extra, old.v, v); err != nil {
		return nil, fields, d, err
	}
	fields = fields.over(s.pending)
	d, err = s.withIndexes(0, fields, old.extra, true)
	s.drifted = !d.empty() || c.counter != unversioned && old.stamp == stamp{}
	return s, fields, d, err
}

// maxGuarded is how many attributes a condition compares at most. AWS: "Service,
// account, and table quotas", Amazon DynamoDB Developer Guide: 300 operators in an
// expression.
const maxGuarded = 140

// unlessWritten guards the op of an item that has no version by the attributes that
// were read.
func (c *core) unlessWritten(op table.Op, read *stored) (table.Op, error) {
	if read.stamp != (stamp{}) {
		return op, nil
	}
	names := map[string]bool{}
	for _, name := range c.attributes {
		names[name] = true
	}
	for name := range read.item {
		names[name] = true
	}
	for _, name := range []string{c.schema.PK, c.schema.SK, c.schema.Type, c.entity.Version} {
		delete(names, name)
	}
	if len(names) > maxGuarded {
		return op, fmt.Errorf("%w: %d attributes, a condition compares %d", table.ErrTooLarge, len(names), maxGuarded)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		same := item.Name(name).AttributeNotExists()
		if value, has := read.item[name]; has {
			same = item.Name(name).Equal(expression.Value(value))
		}
		op = op.If(same)
	}
	return op, nil
}

// refreshCopy returns the ops for a copy: none if its main item has it.
func (c *core) refreshCopy(ctx context.Context, key keys.Key, copied *stored) ([]table.Op, error) {
	attributes, err := c.peek(ctx, copied.keys[0])
	switch {
	case err != nil:
		return nil, err
	case attributes == nil:
		main, err := c.formerMain(ctx, key, copied)
		if err != nil || main != nil {
			return nil, err // its ops are about the copy, too
		}
		none := item.Name(c.schema.PK).AttributeNotExists()
		return c.removeStored(key, copied, table.Check(copied.keys[0], none).WithName(c.items[0].Name))
	}
	if err := c.checkType(attributes); err != nil {
		return nil, fmt.Errorf("%w: the item under its main key: %w", ErrOrphan, err)
	}
	main, err := c.decodeStored(attributes)
	if err == nil && !slices.Contains(c.keysOf(main), key) {
		return nil, fmt.Errorf("%w: its main item gives no copy under this key", ErrOrphan)
	}
	return nil, nil // an error is the main item's
}

// formerMain returns the main item of a copy, if it is still under a former key.
func (c *core) formerMain(ctx context.Context, key keys.Key, copied *stored) (*stored, error) {
	for _, former := range c.entity.FormerKeys {
		at := former(copied.v)
		if at == key {
			return nil, fmt.Errorf("%w: its key is a former one of the main item, too", ErrOrphan)
		}
		item, err := c.peek(ctx, at)
		if err != nil {
			return nil, err
		}
		if item == nil || c.checkType(item) != nil {
			continue
		}
		main, err := c.storedItem(item)
		if err == nil {
			main.keys = slices.Clone(main.keys)
			main.keys[0] = at
		}
		return main, err
	}
	return nil, nil
}

// refreshFormer returns the ops for an item under a former key.
func (c *core) refreshFormer(ctx context.Context, key keys.Key, former *stored) ([]table.Op, error) {
	main, err := c.loadMain(ctx, former.keys[0])
	switch {
	case errors.Is(err, table.ErrNotFound):
		return c.moveFormer(ctx, key, former)
	case err != nil:
		return nil, err
	case !slices.ContainsFunc(c.entity.FormerKeys, func(former keyFunc) bool { return former(main.v) == key }):
		return nil, fmt.Errorf("%w: its present key is another entity's", table.ErrExists)
	}
	return c.removeStored(key, former, c.stays(main))
}

// moveFormer returns the ops that move an item from a former key to its present one.
func (c *core) moveFormer(ctx context.Context, key keys.Key, former *stored) ([]table.Op, error) {
	v, err := c.copied(former)
	if err != nil {
		return nil, err
	}
	old := *former
	old.keys = slices.Clone(former.keys)
	old.keys[0] = key
	look := looks{}
	for _, copied := range old.keys[1:] {
		look[copied] = true
	}
	s, err := c.newSave(ctx, &old, v, look)
	if err == nil {
		s.ops[0], err = c.unlessWritten(s.ops[0], former)
	}
	if err != nil {
		return nil, err
	}
	return s.ops, nil
}

// refreshFormerCopy returns the ops that delete a copy which the entity no longer
// has.
func (c *core) refreshFormerCopy(ctx context.Context, key keys.Key, copied *stored) ([]table.Op, error) {
	main, err := c.loadMain(ctx, copied.keys[0])
	if errors.Is(err, table.ErrNotFound) {
		main, err = c.formerMain(ctx, key, copied)
	}
	if err != nil {
		return nil, err
	}
	if main == nil {
		return nil, fmt.Errorf("%w: its main item is missing", ErrOrphan)
	}
	return c.removeStored(key, copied, c.stays(main))
}

// stays returns the op that makes a transaction depend on a main item.
func (c *core) stays(main *stored) table.Op {
	exists := item.Name(c.schema.PK).AttributeExists()
	return c.guard(table.Check(main.keys[0], exists), main.stamp).IfExists().WithName(c.items[0].Name)
}

// removeStored returns the ops that delete an item as it was read, together with
// another one.
func (c *core) removeStored(key keys.Key, s *stored, with table.Op) ([]table.Op, error) {
	op := c.guard(table.Delete(key), s.stamp).IfExists().WithName(c.entity.Type)
	op, err := c.unlessWritten(op, s)
	if err != nil {
		return nil, err
	}
	return []table.Op{op, with}, nil
}

// checkType reports an item of another type.
func (c *core) checkType(attributes table.Item) error {
	if name := item.Text(attributes[c.schema.Type]); name != c.entity.Type {
		return fmt.Errorf("%w: want %q, have %q", table.ErrWrongType, c.entity.Type, name)
	}
	return nil
}
