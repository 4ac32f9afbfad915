package repo

import (
	"context"
	"fmt"
	"slices"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// itemKind is what a stored item is to its entity.
type itemKind int

const (
	mainItem itemKind = iota
	copyItem
	formerItem
	formerCopy
	claimItem
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

// found is a stored item, what it is to its entity, and that entity; nil if its main item
// is missing.
type found struct {
	item *stored
	key  keys.Key
	kind itemKind
	of   *snapshot
	// broken is why the main item is no value.
	broken error
	// seen are the items that were read; nil where nothing is stored.
	seen map[keys.Key]table.Item
}

// isGiven reports whether the item is one of the copies or claims that its main item has.
func (f *found) isGiven() bool {
	return f.of != nil && (f.kind == copyItem && slices.Contains(f.of.main.keys, f.key) || f.kind == claimItem && slices.Contains(f.of.main.claims, f.key))
}

// find reads what belongs to an item, and the item itself if it is nil. It returns nil if
// nothing is under the key.
func (c *core) find(ctx context.Context, key keys.Key, item table.Item) (*found, error) {
	if item == nil {
		var err error
		if item, err = c.peek(ctx, key); err != nil || item == nil {
			return nil, err
		}
	}
	if c.isClaim(item) {
		return c.findOwner(ctx, key, item)
	}
	s, kind, err := c.identify(key, item)
	if err != nil {
		return nil, err
	}
	f := &found{item: s, key: key, kind: kind, seen: map[keys.Key]table.Item{key: item}}
	for {
		need, err := c.lead(f)
		if err != nil {
			return nil, c.confirm(ctx, key, s, err)
		}
		if need == (keys.Key{}) {
			return f, nil
		}
		if f.seen[need], err = c.peek(ctx, need); err != nil {
			return nil, err
		}
	}
}

// lead follows an item to the main item of its entity, under its present key or a former
// one. It returns the key of an item that is to be read first.
func (c *core) lead(f *found) (need keys.Key, err error) {
	f.of, f.broken = nil, nil
	if f.kind == mainItem {
		f.of = &snapshot{main: f.item, at: f.key}
		return need, nil
	}
	for i, key := range slices.Concat(f.item.keys[:1], keysBy(c.entity.FormerKeys, f.item.v)) {
		if f.kind == formerItem && f.broken != nil || f.of != nil && (f.kind != copyItem || slices.Contains(f.of.main.keys, f.key)) {
			break
		}
		above, read := f.seen[key]
		switch {
		case key == f.key && f.kind != formerItem:
			return need, fmt.Errorf("%w: its key is a former one of the main item, too", ErrOrphan)
		case !read:
			return key, nil
		case above == nil, i > 0 && c.checkType(above) != nil:
			continue
		}
		if err := c.checkType(above); err != nil {
			return need, fmt.Errorf("%w: the item under its main key: %w", ErrOrphan, err)
		}
		if main, err := c.storedItem(above); err != nil {
			f.broken = err
		} else if f.of == nil || slices.Contains(main.keys, f.key) {
			f.of = &snapshot{main: main, at: key}
		}
	}
	return need, nil
}

// planLoose says what becomes of a stored item that is not the main item of its entity.
//
//	                    its main item has no such item    there is no main item
//	copy, claim         remove                            remove
//	former copy         remove                            ErrOrphan
//	former main item    remove, if all that it has is     (it is the main item)
//	                    in the main item; or ErrExists
func (c *core) planLoose(f *found, doubted doubts) (*plan, error) {
	p, of := &plan{}, f.of
	if of == nil {
		f.of = &snapshot{main: f.item, at: f.item.keys[0]}
	}
	f.of.doubts = doubted
	away := step{verb: remove, key: f.key, name: c.entity.Type, held: f.item.stamp, as: f.item.item, main: true}
	if f.kind == claimItem {
		away = c.oldClaim(f.key, f.item.keys[0])
	}
	switch {
	case f.broken != nil && (f.kind == copyItem || f.kind == claimItem):
		return p, nil // its error is the main item's
	case f.broken != nil:
		return nil, f.broken
	case of == nil && f.kind == formerCopy:
		return nil, fmt.Errorf("%w: its main item is missing", ErrOrphan)
	case of == nil:
		//mutants:guard a claim is removed while it has no owner, and no later | TestOrphanedClaim ./suites/schedules | , {verb: none, key: f.item.keys[0], name: c.items[0].Name, main: true} =>
		p.steps = []step{away, {verb: none, key: f.item.keys[0], name: c.items[0].Name, main: true}}
	case f.isGiven():
		// The plan of the main item is about it.
	case f.kind == formerItem && !slices.Contains(c.formerKeys(of.main.v), f.key):
		return nil, fmt.Errorf("%w: its present key is another entity's", table.ErrExists)
	//mutants:guard a former item is deleted only if the present one has all that it has | TestPlansOfAJob
	case f.kind == formerItem && !c.holds(of.main, f.item):
		return nil, fmt.Errorf("%w: the item under its present key does not have all that it has", table.ErrExists)
	default:
		//mutants:guard a claim is removed while its owner does not claim it, and no later | TestClaims ./suites/schedules | , c.stays(of) =>
		p.steps = []step{away, c.stays(of)}
	}
	return p, nil
}

// holds reports whether an item has all that another one has, except for keys, version
// and shape.
func (c *core) holds(s, other *stored) bool {
	has := s.raw.Attributes(nil)
	for name, value := range other.raw.Attributes(nil) {
		if !c.reserved[name] && !slices.Contains(c.indexKeyNames, name) && !item.EqualUnordered(has[name], value) {
			return false
		}
	}
	return true
}
