package item_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/table"
)

// sample is what most tests here read.
type sample struct {
	Text   string
	Number int
	Bytes  []byte
	Texts  []string
	List   []sample
	Any    any
	At     time.Time
	Map    map[string]string
	Tree   *sample
	Raw    attributes
}

const sampleItem = `{"Text":{"S":"some text"},"Number":{"N":"42"},"Bytes":{"B":"AQIDBA=="},"Texts":{"SS":["a","bc\n"]},` +
	`"List":{"L":[{"M":{"Number":{"N":"-1"}}},{"NULL":true}]},"Any":{"M":{"x":{"BOOL":true},"y":{"L":[{"S":"\u00e4"},{"N":"1.5"}]}}},` +
	`"At":{"S":"2024-02-29T12:00:00Z"},"Map":{"M":{"k":{"S":"v"}}},"Tree":{"M":{"Text":{"S":""},"BS":{"BS":["AA=="]}}},` +
	`"unknown":{"M":{"deep":{"L":[{"NS":["1"]},{"BOOL":false}]}}}}`

// decode reads an item, and then the end.
func decode[T any](body string, watched ...item.Watched) (v T, refusal error, ok bool) {
	r := item.NewParser([]byte(body))
	refusal, ok = item.NewDecoder(reflect.TypeFor[T](), watched).Decode(r, reflect.ValueOf(&v).Elem())
	return v, refusal, ok && r.End()
}

// accepts reports whether an item is accepted, of whatever type.
func accepts(body string) bool {
	_, _, asItem := decode[attributes](body)
	_, _, asAny := decode[any](body)
	_, _, asStruct := decode[sample](body)
	_, _, asRaw := decode[item.Raw](body)
	return asItem || asAny || asStruct || asRaw
}

// The bytes that end a string, next to those that look like them eight at a time.
func TestReaderBytes(t *testing.T) {
	t.Parallel()
	for c := 0; c < 256; c++ {
		for offset := range 9 {
			text := strings.Repeat("!", offset) + string([]byte{byte(c)}) + strings.Repeat("#", 9-offset)
			_, err := sdkItem(`{"Text":{"S":"` + text + `"}}`)
			got, _, ok := decode[sample](`{"Text":{"S":"` + text + `"}}`)
			if ok != (err == nil) || ok && got.Text != text {
				t.Errorf("%q is %q, %v; the SDK: %v", text, got.Text, ok, err)
			}
		}
	}
}

func TestReaderTruncated(t *testing.T) {
	t.Parallel()
	if !accepts(sampleItem) {
		t.Fatal("the sample is not accepted")
	}
	for i := range sampleItem {
		if accepts(sampleItem[:i]) {
			t.Errorf("accepted: %s", sampleItem[:i])
		}
		if _, ok := item.NewParser([]byte(sampleItem[:i])).Skip(); ok {
			t.Errorf("skipped: %s", sampleItem[:i])
		}
	}
}

