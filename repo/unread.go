package repo

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Ops of an entity that is stored are planned as its other writes are, on a snapshot that is
// made of the value that was read. What this does not show is not known, so the plan
//
//   - writes all that v has, the shape, and all index keys that the entity declares: what
//     differs from the former value may be hidden, by memory that both share;
//   - expects every item as the value shows it: another one is [table.ErrStale];
//   - is refused if it must read an item, as to move it, or to replace it as a whole.

// unread is what else is known if nothing is read.
type unread struct {
	// stay are attributes of v that are better left as they are stored: see [item.Unchanged].
	stay []string
}

// snapshotOf returns what a value shows of the entity that was read as it.
func (c *core) snapshotOf(v any) (*snapshot, error) {
	if !c.stampIn(v).hasNext() {
		return nil, c.errNoVersion("value")
	}
	fields, err := c.encode(v)
	if err != nil {
		return nil, err
	}
	main := &stored{raw: item.RawOf(fields), v: v}
	if err := c.complete(main, false); err != nil {
		return nil, err
	}
	if len(c.entity.Counters) > 0 {
		all, err := c.countsOf(v)
		if err != nil {
			return nil, err
		}
		mark, err := c.mark(main.keys[0], all)
		if err != nil {
			return nil, err
		}
		if mark != nil { // the value shows no mark, and is expected to be counted as it is
			main.extra = diff{set: table.Item{item.Counted: mark}}.apply(item.RawOf(main.extra))
		}
	}
	return &snapshot{main: main, at: main.keys[0]}, nil
}

// opsOf returns the ops of a plan on a value that is given.
func (c *core) opsOf(s *snapshot, w wish) []table.Op {
	p, err := c.plan(s, w)
	if err != nil {
		return c.refused(err)
	}
	ops, err := c.ops(p.steps)
	if err != nil {
		return c.refused(err)
	}
	return ops
}

// withoutReads plans on a snapshot that was made of a value.
func (p *planner) withoutReads() (err error) {
	if len(p.items) > 1 && !p.identifies(p.was.stamp) {
		if p.like, err = p.likeness(p.was); err != nil {
			return err
		}
	}
	if p.v == nil {
		err = p.remove()
	} else {
		err = p.save()
	}
	switch {
	case err != nil:
		return err
	case len(p.need) > 0:
		return fmt.Errorf("%w: what other releases have claimed must be read, since a copy leaves its key; use Update", errInvalidEntity)
	}
	claims := false
	for i, s := range p.steps {
		p.steps[i].unread = s.owner == keys.Key{}
		claims = claims || s.owner != keys.Key{} && s.verb == create
	}
	//mutants:guard a claim of an entity whose expiry is not known is not made without one | TestOpsExpectWhatTheValueDoesNotShow
	if claims && p.hidesExpiry() {
		p.steps[0].like = new(item.Name(p.schema.TTLAttribute).AttributeNotExists())
	}
	return nil
}

// hidesExpiry reports whether an item can have an expiry that T does not show.
func (c *core) hidesExpiry() bool {
	return c.schema.TTLAttribute != "" && !slices.Contains(c.attributes, c.schema.TTLAttribute) && c.entity.typ.Kind() != reflect.Map
}

