package idempotency

import (
	"bytes"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/table"
)

// encode makes an attribute of a value. An item is one already, which
// attributevalue does not know.
func encode(v any) (types.AttributeValue, error) {
	switch item := v.(type) {
	case table.Item:
		return &types.AttributeValueMemberM{Value: item}, nil
	case map[string]types.AttributeValue:
		return &types.AttributeValueMemberM{Value: item}, nil
	}
	return codec.Encode(v)
}

// isItem reports whether a value is of a type that holds attributes.
func isItem[R any](v R) bool {
	switch any(&v).(type) {
	case *table.Item, *map[string]types.AttributeValue:
		return true
	}
	return false
}

// decode returns a result as a repeated request gets it. The first request gets
// the same, so that the two are equal to the byte.
func decode[R any](value types.AttributeValue) (R, error) {
	var v R
	value = settled(value)
	if m, ok := value.(*types.AttributeValueMemberM); ok {
		err := table.Item(m.Value).Decode(&v)
		return v, err
	}
	err := codec.Decode(value, &v)
	return v, err
}

// settled returns a value in a form that is the same before and after it was
// stored: DynamoDB returns numbers and sets otherwise than they were written.
func settled(value types.AttributeValue) types.AttributeValue {
	switch v := value.(type) {
	case *types.AttributeValueMemberN:
		return &types.AttributeValueMemberN{Value: codec.PlainNumber(v.Value)}
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Sorted(slices.Values(v.Value))}
	case *types.AttributeValueMemberNS:
		numbers := make([]string, len(v.Value))
		for i, n := range v.Value {
			numbers[i] = codec.PlainNumber(n)
		}
		slices.Sort(numbers)
		return &types.AttributeValueMemberNS{Value: numbers}
	case *types.AttributeValueMemberBS:
		return &types.AttributeValueMemberBS{Value: slices.SortedFunc(slices.Values(v.Value), bytes.Compare)}
	case *types.AttributeValueMemberL:
		list := make([]types.AttributeValue, len(v.Value))
		for i, e := range v.Value {
			list[i] = settled(e)
		}
		return &types.AttributeValueMemberL{Value: list}
	case *types.AttributeValueMemberM:
		m := make(map[string]types.AttributeValue, len(v.Value))
		for name, e := range v.Value {
			m[name] = settled(e)
		}
		return &types.AttributeValueMemberM{Value: m}
	}
	return value
}
