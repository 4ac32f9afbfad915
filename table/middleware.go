package table

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// hasMiddleware reports whether a client has middleware or interceptors of others, who
// may look at inputs and outputs, or change them.
func hasMiddleware(o dynamodb.Options) bool {
	for _, f := range reflect.ValueOf(o.Interceptors).Fields() {
		if f.Kind() != reflect.Slice || f.Len() > 0 {
			return true
		}
	}
	return len(o.APIOptions) > 0
}

// copied returns a copy of an input that shares no memory with it. Middleware encrypts
// items in the input that it is given, and the table may send that input again.
func copied[In any](in *In) *In {
	return deepCopy(reflect.ValueOf(in)).Interface().(*In)
}

func deepCopy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() {
			return v
		}
	}
	if attributes, ok := v.Interface().(map[string]types.AttributeValue); ok {
		return reflect.ValueOf(item.Cloned(attributes))
	}
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		c.Set(reflect.New(v.Type().Elem()))
		c.Elem().Set(deepCopy(v.Elem()))
	case reflect.Map:
		c.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for each := v.MapRange(); each.Next(); {
			c.SetMapIndex(each.Key(), deepCopy(each.Value()))
		}
	case reflect.Slice:
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(deepCopy(v.Index(i)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := c.Field(i); f.CanSet() {
				f.Set(deepCopy(v.Field(i)))
			}
		}
	default:
		return v
	}
	return c
}
