package item

import (
	"reflect"
	"time"
)

// maxSampleDepth bounds the values inside of a sample, whose type may contain itself.
const maxSampleDepth = 4

// Sample returns a pointer to a value of a type that has something in each exported field: a
// text, a number of 1, a time, one element.
func Sample(t reflect.Type) any {
	v := reflect.New(t)
	fill(v.Elem(), maxSampleDepth)
	return v.Interface()
}

func fill(v reflect.Value, depth int) {
	switch t := v.Type(); {
	case depth == 0 || !v.CanSet():
	case t == timeType:
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
	case v.Kind() == reflect.String:
		v.SetString("1")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.CanFloat():
		v.SetFloat(1)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		fill(v.Elem(), depth-1)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		fill(v.Index(0), depth-1)
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth-1)
		}
	case v.Kind() == reflect.Map:
		key, element := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		fill(key, depth-1)
		fill(element, depth-1)
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(key, element)
	case v.Kind() == reflect.Struct:
		for _, f := range v.Fields() {
			fill(f, depth-1)
		}
	}
}

// Samples returns two pairs of values of a struct type, whose members differ in one attribute
// alone: a sample with the attribute and without it, and a zero value with it and without it.
func Samples(t reflect.Type, attribute string) [2][2]any {
	full, without, only := Sample(t), Sample(t), reflect.New(t).Interface()
	f := &planOf(t).fields[planOf(t).byName[attribute]]
	of := func(v any) reflect.Value { return f.at(reflect.ValueOf(v).Elem()) }
	of(without).SetZero()
	of(only).Set(of(full))
	return [2][2]any{{full, without}, {only, reflect.New(t).Interface()}}
}
