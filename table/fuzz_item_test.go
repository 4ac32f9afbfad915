package table_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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

// boundarySeeds are items on both sides of DynamoDB's limits.
var boundarySeeds = []string{
	`{"n":{"N":"9.9999999999999999999999999999999999999e125"},"m":{"N":"-1e-130"},"z":{"N":"-0.00"},"p":{"N":"+.5"},"d":{"N":"5."}}`,
	`{"n":{"N":"1e126"}}`, `{"n":{"N":"1e-131"}}`, `{"n":{"N":"123456789012345678901234567890123456789"}}`, `{"n":{"N":"+-1"}}`, `{"n":{"N":"Infinity"}}`,
	`{"n":{"N":"0x1"}}`, `{"n":{"N":" 1"}}`, `{"n":{"N":"1e99999999999"}}`, `{"n":{"N":"0e126"}}`, `{"n":{"N":"."}}`, `{"n":{"N":""}}`,
	`{"s":{"SS":[]}}`, `{"s":{"NS":[]}}`, `{"s":{"BS":[]}}`, `{"s":{"SS":["a","b","a"]}}`, `{"s":{"NS":["1","1.0"]}}`, `{"s":{"BS":["AA==","AA=="]}}`, `{"s":{"SS":[""]}}`,
	`{"l":{"L":[{"M":{"x":{"NS":["1","x"]}}}]}}`, `{"x":{"NULL":false}}`, `{"x":{"M":{"":{"S":""}}}}`, `{"":{"S":"x"}}`,
	`{"gsi1pk":{"S":""}}`, `{"gsi1pk":{"N":"1"}}`, `{"lsi1sk":{"NULL":true}}`, `{"gsi1pk":{"S":"A"},"gsi1sk":{"S":"B"},"lsi1sk":{"S":"C"}}`,
	`{"x":` + strings.Repeat(`{"L":[`, 31) + `{"L":[]}` + strings.Repeat(`]}`, 31) + `}`,
	`{"x":` + strings.Repeat(`{"M":{"n":`, 32) + `{"S":""}` + strings.Repeat(`}}`, 32) + `}`,
}

// FuzzStoredItem stores arbitrary items. What is refused, the engine refuses too;
// what is accepted is stored and is read back as it was.
func FuzzStoredItem(f *testing.F) {
	for _, seed := range append(boundarySeeds, itemSeeds...) {
		f.Add(seed)
	}
	schema := appCore()
	schema.TTL = ""
	client := tabletest.Client(f)
	tbl := tabletest.NewWith(f, client, schema, options())
	f.Fuzz(func(t *testing.T, text string) {
		// The SDK sends what is not UTF-8 as U+FFFD.
		if !isObject(text) || !utf8.ValidString(text) {
			return
		}
		one, _, _ := answered(t, appCore(), answers(1, http.StatusOK, "", `{"Item":`+text+`}`))
		item, err := table.Get[table.Item](t.Context(), one, secret)
		if err != nil {
			return
		}
		item["pk"], item["sk"] = str(string(secret.PK)), str(string(secret.SK))
		sameVerdict(t, client, tbl, item)
	})
}

