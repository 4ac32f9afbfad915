package table

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
)

// sameItem reports whether two items are equal to DynamoDB, which returns
// numbers and sets otherwise than they were written.
func sameItem(a, b Item) bool {
	return bytes.Equal(
		appendCanonical(nil, &types.AttributeValueMemberM{Value: a}),
		appendCanonical(nil, &types.AttributeValueMemberM{Value: b}),
	)
}

// appendCanonical appends a form of the value that is the same for two values
// exactly if they are equal to DynamoDB: every part is preceded by its type and
// length.
func appendCanonical(b []byte, value types.AttributeValue) []byte {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return appendText(append(b, 'S'), v.Value)
	case *types.AttributeValueMemberN:
		return appendText(append(b, 'N'), codec.CanonicalNumber(v.Value))
	case *types.AttributeValueMemberB:
		return appendText(append(b, 'B'), string(v.Value))
	case *types.AttributeValueMemberBOOL:
		return strconv.AppendBool(append(b, 'b'), v.Value)
	case *types.AttributeValueMemberNULL:
		return append(b, '0')
	case *types.AttributeValueMemberSS:
		return appendSet(append(b, 's'), v.Value)
	case *types.AttributeValueMemberNS:
		numbers := make([]string, len(v.Value))
		for i, n := range v.Value {
			numbers[i] = codec.CanonicalNumber(n)
		}
		return appendSet(append(b, 'n'), numbers)
	case *types.AttributeValueMemberBS:
		texts := make([]string, len(v.Value))
		for i, t := range v.Value {
			texts[i] = string(t)
		}
		return appendSet(append(b, 'x'), texts)
	case *types.AttributeValueMemberL:
		b = binary.AppendUvarint(append(b, 'L'), uint64(len(v.Value)))
		for _, e := range v.Value {
			b = appendCanonical(b, e)
		}
		return b
	case *types.AttributeValueMemberM:
		b = binary.AppendUvarint(append(b, 'M'), uint64(len(v.Value)))
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			b = appendCanonical(appendText(b, name), v.Value[name])
		}
		return b
	}
	return append(b, '?')
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendSet(b []byte, elements []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(elements)))
	for _, e := range slices.Sorted(slices.Values(elements)) {
		b = appendText(b, e)
	}
	return b
}
