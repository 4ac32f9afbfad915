package codec_test

import (
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/table"
)

// putOptions are the other arguments of MakePut.
type putOptions struct {
	set              []codec.Attribute
	without, watched []string
}

// skips reports whether the first attribute of a path is not taken from the value.
func (o putOptions) skips(path string) bool {
	name := path[:len(path)-len(strings.TrimLeft(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
	return slices.Contains(o.without, name) || slices.ContainsFunc(o.set, func(a codec.Attribute) bool { return a.Name == name })
}

// putItem returns the item of a put that was made of v, by the rules of Encode. It
// is nil if only a field that is not written does not encode.
func putItem(tb testing.TB, v any, o putOptions) item {
	tb.Helper()
	want, raw := v.(item)
	if !raw && v != nil {
		value, err := codec.Encode(v)
		if e, ok := errors.AsType[*codec.Error](err); ok && o.skips(e.Path) {
			return nil
		}
		if err != nil {
			tb.Fatalf("%T %+v does not encode, and is written: %v", v, v, err)
		}
		want = value.(*types.AttributeValueMemberM).Value
	}
	want = maps.Clone(want)
	if want == nil {
		want = item{}
	}
	for _, name := range o.without {
		delete(want, name)
	}
	for _, a := range o.set {
		switch a.Kind {
		case codec.S:
			want[a.Name] = &types.AttributeValueMemberS{Value: a.Text}
		case codec.N:
			want[a.Name] = &types.AttributeValueMemberN{Value: a.Text}
		case codec.B:
			want[a.Name] = &types.AttributeValueMemberB{Value: []byte(a.Text)}
		}
	}
	return want
}

// checkPut makes a put of v. What is written is the item that Encode makes, to the
// SDK and to this package, has the size that table measures, and nothing twice.
func checkPut(tb testing.TB, v any, o putOptions) bool {
	tb.Helper()
	put, ok := codec.MakePut(v, o.set, o.without, o.watched)
	if !ok {
		return false
	}
	want := putItem(tb, v, o)
	if want == nil {
		return true
	}
	sdk, err := sdkItem(string(put.JSON))
	if err != nil {
		tb.Fatalf("the SDK does not read %s: %v", put.JSON, err)
	}
	// For values that are nested deep, cmp takes forever.
	if !reflect.DeepEqual(want, sdk) {
		if diff := cmp.Diff(want, sdk, exactly, cmpopts.EquateEmpty()); diff != "" {
			tb.Fatalf("%T: %s (-want +written):\n%s", v, put.JSON, diff)
		}
	}
	own := codec.Sent{Put: put, Attributes: item{}}
	for range 2 { // the second time, it is decoded
		own.Decode()
	}
	if !reflect.DeepEqual(own.Attributes, sdk) {
		tb.Errorf("%s is read back otherwise than by the SDK:\n%s", put.JSON, cmp.Diff(sdk, own.Attributes, exactly))
	}
	if size := table.Item(want).Size(); put.Size != size {
		tb.Errorf("%s: %d bytes, want %d", put.JSON, put.Size, size)
	}
	members := 0
	r := codec.NewReader(put.JSON)
	r.Object(func([]byte) bool { members++; _, ok := r.Skip(); return ok })
	if members != len(want) {
		tb.Errorf("%s: %d attributes, want %d", put.JSON, members, len(want))
	}
	for _, name := range o.watched {
		i := slices.IndexFunc(put.Watched, func(a codec.Attribute) bool { return a.Name == name })
		switch value, there := want[name]; {
		case there != (i >= 0):
			tb.Errorf("%q is seen: %v", name, i >= 0)
		case there && put.Watched[i] != codec.AttributeOf(name, value):
			tb.Errorf("%q is seen as %v", name, put.Watched[i])
		}
	}
	return true
}

// What is written of any value is what Encode makes of it.
func FuzzPut(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		names := []string{"A", "a", "B", "ID", "name", "pk"}
		var o putOptions
		for range s.below(4) {
			a := codec.Attribute{Name: names[s.below(len(names))], Kind: codec.Kind(s.below(4)), Text: s.text()}
			if a.Kind == codec.N {
				a.Text = s.number()
			}
			o.set = append(o.set, a)
		}
		for _, name := range names {
			switch s.below(4) {
			case 0:
				o.watched = append(o.watched, name)
			case 1:
				o.without = append(o.without, name)
			}
		}
		if s.rarely(3) {
			v := item{}
			for range s.below(5) {
				v[s.text()] = s.attributeValue(4)
			}
			checkPut(t, v, o)
			return
		}
		v := reflect.New(s.fuzzType())
		s.value(v.Elem(), 5)
		checkPut(t, v.Interface(), o)
		checkPut(t, v.Elem().Interface(), o)
	})
}

// plainRecord is a value as applications have it.
type plainRecord struct {
	PK      string `dynamodbav:"pk"`
	Text    string
	Hostile string
	Empty   string `dynamodbav:",omitempty"`
	Int     int64
	Uint    uint8
	Float   float64
	AsText  int `dynamodbav:",string"`
	Bool    bool
	Bytes   []byte
	At      time.Time
	Expires time.Time `dynamodbav:",unixtime"`
	Tags    []string
	None    []string
	Null    *string
	Pointer *int
	Base    Base
	List    []Base
	Map     map[string]any
	Any     any
	Item    item
}

var aRecord = plainRecord{
	PK: "not this", Text: "é\u2028\u2029<&>", Hostile: "\x00\x1f\"\\\x7f\u0080\U0001F600/\r\n", Int: math.MinInt64, Uint: 255, Float: -1.25e-100, AsText: -7,
	Bool: true, Bytes: []byte("\x00\xff"), At: time.Date(2024, 2, 29, 12, 0, 0, 5e8, time.UTC), Expires: time.Unix(1e9, 0), Tags: []string{"a", ""},
	Pointer: ptr(0), List: []Base{{}, {}}, Map: map[string]any{"a": []any{1, nil, "x"}}, Any: map[string]int{"n": 1},
	Item: item{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberNULL{Value: true}}}},
}

