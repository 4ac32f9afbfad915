package item_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/item"
)

// values are attributes of every type, plain and odd.
var values = []string{
	`{"S":"text"}`, `{"S":""}`, `{"S":"12"}`, `{"S":"-7"}`, `{"S":"true"}`, `{"S":"a\"\\\/\b\f\n\r\t\u0041\ud83d\ude00\ud83d"}`,
	`{"S":"2024-02-29T12:00:00Z"}`, `{"S":"2024-02-29T12:00:00.123456789+02:00"}`, `{"S":"2024-02-30T12:00:00Z"}`,
	`{"S":"` + strings.Repeat("long ", 100) + `"}`, `{"S":"žluťoučký"}`,
	`{"N":"0"}`, `{"N":"12"}`, `{"N":"-12"}`, `{"N":"127"}`, `{"N":"128"}`, `{"N":"-129"}`, `{"N":"255"}`, `{"N":"256"}`,
	`{"N":"65536"}`, `{"N":"4294967296"}`, `{"N":"9223372036854775807"}`, `{"N":"9223372036854775808"}`,
	`{"N":"18446744073709551615"}`, `{"N":"18446744073709551616"}`, `{"N":"1.5"}`, `{"N":"-1.5"}`, `{"N":"1E3"}`,
	`{"N":"9.9999999999999999999999999999999999999E125"}`, `{"N":"1E-130"}`, `{"N":"12345678901234567890123456789012345678"}`,
	`{"N":"1E400"}`, `{"N":"16777217"}`, `{"N":"1700000000"}`, `{"N":"NaN"}`, `{"N":"0x10"}`, `{"N":""}`, `{"N":"+1"}`,
	`{"B":""}`, `{"B":"AQID"}`, `{"B":"AQIDBA=="}`, `{"BOOL":true}`, `{"BOOL":false}`, `{"NULL":true}`, `{"NULL":false}`,
	`{"SS":["a","b"]}`, `{"SS":[]}`, `{"SS":["1","2","3"]}`, `{"NS":["1","-2","3.5"]}`, `{"NS":["1","2"]}`, `{"NS":[]}`, `{"NS":["x"]}`,
	`{"BS":["AQID","BA=="]}`, `{"BS":[]}`,
	`{"L":[]}`, `{"L":[{"S":"a"},{"S":"b"},{"S":"c"}]}`, `{"L":[{"N":"1"},{"N":"2"}]}`, `{"L":[{"S":"a"},{"NULL":true},{"N":"3"}]}`,
	`{"L":[{"B":"AQ=="},{"B":""}]}`, `{"L":[{"BOOL":true},{"L":[{"M":{"x":{"S":"y"}}}]}]}`, `{"L":[{"L":[]},{"L":[{"L":[]}]}]}`,
	`{"L":[{"M":{"ID":{"S":"1"},"name":{"S":"n"}}},{"M":{}},{"NULL":true}]}`, `{"L":[{"NULL":true}]}`, `{"L":[{"NS":["1"]}]}`,
	`{"M":{}}`, `{"M":{"ID":{"S":"1"},"name":{"S":"n"},"At":{"N":"5"}}}`, `{"M":{"a":{"S":"1"},"b":{"S":"2"}}}`,
	`{"M":{"id":{"S":"1"},"NAME":{"S":"n"},"At":{"S":"x"}}}`, `{"M":{"1":{"S":"1"},"2":{"S":"2"}}}`, `{"M":{"true":{"N":"1"}}}`,
	`{"M":{"a-b":{"N":"1"}}}`, `{"M":{"a":{"NULL":true},"b":{"M":{"c":{"L":[]}}}}}`, `{"M":{"a":{"NS":["1","2"]},"b":{"SS":["x"]},"c":{"BS":[""]}}}`,
	`{"M":{"Value":{"N":"1"},"Children":{"L":[{"M":{"Value":{"N":"2"},"Parent":{"M":{"Value":{"N":"3"}}}}}]},"Any":{"M":{"x":{"N":"1"}}}}}`,
	`{"M":{"a":{"BOOL":true},"ID":{"BOOL":true}}}`, `{"M":{"":{"S":"no name"}}}`, `{"M":{"a\u0062":{"S":"1"}}}`,
}

