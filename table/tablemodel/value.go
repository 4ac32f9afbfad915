package tablemodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// numberPrecision is enough bits for the 38 digits of a DynamoDB number.
const numberPrecision = 256

// number returns the value of a number attribute, nil for other text.
func number(text string) *big.Float {
	f, _, err := big.ParseFloat(text, 10, numberPrecision, big.ToNearestEven)
	if err != nil || f.IsInf() {
		return nil
	}
	return f
}

// text returns a value as people read it.
func text(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("0x%x", v.Value)
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberL:
		return "[" + join(v.Value, text) + "]"
	case *types.AttributeValueMemberM:
		names := slices.Sorted(maps.Keys(v.Value))
		return "{" + join(names, func(name string) string { return name + ": " + text(v.Value[name]) }) + "}"
	case *types.AttributeValueMemberSS:
		return "{" + strings.Join(slices.Sorted(slices.Values(v.Value)), ", ") + "}"
	case *types.AttributeValueMemberNS:
		return "{" + strings.Join(slices.Sorted(slices.Values(v.Value)), ", ") + "}"
	case *types.AttributeValueMemberBS:
		return "{" + join(sortedBytes(v.Value), func(b []byte) string { return fmt.Sprintf("0x%x", b) }) + "}"
	default:
		return "?"
	}
}

func join[T any](values []T, text func(T) string) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = text(v)
	}
	return strings.Join(texts, ", ")
}

// sortedBytes gives sets an order, since DynamoDB keeps none.
func sortedBytes(set [][]byte) [][]byte { return slices.SortedFunc(slices.Values(set), bytes.Compare) }

// shorten cuts a text that is longer than so many characters; a negative number
// cuts nothing.
func shorten(s string, length int) string {
	if length < 0 || utf8.RuneCountInString(s) <= length {
		return s
	}
	return string([]rune(s)[:length]) + "…"
}

// jsonValue returns a value in the JSON form of the DynamoDB API: {"S": "text"}.
// Sets are sorted.
func jsonValue(v types.AttributeValue) map[string]any {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = jsonValue(e)
		}
		return map[string]any{"L": list}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": jsonItem(v.Value)}
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": slices.Sorted(slices.Values(v.Value))}
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": slices.Sorted(slices.Values(v.Value))}
	case *types.AttributeValueMemberBS:
		return map[string]any{"BS": sortedBytes(v.Value)}
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	default:
		return map[string]any{"NULL": true}
	}
}

func jsonItem(item map[string]types.AttributeValue) map[string]any {
	m := make(map[string]any, len(item))
	for name, v := range item {
		m[name] = jsonValue(v)
	}
	return m
}

// document returns v as indented JSON that ends with a newline.
func document(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
