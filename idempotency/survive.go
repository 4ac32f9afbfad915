package idempotency

import (
	"bytes"
	"cmp"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/singletable/singletable/internal/item"
)

// differs returns the path of what differs between a value and the value that is
// read back after it was stored; "" if nothing does.
//
// Structs are compared field by field, unexported fields included. Nil and empty
// are equal, since attributevalue stores some empty values as NULL. Infinities
// and NaN are never equal: DynamoDB has no such numbers.
//
// AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
func differs(given, back reflect.Value, path string) string {
	if own, ok := ownEqual(given, back); ok {
		return pathIf(!own, path)
	}
	switch given.Kind() {
	case reflect.Pointer:
		if given.IsNil() || back.IsNil() {
			return pathIf(given.IsNil() != back.IsNil(), path)
		}
		return differs(given.Elem(), back.Elem(), path)
	case reflect.Interface:
		return insideDiffers(given.Elem(), back.Elem(), path)
	case reflect.Struct:
		return fieldDiffers(given, back, path)
	case reflect.Slice:
		if given.Type().Elem().Kind() == reflect.Uint8 {
			return pathIf(!bytes.Equal(given.Bytes(), back.Bytes()), path)
		}
		return elementDiffers(given, back, path, differs)
	case reflect.Array:
		return elementDiffers(given, back, path, differs)
	case reflect.Map:
		return entryDiffers(given, back, path, func(key reflect.Value) reflect.Value { return key }, differs)
	case reflect.Float32, reflect.Float64:
		return pathIf(given.Float() != back.Float() || math.IsInf(given.Float(), 0), path)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return pathIf(!given.IsNil(), path) // they are not stored
	case reflect.String:
		if isNumber(given) {
			return pathIf(item.PlainNumber(given.String()) != item.PlainNumber(back.String()), path)
		}
	}
	return pathIf(!given.Equal(back), path)
}

func pathIf(differ bool, path string) string {
	if differ {
		return path
	}
	return ""
}

// ownEqual compares times by their instant, and values that marshal themselves by
// their Equal method; ok is false for others. The Equal method of any other type
// may look at a part of it only, such as an id.
func ownEqual(a, b reflect.Value) (equal, ok bool) {
	t := a.Type()
	if !a.CanInterface() || t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer && (a.IsNil() || b.IsNil()) {
		return false, false
	}
	own := reflect.TypeFor[attributevalue.Marshaler]()
	switch at := reflect.TypeFor[time.Time](); {
	case t.ConvertibleTo(at):
		a, b = a.Convert(at), b.Convert(at)
	case !t.Implements(own) && !reflect.PointerTo(t).Implements(own):
		return false, false
	}
	method, ok := a.Type().MethodByName("Equal")
	if !ok || method.Type.NumIn() != 2 || method.Type.IsVariadic() || !a.Type().AssignableTo(method.Type.In(1)) ||
		method.Type.NumOut() != 1 || method.Type.Out(0).Kind() != reflect.Bool {
		return false, false
	}
	return method.Func.Call([]reflect.Value{a, b})[0].Bool(), true
}

func fieldDiffers(given, back reflect.Value, path string) string {
	for i := range given.NumField() {
		f := given.Type().Field(i)
		if f.Name == "_" {
			continue
		}
		a, b := given.Field(i), back.Field(i)
		if f.IsExported() && a.Kind() == reflect.Slice && has(f, "stringset", "numberset", "binaryset") {
			a, b = sorted(a), sorted(b) // a set has no order
		}
		if f.IsExported() && has(f, "unixtime") && sameSecond(a, b) {
			continue
		}
		if p := differs(a, b, path+"."+f.Name); p != "" {
			return p
		}
	}
	return ""
}

// has reports whether a field's tag has one of the options.
func has(f reflect.StructField, options ...string) bool {
	for option := range strings.SplitSeq(f.Tag.Get("dynamodbav"), ",") {
		if slices.Contains(options, option) {
			return true
		}
	}
	return false
}

// sameSecond reports whether two values are times in one second, all that unixtime keeps.
func sameSecond(a, b reflect.Value) bool {
	at := reflect.TypeFor[time.Time]()
	if a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil() {
		a, b = a.Elem(), b.Elem()
	}
	return a.Type().ConvertibleTo(at) && a.Convert(at).Interface().(time.Time).Unix() == b.Convert(at).Interface().(time.Time).Unix()
}

