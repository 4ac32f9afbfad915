package item_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/item"
)

// seeds are bytes for the generators.
func seeds(f *testing.F) {
	f.Add([]byte{})
	random := rand.New(rand.NewPCG(1, 2))
	for range 600 {
		b := make([]byte, 20+random.IntN(400))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		f.Add(b)
	}
}

// fuzzType makes a type to decode and encode: a struct as a rule.
func (s *source) fuzzType() reflect.Type {
	switch s.below(6) {
	case 0:
		return pool[s.below(len(pool))]
	case 1:
		return s.typ(2)
	}
	return s.structOf(3)
}

// What an item decodes to, or why it does not, is what attributevalue says.
func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		typ := s.fuzzType()
		var items []string
		for range 1 + s.below(4) {
			items = append(items, s.item(typ, 4))
			if s.rarely(3) { // the decoder remembers what the last ones were
				items = append(items, items[len(items)-1], items[0])
			}
		}
		var watched []string
		for _, name := range []string{"A", "a", "ID", "name", "unknown"} {
			if s.rarely(3) {
				watched = append(watched, name)
			}
		}
		checkDecode(t, typ, watched, items...)
	})
}

// What a value encodes to, or why it does not, is what attributevalue says.
func FuzzEncode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		v := reflect.New(s.fuzzType()).Elem()
		s.value(v, 5)
		checkEncode(t, v.Interface())
	})
}

type (
	vector32 []float32
	vector64 []float64
)

// vectors are types of vectors, plain ones and those that look like them.
var vectors = []reflect.Type{
	reflect.TypeFor[[]float32](), reflect.TypeFor[[]float64](), reflect.TypeFor[vector32](), reflect.TypeFor[vector64](), reflect.TypeFor[*vector32](),
	reflect.TypeFor[[3]float32](), reflect.TypeFor[[]*float32](), reflect.TypeFor[[][]float32](), reflect.TypeFor[map[string]vector64](), reflect.TypeFor[any](),
}

// FuzzVector decodes lists of numbers, with a few other elements among them, and encodes
// what they have become and floats of any bits.
func FuzzVector(f *testing.F) {
	seeds(f)
	for _, number := range []string{
		"0", "-0", "1", "0.1", "-0.000000059604645", "16777217", "9007199254740993", "3.4028235e38", "3.4028236e38", "-1e39", "1e-46", "1e-400",
		"1.", ".5", "00.10", "1e400", "123456789012345678", "0.1234567890123456789012345678901234567890", "-", "+1", "0x1p-2", "1_0", "NaN",
	} {
		f.Add([]byte(number))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		var elements []string
		add := func(element string) { elements = append(elements, element) }
		if len(data) < 60 && json.Valid([]byte(`"`+string(data)+`"`)) {
			add(`{"N":` + quote(plainText(string(data))) + `}`)
		}
		for range s.below(20) {
			switch s.below(12) {
			case 0:
				add(`{"NULL":true}`)
			case 1:
				add(s.attribute(1))
			case 2, 3, 4:
				add(`{"N":` + quote(plainText(s.number())) + `}`)
			case 5, 6:
				add(`{"N":"` + strconv.FormatFloat(float64(math.Float32frombits(uint32(s.uint64()))), 'f', -1, 32) + `"}`)
			default:
				add(`{"N":"` + strconv.FormatFloat(float64(s.next())/256-0.5, 'f', s.below(10), 64) + `"}`)
			}
		}
		list := `{"L":[` + strings.Join(elements, ",") + `]}`
		typ := vectors[s.below(len(vectors))]
		holder := reflect.StructOf([]reflect.StructField{{Name: "A", Type: typ}, {Name: "Z", Type: reflect.TypeFor[int]()}})
		checkDecode(t, holder, []string{"A"}, `{"A":`+list+`,"Z":{"N":"1"}}`, `{"A":{"L":[]}}`, `{"A":`+list+`}`, `{"A":{"M":{"x":`+list+`}}}`)

		v32, v64 := make(vector32, s.below(5)), make([]float64, s.below(5))
		for i := range v32 {
			v32[i] = math.Float32frombits(uint32(s.uint64()))
			if math.Abs(float64(v32[i])) == math.MaxFloat32 { // has digits of its own
				v32[i] = 1
			}
		}
		for i := range v64 {
			v64[i] = math.Float64frombits(s.uint64())
		}
		checkEncode(t, struct {
			A vector32
			B []float64
			C any
			D []float32 `dynamodbav:",omitempty"`
			E [][]float32
			F vector64 `dynamodbav:",numberset"`
			G *vector32
		}{v32, v64, v64, v32, [][]float32{v32, nil}, v64, &v32})
	})
}

