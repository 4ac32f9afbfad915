package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// save is one attempt to write v over what is stored.
type save struct {
	*core
	old  *stored
	v    any
	next stamp
	keys []keys.Key // those of v
	ops  []table.Op
	// main is how many of the ops are about the main item. They make changes of
	// it, or the item as a whole.
	main     int
	mainDiff diff
	item     table.Item
	// pending is what upgrades have changed of the main item since it was stored. It is
	// written with the first other change.
	pending diff
	// drifted means that a refresh has something to write. Only a refresh reads it.
	drifted bool
}

// looks are the keys of copies that are to be read before they are written,
// since they did not hold the main item's revision.
type looks map[keys.Key]bool

// mustRead reports whether a copy is to be read before it is written. Without a
// revision of the main item, a condition cannot tell whose the copy is.
func (s *save) mustRead(look looks, key keys.Key) bool { return look[key] || s.old.stamp == (stamp{}) }

// newSave returns the ops that write v over what is stored. There are none if
// nothing changes.
func (c *core) newSave(ctx context.Context, old *stored, v any, look looks) (*save, error) {
	s := &save{core: c, old: old, v: v, next: c.next(old.stamp), keys: c.keysOf(v), ops: make([]table.Op, 0, len(c.items))}
	fields, err := c.fields(old.raw, old.extra, old.v, v)
	if err != nil {
		return nil, err
	}
	s.pending = c.pendingUpgrades(old)
	if err := s.saveMain(fields); err != nil {
		return nil, err
	}
	moves := s.moves()
	if len(s.ops) == 0 && !moves {
		return s, nil
	}
	fields = fields.over(s.pending)
	for i := range c.items[1:] {
		ops, err := s.saveCopy(ctx, i+1, fields, look)
		if err != nil {
			return nil, err
		}
		s.ops = append(s.ops, ops...)
	}
	if moves {
		err = s.checkExchange()
	}
	return s, err
}

// pendingUpgrades returns what upgrades have changed of an entity since it was stored.
func (c *core) pendingUpgrades(old *stored) diff {
	item := old.extra
	if old.shape < c.shapes.current {
		item = old.raw.Attributes(nil)
	}
	return c.shapes.pending(item, old.shape)
}

// moves reports whether the key of a copy changes.
func (s *save) moves() bool {
	for i, k := range s.keys {
		if k != s.old.keys[i] {
			return true
		}
	}
	return false
}

func (s *save) saveMain(fields diff) error {
	d, err := s.withIndexes(0, fields, s.old.extra, true)
	if err != nil {
		return err
	}
	name := s.items[0].Name
	if from, to := s.old.keys[0], s.keys[0]; from != to {
		made := s.whole(0, to, s.v, fields.over(s.pending).apply(s.old.raw), s.next)
		s.ops = append(s.ops,
			s.guard(table.Delete(from), s.old.stamp).IfExists().WithName(name+" (old key)"),
			table.Create(to, made).WithName(name))
		s.main, s.item = 2, made.Item
		return made.Err
	}
	if d.empty() && !s.moves() {
		return nil
	}
	d = d.over(s.pending)
	op, item, err := s.patch(0, d, s.old.raw, s.old.stamp)
	if err != nil {
		return err
	}
	s.ops, s.main, s.mainDiff, s.item = append(s.ops, op), 1, d, item
	return nil
}

// valueAfter returns the entity as it is stored once the ops were run. It is called
// before they are, so that nothing can fail after the write, and it changes old.v.
func (s *save) valueAfter() (any, error) {
	switch {
	case s.item != nil:
		return s.entity.decode(item.RawOf(s.item))
	case s.main == 0 || s.mainDiff.empty():
		return s.old.v, nil
	}
	assigned := s.known
	for name, value := range s.mainDiff.set {
		assigned = assigned && item.Assign(s.old.v, name, value)
	}
	for _, name := range s.mainDiff.remove {
		_, respelled := s.respelled(name)
		assigned = assigned && !respelled && item.Assign(s.old.v, name, nil)
	}
	if assigned {
		return s.old.v, nil
	}
	return s.entity.decode(item.RawOf(s.mainDiff.apply(s.old.raw)))
}

