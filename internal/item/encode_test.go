package item_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/item"
)

func ptr[T any](v T) *T { return &v }

// Values that FuzzEncode does not make, by every tag, alone and in fields.
func TestEncodeOddValues(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 2, 29, 12, 0, 0, 123456789, time.FixedZone("", 7200))
	var nilLoud *loud
	inner := Base{ID: "1", Name: "n", At: at}
	checkEncode(t, nil)
	for _, v := range []any{
		math.Copysign(0, -1), math.NaN(), math.Inf(-1), at, instant(at), make(chan int), func() {}, fmt.Stringer(at), complex(1, 2),
		[]any{nil, 1, "", []any(nil), inner, &inner, ptr(ptr(1)), at},
		[]any{make(chan int)},
		[]any{nilLoud},
		map[string]chan int{"a": nil, "b": make(chan int)},
		map[any]int{"a": 1},
		map[badText]int{1: 1},
		map[textKey]int{{"a", "b"}: 1},
		map[namedKey]int{"a": 1, "": 2},
		&loud{"err"}, &loud{"panic"}, &loud{"nil"}, nilLoud, ptr(&loud{"x"}),
		[]*loud{{"x"}, nil},
		ptr(ptr((*int)(nil))), ptr(any(ptr(1))), ptr([]string(nil)),
		types.AttributeValue(nil), &types.AttributeValueMemberS{Value: "x"},
		types.AttributeValueMemberBOOL{Value: true},
		attrs{"a": &types.AttributeValueMemberN{Value: "1"}, "b": nil},
		json.Number("1e3"), attributevalue.Number(""), attributevalue.UnixTime(at),
		stringerIn{at},
		&loudIn{loud{"x"}},
		unixPointer{ptr(attributevalue.UnixTime(at)), "own"},
		hiddenShadowed{nil, "i", "n"},
		hiddenKind{"s"},
		clashPointers{&inner, nil, "x"},
		diamond{Left{inner}, Right{inner}, "own"},
		everything{},
		&everything{},
	} {
		checkEncode(t, v)
		for _, tag := range []string{"", ",omitempty", ",nullempty,nullemptyelem", ",omitemptyelem", ",string", ",unixtime", ",stringset", ",numberset", ",binaryset"} {
			for _, typ := range []reflect.Type{reflect.TypeOf(v), reflect.TypeFor[any]()} {
				if v == nil {
					continue
				}
				holder := reflect.New(reflect.StructOf([]reflect.StructField{
					{Name: "A", Type: reflect.TypeFor[string]()},
					{Name: "F", Type: typ, Tag: reflect.StructTag(fmt.Sprintf("dynamodbav:%q", tag))},
				})).Elem()
				holder.Field(1).Set(reflect.ValueOf(v))
				checkEncode(t, holder.Interface())
			}
		}
	}
}

// Attributes do not change when the value does.
func TestEncodeDoesNotAlias(t *testing.T) {
	t.Parallel()
	type value struct {
		Bytes []byte
		Set   [][]byte
		Any   any
	}
	fresh := func() value { return value{[]byte("abc"), [][]byte{[]byte("def")}, []byte("ghi")} }
	v := fresh()
	got, err := item.Encode(&v)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{v.Bytes, v.Set[0], v.Any.([]byte)} {
		clear(b)
	}
	if diff := cmp.Diff(theirEncode(fresh()).value, any(got), exactly); diff != "" {
		t.Error(diff)
	}
}
