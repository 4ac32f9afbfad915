package item

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ErrRoundTrip means that a read would not give back what a write of a value stores.
var ErrRoundTrip = errors.New("value does not make a round trip")

// RoundTrip returns why values of a type do not make a round trip: attributevalue
// stores another value than a read of the type returns, or one that no read takes. A
// value of the type is written by its address, as package repo does.
//
// What a type cannot tell is allowed. The methods of a type are its own word. A struct
// with exported and unexported fields is ordinary, since the latter hold caches and
// locks: only a struct of which nothing is stored is refused. An outer field hides an
// embedded one of its name on purpose, as in Go. Tag options that leave something out
// do what they say. A value in an empty interface reads back as one of the types that
// attributevalue makes, a number as a float64, and must only be stored.
func RoundTrip(t reflect.Type) []*Error {
	trip := tripOf(t, place{addressable: true, read: true})
	return slices.Concat(trip.problems, trip.unread)
}

// trip says whether values of a type make a round trip.
type trip struct {
	problems []*Error
	// unread is the problem of a type with its own Marshaler that no read takes. A value of
	// it can be an item that is read as another type.
	unread []*Error
	// dynamic means that the type has interfaces in it, whose values are looked at when
	// they are written; fields are those of such a struct.
	dynamic bool
	fields  []field
}

// place is where values of a type are.
type place struct {
	// addressable means that attributevalue calls the methods of pointers to the values.
	addressable bool
	// read means that attributevalue reads them, by their type: it does not know the type
	// of what was in an interface, and leaves everything to an Unmarshaler.
	read bool
}

// trips are kept for good, as plans are, one map for each place.
var trips [4]sync.Map // of reflect.Type to *trip

func (p place) trips() *sync.Map {
	i := 0
	if p.addressable {
		i++
	}
	if p.read {
		i += 2
	}
	return &trips[i]
}

func tripOf(t reflect.Type, p place) *trip {
	if known, ok := p.trips().Load(t); ok {
		return known.(*trip)
	}
	w := tripper{seen: map[visit]bool{}}
	w.look("", t, p)
	if w.dynamic && t.Kind() == reflect.Struct {
		w.fields, _, _ = fieldsOf(t)
	}
	made := w.trip
	known, _ := p.trips().LoadOrStore(t, &made)
	return known.(*trip)
}

// checkTrip returns why a value does not make a round trip, by its type and by those of
// the values in its interfaces; nil if it does.
func checkTrip(v reflect.Value) *Error {
	if !v.IsValid() {
		return nil
	}
	t := tripOf(v.Type(), place{addressable: v.CanAddr(), read: true})
	switch {
	case len(t.problems) > 0:
		return t.first()
	case t.dynamic:
		return checkDynamic(v, 0)
	}
	return nil
}

// first returns the first problem, to add to its path.
func (t *trip) first() *Error {
	e := *t.problems[0]
	if e.Path != "" && e.Path[0] != '[' {
		e.Path = "." + e.Path
	}
	return &e
}

// checkDynamic looks for interfaces in a value, and at what they hold. It must come to an
// end for a value that contains itself.
func checkDynamic(v reflect.Value, level int) *Error {
	t := tripOf(v.Type(), place{addressable: v.CanAddr()})
	switch {
	case !t.dynamic:
		return nil
	case level > 4*maxLevels: // pointers and interfaces are levels, too
		return &Error{Problem: errLevels.Error(), Err: errLevels}
	}
	level++
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		if t := tripOf(v.Elem().Type(), place{}); len(t.problems) > 0 {
			return t.first()
		}
		return checkDynamic(v.Elem(), level)
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return checkDynamic(v.Elem(), level)
	}
	return t.checkElements(v, level)
}

// checkElements is checkDynamic of what a list, a map or a struct has.
func (t *trip) checkElements(v reflect.Value, level int) *Error {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := checkDynamic(v.Index(i), level); err != nil {
				return err.in(at(i))
			}
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if err := checkDynamic(each.Value(), level); err != nil {
				if level > 1 { // it is not the item
					return err.in(InMap)
				}
				return err.in("." + fmt.Sprint(each.Key()))
			}
		}
	case reflect.Struct:
		for _, f := range t.fields {
			value, there := f.in(v)
			if !there {
				continue
			}
			if err := checkDynamic(value, level); err != nil {
				return err.in("." + f.name)
			}
		}
	}
	return nil
}

// tripper looks at a type and at those that it is made of.
type tripper struct {
	trip
	seen map[visit]bool
}