// all returns the changes that store v in an item that was not read: all that v has, without
// what a value of the type could have, and does not. given are the attributes of v. Those with
// interfaces in them stay as they are stored if they are as in the former value.
func (p *planner) all() (d diff, given table.Item, err error) {
	if given, err = p.encodeToStore(p.v); err != nil {
		return d, nil, fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	was, names, stay := p.was.raw.Attributes(nil), p.attributes, p.unread.stay
	if !p.known {
		names = slices.Collect(maps.Keys(was))
		stay = slices.Concat(stay, p.indexKeyNames) // those of other releases are the item's own
	}
	d = diff{set: make(table.Item, len(given)+4)}
	d.set[p.schema.TypeAttribute] = p.typeValue // perhaps the partition of a vector
	for name, value := range given {
		keep := slices.Contains(stay, name) && item.Equal(was[name], value)
		if !p.reserved[name] && !keep {
			d.set[name] = value
		}
	}
	for _, name := range names {
		if given[name] == nil && !p.reserved[name] {
			d.remove = append(d.remove, name)
		}
	}
	for name, gone := range p.shapes.touched {
		if gone && given[name] == nil && !slices.Contains(d.remove, name) {
			d.remove = append(d.remove, name)
		}
	}
	p.shapes.setShape(d.set)
	if p.shapes.current > 0 && !p.shapes.derives() {
		d.remove = append(d.remove, p.shapes.from, p.shapes.at)
	}
	return d, given, nil
}

// unchanged is [item.Unchanged], without what an upgrade makes: the stored item may not
// have that yet.
func (c *core) unchanged(old, v any) ([]string, error) {
	names, err := item.Unchanged(old, v)
	return slices.DeleteFunc(names, func(name string) bool {
		_, upgraded := c.shapes.touched[name]
		return upgraded
	}), err
}

// likeness returns the condition that a copy is of the entity that was read: a version alone
// can be another entity's, too. It compares all that tells in every release, and that is
// written again as it is stored. So it leaves out what upgrades write, lists, whose maps may
// have more members, and fields with times, floats and interfaces in them.
func (c *core) likeness(was *stored) (*expression.ConditionBuilder, error) {
	attributes := was.raw.Attributes(nil)
	skip := c.indexKeyNames // each item has its own
	if c.known {
		skip = slices.DeleteFunc(slices.Clone(c.attributes), c.readsAsStored)
	}
	for _, name := range c.attributes { // left out of the item, since it is empty
		if _, has := attributes[name]; !has {
			_, kind := item.FieldKind(c.entity.typ, name)
			attributes[name] = kind.Empty()
		}
	}
	zero, err := c.encode(c.entity.zero())
	if err != nil {
		return nil, err
	}
	var l likeness
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		_, upgraded := c.shapes.touched[name]
		if !c.reserved[name] && !upgraded && !slices.Contains(skip, name) {
			l.add(item.Name(name), attributes[name], zero[name])
		}
	}
	switch {
	case l.compared > maxGuarded:
		return nil, fmt.Errorf("%w: %d attributes tell whose the copies are, and a condition compares %d; use Update or Delete", table.ErrTooLarge, l.compared, maxGuarded)
	case len(l.all) == 0:
		return nil, errors.New("no attribute of the value tells whose the copies are; use Update or Delete")
	}
	return new(allOf(l.all)), nil
}

// readsAsStored reports whether the field of an attribute is written again as it was stored.
func (c *core) readsAsStored(attribute string) bool {
	f, kind := item.FieldKind(c.entity.typ, attribute)
	return kind != 0 && (kind != item.S || f.Kind() == reflect.String) && sameAgain(f, maxLevels)
}

// maxLevels bounds the nesting of types, of which some contain themselves.
const maxLevels = 32

// sameAgain reports whether values of a type have one form each, as texts, whole numbers, bytes
// and bools have. A time or a float can have been stored with other digits, and what is in an
// interface in another form.
func sameAgain(t reflect.Type, levels int) bool {
	if levels == 0 || t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return false
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return sameAgain(t.Elem(), levels-1)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); !f.IsExported() || !sameAgain(f.Type, levels-1) {
				return false // as a time.Time
			}
		}
		return true
	}
	return reflect.Zero(t).CanInt() || reflect.Zero(t).CanUint()
}

// likeness is a condition in the making.
type likeness struct {
	all      []expression.ConditionBuilder
	compared int
}

// add compares what is stored under a path with a value. zero is that of the zero T.
func (l *likeness) add(path expression.NameBuilder, value, zero types.AttributeValue) {
	switch is, empty := item.ValueOf(value), item.ValueOf(zero); {
	case is.Kind == 0 || is.Kind == item.L:
	case is.Kind == item.M:
		for _, name := range slices.Sorted(maps.Keys(is.Map)) {
			if name != "" {
				l.add(path.AppendName(item.Name(name)), is.Map[name], empty.Map[name])
			}
		}
	case item.Equal(value, zero) || item.Equal(value, is.Kind.Empty()): // as what is missing is read, or NULL
		l.compared += 3
		l.all = append(l.all, path.AttributeNotExists().Or(path.AttributeType(expression.Null), path.Equal(expression.Value(value))))
	default:
		l.compared++
		l.all = append(l.all, path.Equal(expression.Value(value)))
	}
}

// allOf returns the condition that all hold.
func allOf(all []expression.ConditionBuilder) expression.ConditionBuilder {
	if len(all) < 2 {
		return all[0]
	}
	return all[0].And(all[1], all[2:]...)
}