// sameVerdict stores an item, and compares with what the engine says to the SDK
// alone.
func sameVerdict(t *testing.T, client *dynamodb.Client, tbl *table.Table, item table.Item) {
	t.Helper()
	text := fmt.Sprint(plainValue(mapOf(item)))
	// Without it, the item of the run before could be the one that is found.
	must(t, tbl.Do(t.Context(), table.Delete(secret)))
	err := tbl.Do(t.Context(), table.Put(secret, item))
	wellFormed(t, "Put", err)
	if isRefusal(err) {
		_, direct := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tbl.Schema().Name), Item: item})
		long := func(name string) bool { _, text := table.KeyText(item[name]); return len(text) > keys.MaxSK }
		if !refusedByEngine(direct) && !lenient(mapOf(item)) && !long("gsi1pk") && !long("gsi1sk") && !long("lsi1sk") && !long("b") {
			t.Errorf("%s: the engine accepts it, we say %v", text, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	got, err := table.Get[table.Item](t.Context(), tbl.Consistent(), secret)
	must(t, err)
	if a, b := plainValue(mapOf(item)), plainValue(mapOf(got)); !reflect.DeepEqual(a, b) {
		t.Errorf("%s is read back otherwise:\n%s", text, cmp.Diff(a, b))
	}
}

// choices are the bytes that a generated value is made by; zeros at the end.
type choices []byte

func (c *choices) below(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := int((*c)[0])
	*c = (*c)[1:]
	return b % n
}

// number returns a text that is about a number: most have digits and an exponent
// close to the limits.
func (c *choices) number() string {
	if c.below(8) == 7 {
		return []string{"", "NaN", "-Infinity", "0x1", "1e", " 1", "+-1", "."}[c.below(8)]
	}
	sign := []string{"", "", "-", "+"}[c.below(4)]
	digits := strings.Repeat([]string{"0", "1", "9", "5"}[c.below(4)], []int{1, 2, 37, 38, 39, 40, 0, 125}[c.below(8)])
	zeros := strings.Repeat("0", []int{0, 0, 1, 88, 130}[c.below(5)])
	fraction := []string{"", "", ".", ".0", ".5", ".05", "." + zeros + "7"}[c.below(7)]
	exponent := []string{"", "", "e0", "E1", "e-1", "e87", "e88", "e89", "e125", "e126", "e-129", "e-130", "e-131", "e-168"}[c.below(14)]
	return sign + digits + zeros + fraction + exponent
}

func (c *choices) text() string {
	return []string{"", "a", "b", "A", "é", "\x00", strings.Repeat("x", 1024), strings.Repeat("x", 1025), strings.Repeat("x", 2049)}[c.below(9)]
}

func (c *choices) value(level int) types.AttributeValue {
	kind := c.below(11)
	if level > 34 {
		kind %= 7
	}
	switch kind {
	case 0:
		return str(c.text())
	case 1, 2:
		return num(c.number())
	case 3:
		return bin(c.text())
	case 4:
		return &types.AttributeValueMemberNULL{Value: c.below(4) > 0}
	case 5:
		s := &types.AttributeValueMemberSS{Value: []string{}}
		for range c.below(20) {
			s.Value = append(s.Value, c.text()+strings.Repeat("y", c.below(30)))
		}
		return s
	case 6:
		s := &types.AttributeValueMemberNS{Value: []string{}}
		for range c.below(20) {
			s.Value = append(s.Value, c.number())
		}
		return s
	case 7:
		return list()
	case 8:
		elements := make([]types.AttributeValue, c.below(4))
		for i := range elements {
			elements[i] = c.value(level + 1)
		}
		return list(elements...)
	case 9: // many levels at once
		inner := c.value(level + 30)
		for range c.below(34) {
			inner = list(inner)
		}
		return inner
	}
	m := map[string]types.AttributeValue{}
	for range c.below(4) {
		m[c.text()] = c.value(level + 1)
	}
	return mapOf(m)
}

// FuzzValue stores items made of values close to DynamoDB's limits, and has them
// stored by updates and compared by conditions.
func FuzzValue(f *testing.F) {
	for kind := range byte(11) {
		for choice := range byte(15) {
			f.Add([]byte{1, 1, kind, choice, choice, 3, choice, 2, choice, choice})
			f.Add([]byte{choice, 1, kind, 0, choice % 4, 1, choice, choice / 2, choice, 5, choice})
		}
	}
	schema := appCore()
	schema.TTL = ""
	schema.Indexes = append(schema.Indexes, table.Index{Name: "GSI2", PK: "n", PKType: types.ScalarAttributeTypeN, SK: "b", SKType: types.ScalarAttributeTypeB})
	client := tabletest.Client(f)
	tbl := tabletest.NewWith(f, client, schema, options())
	f.Fuzz(func(t *testing.T, data []byte) {
		c := choices(data)
		item := table.Item{"pk": str(string(secret.PK)), "sk": str(string(secret.SK))}
		for range 1 + c.below(3) {
			item[[]string{"v", "gsi1pk", "gsi1sk", "lsi1sk", "n", "b"}[max(0, c.below(24)-18)]] = c.value(1)
		}
		sameVerdict(t, client, tbl, item)
		for name, value := range item {
			if name == "pk" || name == "sk" {
				continue
			}
			attribute := expression.Name(name)
			for _, op := range []table.Op{
				table.Update(secret, expression.Set(attribute, expression.Value(value))),
				table.Update(secret, expression.Remove(expression.Name("x"))).If(expression.AttributeNotExists(expression.Name("x")).Or(attribute.NotEqual(expression.Value(value)))),
			} {
				if err := tbl.Do(t.Context(), op); err != nil && !isRefusal(err) {
					t.Errorf("%s = %v: %v", name, plainValue(value), err)
				}
			}
		}
	})
}

// farExponent finds numbers with an exponent of more than 32 bits.
var farExponent = regexp.MustCompile(`[eE][+-]?[0-9]{9,}$`)

// lenient reports whether a value holds what the engine accepts and AWS's
// documentation refuses: empty names and long ones, and numbers with exponents
// beyond those of the engine's arithmetic; or what the SDK leaves out: nil. The
// engine also accepts keys of indexes that are too long.
func lenient(value types.AttributeValue) bool {
	switch v := value.(type) {
	case nil:
		return true
	case *types.AttributeValueMemberN:
		return farExponent.MatchString(v.Value)
	case *types.AttributeValueMemberNS:
		return slices.ContainsFunc(v.Value, farExponent.MatchString)
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(v.Value, lenient)
	case *types.AttributeValueMemberM:
		for name, element := range v.Value {
			if name == "" || len(name) > 1<<16-1 || lenient(element) {
				return true
			}
		}
	case *types.UnknownUnionMember:
		return true
	}
	return false
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
