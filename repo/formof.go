package repo

import (
	"reflect"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/singletable/singletable/internal/item"
)

// anything is the form of an interface, which holds all values.
const anything = "any"

// formOf returns the type of an attribute, and what a Go type holds of it. The type is nil if
// it is not known.
func formOf(kind item.Kind, t reflect.Type) string {
	name := kind.String()
	switch {
	case t == nil:
		return name
	case t.Kind() == reflect.Interface:
		return anything
	case kind == item.S && (isTime(t) || isTableTime(t)):
		return name + " time"
	case t == unixMilliType:
		return name + " milliseconds"
	case kind == item.N && isTime(t):
		return name + " seconds"
	case marshals(t):
		return name
	case kind == item.NS:
		t = elementType(t)
	case t.Kind() == reflect.Array:
		return name + " [" + strconv.Itoa(t.Len()) + "]"
	case t.Kind() == reflect.Map && t.Key().Kind() != reflect.String:
		t = t.Key()
	}
	if t != nil && t.ConvertibleTo(reflect.TypeFor[float64]()) {
		name += " " + t.Kind().String()
		if t.Kind() == reflect.Int || t.Kind() == reflect.Uint {
			name += "64"
		}
	}
	return name
}

// marshals reports whether values of a type make their attributes themselves.
func marshals(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[attributevalue.Marshaler]())
}

// memberType returns the type of an attribute of a struct or a map, without pointers.
func memberType(t reflect.Type, name string) reflect.Type {
	switch {
	case t == nil || marshals(t):
		return nil
	case t.Kind() == reflect.Map:
		return elementType(t)
	case t.Kind() != reflect.Struct:
		return nil
	}
	field, _ := item.FieldKind(t, name)
	return field
}

// elementType returns the type of the elements of a list, a set or a map, without pointers.
func elementType(t reflect.Type) reflect.Type {
	if t == nil || marshals(t) || t.Kind() != reflect.Slice && t.Kind() != reflect.Array && t.Kind() != reflect.Map {
		return nil
	}
	for t = t.Elem(); t.Kind() == reflect.Pointer; {
		t = t.Elem()
	}
	return t
}
