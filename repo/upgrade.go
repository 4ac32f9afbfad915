package repo

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Upgrade is one step of the history of an entity: it brings an item from one
// shape to the next. Reads apply upgrades before an item becomes a value, and the
// next write of the entity stores the result. [Rename], [Default], [Drop] and
// [Convert] make the common ones.
type Upgrade struct {
	// Change changes an item of the former shape. Nil changes nothing. It must
	// replace values and not modify them, depend on the item only, and be safe for
	// concurrent use. The read returns its error, with [ErrUpgrade] and without its
	// text.
	Change func(table.Item) error
	// Writes and Removes are the attributes that Change writes and removes. A
	// change of another attribute is [table.ErrInvalid]. Filters and updates cannot
	// use these attributes, since stored items may not have them yet, and an index
	// that does not project all attributes cannot be read. T has a field for each
	// attribute that the upgrades have written last, and none for removed ones. Writes
	// cannot have [schema.Table].TTLAttribute: conditions and counts know the stored expiry only.
	Writes, Removes []string
	// Compatible means that a program of the former shape may read and write items
	// of the new one: attributes that it does not know stay as they are. A program
	// is admitted to an item if all upgrades since its own shape were Compatible in
	// the program that wrote the item. For other programs the item is
	// [table.ErrNewerShape], and nothing is written.
	//
	// When an admitted program has written an item since, Change runs on it again: what it
	// computes from an attribute of the former shape follows that attribute. So Change must
	// be repeatable, and a program of the new shape must write such an attribute together
	// with what was computed of it: see docs/change-your-table.md. After a Set of [Repo.Patch],
	// Change runs again, too; an attribute in Writes or Removes is refused. The attribute
	// [schema.Table.ShapeAt] of an item tells whether an older program has written it last.
	Compatible bool
}

// ErrUpgrade means that an item cannot be brought to the shape of its entity: the Change
// of an upgrade failed, whose error comes with it, or the item has a shape older than
// [Entity].OldestShape. Nothing was written.
var ErrUpgrade = errors.New("item cannot be upgraded")

// Rename returns the upgrade that gives an attribute another name. A value under
// the new name is replaced.
func Rename(from, to string) Upgrade {
	return Upgrade{
		Writes: []string{to}, Removes: []string{from},
		Change: func(item table.Item) error {
			if value, ok := item[from]; ok {
				item[to] = value
				delete(item, from)
			}
			return nil
		},
	}
}

// Default returns the upgrade that stores a value for an attribute that is
// missing or NULL. It is Compatible.
func Default(attribute string, value any) Upgrade {
	return Upgrade{
		Writes: []string{attribute}, Compatible: true,
		Change: func(attributes table.Item) error {
			if _, null := attributes[attribute].(*types.AttributeValueMemberNULL); attributes[attribute] != nil && !null {
				return nil
			}
			encoded, err := item.EncodeToRead(value)
			attributes[attribute] = encoded
			return err
		},
	}
}

// Drop returns the upgrade that removes attributes. Set Compatible in it if the
// former program can do without them.
func Drop(attributes ...string) Upgrade {
	return Upgrade{
		Removes: attributes,
		Change: func(item table.Item) error {
			for _, name := range attributes {
				delete(item, name)
			}
			return nil
		},
	}
}

// Convert returns the upgrade that computes an attribute from another one, or from
// its own former value if from and to are equal. An item without from stays as it
// is.
func Convert[From, To any](from, to string, convert func(From) (To, error)) Upgrade {
	u := Upgrade{Writes: []string{to}}
	if from != to {
		u.Removes = []string{from}
	}
	u.Change = func(attributes table.Item) error {
		value, ok := attributes[from]
		if !ok {
			return nil
		}
		var old From
		if err := item.Decode(value, &old); err != nil {
			return err
		}
		converted, err := convert(old)
		if err != nil {
			return err
		}
		encoded, err := item.EncodeToRead(converted)
		if err != nil {
			return err
		}
		delete(attributes, from)
		attributes[to] = encoded
		return nil
	}
	return u
}

// shapes are the shapes that an entity can have.
type shapes struct {
	// attribute holds an item's shape, from the oldest one whose programs it admits, and
	// at the version, which another attribute holds, that a program of that shape wrote.
	attribute, from, at, version string
	// current is the shape that the program writes, admits the oldest one whose
	// programs may read and write it, and oldest the one that upgrades begin with.
	current, admits, oldest int
	upgrades                []Upgrade
	// touched are the attributes that upgrades write or remove, true for those that
	// the current shape does not have.
	touched map[string]bool
}

