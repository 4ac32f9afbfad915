package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// stored is an entity as it was read for a write.
type stored[T any] struct {
	// item is its main item, before is T's encoding of it.
	item, before table.Item
	stamp        stamp
	// keys are those of the items, the main one first.
	keys []keys.Key
}

// load reads an entity consistently, under its key or that of one of its copies. A
// copy is not trusted: it leads to the main item.
func (r *Repo[T]) load(ctx context.Context, key keys.Key) (stored[T], T, error) {
	var zero T
	s, v, err := r.loadMain(ctx, key)
	if err != nil || s.keys[0] == key {
		return s, v, err
	}
	main := s.keys[0]
	s, v, err = r.loadMain(ctx, main)
	if errors.Is(err, table.ErrNotFound) {
		return s, zero, fmt.Errorf("%w: its main item is missing", ErrOrphan)
	}
	if err != nil {
		return s, zero, err
	}
	for _, k := range s.keys {
		if k == key {
			return s, v, nil
		}
	}
	return s, zero, fmt.Errorf("%w: its main item gives no copy under this key", ErrOrphan)
}

// loadMain reads the item under a key as a main item.
func (r *Repo[T]) loadMain(ctx context.Context, key keys.Key) (s stored[T], v T, err error) {
	item, err := table.Get[table.Item](ctx, r.reads.Consistent(), key)
	if err != nil {
		return s, v, err
	}
	return r.understood(item)
}

// understood makes a value of a main item, and takes note of what it is before
// it is changed.
func (r *Repo[T]) understood(item table.Item) (s stored[T], v T, err error) {
	if v, err = decode[T](item); err != nil {
		return s, v, err
	}
	if err := r.checkStamp(item); err != nil {
		return s, v, err
	}
	before, err := encode(v)
	if err != nil {
		return s, v, err
	}
	s = stored[T]{item: item, before: before, stamp: r.stampOf(item), keys: r.keysOf(v)}
	if r.shared {
		// A change must reach neither the item nor what it was before.
		s.item, s.before = clonedItem(item), clonedItem(before)
	}
	return s, v, nil
}

func (r *Repo[T]) keysOf(v T) []keys.Key {
	all := make([]keys.Key, len(r.items))
	for i, p := range r.items {
		all[i] = p.Key(v)
	}
	return all
}

// save is one attempt to write v over what is stored.
type save[T any] struct {
	*Repo[T]
	old   stored[T]
	v     T
	next  stamp
	after table.Item // v's encoding
	keys  []keys.Key // those of v
	ops   []table.Op
	// main is how many of the ops are about the main item, item is what it
	// becomes.
	main int
	item table.Item
}

// looks are the keys of copies that are to be read before they are written,
// since they did not hold the main item's revision.
type looks map[keys.Key]bool

// reads reports whether a copy is to be read before it is written. Without a
// revision of the main item, a condition cannot tell whose the copy is.
func (s *save[T]) reads(look looks, key keys.Key) bool { return look[key] || s.old.stamp == (stamp{}) }

// save returns the ops that write v over what is stored. There are none if
// nothing changes.
func (r *Repo[T]) save(ctx context.Context, old stored[T], v T, look looks) (*save[T], error) {
	after, err := encode(v)
	if err != nil {
		return nil, err
	}
	s := &save[T]{Repo: r, old: old, v: v, next: r.next(old.stamp), after: after, keys: r.keysOf(v)}
	fields := r.fields(old.item, old.before, after)
	if err := s.saveMain(fields); err != nil {
		return nil, err
	}
	if len(s.ops) == 0 && !s.moves() {
		s.item = old.item
		return s, nil
	}
	for i := range r.items[1:] {
		if err := s.saveCopy(ctx, i+1, fields, look); err != nil {
			return nil, err
		}
	}
	return s, s.checkExchange()
}

// moves reports whether the key of a copy changes.
func (s *save[T]) moves() bool {
	for i, k := range s.keys {
		if k != s.old.keys[i] {
			return true
		}
	}
	return false
}

func (s *save[T]) saveMain(fields diff) error {
	d, err := s.withIndexes(0, fields, s.old.item)
	if err != nil {
		return err
	}
	name := s.items[0].Name
	if from, to := s.old.keys[0], s.keys[0]; from != to {
		made := s.whole(0, to, s.v, fields.apply(s.old.item), s.next)
		s.ops = append(s.ops,
			s.guard(table.Delete(from), s.old.stamp).IfExists().WithName(name+" (old key)"),
			table.Create(to, made).WithName(name))
		s.main, s.item = 2, made.Item
		return made.Err
	}
	if d.empty() && !s.moves() {
		return nil
	}
	op, item, err := s.patch(0, d, s.old.item, s.old.stamp)
	if err != nil {
		return err
	}
	s.ops, s.main, s.item = append(s.ops, op), 1, item
	return nil
}

