package item_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// faulty has a field for each way to an attribute that does not fit.
type faulty struct {
	A, B   int
	Texts  []string
	List   []faulty
	Map    map[string]int
	Tree   *faulty
	PTree  **faulty
	Array  [2]int
	Loud   *loud
	AsText int `dynamodbav:",string"`
}

// An error names the innermost attribute that does not fit, the first by name, and
// what it is.
func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"A":{"S":"x"}}`:                                  `attribute "A": a string does not decode into int`,
		`{"a":{"S":"x"}}`:                                  `attribute "a": a string does not decode into int`,
		`{"A":{"BOOL":true}}`:                              `attribute "A": a boolean does not decode into int`,
		`{"A":{"B":"AQ=="}}`:                               `attribute "A": a binary does not decode into int`,
		`{"A":{"M":{}}}`:                                   `attribute "A": a map does not decode into int`,
		`{"A":{"L":[]}}`:                                   `attribute "A": a list does not decode into int`,
		`{"A":{"SS":["x"]}}`:                               `attribute "A": a string set does not decode into int`,
		`{"A":{"NS":["1"]}}`:                               `attribute "A": a number set does not decode into int`,
		`{"A":{"BS":["AQ=="]}}`:                            `attribute "A": a binary set does not decode into int`,
		`{"Map":{"N":"1"}}`:                                `attribute "Map": a number does not decode into map[string]int`,
		`{"B":{"S":"x"},"A":{"M":{}},"0":{"S":"x"}}`:       `attribute "A": a map does not decode into int`,
		`{"A":{"N":"1"},"B":{"S":"x"}}`:                    `attribute "B": a string does not decode into int`,
		`{"AsText":{"S":"7"},"B":{"S":"x"}}`:               `attribute "B": a string does not decode into int`,
		`{"Texts":{"L":[{"S":"a"},{"M":{}}]}}`:             `attribute "Texts[1]": a map does not decode into string`,
		`{"List":{"L":[{"M":{"A":{"N":"1"}}},{"S":"x"}]}}`: `attribute "List[1]": a string does not decode into item_test.faulty`,
		`{"List":{"L":[{"M":{"Map":{"M":{"a":{"N":"1"},"b":{"S":"x"}}}}}]}}`: `attribute "List[0].Map[…]": a string does not decode into int`,
		`{"Tree":{"M":{"Tree":{"M":{"A":{"S":"x"}}}}}}`:                      `attribute "Tree.Tree.A": a string does not decode into int`,
		`{"Tree":{"M":{"0":{"S":"x"},"A":{"S":"x"}}}}`:                       `attribute "Tree.A": a string does not decode into int`,
		`{"PTree":{"M":{"A":{"S":"x"}}}}`:                                    `attribute "PTree": a map does not decode into **item_test.faulty`,
		`{"Array":{"L":[{"S":"x"}]}}`:                                        `attribute "Array": a list does not decode into [2]int`,
		`{"Loud":{"B":"AQ=="}}`:                                              `attribute "Loud": a binary does not decode into *item_test.loud (panic)`,
	} {
		_, refusal, ok := decode[faulty](body)
		if !ok || refusal == nil || refusal.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", body, refusal, want)
		}
		m, err := sdkItem(body)
		if err != nil {
			t.Fatal(err)
		}
		if err := item.Decode(&types.AttributeValueMemberM{Value: m}, new(faulty)); err == nil || err.Error() != want {
			t.Errorf("%s as attributes\ngot  %v\nwant %s", body, err, want)
		}
	}
	// An item that is read into a map has attributes all the same.
	name := func(n int) string { return strings.Repeat("x", n) }
	for given, want := range map[string]string{name(256): name(256), name(257): name(256) + "…", name(255) + "é": name(255) + "…"} {
		_, refusal, _ := decode[map[string]int](`{"` + given + `":{"S":"x"}}`)
		if want := `attribute "` + want + `": a string does not decode into int`; refusal == nil || refusal.Error() != want {
			t.Errorf("got  %v\nwant %s", refusal, want)
		}
	}
	_, refusal, _ := decode[map[string]int](`{"a":{"N":"1"},"b":{"S":"x"}}`)
	if want := `attribute "b": a string does not decode into int`; refusal == nil || refusal.Error() != want {
		t.Errorf("%v, want %s", refusal, want)
	}
	_, refusal, _ = decode[int](`{"a":{"N":"1"}}`)
	if want := `a map does not decode into int`; refusal == nil || refusal.Error() != want {
		t.Errorf("%v, want %s", refusal, want)
	}
}

// A value by itself has no path, and what is no pointer has no type to name.
func TestDecodeValue(t *testing.T) {
	t.Parallel()
	var n int
	if err := item.Decode(&types.AttributeValueMemberN{Value: "7"}, &n); err != nil || n != 7 {
		t.Errorf("%d, %v", n, err)
	}
	err := item.Decode(&types.AttributeValueMemberS{Value: "x"}, &n)
	if want := "a string does not decode into int"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for _, v := range []any{nil, 7, faulty{}} {
		err := item.Decode(&types.AttributeValueMemberS{Value: "x"}, v)
		if e, ours := errors.AsType[*item.Error](err); err == nil || ours {
			t.Errorf("%T: %v, %v", v, err, e)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	t.Parallel()
	fails := &loud{"err"}
	for want, v := range map[string]any{
		`attribute "Loud": *item_test.loud does not encode`:         faulty{Loud: fails},
		`attribute "Tree.Loud": *item_test.loud does not encode`:    faulty{Tree: &faulty{Loud: fails}},
		`attribute "List[0].Loud": *item_test.loud does not encode`: faulty{List: []faulty{{Loud: fails}}},
		`attribute "Loud": *item_test.loud does not encode (panic)`: faulty{Loud: &loud{"panic"}},
		`*item_test.loud does not encode`:                           fails,
		`attribute "a.Loud": *item_test.loud does not encode`:       map[string]faulty{"a": {Loud: fails}},
	} {
		value, err := item.Encode(v)
		if err == nil || value != nil || err.Error() != want {
			t.Errorf("%T: %v\ngot  %v\nwant %s", v, value, err, want)
		}
	}
}

// A value may be 32 levels deep, as DynamoDB has it; the item is none of them.
func TestEncodeLevels(t *testing.T) {
	t.Parallel()
	type chain struct {
		Next *chain
		List []any
		Map  map[string]any
		Each []*chain
	}
	structs := func(levels int) *chain {
		c := &chain{}
		for range levels {
			c = &chain{Next: c}
		}
		return c
	}
	lists := func(levels int) *chain {
		l := []any{}
		for range levels - 1 {
			l = []any{l}
		}
		return &chain{List: l}
	}
	maps := func(levels int) *chain {
		m := map[string]any{}
		for range levels - 1 {
			m = map[string]any{"m": m}
		}
		return &chain{Map: m}
	}
	for name, make := range map[string]func(int) *chain{"structs": structs, "lists": lists, "maps": maps} {
		for levels, fits := range map[int]bool{1: true, 31: true, 32: true, 33: false, 40: false} {
			v := make(levels)
			if _, err := item.Encode(v); (err == nil) != fits || !fits && !strings.Contains(err.Error(), "nested more than 32 levels deep") {
				t.Errorf("%d %s: %v", levels, name, err)
			}
			if _, err := item.Compare(&chain{}, v); (err == nil) != fits {
				t.Errorf("%d %s: %v", levels, name, err)
			}
		}
	}
	// Levels next to each other do not add up.
	wide := &chain{List: make([]any, 100)}
	for i := range wide.List {
		wide.List[i] = lists(20).List
	}
	wide.Map = map[string]any{"a": wide.List, "b": maps(20).Map, "c": structs(20)}
	wide.Each = []*chain{structs(20), structs(20)}
	if _, err := item.Encode(wide); err != nil {
		t.Error(err)
	}
	checkEncode(t, reflect.ValueOf(wide).Elem().Interface())
}