// visit is a type in a place: types can contain themselves.
type visit struct {
	typ reflect.Type
	place
}

func (w *tripper) refuse(path, format string, args ...any) {
	w.problems = append(w.problems, refusal(path, format, args...))
}

func refusal(path, format string, args ...any) *Error {
	return &Error{Path: path, Problem: fmt.Sprintf(format, args...), Err: ErrRoundTrip}
}

// What to do about a type.
const (
	giveMethods = "wrap it in a type with the Marshaler and Unmarshaler methods of attributevalue, or store its text in a string"
	leaveOut    = "leave it out with the tag `dynamodbav:\"-\"`"
)

// look finds what is wrong with values of a type, in the order in which attributevalue
// decides what to do with them.
func (w *tripper) look(path string, t reflect.Type, p place) {
	if t.Kind() == reflect.Pointer {
		if t.Elem().Kind() == reflect.Interface {
			w.refuse(path, "attributevalue stores nothing of a %v; use a %v", t, t.Elem())
			return
		}
		w.look(path, t.Elem(), place{addressable: true, read: p.read})
		return
	}
	if v := (visit{t, p}); w.seen[v] {
		return
	} else {
		w.seen[v] = true
	}
	marshals, unmarshals := calls(t, marshalerType, p.addressable), calls(t, unmarshalerType, true)
	switch {
	case implements(t, attributeValueType):
		w.refuse(path, "%v is an attribute value, which attributevalue stores as a map of its Go fields; use a Go value, or a table.Item for the whole item", t)
	case marshals:
		w.lookMarshaled(path, t, p.read && !unmarshals)
	case t.Kind() != reflect.Interface && implements(t, marshalerType):
		w.refuse(path, "MarshalDynamoDBAttributeValue of %v has a pointer receiver, and attributevalue does not call it for a value here; "+
			"give it a value receiver, or use a pointer", t)
	default:
		w.lookInside(path, t, place{addressable: p.addressable, read: p.read && !unmarshals})
	}
}

// calls reports whether attributevalue calls the methods of an interface for values of
// a type, which is no pointer.
func calls(t, interfaceType reflect.Type, addressable bool) bool {
	if t.Kind() == reflect.Interface {
		return false // that is for what it holds
	}
	return t.Implements(interfaceType) || addressable && t.Name() != "" && reflect.PointerTo(t).Implements(interfaceType)
}

// lookMarshaled looks at a type with its own MarshalDynamoDBAttributeValue; alone if it
// has no UnmarshalDynamoDBAttributeValue.
func (w *tripper) lookMarshaled(path string, t reflect.Type, alone bool) {
	if embedded, hides := Promoted(t, marshalMethod, leftOut); hides {
		w.refuse(path, "%v has the MarshalDynamoDBAttributeValue of its embedded %v, which leaves its other fields out; make that a field with a name", t, embedded)
		return
	}
	if !alone || takes(t) {
		return
	}
	const problem = "%v has MarshalDynamoDBAttributeValue, and no read takes what that makes; give it UnmarshalDynamoDBAttributeValue, too"
	if path == "" {
		w.unread = []*Error{refusal(path, problem, t)}
		return
	}
	w.refuse(path, problem, t)
}

// takes reports whether a read of a type takes what its MarshalDynamoDBAttributeValue
// makes of the zero value. If that makes nothing, it is not known, and allowed.
func takes(t reflect.Type) bool {
	if t.Kind() == reflect.Struct && storesNothing(t) && !t.ConvertibleTo(timeType) {
		return false
	}
	zero := reflect.New(t)
	switch t.Kind() {
	case reflect.Map:
		zero.Elem().Set(reflect.MakeMap(t))
	case reflect.Slice:
		zero.Elem().Set(reflect.MakeSlice(t, 0, 0))
	}
	value, err := encodeForeign(zero.Interface())
	if err == nil {
		_, err = noNil(value, nil)
	}
	return err != nil || value == nil || decodeForeign(value, reflect.New(t).Interface()) == nil
}

