package table

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
)

// Item is an item as it is stored: all attributes, the keys among them. Use it
// as the type argument of a read to get items undecoded.
type Item map[string]types.AttributeValue

// Decode stores the item in the value that v points to, by the rules of the
// SDK's attributevalue package. Attributes that the value has no field for are
// left out. An *Item is given the item itself.
func (i Item) Decode(v any) error {
	switch raw := v.(type) {
	case *Item:
		*raw = i
		return nil
	case *map[string]types.AttributeValue:
		*raw = i
		return nil
	}
	return codec.Decode(&types.AttributeValueMemberM{Value: i}, v)
}

// encode makes an item of a value. The item is a map of its own that the caller may add
// to. An untyped nil is an item without attributes.
func encode(v any) (Item, error) {
	switch v := v.(type) {
	case nil:
		return Item{}, nil
	case Item:
		return cloned(v)
	case map[string]types.AttributeValue:
		return cloned(v)
	}
	value, err := codec.Encode(v)
	if err != nil {
		return nil, err
	}
	m, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("a %T is not an item: it is not a struct or map with values", v)
	}
	if _, theirs := v.(attributevalue.Marshaler); theirs {
		return cloned(m.Value)
	}
	return m.Value, nil
}

// cloned returns a copy of the item, unless an attribute is nil or has a nil
// inside: what becomes of it depends on the SDK and on the engine.
func cloned(item Item) (Item, error) {
	c := make(Item, len(item)+4)
	for name, value := range item {
		if hasNil(value) {
			return nil, fmt.Errorf("attribute %q is nil, or has a nil inside", name)
		}
		c[name] = value
	}
	return c, nil
}

func hasNil(value types.AttributeValue) bool {
	switch v := value.(type) {
	case nil:
		return true
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(v.Value, hasNil)
	case *types.AttributeValueMemberM:
		for _, e := range v.Value {
			if hasNil(e) {
				return true
			}
		}
	}
	return false
}
