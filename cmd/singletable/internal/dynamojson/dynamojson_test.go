package dynamojson_test

import (
	"encoding/json"
	"strings"
	"testing"

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

const everything = `{"b":{"B":"AQI="},"bool":{"BOOL":false},"bs":{"BS":["AQ==","Ag=="]},` +
	`"l":{"L":[{"N":"1.50"},{"M":{"x":{"S":"<&>"}}}]},"m":{"M":{}},"n":{"N":"-12.5"},` +
	`"ns":{"NS":["1","2"]},"null":{"NULL":true},"s":{"S":""},"ss":{"SS":["a","b"]}}`

func TestEveryType(t *testing.T) {
	t.Parallel()
	for _, text := range []string{everything, `{"Item":` + everything + `,"readUnits":0.5}`} {
		item, err := dynamojson.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(everything, encode(t, item)); diff != "" {
			t.Error(diff)
		}
	}
}

func encode(t *testing.T, item table.Item) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(dynamojson.Item(item)); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
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
	for text, says := range map[string]string{
		"":                                   "unexpected EOF",
		"{":                                  "unexpected EOF",
		"[]":                                 "is not an object",
		"null":                               "is not an object",
		`{"a":"secret"}`:                     "a: is not an object",
		`{"a":{}}`:                           "a: is not a value with one type",
		`{"a":{"S":"secret","N":"1"}}`:       "a: is not a value with one type",
		`{"a":{"S":"secret"},"a":{"S":"b"}}`: `member "a" is there twice`,
		`{"a":{"M":{"b":{"S":"secret"},"b":{"S":"c"}}}}`: `a: member "b" is there twice`,
		`{"a":{"Q":"secret"}}`:                           "a: has no type of DynamoDB",
		`{"a":{"N":1}}`:                                  "a: is not a JSON string",
		`{"a":{"BOOL":"secret"}}`:                        "a: is not a JSON bool",
		`{"a":{"B":"%secret"}}`:                          "a: is not base64",
		`{"a":{"L":[{"S":"x"},{"SS":"secret"}]}}`:        "a[1]: is not an array",
		`{"a":{"S":"x"}} {`:                              "there is more after the item",
		`{"Item":{"a":{"Q":"secret"}}}`:                  "a: has no type of DynamoDB",
		`{"a":` + strings.Repeat(`{"M":{"a":`, 1000):     "is nested too deeply",
	} {
		item, err := dynamojson.Decode(text)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60s: %v, %v", text, item, err)
		}
	}
}

// FuzzDecode reads arbitrary text. What is read can be written and read again.
func FuzzDecode(f *testing.F) {
	f.Add(everything)
	f.Add(`{"Item":{"a":{"L":[{"NULL":true}]}}}`)
	f.Add(`{"a":{"S":"x","S":"y"}}`)
	f.Add(`{"a":{"B":""},"b":{"BS":[]},"c":{"L":[]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		item, err := dynamojson.Decode(text)
		if err != nil {
			return
		}
		first := encode(t, item)
		again, err := dynamojson.Decode(first)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, encode(t, again)); diff != "" {
			t.Error(diff)
		}
	})
}
