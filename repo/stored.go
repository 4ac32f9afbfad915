package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// stored is an entity as it was read for a write.
type stored struct {
	// raw is its main item, v points to what T has of it.
	raw item.Raw
	v   any
	// extra are the item's attributes that matter and that T does not have: see
	// [core.isExtra].
	extra table.Item
	shape int
	// item is the main item as it is stored, if it was read as a whole to be
	// refreshed.
	item  table.Item
	stamp stamp
	// keys are those of the items, the main one first.
	keys []keys.Key
}

// load reads an entity consistently, under its key or that of one of its copies. A
// copy is not trusted: it leads to the main item.
func (c *core) load(ctx context.Context, key keys.Key) (*stored, error) {
	s, err := c.loadMain(ctx, key)
	if err != nil || s.keys[0] == key {
		return s, err
	}
	s, err = c.loadMain(ctx, s.keys[0])
	if errors.Is(err, table.ErrNotFound) {
		return s, fmt.Errorf("%w: its main item is missing", ErrOrphan)
	}
	if err == nil && !slices.Contains(s.keys, key) {
		err = fmt.Errorf("%w: its main item gives no copy under this key", ErrOrphan)
	}
	return s, err
}

// loadMain reads the item under a key as a main item.
func (c *core) loadMain(ctx context.Context, key keys.Key) (*stored, error) {
	raw, err := table.Get[item.Raw](ctx, c.consistent, key)
	if err != nil {
		return nil, c.misfit(err)
	}
	s := &stored{raw: raw, v: c.entity.zero()}
	loose, err := raw.Decode(s.v)
	if err != nil {
		return nil, c.misfit(c.fail("Get", key, err))
	}
	return s, c.complete(s, loose)
}

// complete adds to the value of a main item what else is known of it.
func (c *core) complete(s *stored, loose bool) error {
	s.shape = c.shapes.current
	if loose || len(c.indexAttributes) > 0 || len(c.shapes.touched) > 0 {
		s.extra = s.raw.Attributes(c.isExtra)
	}
	if loose { // as all items are that were upgraded
		s.shape = c.shapes.of(s.extra)
	}
	s.stamp, s.keys = c.stampIn(s.v), c.keysOf(s.v)
	if loose || c.field == nil || s.stamp.version < 0 {
		// The field, or the stamp, may not hold what the attribute does.
		own := s.raw.Attributes(func(name []byte) bool { return string(name) == c.entity.Version })
		s.stamp = c.stampOf(own)
		return c.checkStamp(own)
	}
	return nil
}

// copied returns what T has of the item, to be changed.
func (c *core) copied(s *stored) (any, error) {
	v := c.entity.zero()
	if item.Copy(v, s.v) {
		return v, nil
	}
	return c.entity.decode(s.raw)
}

func (c *core) keysOf(v any) []keys.Key {
	all := make([]keys.Key, len(c.items))
	for i, p := range c.items {
		all[i] = p.Key(v)
	}
	return all
}

// itemKind is what a stored item is to its entity.
type itemKind int

const (
	mainItem itemKind = iota
	copyItem
	formerItem
	formerCopy
)

// identify returns the entity of a stored item as the item has it, and what the item
// is to it.
func (c *core) identify(key keys.Key, attributes table.Item) (*stored, itemKind, error) {
	if path, is := item.NilIn(attributes); is {
		return nil, 0, fmt.Errorf("%w: attribute %q is nil", table.ErrInvalid, path)
	}
	if err := c.checkType(attributes); err != nil {
		return nil, 0, err
	}
	if err := c.checkStamp(attributes); err != nil {
		return nil, 0, err
	}
	old, err := c.storedItem(attributes)
	if err != nil {
		return nil, 0, err
	}
	here := func(former keyFunc) bool { return former(old.v) == key }
	switch {
	case old.keys[0] == key:
		return old, mainItem, nil
	case key != (keys.Key{}) && slices.Contains(old.keys[1:], key):
		return old, copyItem, nil
	case slices.ContainsFunc(c.entity.FormerKeys, here):
		return old, formerItem, nil
	case slices.ContainsFunc(c.entity.FormerCopies, here):
		return old, formerCopy, nil
	}
	return nil, 0, fmt.Errorf("%w: it gives another key, and neither a copy nor a former key", ErrOrphan)
}

// storedItem returns an item that was read by another program than loadMain.
func (c *core) storedItem(attributes table.Item) (*stored, error) {
	upgraded, err := c.upgraded(attributes)
	if err != nil {
		return nil, err
	}
	s := &stored{raw: item.RawOf(upgraded), item: attributes}
	if s.v, err = c.entity.decode(s.raw); err != nil {
		return nil, c.misfit(err)
	}
	return s, c.complete(s, true)
}
