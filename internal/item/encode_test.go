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

// contents are Go values of every kind, zero ones, nil ones and empty ones among
// them.
func contents() []any {
	var (
		at      = time.Date(2024, 2, 29, 12, 0, 0, 123456789, time.FixedZone("", 7200))
		nilAny  any
		nilLoud *loud
		inner   = Base{ID: "1", Name: "n", At: at}
	)
	return []any{
		"", "text", word(""), word("w"), true, false, flag(true), flag(false),
		0, -1, int8(-128), int16(1), int32(1), int64(math.MinInt64), uint(0), uint8(255), uint16(1), uint32(1), uint64(math.MaxUint64),
		uintptr(0), uintptr(7), count(3), octet(4), 0.0, math.Copysign(0, -1), 1.5, 1e300, 5e-324, math.NaN(), math.Inf(-1), float32(0.1), amount(0),
		amount(16777216), complex(1, 2), complex64(0),
		[]byte(nil),
		[]byte{},
		[]byte{1},
		blob(nil),
		blob{},
		blob{1},
		octets(nil),
		octets{},
		octets{1},
		[0]byte{},
		[2]byte{},
		[2]byte{1, 2},
		[]string(nil),
		[]string{},
		[]string{"", "a"},
		words{"a"},
		[]word{"a", ""},
		[]int(nil),
		[]int{},
		[]int{0, 1},
		[0]int{},
		[2]int{},
		[]float64{0, 1},
		[][]byte(nil),
		[][]byte{},
		[][]byte{nil, {}, {1}},
		[][]byte{{1}},
		blobs{{1}, nil},
		[]blob{{1}, nil},
		[]*string{nil, ptr(""), ptr("a")},
		[]any(nil),
		[]any{},
		[]any{nil, 1, "", "a", []any{}, []any(nil), map[string]any(nil), inner, &inner, ptr(ptr(1)), at},
		[]any{make(chan int)},
		[]any{func() {}},
		[]any{loud{}},
		[]any{&loud{}},
		[]any{nilLoud},
		[]attributevalue.Number{"1", ""},
		attributevalue.Number(""), attributevalue.Number("12"), json.Number(""), json.Number("1e3"),
		[]json.Number{"7"},
		time.Time{},
		at, at.UTC(), instant(at),
		instant{},
		attributevalue.UnixTime(at),
		attributevalue.UnixTime{},
		[]time.Time{at},
		[]attributevalue.UnixTime{attributevalue.UnixTime(at)},
		map[string]string(nil),
		map[string]string{},
		map[string]string{"a": "", "b": "b"},
		map[string]string{"": "empty"},
		map[word]int{"w": 0},
		map[string]any{"a": nil, "b": 1.5, "c": map[string]any{}, "d": []any(nil)},
		map[string]*int{"a": nil, "b": ptr(0)},
		map[string][]string{"a": nil, "b": {}},
		map[int]string{0: "", -1: "a"},
		map[bool]int{true: 1, false: 0},
		map[float64]int{1.5: 1},
		map[any]int{"a": 1},
		map[[1]int]int{{1}: 1},
		map[*string]int{nil: 1},
		map[textKey]int{{"a", "b"}: 1},
		map[textWord]int{"a": 1, "": 2},
		map[namedKey]int{"a": 1, "": 2},
		map[badText]int{1: 1},
		map[fussyWord]int{"a": 1},
		map[attributevalue.Number]int{"1": 1},
		map[string]loud{"a": {"x"}},
		map[string]*loud{"a": {"x"}, "b": nil},
		map[string]chan int{"a": nil, "b": make(chan int)},
		loud{},
		loud{"x"},
		&loud{"x"}, nilLoud, ptr(&loud{"x"}),
		loud{"err"},
		&loud{"err"}, &loud{"panic"}, &loud{"nil"},
		[]loud{{"x"}},
		[]*loud{{"x"}, nil},
		[1]loud{{"x"}},
		quiet(nil),
		quiet{},
		quiet{"a": "b"},
		&quiet{}, shout(""), shout("s"),
		[]shout{"", "s"},
		map[string]shout{"a": "s"},
		ptr(shout("")),
		attributes(nil),
		attributes{},
		attributes{"a": &types.AttributeValueMemberS{Value: "x"}},
		attrs{"a": &types.AttributeValueMemberN{Value: "1"}, "b": nil},
		types.AttributeValue(nil), &types.AttributeValueMemberS{Value: "x"},
		types.AttributeValueMemberBOOL{Value: true},
		ptr(""), ptr("a"), ptr(0), ptr(ptr(0)), ptr(ptr(ptr("a"))), ptr((*int)(nil)), ptr(ptr((*int)(nil))), (**int)(nil), ptr(nilAny), ptr(any(1)), ptr(any("")), ptr(any(ptr(1))),
		ptr([]string(nil)), ptr([]byte(nil)), ptr(map[string]int(nil)), ptr(at), ptr(time.Time{}), ptr(instant(at)), ptr([]any{ptr(nilAny)}),
		[]*any{nil, ptr(nilAny), ptr(any(1))},
		make(chan int), (chan int)(nil), func() {}, (func())(nil), fmt.Stringer(nil), fmt.Stringer(at),
		[]chan int{nil, make(chan int)},
		[]func(){nil},
		inner, &inner, (*Base)(nil), ptr(&inner),
		[]Base{inner, {}},
		[]*Base{&inner, nil},
		map[string]Base{"a": inner},
		struct{}{},
		struct{ A, B string }{"a", ""},
		byValue{inner},
		byPointer{},
		byPointer{&inner},
		tagged{inner},
		taggedPointer{},
		taggedPointer{&inner},
		shadow{inner, 5},
		clash{inner, Other{"2", 3, "o"}},
		clashPointers{&inner, nil, "x"},
		clashPointers{nil, &Other{}, ""},
		diamond{Left{inner}, Right{inner}, "own"},
		diamondPointers{&Left{inner}, nil},
		deep{Left{inner}, Other{"2", 3, "o"}},
		hiddenValue{hidden{"i", 1}, "own"},
		hiddenPointer{nil, "own"},
		hiddenPointer{&hidden{"i", 1}, "own"},
		hiddenTagged{hidden{"i", 1}, "own"},
		hiddenShadowed{nil, "i", "n"},
		hiddenKind{"s"},
		hiddenKind{},
		publicKind{"p"},
		publicPtr{},
		publicPtr{ptr(Public("p"))},
		stringerIn{},
		stringerIn{at},
		timeIn{at},
		loudIn{loud{"x"}},
		&loudIn{loud{"x"}},
		unixIn{attributevalue.UnixTime(at)},
		unixPointer{},
		unixPointer{ptr(attributevalue.UnixTime(at)), "own"},
		twoTags{"a", "b", "c"},
		tagWins{A: "a", X: "x", B: "b"},
		tagBeatsName{"a", "b"},
		struct{ loud }{loud{"x"}},
		[]struct{ loud }{{loud{"x"}}},
		&struct{ loud }{loud{"x"}},
		Loop{V: "v"},
		Loop{Loop: &Loop{V: "w"}},
		tree{},
		tree{Value: 1, Children: []tree{{Value: 2}}, Parent: &tree{}, ByName: map[string]tree{"a": {}}, Any: tree{}},
		list{nil, {}, {nil}},
		dict{"a": nil, "b": {}},
		everything{},
		&everything{},
	}
}