// What is not what DynamoDB sends is never read as something else.
func TestReaderMalformed(t *testing.T) {
	t.Parallel()
	for _, attribute := range []string{
		``, `null`, `1`, `"x"`, `[]`, `{}`, `{"S"}`, `{"S":}`, `{"S":null}`, `{"S":1}`, `{"N":1}`, `{"S":"x","N":"1"}`, `{"S":"x",}`, `{,"S":"x"}`, `{"S":"x"`,
		`{"X":"x"}`, `{"":"x"}`, `{"s":"x"}`, `{"SSS":["x"]}`, `{"B":"*"}`, `{"B":"AQ"}`, `{"B":1}`, `{"BOOL":"true"}`, `{"BOOL":tru}`, `{"BOOL":1}`, `{"NULL":null}`,
		`{"NULL":"true"}`, `{"L":{}}`, `{"L":[1]}`, `{"L":[,]}`, `{"L":[{"S":"x"},]}`, `{"L":[{"S":"x"}{"S":"y"}]}`, `{"L":[null]}`, `{"M":[]}`, `{"M":{"x"}}`,
		`{"M":{"x":{"S":"y"},}}`, `{"M":{x:{"S":"y"}}}`, `{"SS":["a",1]}`, `{"SS":["a" "b"]}`, `{"SS":"a"}`, `{"SS":["seven bytes"}]}`, `{"SS":["a"}]}`, `{"SS":["a"}`, `{"NS":[1]}`, `{"BS":["*"]}`, `{"S":"x"}}`, `{"S":"x"]`, `{"BOOL":truex}`,
		`["S":"x"}`, `{"Sx:"x"}`, `{"SSx:["x"]}`, `{"BOOLx:true}`, `{xS":"x"}`,
		`{"S":x"}`, `{"N":1"}`, `{"L":[{"S":x"}]}`, `{"S":"\}`, `{"S":"seven..}"]`, `{"S":"seven..}",}`, `{"L":[{"S":"seven..}"]]}`,
	} {
		for _, name := range []string{"Text", "Number", "Bytes", "Texts", "List", "Any", "At", "Map", "Tree", "Raw"} {
			body := `{"` + name + `":` + attribute + `}`
			_, _, asItem := decode[attributes](body)
			_, _, asAny := decode[any](body)
			_, _, asStruct := decode[sample](body)
			_, _, asRaw := decode[item.Raw](body)
			if asItem || asAny || asStruct || asRaw {
				t.Errorf("accepted: %s (%v %v %v %v)", body, asItem, asAny, asStruct, asRaw)
			}
			if _, _, ok := decode[any](body, item.Watched{Name: name}); ok {
				t.Errorf("accepted when watched: %s", body)
			}
			// Nobody looks into an attribute that nobody wants.
			if _, _, ok := decode[struct{}](body); ok && !json.Valid([]byte(body)) {
				t.Errorf("invalid JSON is accepted: %s", body)
			}
		}
	}
	for _, body := range []string{``, ` `, `null`, `[]`, `"x"`, `{`, `}`, `{"a"`, `{"a":`, `{}}`, `{} x`, `{"a":{"S":"b"},}`, `{"a":{"S":"b"} "c":{"S":"d"}}`} {
		if accepts(body) {
			t.Errorf("accepted: %s", body)
		}
	}
}

func nested(levels int) string {
	return `{"Any":` + strings.Repeat(`{"L":[`, levels) + strings.Repeat(`]}`, levels) + `}`
}

// Far more levels than DynamoDB has are left to the SDK, whoever reads them, and
// what comes after a deep attribute is read as what comes after a shallow one.
func TestReaderDepth(t *testing.T) {
	t.Parallel()
	for _, levels := range []int{0, 1, 32, 99} {
		if levels > 0 && !accepts(nested(levels)) {
			t.Errorf("%d levels are not accepted", levels)
		}
	}
	for _, levels := range []int{100, 1000, 100_000} {
		if accepts(nested(levels)) {
			t.Errorf("%d levels are accepted", levels)
		}
		if _, ok := item.NewParser([]byte(nested(levels))).Skip(); ok {
			t.Errorf("%d levels are skipped", levels)
		}
	}
	// An attribute that does not fit, one that is refused, and one that is
	// unknown: however often, they do not add up.
	var b strings.Builder
	b.WriteString("[")
	for i := range 300 {
		if i > 0 {
			b.WriteString(",")
		}
		deep := strings.TrimSuffix(strings.TrimPrefix(nested(30), `{"Any":`), "}")
		fmt.Fprintf(&b, `{"Texts":{"L":[{"L":[%s]}]},"u":%s,"List":{"L":[{"M":{"Number":%s}}]},"Any":{"L":[{"NS":["1"]}]}}`, deep, deep, deep)
	}
	b.WriteString("]")
	r := item.NewParser([]byte(b.String()))
	d := item.NewDecoder(reflect.TypeFor[sample](), []item.Watched{{Name: "u"}, {Name: "Text"}})
	if !r.Array(func(int) bool {
		refusal, ok := d.Decode(r, reflect.New(reflect.TypeFor[sample]()).Elem())
		return ok && refusal != nil
	}) || !r.End() {
		t.Errorf("stopped at %d of %d", r.Pos(), b.Len())
	}
}

