package tablemodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// text returns a value as people read it.
func text(v types.AttributeValue) string {
	switch p := item.ValueOf(v); p.Kind {
	case item.S, item.N:
		return p.Text
	case item.B:
		return fmt.Sprintf("0x%x", p.Bytes)
	case item.BOOL:
		return strconv.FormatBool(p.Bool)
	case item.NULL:
		return "null"
	case item.L:
		return "[" + join(p.List, text) + "]"
	case item.M:
		return "{" + join(slices.Sorted(maps.Keys(p.Map)), func(name string) string { return name + ": " + text(p.Map[name]) }) + "}"
	case item.SS, item.NS:
		return "{" + strings.Join(slices.Sorted(slices.Values(p.Texts)), ", ") + "}"
	case item.BS:
		return "{" + join(slices.SortedFunc(slices.Values(p.Blobs), bytes.Compare), func(b []byte) string { return fmt.Sprintf("0x%x", b) }) + "}"
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

// shorten cuts a text that is longer than so many characters; a negative number
// cuts nothing.
func shorten(s string, length int) string {
	if length < 0 || utf8.RuneCountInString(s) <= length {
		return s
	}
	return string([]rune(s)[:length]) + "…"
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

// object is an object of JSON. Its members are written in the order of their names.
type object map[string]any

// settings returns v, which has JSON, as an object without the members that are null, false
// or empty.
func settings(v any) object {
	text, _ := json.Marshal(v)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var all map[string]any
	_ = decoder.Decode(&all)
	unset(all)
	return all
}

// unset reports whether a value is null, false or empty once members that are unset
// have been deleted from it.
func unset(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, member any) bool { return unset(member) })
		return len(v) == 0
	case []any:
		for _, element := range v {
			unset(element)
		}
		return len(v) == 0
	}
	return v == nil || v == false || v == ""
}
