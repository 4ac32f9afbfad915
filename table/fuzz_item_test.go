package table_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// everything has a field of every kind, each under the name of an attribute
// that seeds have.
type everything struct {
	S      string                  `dynamodbav:"s"`
	Bytes  []byte                  `dynamodbav:"b"`
	Array  [4]byte                 `dynamodbav:"a"`
	N      int8                    `dynamodbav:"n"`
	U      uint64                  `dynamodbav:"u"`
	F      float64                 `dynamodbav:"f"`
	Exact  attributevalue.Number   `dynamodbav:"x"`
	Bool   *bool                   `dynamodbav:"t"`
	At     time.Time               `dynamodbav:"at"`
	Unix   attributevalue.UnixTime `dynamodbav:"ut"`
	List   []string                `dynamodbav:"l"`
	Set    []string                `dynamodbav:"ss,stringset"`
	Nums   []float32               `dynamodbav:"ns,numberset"`
	Map    map[string]int          `dynamodbav:"m"`
	Inner  *everything             `dynamodbav:"i"`
	Any    any                     `dynamodbav:"any"`
	Raw    types.AttributeValue    `dynamodbav:"-"`
	Keys   keys.PK                 `dynamodbav:"pk"`
	Nested map[string][]any        `dynamodbav:"nested"`
}

var itemSeeds = []string{
	`{}`,
	`{"pk":{"S":"A"},"s":{"S":"é\u0000\ud83d\ude00\ud800"},"b":{"B":"AP8="},"a":{"B":"AAECAwQF"},"t":{"BOOL":true}}`,
	`{"n":{"N":"128"},"u":{"N":"-1"},"f":{"N":"1e400"},"x":{"N":"12345678901234567890123456789012345678901234567890"}}`,
	`{"at":{"S":"2024-01-15T10:05:00Z"},"ut":{"N":"1705313100"},"any":{"NULL":true},"s":{"NULL":true}}`,
	`{"at":{"S":"yesterday"},"ut":{"N":"1e99"},"n":{"N":"NaN"}}`,
	`{"l":{"L":[{"S":"a"},{"N":"1"},{"NULL":true}]},"ss":{"SS":["a","b"]},"ns":{"NS":["1","0.1"]},"m":{"M":{"a":{"N":"1"}}}}`,
	`{"i":{"M":{"i":{"M":{"i":{"M":{"s":{"S":"deep"}}}}}}},"any":{"L":[{"M":{"":{"BS":["AA=="]}}}]}}`,
	`{"s":null,"n":{},"u":{"N":null},"l":{"L":null},"m":{"M":{"a":null}}}`,
	`{"s":{"S":"a","N":"1"},"unknown":{"XX":"y"},"#%\u0001":{"S":""}}`,
}

// FuzzItem reads arbitrary items of other writers into every kind of field: it
// does not panic, what is not understood is an error and no half of a value,
// and the item comes out of every function alike.
func FuzzItem(f *testing.F) {
	for _, seed := range itemSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, item string) {
		if !isObject(item) {
			return // that is for FuzzAnswer
		}
		// A field takes attributes in any case. Of two that differ in nothing
		// else, the SDK takes either.
		if foldedTwice(item) {
			return
		}
		one, _, _ := answered(t, appCore(), answers(1, http.StatusOK, "", `{"Item":`+item+`}`))
		raw, rawErr := table.Get[table.Item](t.Context(), one, secret)
		wellFormed(t, "Get", rawErr)
		decodesAlike[everything](t, item, raw, rawErr)
		decodesAlike[account](t, item, raw, rawErr)
		decodesAlike[map[string]any](t, item, raw, rawErr)
		decodesAlike[map[string]string](t, item, raw, rawErr)
		decodesAlike[*everything](t, item, raw, rawErr)
		decodesAlike[[]int](t, item, raw, rawErr)
		if raw.Size() < 0 {
			t.Errorf("a size of %d", raw.Size())
		}
	})
}

func isObject(text string) bool {
	return json.Valid([]byte(text)) && strings.HasPrefix(strings.TrimSpace(text), "{")
}

// foldedTwice reports whether an object, at any depth, has two names that differ
// in case only.
func foldedTwice(text string) bool {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return false
	}
	var walk func(any) bool
	walk = func(v any) bool {
		elements, _ := v.([]any)
		object, _ := v.(map[string]any)
		var seen []string
		for name, element := range object {
			if slices.ContainsFunc(seen, func(s string) bool { return strings.EqualFold(s, name) }) {
				return true
			}
			seen = append(seen, name)
			elements = append(elements, element)
		}
		return slices.ContainsFunc(elements, walk)
	}
	return walk(v)
}

