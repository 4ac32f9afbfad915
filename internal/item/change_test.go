package item_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/item"
)

// rawOf reads an item without decoding it.
func rawOf(tb testing.TB, json string) item.Raw {
	tb.Helper()
	raw, refusal, ok := decode[item.Raw](json)
	if !ok || refusal != nil {
		tb.Fatalf("%s: %v, %v", json, refusal, ok)
	}
	return raw
}

// A raw item gives the attributes and values that it does when it is decoded at
// once, from JSON and from attributes, as often as it is asked for them.
func TestRaw(t *testing.T) {
	t.Parallel()
	want, err := sdkItem(sampleItem)
	if err != nil {
		t.Fatal(err)
	}
	wanted, refusal, ok := decode[sample](sampleItem)
	if refusal != nil || !ok {
		t.Fatal(refusal, ok)
	}
	for name, raw := range map[string]item.Raw{"json": rawOf(t, sampleItem), "attributes": item.RawOf(want)} {
		for range 2 {
			all := raw.Attributes(nil)
			if diff := cmp.Diff(want, all, exactly); diff != "" {
				t.Errorf("%s: attributes (-want +got):\n%s", name, diff)
			}
			clear(all)
			var v sample
			if _, err := raw.Decode(&v); err != nil || !cmp.Equal(wanted, v, exactly) {
				t.Errorf("%s: %+v, %v", name, v, err)
			}
		}
		one := raw.Attributes(func(name []byte) bool { return string(name) == "Text" })
		if diff := cmp.Diff(attributes{"Text": want["Text"]}, one, exactly); diff != "" {
			t.Errorf("%s: one attribute (-want +got):\n%s", name, diff)
		}
		var misfit *item.Error
		if _, err := raw.Decode(new(struct{ Text chan int })); !errors.As(err, &misfit) || misfit.Path != "Text" {
			t.Errorf("%s: a text decodes into a channel: %v", name, err)
		}
	}
}

// The items of a page are read each from its own place, with what is watched of them,
// and share nothing with the response.
func TestRawPage(t *testing.T) {
	t.Parallel()
	long := `{"Text":{"S":"` + strings.Repeat("x", 5000) + `"},"none":{"S":"?"}}`
	items := []string{sampleItem, `{"Text":{"S":"b"},"Texts":{"L":[{"S":"c"},{"S":"d\u0065"}]}}`, long, `{"tExt":{"S":"x"}}`, `{ "Text" : {"S":"last"} }`}
	body := []byte("[" + strings.Join(items, ",") + "]")
	r, watched := item.NewParser(body), []item.Watched{{Name: "Text"}}
	d := item.NewDecoder(reflect.TypeFor[item.Raw](), watched)
	var got []item.Raw
	if !r.Array(func(i int) bool {
		var raw item.Raw
		refusal, ok := d.Decode(r, reflect.ValueOf(&raw).Elem())
		got = append(got, raw)
		attributes, err := sdkItem(items[i])
		if diff := cmp.Diff(watchedIn(attributes, "Text"), watched[0]); diff != "" || err != nil {
			t.Errorf("watched of item %d (-want +got):\n%s%v", i, diff, err)
		}
		return refusal == nil && ok
	}) || len(got) != len(items) {
		t.Fatalf("%d items", len(got))
	}
	clear(body)
	for i, item := range items {
		want, _, _ := decode[sample](item)
		attributes, err := sdkItem(item)
		if err != nil {
			t.Fatal(err)
		}
		var v sample
		if _, err := got[i].Decode(&v); err != nil || !cmp.Equal(want, v, exactly) {
			t.Errorf("item %d: %v (-want +got):\n%s", i, err, cmp.Diff(want, v, exactly))
		}
		if diff := cmp.Diff(attributes, got[i].Attributes(nil), exactly); diff != "" {
			t.Errorf("item %d (-want +got):\n%s", i, diff)
		}
	}
}

// A value is loose if a name is spelled differently, if a text is a number, and if
// nobody knows, as with attributes.
func TestRawLoose(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		raw   item.Raw
		loose bool
	}{
		"as it is":         {raw: rawOf(t, sampleItem)},
		"unknown":          {raw: rawOf(t, `{"other":{"N":"1"},"Text":{"S":"x"}}`)},
		"another spelling": {raw: rawOf(t, `{"tExt":{"S":"x"}}`), loose: true},
		"a number":         {raw: rawOf(t, `{"Number":{"N":"1"},"Text":{"N":"2"}}`), loose: true},
		"a number within":  {raw: rawOf(t, `{"Tree":{"M":{"Text":{"N":"2"}}}}`), loose: true},
		"a number, spaced": {raw: rawOf(t, `{"Text":{"N":"2" }}`), loose: true},
		"attributes":       {raw: item.RawOf(attributes{"Text": &types.AttributeValueMemberS{Value: "x"}}), loose: true},
	} {
		if loose, err := test.raw.Decode(new(sample)); err != nil || loose != test.loose {
			t.Errorf("%s: %v, %v", name, loose, err)
		}
	}
}