// FuzzReader gives any bytes to everything that reads. What is accepted as an
// item is what the SDK takes it for.
func FuzzReader(f *testing.F) {
	f.Add([]byte(sampleItem))
	f.Add([]byte(nested(50)))
	for _, space := range []string{" ", "\r\n", "\t", "        \n  ", "\v", "\f", "\u00a0", "\x00", "/**/"} {
		f.Add([]byte(space + strings.ReplaceAll(sampleItem, ":", space+":"+space)))
		f.Add([]byte(strings.NewReplacer("{", "{"+space, "}", space+"}", ",", space+",").Replace(sampleItem) + space))
	}
	for i, escape := range []string{ // the second half is none
		`\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`, `\u0000`, `\u00e4`, `\ud83d\ude00`, `\ud83d`, `\ude00x`, `\uD83D\u0041`,
		`\`, `\x`, `\u`, `\u12`, `\u12g4`, `\'`, "\x00", "\n", "\x1f", `\u 123`,
	} {
		for offset := range 9 {
			text := strings.Repeat("ä", offset/2) + strings.Repeat("x", offset%2) + escape + strings.Repeat("y", i%8)
			f.Add([]byte(`{"Text":{"S":"` + text + `"},"Texts":{"SS":["` + text + `"]}}`))
			f.Add([]byte(`{"` + text + `":{"BOOL":true}}`))
		}
	}
	for _, value := range values {
		f.Add([]byte(`{"Text":` + value + `}`))
		f.Add([]byte(" { \"x\" :\n" + value + `,"x":{"S":"\ud83d"}}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		body := string(data)
		_, _, _ = decode[sample](body, item.Watched{Name: "Text"}, item.Watched{Name: "Any"})
		_, _, _ = decode[everything](body)
		raw, skipped := item.NewParser(data).Skip()
		if skipped && !json.Valid(raw) {
			t.Errorf("skipped %q", raw)
		}
		asItem, refusal, ok := decode[attributes](body)
		if !ok {
			return
		}
		if refusal != nil {
			t.Errorf("an item is refused: %v", refusal)
		}
		var out dynamodb.QueryOutput
		if err := deserialize(query, []byte(`{"Items":[`+body+`]}`), &out); err != nil {
			t.Fatalf("the SDK does not accept %q: %v", body, err)
		}
		if !reflect.DeepEqual([]attributes{asItem}, out.Items) {
			t.Errorf("%q\nours:   %v\ntheirs: %v", body, asItem, out.Items)
		}
		asAny, refusal, ok := decode[map[string]any](body)
		theirs := theirDecode(reflect.TypeFor[map[string]any](), asItem)
		if ok && (refusal == nil) != (theirs.err == nil) || ok && refusal == nil && !sameAny(asAny, theirs.value) {
			t.Errorf("%q\nours:   %v, %v\ntheirs: %v", body, asAny, refusal, theirs)
		}
	})
}

// sameAny compares what was decoded without a type. (For values nested as deep
// as here, cmp takes forever.)
func sameAny(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for k, v := range a {
			if other, ok := b[k]; !ok || !sameAny(v, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && (a == nil) == (b == nil) && slices.EqualFunc(a, b, sameAny)
	case []float64:
		b, ok := b.([]float64)
		return ok && (a == nil) == (b == nil) && slices.EqualFunc(a, b, func(a, b float64) bool { return sameAny(a, b) })
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.IsNaN(a) && math.IsNaN(b))
	}
	return reflect.DeepEqual(a, b)
}
