package item

import (
	"bytes"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Change is an attribute that two values of a type encode differently. A value is
// nil if the attribute is left out. Before can be nil, too, if it is a text, a
// number or a boolean.
type Change struct {
	Name          string
	Before, After types.AttributeValue
}

// Compare returns what differs between the attributes of the values that before
// and after point to, which are of one type, as [Encode] of the pointers makes them. Only what
// can differ is encoded. A value in an interface of after that would not read back is an
// [ErrRoundTrip].
func Compare(before, after any) ([]Change, error) {
	a, b := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	p := planOf(a.Type())
	if p.form != structure || p.marshaled {
		return compareWhole(before, after)
	}
	e := itemEncoder{level: 1}
	var changes []Change
	for i := range p.fields {
		f := &p.fields[i]
		was, wasThere := f.in(a)
		is, isThere := f.in(b)
		if wasThere && isThere && f.plan.same(was, is) || !wasThere && !isThere {
			continue
		}
		c := Change{Name: f.name}
		var err error
		simple := f.plan.simple() && wasThere && isThere
		if !simple {
			c.Before, err = e.field(f, a)
		}
		if err == nil && isThere && !simple {
			if lost := checkDynamic(is, 0); lost != nil {
				err = lost.in("." + f.name)
			}
		}
		if err == nil {
			c.After, err = e.field(f, b)
		}
		if err != nil {
			return nil, rooted(a.Type(), err)
		}
		if simple || !Equal(c.Before, c.After) {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// compareWhole is Compare for values that make their attributes themselves.
func compareWhole(before, after any) ([]Change, error) {
	was, err := Encode(before)
	if err != nil {
		return nil, err
	}
	if lost := checkDynamic(reflect.ValueOf(after), 0); lost != nil {
		return nil, rooted(reflect.TypeOf(after), lost)
	}
	is, err := Encode(after)
	if err != nil {
		return nil, err
	}
	a, b := ValueOf(was).Map, ValueOf(is).Map
	var changes []Change
	for _, name := range slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b))) {
		c := Change{name, a[name], b[name]}
		if !Equal(c.Before, c.After) && !slices.ContainsFunc(changes, func(d Change) bool { return d.Name == name }) {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// Unchanged returns the attributes that the values which before and after point to, of one
// type, encode alike, of those with interfaces in them. They are better left as they are
// stored: what is read into an interface is not always written as it was stored. A set
// becomes a list, and the digits of a number those of a float64. An attribute whose maps,
// slices or pointers both values share is not among them, since it may have been changed
// in place. What is in an interface is compared only.
func Unchanged(before, after any) (names []string, err error) {
	a, b := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	p := planOf(a.Type())
	switch {
	case p.marshaled:
		return nil, nil
	case p.form == dictionary && p.elem.form == anything && !share(a, b):
		return unchangedMembers(before, after)
	case p.form != structure:
		return nil, nil
	}
	e := itemEncoder{level: 1}
	for i := range p.fields {
		f := &p.fields[i]
		was, wasThere := f.in(a)
		is, isThere := f.in(b)
		if !wasThere || !isThere || !tripOf(f.plan.typ, place{addressable: true}).dynamic || share(was, is) {
			continue
		}
		from, err := e.field(f, a)
		if err != nil {
			return nil, rooted(a.Type(), err)
		}
		to, err := e.field(f, b)
		if err != nil {
			return nil, rooted(a.Type(), err)
		}
		if to != nil && Equal(from, to) {
			names = append(names, f.name)
		}
	}
	return names, nil
}

// unchangedMembers is Unchanged for maps of interfaces.
func unchangedMembers(before, after any) (names []string, err error) {
	was, err := Encode(before)
	if err != nil {
		return nil, err
	}
	is, err := Encode(after)
	if err != nil {
		return nil, err
	}
	from := ValueOf(was).Map
	for name, value := range ValueOf(is).Map {
		if from[name] != nil && Equal(from[name], value) {
			names = append(names, name)
		}
	}
	return names, nil
}

// share reports whether a change of one value in place, outside of interfaces, changes
// the other one, too.
func share(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer:
		return !a.IsNil() && a.Pointer() == b.Pointer()
	case reflect.Array:
		for i := range a.Len() {
			if share(a.Index(i), b.Index(i)) {
				return true
			}
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if share(a.Field(i), b.Field(i)) {
				return true
			}
		}
	}
	return false
}

// simple reports whether different values encode differently.
func (p *plan) simple() bool {
	switch p.form {
	case text, boolean, integer, unsigned, float:
		return !p.marshaled && !p.numeric
	}
	return false
}

// same reports that two values are so much alike that they encode equally. Most of
// those that do not are found out by encoding them.
func (p *plan) same(a, b reflect.Value) bool {
	switch p.form {
	case text:
		return a.String() == b.String()
	case boolean:
		return a.Bool() == b.Bool()
	case integer:
		return a.Int() == b.Int()
	case unsigned:
		return a.Uint() == b.Uint()
	case float:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case moment:
		return *a.Addr().Interface().(*time.Time) == *b.Addr().Interface().(*time.Time) //nolint:staticcheck // the text that is stored depends on the zone too
	case texts:
		return a.IsNil() == b.IsNil() && slices.Equal(*a.Addr().Interface().(*[]string), *b.Addr().Interface().(*[]string))
	}
	return false
}

// Equal reports whether two values of one encoder are the same. Nil is equal to
// nil only.
func Equal(a, b types.AttributeValue) bool { return ValueOf(a).equal(ValueOf(b), Equal) }

// EqualUnordered is [Equal] whatever the order of sets.
func EqualUnordered(a, b types.AttributeValue) bool {
	return ValueOf(a).sorted().equal(ValueOf(b).sorted(), EqualUnordered)
}

func (p Value) equal(q Value, elements func(a, b types.AttributeValue) bool) bool {
	return p.Kind == q.Kind && p.Kind != Unknown && p.Text == q.Text && p.Bool == q.Bool &&
		bytes.Equal(p.Bytes, q.Bytes) && slices.Equal(p.Texts, q.Texts) && slices.EqualFunc(p.Blobs, q.Blobs, bytes.Equal) &&
		slices.EqualFunc(p.List, q.List, elements) && maps.EqualFunc(p.Map, q.Map, elements)
}

// SameItem reports whether two items are equal to DynamoDB, which returns numbers and
// sets otherwise than they were written.
func SameItem(a, b map[string]types.AttributeValue) bool {
	return maps.EqualFunc(a, b, func(a, b types.AttributeValue) bool { return Equal(AsStored(a), AsStored(b)) })
}

// Text returns the text of a value, "" if it is no text.
func Text(value types.AttributeValue) string {
	if s, ok := value.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// Copy copies the value that from points to, which was decoded, into what to
// points to, so that a change of one does not change the other. It returns
// false if it cannot: then the item has to be decoded once more.
func Copy(to, from any) bool {
	dst, src := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	p := planOf(src.Type())
	dst.Set(src)
	return p.separate(dst)
}

// separate gives a value that was copied memory of its own.
func (p *plan) separate(v reflect.Value) bool {
	switch p.form {
	case text, boolean, integer, unsigned, float, moment:
		return true
	case blob:
		v.SetBytes(slices.Clone(v.Bytes()))
		return true
	case texts:
		own := v.Addr().Interface().(*[]string)
		*own = slices.Clone(*own)
		return true
	case structure:
		for i := range p.fields {
			f := &p.fields[i]
			if f.pointed || !f.plan.simple() && !f.plan.separate(f.at(v)) {
				return false
			}
		}
		return true
	}
	return false
}

// Assign makes the value that v points to as if an attribute of the item that it
// was decoded from had another value; nil for none. It returns false if it cannot:
// then the item has to be decoded once more.
func Assign(v any, name string, value types.AttributeValue) bool {
	to := reflect.ValueOf(v).Elem()
	p := planOf(to.Type())
	if p.form != structure {
		return false
	}
	f := p.field(name)
	if f == nil || f.pointed {
		return f == nil
	}
	at := f.at(to)
	at.SetZero()
	switch value := value.(type) {
	case nil:
		return true
	case *types.AttributeValueMemberS:
		if f.plan.form == text && !f.asText {
			at.SetString(value.Value)
			return true
		}
	case *types.AttributeValueMemberN:
		switch f.plan.form {
		case integer, unsigned, float:
			if f.plan.number([]byte(value.Value), at) == fits {
				return true
			}
		}
	}
	return f.give(value, at) == nil
}
