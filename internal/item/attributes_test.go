package item_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/item"
)

// described is a struct with an attribute of each kind that a type can say.
type described struct {
	Text    string `dynamodbav:"text"`
	Int     *int
	Uint    uint8
	Float   **float64
	AsText  int                   `dynamodbav:",string"`
	Number  attributevalue.Number `dynamodbav:"number"`
	At      time.Time
	Expires time.Time `dynamodbav:",unixtime"`
	Bytes   []byte
	Bool    bool
	Map     map[string]int
	Struct  *Base
	List    []string
	Any     any
	Loud    *loud
	Shout   shout
	Left    string `dynamodbav:"-"`
	*Other
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	want := []string{
		"Any", "AsText", "At", "Bool", "Bytes", "Expires", "Extra", "Float", "ID", "Int", "List", "Loud", "Map", "Name", "Shout", "Struct", "Uint", "number", "text",
	}
	got, known := item.Attributes(reflect.TypeFor[described]())
	if diff := cmp.Diff(want, got); diff != "" || !known {
		t.Errorf("known %v (-want +got):\n%s", known, diff)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[loud](), reflect.TypeFor[*Base](), reflect.TypeFor[map[string]string](), reflect.TypeFor[string]()} {
		if names, known := item.Attributes(typ); names != nil || known {
			t.Errorf("%v: %v, %v", typ, names, known)
		}
	}
}

// A field is known if it is a string or an integer that decides on nothing itself.
func TestField(t *testing.T) {
	t.Parallel()
	v := described{Text: "a", Uint: 7}
	for name, want := range map[string]any{"text": "a", "Uint": uint8(7)} {
		index, ok := item.Field(reflect.TypeFor[described](), name)
		if !ok || reflect.ValueOf(v).FieldByIndex(index).Interface() != want {
			t.Errorf("%s: %v, %v", name, index, ok)
		}
	}
	for _, name := range []string{"Text", "Int", "Float", "AsText", "number", "At", "Loud", "Shout", "ID", "none"} {
		if index, ok := item.Field(reflect.TypeFor[described](), name); ok {
			t.Errorf("%s: %v", name, index)
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[loud](), reflect.TypeFor[map[string]string]()} {
		if index, ok := item.Field(typ, "Text"); ok {
			t.Errorf("%v: %v", typ, index)
		}
	}
}

func TestFieldKind(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		field reflect.Type
		kind  item.Kind
	}{
		"text": {reflect.TypeFor[string](), item.S}, "Int": {reflect.TypeFor[int](), item.N}, "Uint": {reflect.TypeFor[uint8](), item.N},
		"Float": {reflect.TypeFor[float64](), item.N}, "AsText": {reflect.TypeFor[int](), item.S}, "number": {reflect.TypeFor[attributevalue.Number](), item.N},
		"At": {reflect.TypeFor[time.Time](), item.S}, "Expires": {reflect.TypeFor[time.Time](), item.N}, "Bytes": {reflect.TypeFor[[]byte](), item.B},
		"Bool": {reflect.TypeFor[bool](), item.BOOL}, "Map": {reflect.TypeFor[map[string]int](), item.M}, "Struct": {reflect.TypeFor[Base](), item.M},
		"List": {reflect.TypeFor[[]string](), item.L}, "Any": {reflect.TypeFor[any](), 0}, "Loud": {reflect.TypeFor[*loud](), 0}, "Shout": {reflect.TypeFor[shout](), 0},
		"ID": {reflect.TypeFor[string](), item.S}, "Text": {}, "none": {},
	} {
		if field, kind := item.FieldKind(reflect.TypeFor[described](), name); field != want.field || kind != want.kind {
			t.Errorf("%s: %v, %v", name, field, kind)
		}
	}
	type sets struct {
		Texts   []string  `dynamodbav:",stringset"`
		Numbers []float32 `dynamodbav:",numberset"`
	}
	for _, name := range []string{"Texts", "Numbers"} {
		if _, kind := item.FieldKind(reflect.TypeFor[sets](), name); kind == item.L {
			t.Errorf("%s is a list", name)
		}
	}
	if field, kind := item.FieldKind(reflect.TypeFor[loud](), "Text"); field != nil || kind != 0 {
		t.Errorf("%v, %v", field, kind)
	}
}