// sorted returns the elements of a set in an order of their texts.
func sorted(set reflect.Value) reflect.Value {
	elements := reflect.MakeSlice(reflect.SliceOf(set.Type().Elem()), 0, set.Len())
	all := make([]reflect.Value, set.Len())
	for i := range all {
		all[i] = set.Index(i)
	}
	slices.SortFunc(all, func(a, b reflect.Value) int { return strings.Compare(setText(a), setText(b)) })
	return reflect.Append(elements, all...)
}

func setText(element reflect.Value) string {
	switch {
	case element.Kind() == reflect.Slice && element.Type().Elem().Kind() == reflect.Uint8:
		return string(element.Bytes())
	case element.Kind() == reflect.String && isNumber(element):
		return item.PlainNumber(element.String())
	}
	return cmp.Or(numberText(element), element.String())
}

// compareFunc is differs, or insideDiffers.
type compareFunc func(given, back reflect.Value, path string) string

func elementDiffers(given, back reflect.Value, path string, compare compareFunc) string {
	if given.Len() != back.Len() {
		return path
	}
	for i := range given.Len() {
		if p := compare(given.Index(i), back.Index(i), path+"[]"); p != "" {
			return p
		}
	}
	return ""
}

// entryDiffers compares maps. stored returns the key that a key has become.
func entryDiffers(given, back reflect.Value, path string, stored func(reflect.Value) reflect.Value, compare compareFunc) string {
	if given.Len() != back.Len() {
		return path
	}
	for entries := given.MapRange(); entries.Next(); {
		b := back.MapIndex(stored(entries.Key()))
		if !b.IsValid() {
			return path
		}
		if p := compare(entries.Value(), b, path+"[]"); p != "" {
			return p
		}
	}
	return ""
}

// insideDiffers compares the values that interfaces hold. attributevalue gives back
// numbers as float64, lists as []any and maps as map[string]any. These are equal
// to the value given if they have the same JSON.
func insideDiffers(given, back reflect.Value, path string) string {
	for given.Kind() == reflect.Pointer || given.Kind() == reflect.Interface {
		if !given.IsNil() && writesItself(given.Type()) {
			break
		}
		given = given.Elem()
	}
	if back.IsValid() && back.Kind() == reflect.Interface {
		back = back.Elem()
	}
	switch {
	case !given.IsValid():
		return pathIf(back.IsValid(), path)
	case !back.IsValid():
		empty := given.Kind() == reflect.Slice || given.Kind() == reflect.Map
		return pathIf(!empty || given.Len() > 0, path)
	case given.Type() == back.Type():
		return differs(given, back, path)
	case writesItself(given.Type()):
		return path // in a form that the value read back does not have
	}
	switch given.Kind() {
	case reflect.String:
		if isNumber(given) {
			return pathIf(back.Kind() != reflect.Float64 || item.PlainNumber(given.String()) != item.PlainNumber(numberText(back)), path)
		}
		return pathIf(back.Kind() != reflect.String || given.String() != back.String(), path)
	case reflect.Bool:
		return pathIf(back.Kind() != reflect.Bool || given.Bool() != back.Bool(), path)
	case reflect.Slice, reflect.Array:
		// Package json writes an array of bytes as a list, and a slice as base64.
		sameJSON := given.Kind() == reflect.Slice || back.Type() != reflect.TypeFor[[]byte]()
		if back.Kind() == reflect.Slice && sameJSON {
			return elementDiffers(given, back, path, insideDiffers)
		}
	case reflect.Map:
		if key := given.Type().Key(); back.Kind() == reflect.Map && !key.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return entryDiffers(given, back, path, func(key reflect.Value) reflect.Value { return reflect.ValueOf(fmt.Sprint(key)) }, insideDiffers)
		}
	default:
		text := numberText(given)
		return pathIf(text == "" || text != numberText(back), path)
	}
	return path
}

// isNumber reports whether a string is a number to attributevalue, such as
// [json.Number].
func isNumber(v reflect.Value) bool {
	return v.Type().Implements(reflect.TypeFor[interface {
		Float64() (float64, error)
		Int64() (int64, error)
		String() string
	}]())
}

// numberText writes a number as JSON and attributevalue do; "" if it is not one.
func numberText(v reflect.Value) string {
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat() && !math.IsInf(v.Float(), 0) && !math.IsNaN(v.Float()):
		return strconv.FormatFloat(v.Float(), 'f', -1, v.Type().Bits())
	}
	return ""
}