// withIndexes adds to the changes of an item those of its index keys. An item
// that was not read is given all that the item declares.
func (s *save) withIndexes(i int, fields diff, attributes table.Item, read bool) (diff, error) {
	if len(s.indexAttributes) == 0 {
		return fields, nil
	}
	indexed := table.Item{}
	if err := s.indexKeys(indexed, i, s.v); err != nil {
		return diff{}, err
	}
	d := diff{set: maps.Clone(fields.set), remove: fields.remove[:len(fields.remove):len(fields.remove)]}
	for _, name := range s.indexAttributes {
		want, has := indexed[name]
		is, stored := attributes[name]
		switch {
		case has && (!read || !item.Equal(is, want)):
			d.set[name] = want
		case !has && (stored || !read && s.declares(i, name)):
			d.remove = append(d.remove, name)
		}
	}
	return d, nil
}

// maxExpression is how long an update expression may be, in bytes; parts of it
// take about as many as the two constants say. AWS: "Service, account, and table
// quotas", Amazon DynamoDB Developer Guide.
const (
	maxExpression = 4096
	setPart       = len("#s100 = :s100, ")
	removePart    = len("#r100, ")
)

func (d diff) tooLong() bool {
	return len(d.set)*setPart+len(d.remove)*removePart > maxExpression-len("SET REMOVE ")
}

// patch returns the op that makes a change to the ith item,
// which holds the stamp held. If it is too long for an update, it is the item as a
// whole, which is returned too.
func (s *save) patch(i int, d diff, raw item.Raw, held stamp) (table.Op, table.Item, error) {
	key, name := s.keys[i], s.items[i].Name
	if s.counter != unversioned {
		if err := s.checkFits(s.next); err != nil {
			return table.Op{}, nil, err
		}
		d.set[s.entity.Version] = s.next.value() // also for the caller: it is a change of v
	}
	if d.tooLong() {
		made := s.whole(i, key, s.v, d.apply(raw), s.next)
		return s.guard(table.Put(key, made), held).IfExists().WithName(name), made.Item, made.Err
	}
	return s.guard(table.Patch(key, d.set, d.remove...), held).IfExists().WithName(name), nil, nil
}

// saveCopy returns the ops for one copy. One that stays under its key is changed on
// condition that it holds the main item's revision, without being read.
func (s *save) saveCopy(ctx context.Context, i int, fields diff, look looks) ([]table.Op, error) {
	from, to := s.old.keys[i], s.keys[i]
	switch {
	case from != to:
		return s.moveCopy(ctx, i, fields, look)
	case to == keys.Key{}:
		return nil, nil
	}
	if !s.mustRead(look, to) {
		d, err := s.withIndexes(i, fields, nil, false)
		if err != nil {
			return nil, err
		}
		if !d.tooLong() {
			op, _, err := s.patch(i, d, item.Raw{}, s.old.stamp)
			return []table.Op{op}, err
		}
	}
	op, _, err := s.restoreCopy(ctx, i, fields, nil)
	return []table.Op{op}, err
}

// moveCopy returns the ops for a copy whose key changes. It is read under its old key,
// since it takes its other attributes along, unless it only goes.
func (s *save) moveCopy(ctx context.Context, i int, fields diff, look looks) ([]table.Op, error) {
	from, to, none := s.old.keys[i], s.keys[i], keys.Key{}
	name := s.items[i].Name
	if to == none && !s.mustRead(look, from) {
		return []table.Op{s.guard(table.Delete(from), s.old.stamp).WithName(name)}, nil
	}
	var ops []table.Op
	item, err := s.copyUnder(ctx, from)
	if err != nil {
		return nil, err
	}
	if item != nil {
		ops = append(ops, s.guard(table.Delete(from), s.stampOf(item)).WithName(name+" (old key)"))
	}
	if to == none {
		return ops, nil
	}
	var op table.Op
	if look[to] {
		op, _, err = s.restoreCopy(ctx, i, fields, item)
	} else {
		op, err = s.createCopy(i, fields, item)
	}
	return append(ops, op), err
}

// restoreCopy returns the op for a copy that has to be read under its present key, and
// whether it has drifted: it is missing, or does not hold v. If it is missing, it is
// created from moved, see createCopy.
func (s *save) restoreCopy(ctx context.Context, i int, fields diff, moved table.Item) (op table.Op, drifted bool, err error) {
	item, err := s.peek(ctx, s.keys[i])
	switch {
	case err != nil:
		return op, false, err
	case item != nil:
		return s.bring(i, item)
	}
	op, err = s.createCopy(i, fields, moved)
	return op, true, err
}