// tags are those whose options matter when decoding, and some that do not.
var tags = []string{"", ",string", ",unixtime", ",string,unixtime", ",omitempty,nullempty,omitemptyelem,stringset", ",unknown, string"}

// Every kind of field with every kind of attribute, by every tag.
func TestDecodeField(t *testing.T) {
	t.Parallel()
	all := reflect.TypeFor[everything]()
	for i := range all.NumField() {
		f := all.Field(i)
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			for _, tag := range tags {
				shape := reflect.StructOf([]reflect.StructField{
					{Name: "A", Type: reflect.TypeFor[string]()},
					{Name: "F", Type: f.Type, Tag: reflect.StructTag(fmt.Sprintf("dynamodbav:%q", tag))},
					{Name: "Z", Type: reflect.TypeFor[int]()},
				})
				for _, value := range values {
					items := []string{`{"A":{"S":"a"},"F":` + value + `,"Z":{"N":"1"}}`}
					if tag == "" {
						items = append(items, `{"Z":{"N":"2"},"F":`+value+`,"u":{"S":"unknown"},"A":{"N":"1"}}`)
					}
					checkDecode(t, shape, []string{"F", "A"}, items...)
				}
			}
		})
	}
}

// Every type with every map as the item.
func TestDecodeItem(t *testing.T) {
	t.Parallel()
	whole := append([]reflect.Type{
		reflect.TypeFor[*Base](), reflect.TypeFor[**Base](), reflect.TypeFor[map[string]string](), reflect.TypeFor[map[string]any](),
		reflect.TypeFor[attributes](), reflect.TypeFor[*loud](), reflect.TypeFor[map[string]Base](), reflect.TypeFor[map[string]loud](),
		reflect.TypeFor[*bag](), reflect.TypeFor[map[string][]string](), reflect.TypeFor[map[string]map[string]int](),
	}, pool...)
	items := []string{
		`{"ID":{"S":"1"},"Name":{"S":"n"},"name":{"S":"m"},"Extra":{"N":"4"},"At":{"S":"2024-02-29T12:00:00Z"}}`,
		`{"base":{"M":{"ID":{"S":"1"}}},"Base":{"M":{"ID":{"S":"2"}}},"h":{"M":{"Inside":{"S":"i"}}},"Own":{"S":"o"}}`,
		`{"Own":{"S":"o"},"Inside":{"S":"i"},"N":{"N":"1"}}`, `{"Own":{"S":"o"}}`, `{"Inside":{"NULL":true}}`,
		`{"secret":{"S":"s"}}`, `{"Public":{"S":"p"}}`, `{"Stringer":{"S":"s"}}`, `{"UnixTime":{"N":"1"}}`, `{"Time":{"N":"1"}}`,
		`{"x":{"S":"x"},"C":{"S":"c"},"X":{"S":"X"},"B":{"S":"b"}}`, `{"V":{"S":"v"},"Loop":{"M":{"V":{"S":"w"}}}}`,
		`{"Name":{"S":"N"}}`, `{"NAME":{"S":"folded"}}`, `{"iD":{"S":"folded"}}`, `{"ID":{"N":"5"}}`, `{"ID":{"BOOL":true}}`,
		`{"ID":{"BOOL":true},"At":{"BOOL":true}}`, `{"At":{"L":[]},"name":{"S":"after"}}`,
	}
	for _, value := range values {
		if m, ok := strings.CutPrefix(value, `{"M":`); ok {
			items = append(items, strings.TrimSuffix(m, "}"))
		}
	}
	for _, typ := range whole {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			checkDecode(t, typ, nil, items...)
			checkDecode(t, typ, []string{"ID", "name", "x"}, items...)
		})
	}
}

