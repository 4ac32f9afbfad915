package idempotency

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
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
	return item.Encode(v)
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
	value = item.AsStored(value)
	if m, ok := value.(*types.AttributeValueMemberM); ok {
		err := table.Item(m.Value).Decode(&v)
		return v, err
	}
	err := item.Decode(value, &v)
	return v, err
}
