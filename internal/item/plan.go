package item

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// plan says how the values of a Go type are made of attributes, and attributes
// of them. It never changes once it is made.
type plan struct {
	typ  reflect.Type
	form form
	// elem is the plan of what a pointer points to and of the elements of a
	// slice or map.
	elem *plan
	// fields are those of a struct, in the order of their indexes.
	fields []field
	byName map[string]int
	// strings and numbers are how many of the fields are such as attributes.
	strings, numbers int
	// marshaled means that values make their own attributes, and numeric that
	// strings are numbers.
	marshaled, numeric bool
	// time means that attributevalue reads values as times.
	time bool
}

// form is what a plan can do without attributevalue.
type form byte

const (
	// foreign is everything else: attributevalue does it.
	foreign form = iota
	text
	boolean
	integer
	unsigned
	float
	blob
	moment
	pointer
	slice
	texts
	dictionary
	structure
	anything
	item
	undecoded
)

// field is a field of a struct that has an attribute.
type field struct {
	name  string
	index []int
	// pointed means that it is in an embedded struct behind a pointer.
	pointed bool
	plan    *plan
	// time means that it is a time, or a pointer to one, also of a type with methods.
	time bool
	options
	// alone is a struct type with this field and its tag only, through which
	// attributevalue is given the field's value and options.
	alone reflect.Type
}

var (
	unmarshalerType     = reflect.TypeFor[attributevalue.Unmarshaler]()
	marshalerType       = reflect.TypeFor[attributevalue.Marshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	unixTimeType        = reflect.TypeFor[attributevalue.UnixTime]()
	timeType            = reflect.TypeFor[time.Time]()
	bytesType           = reflect.TypeFor[[]byte]()
	textsType           = reflect.TypeFor[[]string]()
	bytesListType       = reflect.TypeFor[[][]byte]()
	itemType            = reflect.TypeFor[map[string]types.AttributeValue]()
	rawType             = reflect.TypeFor[Raw]()
)

// numberType is what a string type has if attributevalue treats it as a number,
// such as its own Number and that of encoding/json.
var numberType = reflect.TypeFor[interface {
	Float64() (float64, error)
	Int64() (int64, error)
	String() string
}]()

// plans are kept for good: a program has so many types and no more.
var plans sync.Map // of reflect.Type to *plan

func planOf(t reflect.Type) *plan {
	if known, ok := plans.Load(t); ok {
		return known.(*plan)
	}
	made := map[reflect.Type]*plan{}
	p := makePlan(t, made)
	for t, p := range made {
		plans.LoadOrStore(t, p)
	}
	return p
}

// makePlan makes the plan of a type and of those that it is made of. made holds
// unfinished plans too, since types can contain themselves.
func makePlan(t reflect.Type, made map[reflect.Type]*plan) *plan {
	if known, ok := plans.Load(t); ok {
		return known.(*plan)
	}
	if p, ok := made[t]; ok {
		return p
	}
	p := &plan{typ: t}
	made[t] = p
	p.marshaled = implements(t, marshalerType)
	p.numeric = t.Implements(numberType)
	if implements(t, unmarshalerType) {
		return p
	}
	p.form, p.time = formOf(t), isTime(t)
	switch p.form {
	case pointer, slice, dictionary:
		p.elem = makePlan(t.Elem(), made)
	case structure:
		fields, settable, _ := fieldsOf(t)
		if !settable {
			p.form = foreign
			break
		}
		p.byName = make(map[string]int, len(fields))
		for i := range fields {
			f := &fields[i]
			f.plan = makePlan(f.alone.Field(0).Type, made)
			f.time = holdsTime(deref(f.plan.typ))
			p.byName[f.name] = i
			switch f.plan.form {
			case text, moment:
				p.strings++
			case integer, unsigned, float:
				p.numbers++
			}
		}
		p.fields = fields
	}
	return p
}

// fieldOf returns the index of the struct field that an attribute is read into, none if
// there is not one, and whether the attribute's name differs from the field's, in case.
func (p *plan) fieldOf(name string) (at int, respelled bool) {
	if i, ok := p.byName[name]; ok {
		return i, false
	}
	at = slices.IndexFunc(p.fields, func(f field) bool { return strings.EqualFold(f.name, name) })
	return at, at != none
}

// field is fieldOf's field, nil if there is not one.
func (p *plan) field(name string) *field {
	if i, _ := p.fieldOf(name); i != none {
		return &p.fields[i]
	}
	return nil
}

// implements reports whether values of the type or pointers to them have the
// interface's methods.
func implements(t, interfaceType reflect.Type) bool {
	return t.Implements(interfaceType) || reflect.PointerTo(t).Implements(interfaceType)
}

func formOf(t reflect.Type) form {
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Bool:
		return boolean
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return integer
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return unsigned
	case reflect.Float32, reflect.Float64:
		return float
	case reflect.Pointer:
		return pointer
	case reflect.Struct:
		switch {
		case t == timeType:
			return moment
		case t == rawType:
			return undecoded
		case !t.ConvertibleTo(timeType):
			return structure
		}
	case reflect.Slice:
		switch {
		case t == bytesType:
			return blob
		case t == textsType:
			return texts
		case t.Elem().Kind() != reflect.Uint8:
			return slice
		}
	case reflect.Map:
		switch k := t.Key(); {
		case t.ConvertibleTo(itemType):
			return item
		case k.Kind() == reflect.String && !implements(k, textUnmarshalerType) && !implements(k, textMarshalerType):
			return dictionary
		}
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return anything
		}
	}
	return foreign
}