// encodeTags are those whose options matter when encoding, and combinations.
var encodeTags = []string{
	"", ",omitempty", ",nullempty", ",omitempty,nullempty", ",omitemptyelem", ",nullemptyelem", ",omitemptyelem,nullemptyelem",
	",omitempty,omitemptyelem", ",nullempty,nullemptyelem", ",string", ",string,omitempty", ",unixtime", ",unixtime,string", ",unixtime,omitempty",
	",stringset", ",numberset", ",binaryset", ",stringset,omitempty", ",numberset,nullempty", ",binaryset,omitemptyelem", ",stringset,numberset",
	",numberset,nullemptyelem", ",string,numberset", ",stringset,omitempty,omitemptyelem",
}

// Every value by itself, in a field of its own type and in one of type any, by
// every tag.
func TestEncode(t *testing.T) {
	t.Parallel()
	checkEncode(t, nil)
	for _, v := range contents() {
		checkEncode(t, v)
	}
	for _, tag := range encodeTags {
		t.Run(tag, func(t *testing.T) {
			t.Parallel()
			for _, v := range contents() {
				if v == nil {
					continue
				}
				for _, typ := range []reflect.Type{reflect.TypeOf(v), reflect.TypeFor[any]()} {
					holder := reflect.New(reflect.StructOf([]reflect.StructField{
						{Name: "A", Type: reflect.TypeFor[string]()},
						{Name: "F", Type: typ, Tag: reflect.StructTag(fmt.Sprintf("dynamodbav:%q", tag))},
						{Name: "Z", Type: reflect.TypeFor[int]()},
					})).Elem()
					holder.Field(1).Set(reflect.ValueOf(v))
					checkEncode(t, holder.Interface())
				}
			}
		})
	}
}

// What is in a value that is given by pointer is addressable, at any depth.
func TestEncodeAddressable(t *testing.T) {
	t.Parallel()
	type deeper struct {
		Loud  loud
		Louds [1]loud
		Slice []loud
		Map   map[string]loud
		Any   any
		In    struct{ Loud loud }
		Ptr   *loud
		PPtr  **loud
		Key   map[textKey]loud
	}
	l := loud{"x"}
	v := deeper{l, [1]loud{l}, []loud{l}, map[string]loud{"a": l}, l, struct{ Loud loud }{l}, &l, ptr(&l), map[textKey]loud{{"a", "b"}: l}}
	checkEncode(t, v)
	checkEncode(t, []any{v, &v})
	checkEncode(t, map[string]any{"a": v, "b": &v})
	checkEncode(t, struct {
		V *deeper
		W deeper `dynamodbav:",omitemptyelem"`
	}{&v, v})
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
