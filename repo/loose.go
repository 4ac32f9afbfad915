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
	switch {
	case old.keys[0] == key:
		return old, mainItem, nil
	case key != (keys.Key{}) && slices.Contains(old.keys[1:], key):
		return old, copyItem, nil
	case slices.Contains(c.formerCopies(old.v), key):
		return old, formerCopy, nil
	}
	return nil, 0, fmt.Errorf("%w: it gives another key, and no copy has this one, present or former", ErrOrphan)
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
	f, err := c.look(key, item)
	if err != nil || f.kind == mainItem {
		return f, err
	}
	for at := f.item.keys[0]; ; {
		above, err := c.peek(ctx, at)
		if err != nil {
			return nil, err
		}
		at, err = c.lead(f, at, above)
		switch {
		case err != nil && f.kind != claimItem:
			return nil, c.confirm(ctx, key, f.item, err)
		case err != nil:
			return nil, err
		case at == keys.Key{}:
			return f, nil
		}
	}
}

// look says what an item is to its entity. What is not the main item has the key of that first
// among its keys: see [core.lead].
func (c *core) look(key keys.Key, item table.Item) (*found, error) {
	if c.isClaim(item) {
		return &found{item: &stored{item: item, keys: []keys.Key{c.ownerIn(item)}}, key: key, kind: claimItem}, nil
	}
	s, kind, err := c.identify(key, item)
	if err != nil {
		return nil, err
	}
	f := &found{item: s, key: key, kind: kind}
	if kind == mainItem {
		f.of = &snapshot{main: s, at: key}
	}
	return f, nil
}

// lead follows an item to what is stored under a key: nil, or its main item. The item that owns
// a claim may be a copy by now: then lead returns the key of the main item, to be read next.
func (c *core) lead(f *found, at keys.Key, above table.Item) (next keys.Key, err error) {
	if above == nil {
		return next, nil
	}
	if err := c.checkType(above); err != nil {
		return next, fmt.Errorf("%w: the item under its main key: %w", ErrOrphan, err)
	}
	owner := f.of
	f.of = nil
	main, err := c.storedItem(above)
	if err != nil {
		f.broken = err
		return next, nil
	}
	f.of = &snapshot{main: main, at: at}
	if f.kind == claimItem && owner == nil && main.keys[0] != at {
		next = main.keys[0]
	}
	return next, nil
}

// planLoose says what becomes of a stored item that is not the main item of its entity.
//
//	                    its main item has no such item    there is no main item
//	copy, claim         remove                            remove
//	former copy         remove                            ErrOrphan
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
	case f.broken != nil && f.kind == formerCopy:
		return nil, f.broken
	case f.broken != nil:
		return p, nil // its error is the main item's
	//mutants:guard a former copy is deleted only while there is a main item | TestDefaultEngine/Shape/a_main_key ./suites/conformance
	case of == nil && f.kind == formerCopy:
		return nil, fmt.Errorf("%w: its main item is missing", ErrOrphan)
	case of == nil:
		//mutants:guard a claim is removed while it has no owner, and no later | TestOrphanedClaim ./suites/schedules | , {verb: none, key: f.item.keys[0], name: c.items[0].Name, main: true} =>
		p.steps = []step{away, {verb: none, key: f.item.keys[0], name: c.items[0].Name, main: true}}
	case f.isGiven():
		// The plan of the main item is about it.
	default:
		//mutants:guard a claim is removed while its owner does not claim it, and no later | TestClaims ./suites/schedules | , c.stays(of) =>
		p.steps = []step{away, c.stays(of)}
	}
	return p, nil
}
