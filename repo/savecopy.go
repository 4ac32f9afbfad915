package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// saveCopy adds the ops for one copy. A copy under the same key is changed on
// condition that it holds the main item's revision, without being read. One that
// moves is read, since it takes its other attributes along.
func (s *save) saveCopy(ctx context.Context, i int, fields diff, look looks) error {
	from, to := s.old.keys[i], s.keys[i]
	name := s.items[i].Name
	none := keys.Key{}
	if from == to && !s.reads(look, to) {
		if to == none {
			return nil
		}
		d, err := s.withIndexes(i, fields, nil, false)
		if err != nil {
			return err
		}
		if !d.tooLong() {
			op, _, err := s.patch(i, d, codec.Raw{}, s.old.stamp)
			s.ops = append(s.ops, op)
			return err
		}
	}
	var rest table.Item // of the copy under the old key
	if from != to && from != none {
		if to == none && !s.reads(look, from) {
			s.ops = append(s.ops, s.guard(table.Delete(from), s.old.stamp).WithName(name))
			return nil
		}
		item, err := s.copyUnder(ctx, from)
		if err != nil {
			return err
		}
		if item != nil {
			s.ops = append(s.ops, s.guard(table.Delete(from), s.stampOf(item)).WithName(name+" (old key)"))
			rest = item
		}
	}
	if to == none {
		return nil
	}
	if from == to || look[to] {
		item, err := s.peek(ctx, to)
		if err != nil {
			return err
		}
		if item != nil {
			return s.bring(i, item)
		}
	}
	var attributes table.Item
	var err error
	if rest == nil {
		attributes, err = s.encode(s.v)
	} else {
		var d diff
		d, err = s.change(rest)
		attributes = d.apply(codec.RawOf(rest))
	}
	if err != nil {
		return err
	}
	s.drifted = true
	s.ops = append(s.ops, table.Create(to, s.whole(i, to, s.v, attributes, s.next)).WithName(name))
	return nil
}

// bring adds the op that brings the item under a copy's key to v. An item of
// another entity is not touched.
func (s *save) bring(i int, item table.Item) error {
	if _, err := s.upgraded(item); errors.Is(err, table.ErrNewerShape) {
		return err // it was the entity's when its main item was read
	}
	if !s.isCopy(item) {
		return &table.Error{
			Op: "Update", Name: s.items[i].Name, Table: s.schema.Name, Key: s.keys[i],
			Err: fmt.Errorf("%w: the key of the copy is another entity's", table.ErrExists),
		}
	}
	d, err := s.change(item)
	if err == nil {
		d, err = s.withIndexes(i, d, item, true)
	}
	if err != nil {
		return err
	}
	s.drifted = s.drifted || !d.empty() || s.stampOf(item) != s.old.stamp
	op, _, err := s.patch(i, d, codec.RawOf(item), s.stampOf(item))
	s.ops = append(s.ops, op)
	return err
}

// change returns what the fields of v, and upgrades, change of an item that was
// read.
func (s *save) change(item table.Item) (diff, error) {
	item, err := s.upgraded(item)
	if err != nil {
		return diff{}, err
	}
	raw := codec.RawOf(item)
	held, err := s.entity.decode(raw)
	if err != nil {
		return diff{}, err
	}
	d, err := s.fields(raw, item, held, s.v)
	return d.over(s.shapes.pending(item, s.shapes.of(item))), err
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

// copyUnder reads the copy that the entity has under a key, nil if it is
// missing.
func (s *save) copyUnder(ctx context.Context, key keys.Key) (table.Item, error) {
	item, err := s.peek(ctx, key)
	if err != nil || item == nil || !s.isCopy(item) {
		return nil, err
	}
	return item, nil
}