// An attribute with the exact name wins over what folds to it, wherever it is.
func TestDecodeExactNameFirst(t *testing.T) {
	t.Parallel()
	type folds struct {
		Lower string `dynamodbav:"name"`
		Upper string `dynamodbav:"NAME"`
	}
	checkDecode(t, reflect.TypeFor[folds](), []string{"NAME"},
		`{"name":{"S":"l"},"NAME":{"S":"u"}}`, `{"NAME":{"S":"u"},"name":{"S":"l"}}`, `{"NAME":{"S":"u"}}`)
}

// So it does for one field: the other attribute is another program's, and may be of a
// type that the field does not take. attributevalue reads either, by chance.
func TestDecodeOwnNameFirst(t *testing.T) {
	t.Parallel()
	type inner struct{ City string }
	type value struct {
		Name  string `dynamodbav:"name"`
		Count int    `dynamodbav:"count"`
		Any   any    `dynamodbav:"any"`
		Inner inner  `dynamodbav:"inner"`
	}
	own := []string{`"name":{"S":"own"}`, `"any":{"S":"own"}`, `"inner":{"M":{"City":{"S":"own"}}}`}
	theirs := []string{`"Name":{"N":"7"}`, `"NAME":{"S":"theirs"}`, `"COUNT":{"N":"1"}`, `"Any":{"M":{}}`, `"INNER":{"M":{"City":{"S":"theirs"}}}`}
	want := value{Name: "own", Count: 1, Any: "own", Inner: inner{"own"}} // count has no attribute of its own
	var items []string
	for _, members := range [][]string{
		slices.Concat(own, theirs), slices.Concat(theirs, own), slices.Concat(theirs[:2], own, theirs[2:]), slices.Concat(own, theirs),
	} {
		items = append(items, "{"+strings.Join(members, ",")+"}")
	}
	r := item.NewParser([]byte("[" + strings.Join(items, ",") + "]"))
	d := item.NewDecoder(reflect.TypeFor[value](), nil)
	ok := r.Array(func(i int) bool {
		v := reflect.New(reflect.TypeFor[value]())
		refusal, ok := d.Decode(r, v.Elem())
		if diff := cmp.Diff(want, v.Elem().Interface()); refusal != nil || diff != "" {
			t.Errorf("%s: %v, (-want +got):\n%s", items[i], refusal, diff)
		}
		m, err := sdkItem(items[i])
		if err != nil {
			t.Error(err)
		}
		for range 20 { // in the orders of a map
			var got value
			err := item.Decode(&types.AttributeValueMemberM{Value: m}, &got)
			if diff := cmp.Diff(want, got); err != nil || diff != "" || len(m) != len(own)+len(theirs) {
				t.Fatalf("%s from %d attributes: %v, (-want +got):\n%s", items[i], len(m), err, diff)
			}
		}
		return ok
	})
	if !ok || !r.End() {
		t.Errorf("not read to the end: %v", items)
	}
}

// Options keep their meaning on the embedded struct's own fields, and what is
// given to attributevalue gets them as well.
func TestDecodeOptions(t *testing.T) {
	t.Parallel()
	type Inner struct {
		Text  *int                     `dynamodbav:"text,string"`
		Texts []int                    `dynamodbav:",string"`
		Unix  time.Time                `dynamodbav:",unixtime"`
		PUnix **time.Time              `dynamodbav:",unixtime"`
		Named instant                  `dynamodbav:"named,unixtime"`
		Any   any                      `dynamodbav:",string"`
		Pany  *any                     `dynamodbav:",string"`
		Num   attributevalue.Number    `dynamodbav:",string"`
		JSON  *json.Number             `dynamodbav:",string"`
		Loud  loud                     `dynamodbav:",string"`
		Map   map[string]time.Duration `dynamodbav:",string"`
	}
	type outer struct {
		*Inner
		Own Inner
	}
	for _, value := range values {
		var item []string
		for _, name := range []string{"text", "Texts", "Unix", "PUnix", "named", "Any", "Pany", "Num", "JSON", "Loud", "Map"} {
			checkDecode(t, reflect.TypeFor[outer](), nil, `{"`+name+`":`+value+`}`, `{"Own":{"M":{"`+name+`":`+value+`}}}`)
			item = append(item, `"`+name+`":`+value)
		}
		checkDecode(t, reflect.TypeFor[Inner](), []string{"Any"}, `{`+strings.Join(item, ",")+`}`)
	}
}

