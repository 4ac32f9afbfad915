package table

import (
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/item"
)

// mayRewrite reports whether a client has interceptors or middleware of others, who may
// change inputs and outputs. Middleware of which the table knows that it only looks does not.
func mayRewrite(o dynamodb.Options) bool {
	for _, f := range reflect.ValueOf(o.Interceptors).Fields() {
		if f.Kind() != reflect.Slice || f.Len() > 0 {
			return true
		}
	}
	return slices.ContainsFunc(o.APIOptions, func(add func(*middleware.Stack) error) bool {
		return !addsOnly(add, lookers[packageOf(add)])
	})
}

// packageOf returns the path of the package that has written a function, which the name of
// the function begins with.
func packageOf(f any) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	last := strings.LastIndex(name, "/") + 1
	pkg, _, _ := strings.Cut(name[last:], ".")
	return name[:last] + pkg
}

// lookers are packages whose middleware neither changes attribute values nor needs the items
// in outputs, and the names under which they add it.
//
// Code: opentelemetry-go-contrib, instrumentation/github.com/aws/aws-sdk-go-v2/otelaws/aws.go;
// aws-xray-sdk-go, instrumentation/awsv2/awsv2.go.
var lookers = map[string][]string{
	"go.opentelemetry.io/contrib/instrumentation/github.com/aws/aws-sdk-go-v2/otelaws": {
		"OTelInitializeMiddlewareBefore", "OTelInitializeMiddlewareAfter", "OTelFinalizeMiddleware", "OTelDeserializeMiddleware",
	},
	"github.com/aws/aws-xray-sdk-go/instrumentation/awsv2":    {"XRayInitializeMiddlewareAfter", "XRayDeserializeMiddleware"},
	"github.com/aws/aws-xray-sdk-go/v2/instrumentation/awsv2": {"XRayInitializeMiddlewareAfter", "XRayDeserializeMiddleware"},
}

// addsOnly reports whether a function adds middleware of these names, and of no others. So
// a release that does more is unknown. Without names it is not called.
func addsOnly(add func(*middleware.Stack) error, names []string) bool {
	stack := middleware.NewStack("", smithyhttp.NewStackRequest)
	if len(names) == 0 || add(stack) != nil {
		return false
	}
	added := slices.Concat(stack.Initialize.List(), stack.Serialize.List(), stack.Build.List(), stack.Finalize.List(), stack.Deserialize.List())
	//mutants:guard middleware of a known package is known by its name | TestAddsOnly | !slices.Contains(names, name) => false
	return len(added) > 0 && !slices.ContainsFunc(added, func(name string) bool { return !slices.Contains(names, name) })
}

// copied returns a copy of an input that shares no memory with it. Middleware encrypts
// items in the input that it is given, and the table may send that input again.
func copied(in any) any { return deepCopy(reflect.ValueOf(in)).Interface() }

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
