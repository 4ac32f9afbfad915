package repo

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/table"
)

// stamp is the version or the revision of a stored entity, whichever it has. The
// zero stamp is that of an entity that is not stored, or stored without one.
type stamp struct {
	version  int64
	revision string
}

// counter is what the version attribute of an entity is.
type counter int

const (
	unversioned counter = iota
	// versioned entities have an integer that counts from 1, revised ones a string that
	// is drawn at random.
	versioned
	revised
	// Entities that other programs write, too, are compared with what was read, and may have
	// a time that each write sets: in milliseconds, or as text.
	compared
	clocked
	clockedText
)

// counterOf returns what the version attribute of an entity is.
func (e *description) counterOf() counter {
	kind := unversioned
	if e.Version != "" {
		kind, _ = e.probeVersion()
	}
	if !e.shared.is {
		return kind
	}
	return map[counter]counter{unversioned: compared, versioned: clocked, revised: clockedText}[kind]
}

// isText reports whether the version is a text.
func (k counter) isText() bool { return k == revised || k == clockedText }

// stamped reports whether there is a version attribute.
func (k counter) stamped() bool { return k != unversioned && k != compared }

// next returns the stamp of the write that comes after s.
func (c *core) next(s stamp) stamp {
	switch c.counter {
	case revised:
		//mutants:guard a revision is drawn for each write | TestRepo/revision/Save,_Save ./suites/schedules | rand.Text() => rand.Text()[:0] + "same"
		return stamp{revision: rand.Text()}
	case versioned:
		return stamp{version: s.version + 1}
	case clocked, clockedText:
		return c.nextTime(s)
	}
	return stamp{}
}

// identifies reports whether no other entity has the stamp: versions count from 1.
func (c *core) identifies(s stamp) bool {
	//mutants:guard a version that two entities can have does not say whose a copy is | TestVersionsThatTwoEntitiesHave | s.revision != "" => true
	return s.revision != "" && c.counter == revised
}

// maxVersion is the greatest version that a write can follow: the next one is the greatest int64.
const maxVersion = math.MaxInt64 - 1

// hasNext reports whether a write can follow s.
func (s stamp) hasNext() bool { return s.version >= 0 && s.version <= maxVersion }

// errNoVersion is the error of a stamp that no write can follow.
func (c *core) errNoVersion(whose string) error {
	return fmt.Errorf("%w: %q: attribute %q of the %s is no integer from 0 to 2^63-2",
		errInvalidEntity, c.entity.Type, c.entity.Version, whose)
}

// value returns the stamp as it is stored.
func (s stamp) value() types.AttributeValue {
	if s.revision != "" {
		return &types.AttributeValueMemberS{Value: s.revision}
	}
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(s.version, 10)}
}

// stampOf reads the stamp of a stored item.
func (c *core) stampOf(attributes table.Item) (s stamp) {
	switch p := item.ValueOf(attributes[c.entity.Version]); {
	case p.Kind == item.S && c.counter.isText():
		s.revision = p.Text
		if t := new(table.ISOTime); c.isoTime && t.UnmarshalDynamoDBAttributeValue(attributes[c.entity.Version]) == nil {
			s.revision = t.String() // as the field holds it, whatever its text is
		}
	case p.Kind == item.N && !c.counter.isText():
		if n, err := strconv.ParseInt(p.Text, 10, 64); err == nil {
			s.version = n
		}
	}
	return s
}

// setStamp sets the stamp that a write gives an item of a shape.
func (c *core) setStamp(item table.Item, s stamp, shape int) {
	if c.stampOf(item) != s {
		item[c.entity.Version] = s.value()
	}
	//mutants:guard an older program does not say that it has derived | TestDerivedAgain | shape <= c.shapes.current => shape >= 0
	if shape <= c.shapes.current { // or a newer program is to know that an older one wrote
		c.shapes.setAt(item, item[c.entity.Version])
	}
}

// checkStamp reports a version attribute that no write of the entity can meet.
func (c *core) checkStamp(attributes table.Item) error {
	value, stored := attributes[c.entity.Version]
	switch p := item.ValueOf(value); {
	case !stored, p.Kind == item.NULL, p.Kind == item.S && c.counter.isText():
		return nil
	case p.Kind == item.N && !c.counter.isText():
		n, err := strconv.ParseInt(p.Text, 10, 64)
		if c.counter == clocked && err == nil && n != 0 && n < earliest {
			return fmt.Errorf("%w: %q: attribute %q of the stored item is no time in milliseconds; a number that another program counts is no Version", errInvalidEntity, c.entity.Type, c.entity.Version)
		}
		if err == nil && (stamp{version: n}).hasNext() {
			return nil
		}
		return c.errNoVersion("stored item")
	}
	return fmt.Errorf("%w: %q: attribute %q of the stored item has another type than the field for it",
		errInvalidEntity, c.entity.Type, c.entity.Version)
}

// misfit returns the error of reading an item for a write. One of the version attribute,
// which the field does not hold, is as in checkStamp.
func (c *core) misfit(err error) error {
	misfit, ok := errors.AsType[*item.Error](err)
	if !ok || !c.counter.stamped() || misfit.Path != c.entity.Version {
		return err
	}
	return fmt.Errorf("%w: %q: %w", errInvalidEntity, c.entity.Type, misfit)
}