// withIndexes adds to the changes of an item those of its index keys. An item
// that was not read is given all that the item declares.
func (s *save[T]) withIndexes(i int, fields diff, item table.Item) (diff, error) {
	indexed, err := s.indexKeys(i, s.v)
	if err != nil {
		return diff{}, err
	}
	d := diff{set: maps.Clone(fields.set), remove: fields.remove[:len(fields.remove):len(fields.remove)]}
	for _, name := range s.indexAttributes {
		want, has := indexed[name]
		is, stored := item[name]
		switch {
		case has && (item == nil || !equal(is, want)):
			d.set[name] = want
		case !has && (stored || item == nil && s.declares(i, name)):
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
// which holds the stamp held, and the item that comes of it if the stored one is
// given.
func (s *save[T]) patch(i int, d diff, item table.Item, held stamp) (table.Op, table.Item, error) {
	key, name := s.keys[i], s.items[i].Name
	if s.counter != unversioned {
		d.set[s.entity.Version] = s.next.value()
	}
	changed := d.apply(item)
	if d.tooLong() {
		made := s.whole(i, key, s.v, changed, s.next)
		return s.guard(table.Put(key, made), held).IfExists().WithName(name), made.Item, made.Err
	}
	return s.guard(table.Patch(key, d.set, d.remove...), held).IfExists().WithName(name), changed, nil
}

// saveCopy adds the ops for one copy. A copy under the same key is changed on
// condition that it holds the main item's revision, without being read. One that
// moves is read, since it takes its other attributes along.
func (s *save[T]) saveCopy(ctx context.Context, i int, fields diff, look looks) error {
	from, to := s.old.keys[i], s.keys[i]
	name := s.items[i].Name
	none := keys.Key{}
	if from == to && !s.reads(look, to) {
		if to == none {
			return nil
		}
		d, err := s.withIndexes(i, fields, nil)
		if err != nil {
			return err
		}
		if !d.tooLong() {
			op, _, err := s.patch(i, d, nil, s.old.stamp)
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
	attributes := s.after
	if rest != nil {
		d, err := s.change(rest)
		if err != nil {
			return err
		}
		attributes = d.apply(rest)
	}
	s.ops = append(s.ops, table.Create(to, s.whole(i, to, s.v, attributes, s.next)).WithName(name))
	return nil
}

// bring adds the op that brings the item under a copy's key to v. An item of
// another entity is not touched.
func (s *save[T]) bring(i int, item table.Item) error {
	if !s.isCopy(item) {
		return &table.Error{
			Op: "Update", Name: s.items[i].Name, Table: s.schema.Name, Key: s.keys[i],
			Err: fmt.Errorf("%w: the key of the copy is another entity's", table.ErrExists),
		}
	}
	d, err := s.change(item)
	if err == nil {
		d, err = s.withIndexes(i, d, item)
	}
	if err != nil {
		return err
	}
	op, _, err := s.patch(i, d, item, s.stampOf(item))
	s.ops = append(s.ops, op)
	return err
}

// change returns what the fields of v change of an item that was read.
func (s *save[T]) change(item table.Item) (diff, error) {
	held, err := decode[T](item)
	if err != nil {
		return diff{}, err
	}
	before, err := encode(held)
	if err != nil {
		return diff{}, err
	}
	return s.fields(item, before, s.after), nil
}

// isCopy reports whether an item is a copy of the entity that is stored.
func (s *save[T]) isCopy(item table.Item) bool { return s.belongs(item, s.old.keys[0]) }

// belongs reports whether an item is one of the entity whose main key is given.
func (r *Repo[T]) belongs(item table.Item, main keys.Key) bool {
	if t, ok := item[r.schema.Type].(*types.AttributeValueMemberS); !ok || t.Value != r.entity.Type {
		return false
	}
	v, err := decode[T](item)
	return err == nil && r.entity.Key(v) == main
}

// peek reads what is stored under a key, of whatever type; nil if that is
// nothing.
func (r *Repo[T]) peek(ctx context.Context, key keys.Key) (table.Item, error) {
	item, err := table.Get[table.Item](ctx, r.table.OfType("").Consistent(), key)
	if errors.Is(err, table.ErrNotFound) {
		return nil, nil
	}
	return item, err
}

// copyUnder reads the copy that the entity has under a key, nil if there is none.
func (s *save[T]) copyUnder(ctx context.Context, key keys.Key) (table.Item, error) {
	item, err := s.peek(ctx, key)
	if err != nil || item == nil || !s.isCopy(item) {
		return nil, err
	}
	return item, nil
}

// checkExchange reports two ops about one item, as when two copies exchange
// their keys.
func (s *save[T]) checkExchange() error {
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
func (s *save[T]) unchanged() table.Op {
	return s.guard(table.Check(s.old.keys[0], expression.ConditionBuilder{}), s.old.stamp).IfExists().WithName(s.items[0].Name)
}