// createCopy returns the op that creates a copy. It has what moved has, the item under
// the copy's old key; without one, all that the main item has.
func (s *save) createCopy(i int, fields diff, moved table.Item) (table.Op, error) {
	var attributes table.Item
	if moved == nil {
		attributes = fields.apply(s.old.raw)
		maps.DeleteFunc(attributes, s.onlyMain)
	} else {
		d, err := s.change(moved)
		if err != nil {
			return table.Op{}, err
		}
		attributes = d.apply(item.RawOf(moved))
	}
	to, name := s.keys[i], s.items[i].Name
	return table.Create(to, s.whole(i, to, s.v, attributes, s.next)).WithName(name), nil
}

// bring returns the op that brings the item under a copy's key to v, and whether it
// has drifted. An item of another entity is not touched.
func (s *save) bring(i int, attributes table.Item) (op table.Op, drifted bool, err error) {
	if _, err := s.upgraded(attributes); errors.Is(err, table.ErrNewerShape) {
		return op, false, err // it was the entity's when its main item was read
	}
	if !s.isCopy(attributes) {
		return op, false, &table.Error{
			Op: "Update", Name: s.items[i].Name, Table: s.schema.Name, Key: s.keys[i],
			Err: fmt.Errorf("%w: the key of the copy is another entity's", table.ErrExists),
		}
	}
	d, err := s.change(attributes)
	if err == nil {
		d, err = s.withIndexes(i, d, attributes, true)
	}
	if err != nil {
		return op, false, err
	}
	held := s.stampOf(attributes)
	drifted = !d.empty() || held != s.old.stamp
	op, _, err = s.patch(i, d, item.RawOf(attributes), held)
	return op, drifted, err
}

// change returns what the fields of v, and upgrades, change of an item that was
// read.
func (s *save) change(attributes table.Item) (diff, error) {
	attributes, err := s.upgraded(attributes)
	if err != nil {
		return diff{}, err
	}
	raw := item.RawOf(attributes)
	held, err := s.entity.decode(raw)
	if err != nil {
		return diff{}, err
	}
	d, err := s.fields(raw, attributes, held, s.v)
	return d.over(s.shapes.pending(attributes, s.shapes.of(attributes))), err
}

// isCopy reports whether an item is a copy of the entity that is stored.
func (s *save) isCopy(item table.Item) bool {
	moved := len(s.keys) > 0 && s.old.keys[0] != s.keys[0] // the item may hold v already
	return s.belongs(item, s.old.keys[0]) || moved && s.belongs(item, s.keys[0])
}

// belongs reports whether an item is one of the entity whose main key is given.
func (c *core) belongs(item table.Item, main keys.Key) bool {
	if c.checkType(item) != nil {
		return false
	}
	v, err := c.decodeStored(item)
	return err == nil && c.entity.Key(v) == main
}

// peek reads what is stored under a key, of whatever type; nil if that is
// nothing.
func (c *core) peek(ctx context.Context, key keys.Key) (table.Item, error) {
	item, err := table.Get[table.Item](ctx, c.table.OfType("").Consistent(), key)
	if errors.Is(err, table.ErrNotFound) {
		return nil, nil
	}
	return item, err
}

// copyUnder reads the copy that the entity has under a key, nil if it is missing. The
// zero key has none.
func (s *save) copyUnder(ctx context.Context, key keys.Key) (table.Item, error) {
	if key == (keys.Key{}) {
		return nil, nil
	}
	item, err := s.peek(ctx, key)
	if err != nil || item == nil || !s.isCopy(item) {
		return nil, err
	}
	return item, nil
}

// checkExchange reports two ops about one item, as when two copies exchange
// their keys.
func (s *save) checkExchange() error {
	first := make(map[keys.Key]string, len(s.ops))
	for _, op := range s.ops {
		if other, twice := first[op.Key()]; twice {
			return fmt.Errorf("%w: %s and %s need the same key in one transaction; change one after the other",
				table.ErrInvalid, other, op.Name())
		}
		first[op.Key()] = op.Name()
	}
	return nil
}

// unchanged returns the op that makes a transaction depend on the entity being
// as it was read.
func (s *save) unchanged() table.Op {
	return s.guard(table.Check(s.old.keys[0], expression.ConditionBuilder{}), s.old.stamp).IfExists().WithName(s.items[0].Name)
}