// Ordinary values are written, and what DynamoDB may refuse is not.
func TestMakePut(t *testing.T) {
	t.Parallel()
	key := putOptions{set: []codec.Attribute{{"pk", codec.S, "p"}, {"sk", codec.N, "1"}, {"b", codec.B, "\xff"}}, watched: []string{"pk", "Text", "Tags", "none"}}
	nested := func(levels int) item {
		var v types.AttributeValue = &types.AttributeValueMemberS{Value: "x"}
		for range levels - 1 {
			v = &types.AttributeValueMemberL{Value: []types.AttributeValue{v}}
		}
		return item{"v": v}
	}
	type chain struct{ Next *chain }
	loop := &chain{}
	loop.Next = loop
	for name, v := range map[string]any{
		"nil": nil, "a struct": aRecord, "a pointer": &aRecord, "a zero struct": plainRecord{}, "an item": nested(31), "32 levels": nested(32), "bytes": item{"bytes": &types.AttributeValueMemberB{Value: []byte{1}}},
		"lists next to each other": item{"v": &types.AttributeValueMemberL{Value: slices.Repeat([]types.AttributeValue{nested(20)["v"]}, 40)}}, "an empty item": item{},
		"a name of 65,535 bytes": item{strings.Repeat("n", 1<<16-1): &types.AttributeValueMemberBOOL{}},
		"38 digits":              item{"n": &types.AttributeValueMemberN{Value: strings.Repeat("9", 38)}},
	} {
		if !checkPut(t, v, key) {
			t.Errorf("%s is not written", name)
		}
	}
	for _, v := range contents() { // written or not, as a field
		if v != nil {
			holder := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "F", Type: reflect.TypeOf(v)}}))
			holder.Elem().Field(0).Set(reflect.ValueOf(v))
			if _, err := codec.Encode(holder.Interface()); err == nil {
				checkPut(t, holder.Interface(), key)
			}
		}
	}
	for name, v := range map[string]any{
		"text that is not UTF-8": plainRecord{Text: "\xff"}, "half a surrogate": plainRecord{Tags: []string{"\xed\xa0\x80"}}, "NaN": plainRecord{Float: math.NaN()},
		"a large float": plainRecord{Float: 1e126}, "a loop": loop, "33 levels": nested(33), "a nil pointer": (*plainRecord)(nil),
		"a name that is not UTF-8": item{"\xff": &types.AttributeValueMemberBOOL{}}, "an empty name": item{"": &types.AttributeValueMemberBOOL{}},
		"a long name": item{strings.Repeat("n", 1<<16): &types.AttributeValueMemberBOOL{}}, "an element without a name": plainRecord{Item: item{"": &types.AttributeValueMemberBOOL{}}},
		"39 digits": item{"n": &types.AttributeValueMemberN{Value: strings.Repeat("9", 39)}}, "no number": item{"n": &types.AttributeValueMemberN{Value: "1x"}},
		"a NULL that is false": item{"a": &types.AttributeValueMemberNULL{}}, "nil bytes": item{"a": &types.AttributeValueMemberB{}},
		"a nil value": item{"a": nil}, "a nil string": item{"a": (*types.AttributeValueMemberS)(nil)}, "a nil list": item{"a": (*types.AttributeValueMemberL)(nil)},
		"a set": item{"a": &types.AttributeValueMemberSS{Value: []string{"a", "a"}}}, "a scalar": 7, "a map": map[string]any{"a": 1}, "an own encoding": loud{"x"},
	} {
		if checkPut(t, v, key) {
			t.Errorf("%s is written", name)
		}
	}
	for _, a := range []codec.Attribute{{"a", codec.S, "\xff"}, {"a", codec.N, "x"}, {"a", codec.BOOL, ""}, {"a", 0, ""}, {"", codec.S, ""}} {
		if checkPut(t, nil, putOptions{set: []codec.Attribute{a}}) {
			t.Errorf("%v is written", a)
		}
	}
}