// What is decoded stays as it is when the response's memory is used again.
func TestDecodeDoesNotAlias(t *testing.T) {
	t.Parallel()
	check := func(typ reflect.Type) {
		body := []byte(`{"a":` + sampleItem + `,"long":{"Text":{"S":"` + strings.Repeat("long ", 200) + `"},"Esc":{"S":"\u0041` + strings.Repeat("b", 300) + `"}}}`)
		r := item.NewParser(body)
		d := item.NewDecoder(typ, []item.Watched{{Name: "Text"}, {Name: "Bytes"}})
		var got, want []reflect.Value
		r.Object(func([]byte) bool {
			from := r.Pos()
			v := reflect.New(typ).Elem()
			if refusal, ok := d.Decode(r, v); refusal != nil || !ok {
				t.Errorf("%v: %v, %v", typ, refusal, ok)
			}
			m, err := sdkItem(string(body[from:r.Pos()]))
			if err != nil {
				t.Error(err)
			}
			got, want = append(got, v), append(want, reflect.ValueOf(theirDecode(typ, m).value))
			return true
		})
		for i := range body {
			body[i] = '#'
		}
		if len(got) != 2 {
			t.Fatalf("%v: %d items", typ, len(got))
		}
		for i := range got {
			if diff := cmp.Diff(want[i].Interface(), got[i].Interface(), exactly); diff != "" {
				t.Errorf("%v (-theirs +ours):\n%s", typ, diff)
			}
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[struct {
		sample
		Esc any
		Raw map[string]int
	}](), reflect.TypeFor[any](), reflect.TypeFor[attributes](), reflect.TypeFor[attrs]()} {
		check(typ)
	}
}

// Texts that items have in common are taken from the item before. What differs in its
// beginning, its end, its kind or its escapes is another text.
func TestDecodeRepeatedText(t *testing.T) {
	t.Parallel()
	type named string
	type record struct {
		A, B string
		N    named
		P    *string
		T    time.Time
		Any  any
	}
	const plain = `{"A":{"S":"open"},"B":{"S":"same in all"},"N":{"S":"x"},"P":{"S":"p"},"T":{"S":"2024-01-15T10:00:00Z"},"Any":{"S":"any"},"watched":{"S":"w"}}`
	with := func(oldNew ...string) string { return strings.NewReplacer(oldNew...).Replace(plain) }
	items := []string{
		plain, plain, plain,
		with("open", "opened"), with("open", "ope"), with("open", ""), with(`"open"`, `"ope\u006e"`), with(`"open"`, `"open\n"`),
		plain, plain,
		with(`{"S":"open"}`, `{"N":"1"}`), with(`{"S":"open"}`, `{"NULL":true}`), plain,
		with(`{"S":"open"}`, `{ "S" : "open" }`), with(`"open"}`, `"open" }`), plain,
		with("w", "other"), with(`,"watched":{"S":"w"}`, ""), plain,
		`{"B":{"S":"same in all"},"A":{"S":"same in all"}}`, plain,
	}
	for i := range 10 { // more than are compared
		items = append(items, with("open", fmt.Sprint("open", i)))
	}
	items = append(items, items[len(items)-1], plain, plain)
	for cut := range items {
		checkDecode(t, reflect.TypeFor[record](), []string{"watched", "A"}, items[cut:]...)
		checkDecode(t, reflect.TypeFor[struct{ B string }](), []string{"A"}, items[cut:]...)
	}
}
