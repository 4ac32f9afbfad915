package dynamojson

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// Append appends an item in one line. Names and the members of sets are sorted, so that
// equal items give equal text.
//
// Errors: a value of a type that DynamoDB does not have.
func Append(b []byte, item table.Item) ([]byte, error) {
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
		b = appendAll(append(b, `{"SS":`...), sorted(v.Value, cmp.Compare), appendString)
	case *types.AttributeValueMemberNS:
		b = appendAll(append(b, `{"NS":`...), sorted(v.Value, cmp.Compare), appendString)
	case *types.AttributeValueMemberBS:
		b = appendAll(append(b, `{"BS":`...), sorted(v.Value, bytes.Compare), appendBinary)
	case *types.AttributeValueMemberL:
		b = appendAll(append(b, `{"L":`...), v.Value, func(b []byte, element types.AttributeValue) []byte {
			b, failed := appendValue(b, element)
			err = cmp.Or(err, failed)
			return b
		})
	case *types.AttributeValueMemberM:
		b, err = Append(append(b, `{"M":`...), v.Value)
	default:
		return b, fmt.Errorf("a %T is no value of DynamoDB", value)
	}
	return append(b, '}'), err
}

// sorted returns the members of a set in order. It does not change the set.
func sorted[T any](set []T, compare func(a, b T) int) []T {
	if slices.IsSortedFunc(set, compare) {
		return set
	}
	set = slices.Clone(set)
	slices.SortFunc(set, compare)
	return set
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
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