func newShapes(spec schema.Table, version string, oldest int, upgrades []Upgrade) shapes {
	s := shapes{
		attribute: spec.Shape, from: spec.ShapeFrom(), at: spec.ShapeAt(), version: version,
		current: oldest + len(upgrades), oldest: oldest, upgrades: slices.Clone(upgrades),
		touched: map[string]bool{},
	}
	s.admits = s.current
	for i := len(upgrades) - 1; i >= 0 && upgrades[i].Compatible; i-- {
		s.admits--
	}
	for _, u := range upgrades {
		for _, name := range u.Removes {
			s.touched[name] = true
		}
		for _, name := range u.Writes {
			s.touched[name] = false
		}
	}
	return s
}

// of returns the shape of an item that core.consistent has read, or that was checked.
func (s *shapes) of(item table.Item) int { return number(item[s.attribute], 0) }

// derives reports whether older programs may write what this one has written, so that it
// has to derive again what its upgrades derive.
func (s *shapes) derives() bool { return s.admits < s.current }

// base returns the shape from which upgrades are to run on an item of a shape: the oldest
// one whose programs may have written it, if another program than those of its shape was
// the last one to do so.
func (s *shapes) base(attributes table.Item, shape int) int {
	at, version := attributes[s.at], attributes[s.version]
	//mutants:guard what an older program has made stale is derived again | TestRenaming ./suites/schedules
	if from := number(attributes[s.from], shape); from < shape && (at == nil || version == nil || !item.Equal(at, version)) {
		return max(from, s.oldest)
	}
	return shape
}

// check reports a shape attribute that is not the number of a shape.
func (s *shapes) check(item table.Item) error {
	if item[s.attribute] != nil && number(item[s.attribute], -1) < 0 {
		return fmt.Errorf("%w: attribute %q is not the number of a shape", ErrUpgrade, s.attribute)
	}
	return nil
}

func number(value types.AttributeValue, otherwise int) int {
	if n, ok := value.(*types.AttributeValueMemberN); ok {
		if i, err := strconv.Atoi(n.Value); err == nil {
			return i
		}
	}
	return otherwise
}

// upgrade brings an item to the current shape, except for its shape attributes,
// which stay as they are stored.
func (s *shapes) upgrade(item table.Item, shape int) error {
	switch {
	case s.check(item) != nil:
		return s.check(item)
	case shape > s.current && number(item[s.from], shape) > s.current:
		return fmt.Errorf("%w: %d, and this program knows %d", table.ErrNewerShape, shape, s.current)
	case shape < s.oldest:
		return fmt.Errorf("%w: its shape is %d, and the oldest of the entity is %d", ErrUpgrade, shape, s.oldest)
	}
	for at := s.base(item, shape); at < s.current; at++ {
		u := &s.upgrades[at-s.oldest]
		if err := u.apply(item); err != nil {
			return fmt.Errorf("upgrade from shape %d, which writes %q and removes %q: %w", at, u.Writes, u.Removes, err)
		}
	}
	return nil
}

// present is upgrade for the readers of a view. It changes the shape attributes too, so
// that nothing upgrades the item again.
func (s *shapes) present(item table.Item, shape int) error {
	base := s.base(item, shape)
	err := s.upgrade(item, shape)
	if err == nil && base < s.current && shape <= s.current {
		s.setShape(item)
		s.setAt(item, item[s.version])
	}
	return err
}

// apply runs Change.
func (u *Upgrade) apply(attributes table.Item) (err error) {
	if u.Change == nil {
		return nil
	}
	before := maps.Clone(attributes)
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("%w: %w: %w", ErrUpgrade, item.ErrPanic, p)
		default: // may hold what the item holds
			err = fmt.Errorf("%w: %w with a %T", ErrUpgrade, item.ErrPanic, p)
		}
	}()
	if err := u.Change(attributes); err != nil {
		return &changeError{err}
	}
	for name, value := range attributes {
		if was, is := before[name]; is && was == value {
			continue
		}
		if path, is := item.Nil(value); is {
			return fmt.Errorf("%w: it sets attribute %q to nil", errInvalidEntity, name+path)
		}
		if !slices.Contains(u.Writes, name) {
			return fmt.Errorf("%w: it writes attribute %q, which Writes does not list", errInvalidEntity, name)
		}
	}
	for name := range before {
		if _, kept := attributes[name]; !kept && !slices.Contains(u.Removes, name) && !slices.Contains(u.Writes, name) {
			return fmt.Errorf("%w: it removes attribute %q, which Removes does not list", errInvalidEntity, name)
		}
	}
	return nil
}

