package dynamojson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/table"
)

// values are what go-cmp needs to compare items.
var values = cmpopts.IgnoreUnexported(
	types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{},
	types.AttributeValueMemberBOOL{}, types.AttributeValueMemberNULL{}, types.AttributeValueMemberSS{},
	types.AttributeValueMemberNS{}, types.AttributeValueMemberBS{}, types.AttributeValueMemberL{}, types.AttributeValueMemberM{},
)

// every has each type of value, and those values that are easy to lose.
var every = table.Item{
	"pk":      &types.AttributeValueMemberS{Value: "a\"\\\x00\x1f\u007f\u2028<é𝄞\ufffd"},
	"":        &types.AttributeValueMemberS{},
	"n":       &types.AttributeValueMemberN{Value: "-" + strings.Repeat("9", 38) + strings.Repeat("0", 88)},
	"long":    &types.AttributeValueMemberN{Value: "12345678901234567890123456789012345678"},
	"b":       &types.AttributeValueMemberB{Value: []byte{0, 255, 10}},
	"empty":   &types.AttributeValueMemberB{Value: []byte{}},
	"yes":     &types.AttributeValueMemberBOOL{Value: true},
	"null":    &types.AttributeValueMemberNULL{Value: true},
	"ss":      &types.AttributeValueMemberSS{Value: []string{"", "x"}},
	"ns":      &types.AttributeValueMemberNS{Value: []string{"0.1", "1"}},
	"bs":      &types.AttributeValueMemberBS{Value: [][]byte{{}, {1}}},
	"l":       &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberL{Value: []types.AttributeValue{}}}},
	"m":       &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"é": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}}},
	"\"q\\\"": &types.AttributeValueMemberBOOL{},
}