// keeper keeps the attribute that it is decoded from.
type keeper struct{ kept types.AttributeValue }

// UnmarshalDynamoDBAttributeValue implements [attributevalue.Unmarshaler].
func (k *keeper) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	k.kept = v
	return nil
}

// What a value of an item shares with the item is not shared by another one.
func TestRawValuesShareNothing(t *testing.T) {
	t.Parallel()
	type holder struct{ V keeper }
	m := attributes{"V": &types.AttributeValueMemberL{Value: []types.AttributeValue{
		&types.AttributeValueMemberM{Value: attributes{"a": &types.AttributeValueMemberBS{Value: [][]byte{{1}}}}},
		&types.AttributeValueMemberSS{Value: []string{"x"}}, &types.AttributeValueMemberNS{Value: []string{"1"}},
		&types.AttributeValueMemberN{Value: "1"}, &types.AttributeValueMemberS{Value: "s"},
		&types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberNULL{Value: true},
		&types.AttributeValueMemberB{Value: []byte{1}},
	}}}
	raw := item.RawOf(m)
	var first, second holder
	if _, err := raw.Decode(&first); err != nil {
		t.Fatal(err)
	}
	list := first.V.kept.(*types.AttributeValueMemberL).Value
	list[0].(*types.AttributeValueMemberM).Value["a"].(*types.AttributeValueMemberBS).Value[0][0] = 2
	list[1].(*types.AttributeValueMemberSS).Value[0] = "y"
	list[2].(*types.AttributeValueMemberNS).Value[0] = "2"
	list[7].(*types.AttributeValueMemberB).Value[0] = 2
	clear(list)
	if _, err := raw.Decode(&second); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, attributes{"V": second.V.kept}, exactly); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzChange makes two values of a type, and compares what is found out about
// their attributes one by one with what the items say as a whole.
func FuzzChange(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		typ := s.fuzzType()
		raws := [2]item.Raw{rawOf(t, s.item(typ, 4)), rawOf(t, s.item(typ, 4))}
		var vs [2]reflect.Value
		for i, raw := range raws {
			vs[i] = reflect.New(typ)
			if _, err := raw.Decode(vs[i].Interface()); err != nil {
				return
			}
		}
		checkCopy(t, raws[0], vs[0])
		checkCompare(t, vs[0], vs[1])
		checkCompare(t, vs[0], vs[0])
		checkAssign(t, raws[0], raws[1], vs[0])
	})
}

func checkCopy(t *testing.T, raw item.Raw, v reflect.Value) {
	t.Helper()
	own := reflect.New(v.Type().Elem())
	if !item.Copy(own.Interface(), v.Interface()) {
		return
	}
	if !cmp.Equal(v.Interface(), own.Interface(), exactly) {
		t.Errorf("copy of %+v: %+v", v.Elem(), own.Elem())
	}
	scramble(own.Elem())
	again := reflect.New(v.Type().Elem())
	if _, err := raw.Decode(again.Interface()); err != nil || !cmp.Equal(again.Interface(), v.Interface(), exactly) {
		t.Errorf("a change of the copy is one of the value: %v\n%s", err, cmp.Diff(again.Interface(), v.Interface(), exactly))
	}
}

// scramble changes the elements of all slices.
func scramble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scramble(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			v.Index(i).SetZero()
		}
	}
}

