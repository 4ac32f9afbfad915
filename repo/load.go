package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	// keys are those of the items, the main one first, and claims those of its claims.
	keys, claims []keys.Key
}

// errMoved means that what was read is not of one moment: it is to be read again.
var errMoved = fmt.Errorf("%w: the entity has changed while it was read", table.ErrConflict)

// load reads an entity consistently, under its key or that of one of its copies. A
// copy is not trusted: it leads to the main item.
func (c *core) load(ctx context.Context, key keys.Key) (*snapshot, error) {
	s, err := c.loadMain(ctx, key)
	if err != nil {
		return nil, err
	}
	at := s.keys[0]
	if at == key {
		return &snapshot{main: s, at: at}, nil
	}
	main, err := c.loadMain(ctx, at)
	switch {
	case errors.Is(err, table.ErrNotFound):
		return nil, c.confirm(ctx, key, s, fmt.Errorf("%w: its main item is missing", ErrOrphan))
	case err != nil:
		return nil, err
	case main.keys[0] != at:
		return nil, c.confirm(ctx, key, s, fmt.Errorf("%w: the item under its main key gives another one", ErrOrphan))
	case !slices.Contains(main.keys, key):
		return nil, c.confirm(ctx, key, s, fmt.Errorf("%w: its main item gives no copy under this key", ErrOrphan))
	}
	return &snapshot{main: main, at: at}, nil
}

// confirm returns what was concluded of an item that was read, and of others that were read
// after it, if the item is still the same; or errMoved.
func (c *core) confirm(ctx context.Context, key keys.Key, s *stored, conclusion error) error {
	is, err := c.peek(ctx, key)
	if err != nil {
		return err
	}
	if is == nil || c.checkType(is) != nil {
		return errMoved
	}
	now, err := c.storedItem(is)
	if err != nil {
		return errMoved // and its error the next time
	}
	//mutants:guard what is concluded of several reads is confirmed by one more | TestMoving ./suites/schedules
	if !maps.EqualFunc(now.raw.Attributes(nil), s.raw.Attributes(nil), item.EqualUnordered) {
		return errMoved
	}
	return conclusion
}

// decide makes a plan, and the reads that it needs.
func (c *core) decide(ctx context.Context, s *snapshot, w wish) (*plan, error) {
	for {
		p, err := c.plan(s, w)
		if err != nil && len(s.seen) > 0 {
			err = c.confirm(ctx, s.at, s.main, err)
		}
		if err != nil || len(p.need) == 0 {
			return p, err
		}
		if s.seen == nil {
			s.seen = map[keys.Key]table.Item{}
		}
		for _, key := range p.need { // one by one: a program may have no permission for batches
			if s.seen[key], err = c.peek(ctx, key); err != nil {
				return nil, err
			}
		}
	}
}

// peek reads what is stored under a key, of whatever type; nil if that is nothing.
func (c *core) peek(ctx context.Context, key keys.Key) (table.Item, error) {
	item, err := table.Get[table.Item](ctx, c.table.Consistent(), key)
	if errors.Is(err, table.ErrNotFound) {
		return nil, nil
	}
	return item, err
}

// checkType reports an item of another type.
func (c *core) checkType(attributes table.Item) error {
	if name := c.schema.TypeOf(attributes); name != c.entity.Type {
		return fmt.Errorf("%w: want %q, have %q", table.ErrWrongType, c.entity.Type, name)
	}
	return c.checkConstants(attributes)
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
	if c.entity.shared.is && s.item == nil {
		s.item = s.raw.Attributes(nil)
		if err := c.checkConstants(s.item); err != nil {
			return err
		}
	}
	if loose || len(c.indexAttributes) > 0 || len(c.shapes.touched) > 0 || len(c.entity.Counters) > 0 {
		s.extra = s.raw.Attributes(c.isExtra)
	}
	s.stamp, s.keys = c.stampIn(s.v), c.keysOf(s.v)
	s.claims = slices.DeleteFunc(c.claimsOf(s.v), func(key keys.Key) bool { return !c.canHold(key) })
	for i, key := range s.keys[1:] {
		//mutants:guard a copy that cannot be stored keeps no entity from a deletion | TestEntitiesWhoseCopyCannotBeStored
		if !c.canHold(key) { // so it has no such copy
			s.keys[i+1] = keys.Key{}
		}
	}
	if !loose && c.field != nil && s.stamp.hasNext() && (c.counter != clocked || s.stamp.version == 0 || s.stamp.version >= earliest) {
		return nil
	}
	// The field, or the stamp, may not hold what the attribute does.
	own := s.raw.Attributes(func(name []byte) bool {
		return string(name) == c.entity.Version || string(name) == c.shapes.attribute || string(name) == c.shapes.from || string(name) == c.shapes.at
	})
	s.stamp = c.stampOf(own)
	if loose { // as all items are that were upgraded
		if s.shape = c.shapes.of(own); s.shape <= c.shapes.current {
			s.shape = c.shapes.base(own, s.shape)
		}
	}
	return c.checkStamp(own)
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

// valueAfter returns the entity as it is stored once a plan was run. It is called before
// that, so that nothing can fail after the write, and it changes old.v.
func (c *core) valueAfter(old *stored, p *plan) (any, error) {
	for _, s := range p.steps {
		switch {
		case !s.main || s.verb == remove:
		case s.made.Item != nil:
			return c.entity.decode(item.RawOf(s.made.Item))
		case !c.assign(old.v, s.diff):
			return c.entity.decode(item.RawOf(s.diff.apply(old.raw)))
		}
	}
	return old.v, nil
}

// assign makes a value as if it was decoded after a change. It returns false if it
// cannot.
func (c *core) assign(v any, d diff) bool {
	if !c.known {
		return false
	}
	for name, value := range d.set {
		if !item.Assign(v, name, value) {
			return false
		}
	}
	for _, name := range d.remove {
		if _, respelled := c.respelled(name); respelled || !item.Assign(v, name, nil) {
			return false
		}
	}
	return true
}