// lookInside looks at a type that attributevalue encodes by its kind.
func (w *tripper) lookInside(path string, t reflect.Type, p place) {
	switch t.Kind() {
	case reflect.Interface:
		if p.read && t.NumMethod() > 0 {
			w.refuse(path, "%v is an interface with methods, and no read knows which type to make; use one type, or one with the Marshaler and Unmarshaler methods of attributevalue", t)
			return
		}
		w.dynamic = true
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Uintptr, reflect.Complex64, reflect.Complex128:
		w.refuse(path, "attributevalue stores no %v; use another type, or %s", t, leaveOut)
	case reflect.Map:
		if p.read && !keysRead(t.Key()) {
			w.refuse(path, "the keys of a %v do not read back; use strings, or give %v both MarshalText and UnmarshalText", t, t.Key())
		}
		w.look(path+"[]", t.Elem(), place{read: p.read})
	case reflect.Slice:
		w.look(path+"[]", t.Elem(), place{addressable: true, read: p.read})
	case reflect.Array:
		w.look(path+"[]", t.Elem(), p)
	case reflect.Struct:
		if !t.ConvertibleTo(timeType) {
			w.lookFields(path, t, p)
		}
	}
}

func (w *tripper) lookFields(path string, t reflect.Type, p place) {
	if storesNothing(t) {
		w.refuse(path, "attributevalue stores nothing of a %v, which has no exported fields; %s; or %s", t, giveMethods, leaveOut)
		return
	}
	if embedded, is := hollow(t, nil); is {
		w.refuse(path, "attributevalue stores nothing of a %v that is embedded in %v; make it a field with a name, or %s", embedded, t, leaveOut)
	}
	fields, settable, clashes := fieldsOf(t)
	for _, name := range clashes {
		w.refuse(joined(path, name), "several fields of %v have this name, and attributevalue stores none of them; give them other names", t)
	}
	if p.read && !settable {
		w.refuse(path, "%v has an attribute in an embedded type that is not exported, which no read can set", t)
		return
	}
	for _, f := range fields {
		w.lookField(joined(path, f.name), f, place{addressable: p.addressable || f.pointed, read: p.read})
	}
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (w *tripper) lookField(path string, f field, p place) {
	typ := f.alone.Field(0).Type
	t := typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	own := calls(t, unmarshalerType, true)
	switch {
	case !p.read || own:
	case f.asText && (t.Kind() == reflect.Interface || t.Kind() == reflect.Struct && t.ConvertibleTo(timeType)):
		w.refuse(path, "the tag option string of a %v does not read back; leave the option out", t)
		return
	case f.asSet && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && calls(t.Elem(), unmarshalerType, true):
		w.refuse(path, "a set of %v does not read back, since attributevalue gives one element the whole set; use a list", t.Elem())
		return
	}
	w.look(path, typ, p)
}

// storesNothing reports whether a struct holds something, and nothing of it is stored.
func storesNothing(t reflect.Type) bool {
	fields, _, _ := fieldsOf(t)
	return len(fields) == 0 && slices.ContainsFunc(fieldsIn(t), func(f reflect.StructField) bool {
		name, _ := parseTag(f.Tag)
		return name != "-" && f.Name != "_" && f.Type.Size() > 0
	})
}

func fieldsIn(t reflect.Type) []reflect.StructField {
	all := make([]reflect.StructField, t.NumField())
	for i := range all {
		all[i] = t.Field(i)
	}
	return all
}

// hollow returns an exported embedded struct, at any depth, of which nothing is stored.
// Those above it end the search in types that embed themselves.
func hollow(t reflect.Type, above []reflect.Type) (embedded reflect.Type, is bool) {
	above = append(above, t)
	for _, f := range fieldsIn(t) {
		e := f.Type
		if e.Kind() == reflect.Pointer {
			e = e.Elem()
		}
		if name, _ := parseTag(f.Tag); !f.Anonymous || name != "" || e.Kind() != reflect.Struct || slices.Contains(above, e) {
			continue
		}
		if f.IsExported() && storesNothing(e) {
			return f.Type, true
		}
		if embedded, is := hollow(e, above); is {
			return embedded, true
		}
	}
	return nil, false
}

// keysRead reports whether the keys of a map read back, by trying one. Their methods are
// their own word if they have both.
func keysRead(t reflect.Type) bool {
	if t.Implements(textMarshalerType) && implements(t, textUnmarshalerType) {
		return true
	}
	key := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		key.SetString("k")
	case reflect.Bool:
		key.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		key.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		key.SetUint(1)
	case reflect.Float32, reflect.Float64:
		key.SetFloat(1)
	default:
		return false
	}
	keyed := reflect.MapOf(t, reflect.TypeFor[bool]())
	m, read := reflect.MakeMap(keyed), reflect.New(keyed)
	m.SetMapIndex(key, reflect.ValueOf(true))
	value, err := encodeForeign(m.Interface())
	if err == nil {
		err = decodeForeign(value, read.Interface())
	}
	return err == nil && read.Elem().MapIndex(key).IsValid()
}

var attributeValueType = reflect.TypeFor[types.AttributeValue]()