func checkCompare(t *testing.T, a, b reflect.Value) {
	t.Helper()
	before, err := item.Encode(a.Interface())
	after, err2 := item.Encode(b.Interface())
	from, ok := before.(*types.AttributeValueMemberM)
	to, ok2 := after.(*types.AttributeValueMemberM)
	if err != nil || err2 != nil || !ok || !ok2 {
		return
	}
	changes, err := item.Compare(a.Interface(), b.Interface())
	if err != nil {
		t.Errorf("%v: %v", a.Type(), err)
	}
	got, want := map[string]string{}, map[string]string{}
	for _, c := range changes {
		before := c.Before
		switch v := from.Value[c.Name].(type) {
		case *types.AttributeValueMemberS, *types.AttributeValueMemberN, *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
			if before == nil {
				before = v
			}
		}
		got[c.Name] = fmt.Sprint(text(before), text(c.After))
	}
	for _, items := range [][2]attributes{{from.Value, to.Value}, {to.Value, from.Value}} {
		for name := range items[0] {
			if was, is := text(from.Value[name]), text(to.Value[name]); was != is {
				want[name] = fmt.Sprint(was, is)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes of %v (-want +got):\n%s", a.Type(), diff)
	}
}

// text writes a value down, so that NaN is equal to itself.
func text(v types.AttributeValue) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case *types.AttributeValueMemberL:
		var parts []string
		for _, e := range v.Value {
			parts = append(parts, text(e))
		}
		return fmt.Sprintf("L%q", parts)
	case *types.AttributeValueMemberM:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			parts = append(parts, name, text(v.Value[name]))
		}
		return fmt.Sprintf("M%q", parts)
	}
	return fmt.Sprintf("%T%v", v, reflect.ValueOf(v).Elem().Field(0))
}

func checkAssign(t *testing.T, raw, other item.Raw, v reflect.Value) {
	t.Helper()
	stored := raw.Attributes(nil)
	changes := other.Attributes(nil)
	for name := range stored {
		if changes[name] == nil {
			changes[name] = nil
		}
	}
	for name, value := range changes {
		changed := maps.Clone(stored)
		delete(changed, name)
		if folds(changed, name) {
			continue // which of them counts is chance
		}
		if value != nil {
			changed[name] = value
		}
		want, got := reflect.New(v.Type().Elem()), reflect.New(v.Type().Elem())
		if _, err := raw.Decode(got.Interface()); err != nil || !item.Assign(got.Interface(), name, value) {
			continue
		}
		if err := item.Decode(&types.AttributeValueMemberM{Value: changed}, want.Interface()); err != nil {
			t.Errorf("%v with %q: assigned, and does not decode: %v", v.Type(), name, err)
		}
		if !cmp.Equal(want.Interface(), got.Interface(), exactly) {
			t.Errorf("%v with %q (-decoded +assigned):\n%s", v.Type(), name, cmp.Diff(want.Interface(), got.Interface(), exactly))
		}
	}
}

// folds reports whether two names differ in case only.
func folds(m attributes, name string) bool {
	names := append(slices.Collect(maps.Keys(m)), name)
	for i, a := range names {
		for _, b := range names[:i] {
			if strings.EqualFold(a, b) {
				return true
			}
		}
	}
	return false
}

func TestEqual(t *testing.T) {
	t.Parallel()
	values := func() []types.AttributeValue {
		return []types.AttributeValue{
			nil, &types.AttributeValueMemberS{Value: "a"}, &types.AttributeValueMemberS{Value: "1"}, &types.AttributeValueMemberN{Value: "1"}, &types.AttributeValueMemberN{Value: "2"},
			&types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberBOOL{}, &types.AttributeValueMemberNULL{Value: true},
			&types.AttributeValueMemberB{Value: []byte("a")}, &types.AttributeValueMemberB{Value: []byte("b")}, &types.AttributeValueMemberSS{Value: []string{"a"}},
		}
	}
	for i, a := range values() {
		for j, b := range values() {
			if item.Equal(a, b) != (i == j) {
				t.Errorf("%s and %s: %v", text(a), text(b), i != j)
			}
		}
	}
}

// An attribute is assigned if it belongs to a field that can be reached, and fits.
func TestAssign(t *testing.T) {
	t.Parallel()
	type holder struct {
		sample
		*Base
	}
	for _, c := range []struct {
		name  string
		value types.AttributeValue
		ok    bool
	}{
		{"Text", &types.AttributeValueMemberS{Value: "x"}, true},
		{"Text", nil, true},
		{"Text", &types.AttributeValueMemberBOOL{}, false},
		{"Number", &types.AttributeValueMemberN{Value: "7"}, true},
		{"Number", &types.AttributeValueMemberN{Value: "1e99"}, false},
		{"unknown", &types.AttributeValueMemberS{Value: "x"}, true},
		{"ID", &types.AttributeValueMemberS{Value: "x"}, false},
	} {
		if ok := item.Assign(&holder{}, c.name, c.value); ok != c.ok {
			t.Errorf("%s: %v", c.name, ok)
		}
	}
	if item.Assign(&map[string]string{}, "a", nil) {
		t.Error("a map is assigned to")
	}
}
