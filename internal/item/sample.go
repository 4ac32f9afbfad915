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
	case v.Kind() == reflect.Map && depth == 1: // its key would be empty
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

// Without returns a copy of a sample in which an attribute has the zero value, and Only a zero
// value in which it has that of the sample.
func Without(sample any, attribute string) any {
	t := reflect.TypeOf(sample).Elem()
	f := planOf(t).field(attribute)
	v := reflect.New(t)
	if v.Elem().Set(reflect.ValueOf(sample).Elem()); f.pointed {
		v = reflect.ValueOf(Sample(t)) // the copy shares what it is in
	}
	f.at(v.Elem()).SetZero()
	return v.Interface()
}

// Only is explained at Without.
func Only(sample any, attribute string) any {
	v := reflect.New(reflect.TypeOf(sample).Elem())
	f := planOf(v.Type().Elem()).field(attribute)
	f.at(v.Elem()).Set(f.at(reflect.ValueOf(sample).Elem()))
	return v.Interface()
}