// stampIn returns the stamp that v was read with. A value that cannot be encoded has
// none; its ops fail when they are run.
func (c *core) stampIn(v any) stamp {
	if !c.counter.stamped() {
		return stamp{}
	}
	if c.field == nil {
		item, err := encode(v)
		if err != nil {
			return stamp{}
		}
		return c.stampOf(item)
	}
	switch f := reflect.ValueOf(v).Elem().FieldByIndex(c.field); {
	case f.Kind() == reflect.Struct:
		return stampOfTime(f.Interface())
	case f.Kind() == reflect.String:
		return stamp{revision: f.String()}
	case f.CanInt():
		return stamp{version: f.Int()}
	default:
		return stamp{version: int64(f.Uint())} // negative from 2^63 on
	}
}

// withStamp makes what to points to the value of v with a stamp. v stays as it is, unless
// to is v.
func (c *core) withStamp(to, v any, s stamp) error {
	if c.field == nil && c.counter.stamped() {
		return setAttribute(to, v, c.entity.Version, s.value())
	}
	assign(to, v)
	if !c.counter.stamped() {
		return nil
	}
	switch f := reflect.ValueOf(to).Elem().FieldByIndex(c.field); {
	case f.Kind() == reflect.Struct:
		return table.Item{c.entity.Version: s.value()}.Decode(to)
	case f.Kind() == reflect.String:
		f.SetString(s.revision)
	case f.CanInt():
		f.SetInt(s.version)
	default:
		f.SetUint(uint64(s.version))
	}
	return nil
}

// adopt gives v what a write has stored: the value that made points to, which
// [core.withStamp] has made of v.
func (c *core) adopt(v, made any) {
	switch {
	case !c.counter.stamped():
		return
	case c.field == nil && c.entity.typ.Kind() != reflect.Map:
		// Its methods have made it of attributes, and v may hold more than these.
		if item, err := encode(made); err == nil && item.Decode(v) == nil {
			return
		}
	}
	assign(v, made)
}

// setAttribute makes what to points to the value of v with an attribute that v has no
// field for: v is a map, or of a type that makes its attributes itself. A map of another
// variable stays as it is, and so does all that v points to, unless to is v.
func setAttribute(to, v any, name string, value types.AttributeValue) error {
	if m := reflect.ValueOf(v).Elem(); m.Kind() == reflect.Map {
		own := reflect.MakeMapWithSize(m.Type(), m.Len()+1)
		for _, key := range m.MapKeys() {
			own.SetMapIndex(key, m.MapIndex(key))
		}
		plain := !m.Type().Implements(unmarshaler) && !m.Addr().Type().Implements(unmarshaler)
		if plain {
			reflect.ValueOf(to).Elem().Set(own)
			return table.Item{name: value}.Decode(to)
		}
	}
	// An UnmarshalDynamoDBAttributeValue may take what it is given for the whole.
	item, err := encode(v)
	if err != nil {
		return err
	}
	item = maps.Clone(item)
	item[name] = value
	return item.Decode(to)
}

var (
	unmarshaler = reflect.TypeFor[attributevalue.Unmarshaler]()
	marshaler   = reflect.TypeFor[attributevalue.Marshaler]()
)

// Types of fields for a time, as the version of a shared entity can be one.
var (
	unixMilliType = reflect.TypeFor[table.UnixMilli]()
	isoTimeType   = reflect.TypeFor[table.ISOTime]()
)

// isTableTime reports whether a type is one of them, or a pointer to one.
func isTableTime(t reflect.Type) bool {
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t == unixMilliType || t == isoTimeType
}

// stampOfTime returns the stamp that is a time; none for the zero time.
func stampOfTime(v any) stamp {
	switch t := v.(type) {
	case table.UnixMilli:
		if !t.IsZero() {
			return stamp{version: t.UnixMilli()}
		}
	case table.ISOTime:
		if !t.IsZero() {
			return stamp{revision: t.String()}
		}
	}
	return stamp{}
}

// probeVersion tries whether a version attribute finds its way into T and back.
// It returns what T has for it, or why it does not do.
func (e *description) probeVersion() (counter, string) {
	const widest = 1<<53 - 1
	t, attribute := e.typ, e.Version
	if index, is := item.Field(t, attribute, unixMilliType, isoTimeType); is && t.FieldByIndex(index).Type.Kind() == reflect.Struct {
		switch {
		case !e.shared.is:
			return unversioned, fmt.Sprintf("Version: attribute %q of %v is a time, which guards Shared entities only; use a string", attribute, t)
		case t.FieldByIndex(index).Type == isoTimeType:
			return revised, ""
		}
		return versioned, ""
	}
	_, known := item.Attributes(t)
	_, plain := item.Field(t, attribute)
	holds := func(s stamp) bool { return (plain || !known) && keeps(t, attribute, s.value()) }
	switch {
	case holds(stamp{revision: "probe"}):
		return revised, ""
	case holds(stamp{version: widest}):
		return versioned, ""
	case !holds(stamp{version: 7}):
		return unversioned, fmt.Sprintf("Version: %v has no string or integer field for attribute %q", t, attribute)
	}
	return versioned, fmt.Sprintf("Version: the field of %v for attribute %q does not hold 2^53-1; make it an int64, which reads what is stored",
		t, attribute)
}

// keeps reports whether T keeps a value that is decoded into it.
func keeps(t reflect.Type, attribute string, value types.AttributeValue) bool {
	v := reflect.New(t).Interface()
	if err := (table.Item{attribute: value}).Decode(v); err != nil {
		return false
	}
	attributes, err := encode(v)
	return err == nil && item.Equal(attributes[attribute], value)
}