// Of several attributes with one name the last counts, as for the SDK.
func TestReaderDuplicates(t *testing.T) {
	t.Parallel()
	values := []string{
		`{"S":"one"}`, `{"N":"2"}`, `{"NULL":true}`, `{"M":{"Text":{"S":"in"}}}`, `{"M":{"Number":{"N":"3"}}}`, `{"M":{"A":{"S":"a"}}}`, `{"M":{"B":{"S":"b"}}}`, `{"M":{}}`, `{"L":[]}`, `{"L":[{"NULL":true}]}`,
		`{"SS":["a","b"]}`, `{"SS":["c"]}`, `{"B":"AQID"}`, `{"B":""}`, `{"S":"2024-02-29T12:00:00Z"}`, `{"NS":["1"]}`,
	}
	type embedding struct {
		*Base
		sample
		In struct{ A, B string }
		Ar [2]string
		U  loud
	}
	for _, name := range []string{"Text", "Number", "Bytes", "Texts", "List", "Any", "At", "Map", "Tree", "unknown", "ID", "In", "Ar", "U"} {
		for _, first := range values {
			for _, second := range values {
				body := `{"` + name + `":` + first + `,"` + name + `":` + second + `}`
				// A refusal of the first is one of item's too many: it is tested
				// for what is accepted of both.
				_, refusal, _ := decode[embedding](`{"` + name + `":` + first + `}`)
				if refusal == nil {
					checkDecode(t, reflect.TypeFor[embedding](), []string{name}, body)
				}
				checkDecode(t, reflect.TypeFor[any](), []string{name}, body)
				checkDecode(t, reflect.TypeFor[attributes](), []string{name}, body)
			}
		}
	}
}

// Strings share memory with few others, so that one does not keep all of a
// response in memory.
func TestReaderMemory(t *testing.T) {
	t.Parallel()
	const n = 20_000
	var elements []string
	for i := range n {
		elements = append(elements, fmt.Sprintf(`{"S":"%s%d"}`, strings.Repeat("x", i%1200), i))
	}
	v, _, ok := decode[struct{ All []string }](`{"All":{"L":[` + strings.Join(elements, ",") + `]}}`)
	if !ok || len(v.All) != n {
		t.Fatalf("%d strings, %v", len(v.All), ok)
	}
	// Strings that follow one another in memory share it, but for those at the
	// beginning of what the runtime gives out as one piece.
	const piece = 4096
	shared, at := 0, func(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s))) }
	for i := 1; i < n; i++ {
		before, s := v.All[i-1], v.All[i]
		if at(before)+uintptr(len(before)) != at(s) || at(s)%piece == 0 {
			shared = 0
		}
		if shared += len(s); shared > piece && len(s) < 1024 {
			t.Fatalf("%d bytes are shared at string %d", shared, i)
		}
	}
}

