package item_test

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/singletable/singletable/internal/item"
)

// A type is planned by whoever needs it first, of several at once, and types that
// contain each other from both ends.
func TestPlansConcurrently(t *testing.T) {
	t.Parallel()
	type (
		first struct {
			ID    string
			Next  *first
			Trees []tree
			Each  map[string]everything
		}
		last struct {
			Of   first
			Back *last
			Name string `dynamodbav:"ID"`
		}
	)
	for round := range 3 {
		// Array types, and thus structs, that there have not been before.
		shapes := []reflect.Type{reflect.TypeFor[first](), reflect.TypeFor[last](), reflect.TypeFor[everything](), reflect.TypeFor[[]last]()}
		for i := range 4 {
			shapes = append(shapes, reflect.StructOf([]reflect.StructField{
				{Name: "ID", Type: reflect.TypeFor[string]()},
				{Name: "A", Type: reflect.ArrayOf(1000+10*round+i, reflect.TypeFor[last]())},
				{Name: "B", Type: reflect.SliceOf(reflect.StructOf([]reflect.StructField{{Name: fmt.Sprintf("X%d%d", round, i), Type: reflect.TypeFor[*first]()}}))},
			}))
		}
		var group sync.WaitGroup
		start := make(chan struct{})
		for g := range 12 {
			group.Go(func() {
				<-start
				for i := range shapes {
					typ := shapes[(g+i)%len(shapes)]
					v := reflect.New(typ)
					r := item.NewParser([]byte(`{"id":{"S":"x"},"Of":{"M":{"ID":{"S":"y"},"Next":{"M":{}}}},"B":{"L":[{"M":{}}]}}`))
					refusal, ok := item.NewDecoder(typ, []item.Watched{{Name: "id"}}).Decode(r, v.Elem())
					if !ok || (refusal != nil) != (typ.Kind() == reflect.Slice) {
						t.Errorf("%v: %v, %v", typ, refusal, ok)
					}
					if _, err := item.Encode(v.Interface()); err != nil {
						t.Errorf("%v: %v", typ, err)
					}
				}
			})
		}
		close(start)
		group.Wait()
		for _, typ := range shapes[4:] {
			checkDecode(t, typ, nil, `{"iD":{"S":"x"},"B":{"L":[{"M":{}}]}}`)
		}
	}
}

// Panics of attributevalue and of a type's own methods are errors that say over
// which type, on every way to them.
func TestPanics(t *testing.T) {
	t.Parallel()
	for body, typ := range map[string]reflect.Type{
		`{"Inside":{"S":"x"}}`:                             reflect.TypeFor[hiddenPointer](),
		`{"secret":{"S":"x"}}`:                             reflect.TypeFor[hiddenKind](),
		`{"Loud":{"B":"AQ=="}}`:                            reflect.TypeFor[everything](),
		`{"Attrs":{"M":{"x":{"S":"y"}}}}`:                  reflect.TypeFor[everything](),
		`{"a":{"B":"AQ=="}}`:                               reflect.TypeFor[map[string]loud](),
		`{"LoudsIn":{"NULL":true},"PLoudIn":{"B":"AQ=="}}`: reflect.TypeFor[everything](),
	} {
		v := reflect.New(typ)
		refusal, ok := item.NewDecoder(typ, nil).Decode(item.NewParser([]byte(body)), v.Elem())
		if !ok || !errors.Is(refusal, item.ErrPanic) {
			t.Errorf("%v of %s: %v, %v", typ, body, refusal, ok)
		}
	}
	for _, v := range []any{&loud{"panic"}, struct{ L *loud }{&loud{"panic"}}, hiddenTagged{}} {
		if _, err := item.Encode(v); theirEncode(v).panicked != errors.Is(err, item.ErrPanic) {
			t.Errorf("%T: %v", v, err)
		}
	}
}