// decodesAlike checks that reading an item as a T is reading it raw and decoding
// it then.
func decodesAlike[T any](t *testing.T, item string, raw table.Item, rawErr error) {
	t.Helper()
	var want T
	wantErr := rawErr
	if rawErr == nil {
		wantErr = raw.Decode(&want)
	}
	if wantErr != nil {
		want = *new(T)
	}
	one, _, _ := answered(t, appCore(), answers(1, http.StatusOK, "", `{"Item":`+item+`}`))
	many, _, _ := answered(t, appCore(), answers(1, http.StatusOK, "", `{"Items":[`+item+`],"Count":1,"ScannedCount":1}`))
	v, err := table.Get[T](t.Context(), one, secret)
	wellFormed(t, "Get", err)
	if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(v, want) && !nan(want) {
		t.Errorf("Get of %s is %#v, %v; decoded it is %#v, %v", item, v, err, want, wantErr)
	}
	page, err := table.QueryPage[T](t.Context(), many, table.Query{PK: secret.PK})
	wellFormed(t, "QueryPage", err)
	// A query skips what is expired where Get has an error for it.
	if errors.Is(rawErr, table.ErrNotFound) {
		return
	}
	if (err == nil) != (wantErr == nil) || err == nil && (len(page.Items) != 1 || !reflect.DeepEqual(page.Items[0], want) && !nan(want)) {
		t.Errorf("QueryPage of %s is %#v, %v; decoded it is %#v, %v", item, page.Items, err, want, wantErr)
	}
}

// nan reports whether a value does not equal itself.
func nan(v any) bool {
	return !reflect.DeepEqual(v, v) || !cmp.Equal(v, v, cmp.Exporter(func(reflect.Type) bool { return true }))
}

// absurd are numbers whose exponent is beyond those of the engine's arithmetic.
var absurd = regexp.MustCompile(`[eE][+-]?[0-9]{5}`)

// FuzzStoredItem stores arbitrary items and reads them back: they are as they
// were, unless they were refused.
func FuzzStoredItem(f *testing.F) {
	for _, seed := range itemSeeds {
		f.Add(seed)
	}
	schema := appCore()
	schema.TTL = ""
	tbl := tabletest.New(f, schema, options())
	f.Fuzz(func(t *testing.T, text string) {
		// The SDK sends what is no UTF-8 as U+FFFD, and the engine drops an
		// exponent that overflows.
		if !isObject(text) || !utf8.ValidString(text) || absurd.MatchString(text) {
			return
		}
		one, _, _ := answered(t, appCore(), answers(1, http.StatusOK, "", `{"Item":`+text+`}`))
		item, err := table.Get[table.Item](t.Context(), one, secret)
		if err != nil {
			return
		}
		delete(item, "pk")
		delete(item, "sk")
		// Without it, the item of the run before could be the one that is found.
		must(t, tbl.Do(t.Context(), table.Delete(secret)))
		err = tbl.Do(t.Context(), table.Put(secret, item))
		switch {
		case refusedByEngine(err), isRefusal(err):
			wellFormed(t, "Put", err)
			return
		case err != nil:
			t.Fatalf("Put of %s: %v", text, err)
		}
		got, err := table.Get[table.Item](t.Context(), tbl.Consistent(), secret)
		must(t, err)
		delete(got, "pk")
		delete(got, "sk")
		want := table.Item{}
		for name, value := range item {
			want[name] = value
		}
		if a, b := plainValue(mapOf(want)), plainValue(mapOf(got)); !reflect.DeepEqual(a, b) {
			t.Errorf("%s is read back otherwise:\n%s", text, cmp.Diff(a, b))
		}
	})
}

// plainValue is a value in which numbers and sets have one form.
func plainValue(value types.AttributeValue) any {
	switch v := value.(type) {
	case *types.AttributeValueMemberN:
		return plainNumber(v.Value)
	case *types.AttributeValueMemberNS:
		numbers := make([]string, len(v.Value))
		for i, n := range v.Value {
			numbers[i] = plainNumber(n)
		}
		slices.Sort(numbers)
		return numbers
	case *types.AttributeValueMemberSS:
		return append([]string{"set"}, slices.Sorted(slices.Values(v.Value))...)
	case *types.AttributeValueMemberBS:
		return append([][]byte{}, slices.SortedFunc(slices.Values(v.Value), bytes.Compare)...)
	case *types.AttributeValueMemberB:
		return append([]byte{}, v.Value...)
	case *types.AttributeValueMemberL:
		elements := []any{}
		for _, e := range v.Value {
			elements = append(elements, plainValue(e))
		}
		return elements
	case *types.AttributeValueMemberM:
		members := map[string]any{}
		for name, e := range v.Value {
			members[name] = plainValue(e)
		}
		return members
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	}
	return nil
}

func plainNumber(s string) string {
	if n, ok := new(big.Rat).SetString(s); ok {
		return "number " + n.RatString()
	}
	return "number " + s
}