func TestReaderParts(t *testing.T) {
	t.Parallel()
	r := item.NewParser([]byte(` { "Count" : 1.5e3 , "a" : [ true , null , "x\"y" , { } ] , "Item" : {} } `))
	var got []string
	ok := r.Object(func(name []byte) bool {
		if string(name) == "Item" {
			var v any
			refusal, ok := item.NewDecoder(reflect.TypeFor[any](), nil).Decode(r, reflect.ValueOf(&v).Elem())
			got = append(got, fmt.Sprint(v, refusal))
			return ok
		}
		raw, ok := r.Skip()
		got = append(got, string(name)+"="+string(raw))
		return ok
	})
	if r.Rest() != 1 || !r.End() || r.Rest() != 0 {
		t.Errorf("left: %d", r.Rest())
	}
	want := []string{"Count=1.5e3", `a=[ true , null , "x\"y" , { } ]`, "map[] <nil>"}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("%v (-want +got):\n%s", ok, diff)
	}
	for _, good := range []string{`[1,2.5,true,null]`, `{"a":1,"b":[false,-1],"c":{}}`, `1`, `-1.5e+3`} {
		for _, end := range []string{"", ",", "]", "}", " "} {
			if raw, ok := item.NewParser([]byte(good + end)).Skip(); !ok || string(raw) != good {
				t.Errorf("skipped %q of %q: %v", raw, good+end, ok)
			}
		}
	}
	for _, bad := range []string{`tru`, `01`, `1.`, `nul`, `"`, `[1`, `[1 2]`, `{"a":1,}`, `{"a" 1}`, `{1:1}`, ``, `,`, `-`, `[,]`} {
		if raw, ok := item.NewParser([]byte(bad)).Skip(); ok {
			t.Errorf("skipped %q as %q", bad, raw)
		}
	}
}

// An item that has an attribute twice, at any depth, is not unique, and the items
// behind it are.
func TestReaderItem(t *testing.T) {
	t.Parallel()
	for body, unique := range map[string]bool{
		`{}`: true, `{"a":{"S":"x"}}`: true, `{"a":{"S":"x"},"b":{"M":{"a":{"S":"y"}}}}`: true, `{"a":{"S":"x"},"A":{"S":"y"}}`: true,
		`{"a":{"S":"x"},"a":{"N":"1"}}`: false, `{"a":{"S":"x"},"b":{"M":{"c":{"S":"y"},"c":{"S":"y"}}}}`: false,
		`{"a":{"L":[{"M":{"c":{"S":"y"},"\u0063":{"S":"z"}}},{"M":{}}]},"b":{"S":"x"}}`: false,
	} {
		want, err := sdkItem(body)
		if err != nil {
			t.Fatal(err)
		}
		r := item.NewParser([]byte(body + `{"last":{"BOOL":true}}`))
		got, is, ok := r.Item()
		if diff := cmp.Diff(want, got, exactly); !ok || is != unique || diff != "" {
			t.Errorf("%s: unique %v, %v (-want +got):\n%s", body, is, ok, diff)
		}
		if got, is, ok := r.Item(); !ok || !is || len(got) != 1 || !r.End() {
			t.Errorf("behind %s: %v, unique %v, %v", body, got, is, ok)
		}
	}
	if _, _, ok := item.NewParser([]byte(`{"a":{"S":"x"}`)).Item(); ok {
		t.Error("half an item is read")
	}
}

// The size of an item of texts is the one that DynamoDB counts, to the byte that is
// left of the frame, wherever the item stands.
func TestDecoderSize(t *testing.T) {
	t.Parallel()
	var items []string
	for n := range 12 {
		var attributes []string
		for i := range n {
			attributes = append(attributes, fmt.Sprintf(`"name%d":{"S":%q}`, i, strings.Repeat("x", 10*i)))
		}
		items = append(items, "{"+strings.Join(attributes, ",")+"}")
	}
	body := "[" + strings.Join(items, ",") + "]"
	for _, typ := range []reflect.Type{reflect.TypeFor[struct{ Name1, Name5 string }](), reflect.TypeFor[map[string]string](), reflect.TypeFor[item.Raw]()} {
		r := item.NewParser([]byte(body))
		d := item.NewDecoder(typ, []item.Watched{{Name: "name3"}})
		if !r.Array(func(i int) bool {
			refusal, ok := d.Decode(r, reflect.New(typ).Elem())
			m, err := sdkItem(items[i])
			if err != nil {
				t.Fatal(err)
			}
			if size := table.Item(m).Size(); d.Size() < size || d.Size() > size+2 {
				t.Errorf("%v: %d attributes have %d bytes, want %d", typ, i, d.Size(), size)
			}
			return refusal == nil && ok
		}) {
			t.Errorf("%v: stopped at %d", typ, r.Pos())
		}
	}
}
