package codec

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// JSON returns a valid item as DynamoDB's JSON has it. Names and the elements of sets are
// sorted, so that equal items give equal text.
func JSON(item map[string]types.AttributeValue) json.RawMessage {
	text, _ := AppendJSON(nil, item) // it is valid
	return text
}

// AppendJSON is [JSON] for any item. It returns an error for a value that DynamoDB does
// not have.
func AppendJSON(b []byte, item map[string]types.AttributeValue) (text []byte, err error) {
	b = append(b, '{')
	for i, name := range SortedNames(item) {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = appendText(b, name)
		if b, err = AppendValueJSON(append(b, ':'), item[name]); err != nil {
			return b, fmt.Errorf("attribute %q: %w", name, err)
		}
	}
	return append(b, '}'), nil
}

// AppendValueJSON is [AppendJSON] for a value.
func AppendValueJSON(b []byte, value types.AttributeValue) (text []byte, err error) {
	p := PartsOf(value).sorted()
	b = append(append(append(b, `{"`...), p.Kind.String()...), `":`...)
	switch p.Kind {
	case S, N:
		b, _ = appendText(b, p.Text)
	case B:
		b = appendBinary(b, p.Bytes)
	case BOOL, NULL:
		b = strconv.AppendBool(b, p.Bool)
	case SS, NS:
		b, err = appendElements(b, p.Texts, func(b []byte, s string) ([]byte, error) { b, _ = appendText(b, s); return b, nil })
	case BS:
		b, err = appendElements(b, p.Blobs, func(b, e []byte) ([]byte, error) { return appendBinary(b, e), nil })
	case L:
		b, err = appendElements(b, p.List, AppendValueJSON)
	case M:
		b, err = AppendJSON(b, p.Map)
	default:
		err = fmt.Errorf("a %T is no value of DynamoDB", value)
	}
	return append(b, '}'), err
}

func appendElements[E any](b []byte, all []E, add func([]byte, E) ([]byte, error)) (text []byte, err error) {
	b = append(b, '[')
	for i, e := range all {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = add(b, e); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func appendBinary(b, value []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), value), '"')
}
