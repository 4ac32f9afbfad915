package item

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// JSON returns a valid item as DynamoDB's JSON has it. Names and the elements of sets are
// sorted, so that equal items give equal text.
func JSON(item map[string]types.AttributeValue) json.RawMessage { return appendItem(nil, item) }

func appendItem(b []byte, item map[string]types.AttributeValue) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(item)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(append(appendString(b, name), ':'), item[name])
	}
	return append(b, '}')
}

func appendValue(b []byte, value types.AttributeValue) []byte {
	p := ValueOf(value).sorted()
	b = append(append(append(b, `{"`...), p.Kind.String()...), `":`...)
	switch p.Kind {
	case S, N:
		b = appendString(b, p.Text)
	case B:
		b = appendBinary(b, p.Bytes)
	case BOOL, NULL:
		b = strconv.AppendBool(b, p.Bool)
	case SS, NS:
		b = appendElements(b, p.Texts, appendString)
	case BS:
		b = appendElements(b, p.Blobs, appendBinary)
	case L:
		b = appendElements(b, p.List, appendValue)
	case M:
		b = appendItem(b, p.Map)
	}
	return append(b, '}')
}

func appendElements[E any](b []byte, all []E, add func([]byte, E) []byte) []byte {
	b = append(b, '[')
	for i, e := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = add(b, e)
	}
	return append(b, ']')
}

func appendString(b []byte, s string) []byte {
	b, _ = appendText(b, s) // it is UTF-8
	return b
}

func appendBinary(b, value []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), value), '"')
}
