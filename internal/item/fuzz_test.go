package item_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
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
