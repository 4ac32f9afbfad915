package lines

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// Append appends the line of an item, with its line end. Attributes are in order of
// their names, so that equal items have equal lines.
//
// Errors: a value that is none of DynamoDB's types.
func Append(b []byte, item table.Item) ([]byte, error) {
	b, err := AppendItem(append(b, `{"Item":`...), item)
	return append(b, "}\n"...), err
}

// AppendItem appends an item as an object of attributes in DynamoDB's JSON.
func AppendItem(b []byte, item table.Item) ([]byte, error) {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(item)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		var err error
		if b, err = appendValue(b, item[name]); err != nil {
			return b, fmt.Errorf("attribute %q: %w", name, err)
		}
	}
	return append(b, '}'), nil
}

func appendValue(b []byte, value types.AttributeValue) ([]byte, error) {
	var err error
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		b = appendString(append(b, `{"S":`...), v.Value)
	case *types.AttributeValueMemberN:
		b = appendString(append(b, `{"N":`...), v.Value)
	case *types.AttributeValueMemberB:
		b = appendBinary(append(b, `{"B":`...), v.Value)
	case *types.AttributeValueMemberBOOL:
		b = strconv.AppendBool(append(b, `{"BOOL":`...), v.Value)
	case *types.AttributeValueMemberNULL:
		b = strconv.AppendBool(append(b, `{"NULL":`...), v.Value)
	case *types.AttributeValueMemberSS:
		b = appendAll(append(b, `{"SS":`...), v.Value, appendString)
	case *types.AttributeValueMemberNS:
		b = appendAll(append(b, `{"NS":`...), v.Value, appendString)
	case *types.AttributeValueMemberBS:
		b = appendAll(append(b, `{"BS":`...), v.Value, appendBinary)
	case *types.AttributeValueMemberL:
		b = appendAll(append(b, `{"L":`...), v.Value, func(b []byte, element types.AttributeValue) []byte {
			b, failed := appendValue(b, element)
			if err == nil {
				err = failed
			}
			return b
		})
	case *types.AttributeValueMemberM:
		b, err = AppendItem(append(b, `{"M":`...), v.Value)
	default:
		return b, fmt.Errorf("a %T is no value of DynamoDB", value)
	}
	return append(b, '}'), err
}

func appendAll[T any](b []byte, all []T, add func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = add(b, v)
	}
	return append(b, ']')
}

func appendBinary(b, value []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), value), '"')
}

// appendString appends text that is UTF-8, as all text in DynamoDB is.
func appendString(b []byte, text string) []byte {
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
