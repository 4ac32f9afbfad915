package item

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// SameItem reports whether two items are equal to DynamoDB, which returns numbers and
// sets otherwise than they were written.
func SameItem(a, b map[string]types.AttributeValue) bool {
	return bytes.Equal(appendCanonicalItem(nil, a), appendCanonicalItem(nil, b))
}

// appendCanonical appends a form of the value that is the same for two values exactly if
// they are equal to DynamoDB: every part is preceded by its type and length.
func appendCanonical(b []byte, value types.AttributeValue) []byte {
	p := PartsOf(value)
	b = append(b, byte(p.Kind))
	switch p.Kind {
	case S:
		return appendPart(b, p.Text)
	case N:
		return appendPart(b, CanonicalNumber(p.Text))
	case B:
		return appendPart(b, p.Bytes)
	case BOOL:
		return strconv.AppendBool(b, p.Bool)
	case SS:
		return appendSet(b, p.Texts, func(s string) string { return s })
	case NS:
		return appendSet(b, p.Texts, CanonicalNumber)
	case BS:
		return appendSet(b, p.Blobs, func(b []byte) string { return string(b) })
	case L:
		b = binary.AppendUvarint(b, uint64(len(p.List)))
		for _, e := range p.List {
			b = appendCanonical(b, e)
		}
	case M:
		b = appendCanonicalItem(b, p.Map)
	}
	return b
}

func appendCanonicalItem(b []byte, item map[string]types.AttributeValue) []byte {
	b = binary.AppendUvarint(b, uint64(len(item)))
	for _, name := range SortedNames(item) {
		b = appendCanonical(appendPart(b, name), item[name])
	}
	return b
}

func appendPart[T string | []byte](b []byte, part T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

func appendSet[E any](b []byte, set []E, part func(E) string) []byte {
	b = binary.AppendUvarint(b, uint64(len(set)))
	for _, e := range slices.Sorted(mapped(set, part)) {
		b = appendPart(b, e)
	}
	return b
}