func TestEveryValueComesBack(t *testing.T) {
	t.Parallel()
	text, err := dynamojson.Append(nil, every)
	if err != nil {
		t.Fatal(err)
	}
	line := `{"Item":` + string(text) + `}`
	viaJSON := func(text string) (table.Item, error) {
		var item dynamojson.Item
		err := json.Unmarshal([]byte(text), &item)
		return table.Item(item), err
	}
	for name, read := range map[string]func() (table.Item, error){
		"attributes": func() (table.Item, error) { return dynamojson.Decode(string(text)) },
		"with more": func() (table.Item, error) {
			return dynamojson.Decode(`{"a":[{}],"Item":` + string(text) + `,"readUnits":0.5}`)
		},
		"a line":       func() (table.Item, error) { return dynamojson.DecodeLine([]byte(line)) },
		"package json": func() (table.Item, error) { return viaJSON(encode(t, dynamojson.Item(every))) },
		"the SDK": func() (table.Item, error) {
			item, err := attributevalue.UnmarshalMapJSON(text)
			return table.Item(item), err
		},
	} {
		item, err := read()
		if diff := cmp.Diff(every, item, values); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// encode returns a value as package json writes it.
func encode(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func TestText(t *testing.T) {
	t.Parallel()
	set := &types.AttributeValueMemberSS{Value: []string{"b", "a"}}
	for want, v := range map[string]any{
		`{"s":{"SS":["a","b"]},"t":{"S":"<&>\n\t\u000d"}}`: dynamojson.Item{"t": &types.AttributeValueMemberS{Value: "<&>\n\t\r"}, "s": set},
		`{"SS":["a","b"]}`: dynamojson.Value{AttributeValue: set},
		`[null,null]`:      []any{dynamojson.Item(nil), dynamojson.Value{}},
		`{"b":{"B":""},"bs":{"BS":[]},"l":{"L":[]},"m":{"M":{}}}`: dynamojson.Item{ // never null
			"b": &types.AttributeValueMemberB{}, "bs": &types.AttributeValueMemberBS{},
			"l": &types.AttributeValueMemberL{}, "m": &types.AttributeValueMemberM{},
		},
	} {
		if got := encode(t, v); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if set.Value[0] != "b" {
		t.Error("the set was changed")
	}
	list := &types.AttributeValueMemberL{Value: []types.AttributeValue{nil, set}}
	for _, v := range []types.AttributeValue{nil, list, &types.UnknownUnionMember{}} {
		if text, err := dynamojson.Append(nil, table.Item{"a": v}); err == nil {
			t.Errorf("a value that is none is %s", text)
		}
	}
}

// An attribute may have the name of the envelope's member.
func TestAttributeCalledItem(t *testing.T) {
	t.Parallel()
	item, err := dynamojson.Decode(`{"pk":{"S":"A"},"Item":{"S":"x"}}`)
	if diff := cmp.Diff(table.Item{
		"pk": &types.AttributeValueMemberS{Value: "A"}, "Item": &types.AttributeValueMemberS{Value: "x"},
	}, item, values); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	deep := func(begin, end, inner string) string {
		return strings.Repeat(begin, 100) + inner + strings.Repeat(end, 100)
	}
	for text, says := range map[string]string{
		"":                                   "is not JSON, or was cut off",
		"{":                                  "is not JSON, or was cut off",
		"x":                                  "is not JSON, or was cut off",
		`{"a":{"S":"secret"}`:                "is not JSON, or was cut off",
		`{"a":{"S":"secre`:                   "is not JSON, or was cut off",
		"{\"a\":{\"S\":\"secret\xff\"}}":     "is not UTF-8",
		`{"a":{"S":"\ud800"}}`:               "half of a surrogate pair",
		`{"a":{"S":"\udc00\ud800"}}`:         "half of a surrogate pair",
		`{"a":{"S":"\ud834x\udd1e"}}`:        "half of a surrogate pair",
		"[]":                                 "is not an object",
		"null":                               "is not an object",
		`[{"a":{"S":"secret"}}]`:             "is not an object",
		`{"a":"secret"}`:                     "a: is not an object",
		`{"a":{}}`:                           "a: is not a value with one type",
		`{"a":{"S":"secret","N":"1"}}`:       "a: is not a value with one type",
		`{"a":{"S":"secret","S":"secret"}}`:  "a: is not a value with one type",
		`{"a":{"S":"secret"},"a":{"S":"b"}}`: `member "a" is there twice`,
		`{"a":{"M":{"b":{"S":"secret"},"b":{"S":"c"}}}}`:     `a: member "b" is there twice`,
		`{"a":{"Q":"secret"}}`:                               "a: has no type of DynamoDB",
		`{"a":{"N":1}}`:                                      "a: is not a JSON string",
		`{"a":{"S":null}}`:                                   "a: is not a JSON string",
		`{"a":{"BOOL":"secret"}}`:                            "a: is not a JSON bool",
		`{"a":{"NULL":"true"}}`:                              "a: is not a JSON bool",
		`{"a":{"B":"%secret"}}`:                              "a: is not base64",
		`{"a":{"B":"YR=="}}`:                                 "a: is not base64", // bits that are lost
		`{"a":{"SS":{}}}`:                                    "a: is not an array",
		`{"a":{"L":["secret"]}}`:                             "a[0]: is not an object",
		`{"a":{"L":[{"S":"x"},{"SS":"secret"}]}}`:            "a[1]: is not an array",
		`{"a":{"L":[{"M":{"b":{"Q":"secret"}}}]}}`:           "a[0].b: has no type of DynamoDB",
		`{"a":{"S":"x"}} {`:                                  "there is more after the item",
		`{"Item":{"a":{"Q":"secret"}}}`:                      "a: has no type of DynamoDB",
		`{"Item":{"a":{"S":"x"}},"Item":{}}`:                 `member "Item" is there twice`,
		`{"a":` + deep(`{"L":[`, `]}`, "") + `}`:             "is nested deeper",
		`{"a":` + deep(`{"M":{"a":`, `}}`, `{"S":""}`) + `}`: "is nested deeper",
	} {
		if item, err := dynamojson.Decode(text); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60s: %v, %v", text, item, err)
		}
		if item, err := dynamojson.DecodeLine([]byte(`{"Item":` + text + `}`)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("in a line: %.60s: %v, %v", text, item, err)
		}
	}
	if _, err := dynamojson.Decode(`{"a":{"S":"\ud834\udd1e\\ud800"}}`); err != nil {
		t.Errorf("a pair, and text that looks like half of one: %v", err)
	}
}

// TestPlaces reads texts that are wrong in one place.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"": "line 1, column 1: is not JSON",
		"{\n  \"a\": {\"S\": \"x\"},\n  \"b\": {\"S\" \"x\"}\n}": "line 3, column 13: is not JSON",
		"{\n  \"a\": {\"S\": \"x\"},\n":                          "line 3, column 1: is not JSON",
		"{\n  \"é\": {\"S\": \"é\"}, \"b\": {\"N\": 1}\n}":       "line 2, column 31: b: is not a JSON string",
		"{\n  \"a\": \"x\"\n}":                                   "line 2, column 8: a: is not an object",
		"{\"a\": {\"M\": {\n\"b\": {\"Q\": \"x\"}}}}":            `line 2, column 7: a.b: has no type of DynamoDB`,
		"{\"a\": {\"S\": \"x\"},\n \"a\": {\"S\": \"y\"}}":       `line 2, column 2: member "a" is there twice`,
		"{\"Item\": {\n\"a\": {\"BOOL\": 1}}}":                   "line 2, column 15: a: is not a JSON bool",
		"{\"a\": {\"S\": \"x\"}}\n {}":                           "line 2, column 2: there is more after the item",
		"{\"a\":\n{\"S\": \"\xff\"}}":                            "line 2, column 8: is not UTF-8",
		"{\"a\":\n{\"S\": \"x\\ud800\"}}":                        "line 2, column 9: is not UTF-8, or has half",
	} {
		if _, err := dynamojson.Decode(text); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`{"Item":{"a":{"S":"secret"}}`:           "is not JSON, or was cut off",
		`{"Item":{"a":{"S":"secret"}}} {}`:       "there is more after the item",
		`{"Item":{"a":{"S":"secret"}},"Line":1}`: `is not {"Item":{…}}`,
		`{"Line":1,"Item":{"a":{"S":"secret"}}}`: `is not {"Item":{…}}`,
		`{"Keys":{"a":{"S":"secret"}}}`:          `is not {"Item":{…}}`,
		`{"a":{"S":"secret"}}`:                   `is not {"Item":{…}}`,
		`[{"Item":{"a":{"S":"secret"}}}]`:        `is not {"Item":{…}}`,
		`{}`:                                     `is not {"Item":{…}}`,
		`{"Item":{"a":{"B":"secret"}}}`:          "a: is not base64",
	} {
		if item, err := dynamojson.DecodeLine([]byte(text)); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", text, item, err)
		}
	}
	if item, err := dynamojson.DecodeLine([]byte(` { "Item" : {} } `)); err != nil || item == nil {
		t.Errorf("spaces: %v", err)
	}
}

// FuzzDecode reads arbitrary text. What is read is written in one form, which gives the
// same item.
func FuzzDecode(f *testing.F) {
	text, err := dynamojson.Append(nil, every)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`{"Item":{"a":{"L":[{"NULL":true}]},"s":{"S":"\ud834\udd1e"}}}`)
	f.Add(`{"a":{"S":"x","S":"y"}}`)
	f.Add(`{"a":{"B":""},"b":{"BS":[]},"c":{"L":[]},"n":{"N":"x"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		item, err := dynamojson.Decode(text)
		if line, err := dynamojson.DecodeLine([]byte(text)); err == nil {
			item = line // An attribute can be called Item.
		}
		if item == nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q was read: %v", text, err)
		}
		first := encode(t, dynamojson.Item(item))
		again, err := dynamojson.Decode(first)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, encode(t, dynamojson.Item(again))); diff != "" {
			t.Error(diff)
		}
	})
}