// changeError is the error of a Change. Its text may quote what the item holds, as
// those of package strconv do, so it is not part of the message.
type changeError struct{ err error }

func (e *changeError) Error() string { return fmt.Sprintf("its Change has failed with a %T", e.err) }

func (e *changeError) Unwrap() []error { return []error{ErrUpgrade, e.err} }

// pending returns what a write stores of the upgrades of an item that was read and
// upgraded: all that they touch, and its new shape.
func (s *shapes) pending(item table.Item, shape int) diff {
	if shape > s.current || shape == s.current && len(s.touched) == 0 {
		return diff{}
	}
	d := diff{set: table.Item{}}
	if shape < s.current {
		s.setShape(d.set)
		for _, name := range []string{s.from, s.at} {
			if !s.derives() && item[name] != nil {
				d.remove = append(d.remove, name)
			}
		}
	}
	for name, gone := range s.touched {
		value, has := item[name]
		switch {
		case shape < s.current && has && !gone:
			d.set[name] = value
		case gone && has || shape < s.current && !has:
			d.remove = append(d.remove, name)
		}
	}
	slices.Sort(d.remove)
	return d
}

// setShape sets the shape attributes of an item that the program writes.
func (s *shapes) setShape(item table.Item) {
	if s.current == 0 {
		return
	}
	delete(item, s.from)
	delete(item, s.at)
	item[s.attribute] = &types.AttributeValueMemberN{Value: strconv.Itoa(s.current)}
	if s.admits < s.current {
		item[s.from] = &types.AttributeValueMemberN{Value: strconv.Itoa(s.admits)}
	}
}

// setAt notes in an item of the current shape the version that it is written with.
func (s *shapes) setAt(item table.Item, version types.AttributeValue) {
	if s.derives() && version != nil {
		item[s.at] = version
	}
}

// upgradeProblems adds what is wrong with an entity's upgrades.
func (e *description) upgradeProblems(p *problems, spec schema.Table, attributes []string, known bool) {
	if e.OldestShape < 0 {
		p.add("OldestShape: %d is negative", e.OldestShape)
	}
	if (len(e.Upgrades) > 0 || e.OldestShape > 0) && e.Version == "" {
		p.add("Upgrades: need a Version, or an old program could overwrite what a new one has written")
	}
	reserved := []string{spec.PK, spec.SK, spec.TypeAttribute, e.Version, spec.Shape, spec.ShapeFrom(), spec.ShapeAt()}
	reserved = append(append(reserved, e.indexAttributes(spec)...), e.Counted...)
	if len(e.Counters) > 0 {
		reserved = append(reserved, item.Counted)
	}
	for i, u := range e.Upgrades {
		if u.Change == nil && len(u.Writes)+len(u.Removes) > 0 {
			p.add("Upgrades[%d]: lists attributes and has no Change", i)
		}
		if spec.TTLAttribute != "" && slices.Contains(u.Writes, spec.TTLAttribute) {
			p.add("Upgrades[%d]: attribute %q is the expiry, and conditions and counts know the stored one only; write it with Update", i, spec.TTLAttribute)
		}
		for _, name := range slices.Concat(u.Writes, u.Removes) {
			switch {
			case name == "":
				p.add("Upgrades[%d]: an attribute without a name", i)
			case slices.Contains(reserved, name):
				p.add("Upgrades[%d]: attribute %q is written by the repository", i, name)
			}
		}
	}
	if known {
		e.shapeProblems(p, spec, attributes)
	}
}

// shapeProblems adds fields that T has and should not, or has not and should.
func (e *description) shapeProblems(p *problems, spec schema.Table, attributes []string) {
	s := newShapes(spec, e.Version, e.OldestShape, e.Upgrades)
	for _, name := range slices.Sorted(maps.Keys(s.touched)) {
		switch gone, has := s.touched[name], slices.Contains(attributes, name); {
		case gone && has:
			p.add("Upgrades: remove attribute %q, for which T has a field", name)
		case !gone && !has:
			p.add("Upgrades: write attribute %q, for which T has no field", name)
		}
	}
	for _, name := range []string{spec.Shape, spec.ShapeFrom(), spec.ShapeAt()} {
		if slices.Contains(attributes, name) {
			p.add("T has a field for attribute %q, which holds an item's shape; see schema.Table.Shape", name)
		}
	}
}
