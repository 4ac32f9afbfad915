package table

import (
	"fmt"
	"maps"

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
	if err, ok := codec.DecodeItem(i, v); ok {
		return err
	}
	return codec.Decode(&types.AttributeValueMemberM{Value: i}, v)
}

// encode makes an item of a value. The item is a map of its own that the caller
// may add to. An untyped nil is an item without attributes.
func encode(v any) (Item, error) {
	switch v := v.(type) {
	case nil:
		return Item{}, nil
	case codec.Made:
		return v.Item, v.Err
	case Item:
		return cloned(v), nil
	case map[string]types.AttributeValue:
		return cloned(v), nil
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
		return cloned(m.Value), nil
	}
	return m.Value, nil
}

// cloned returns a copy of the item with room for its keys and type.
func cloned(item Item) Item {
	c := make(Item, len(item)+3)
	maps.Copy(c, item)
	return c
}

// watched returns what is watched of an item's attribute.
func watched(item Item, name string) codec.Watched {
	switch v := item[name].(type) {
	case *types.AttributeValueMemberS:
		if v != nil {
			return codec.Watched{Name: name, Kind: codec.S, Text: []byte(v.Value)}
		}
	case *types.AttributeValueMemberN:
		if v != nil {
			return codec.Watched{Name: name, Kind: codec.N, Text: []byte(v.Value)}
		}
	case *types.AttributeValueMemberB:
		if v != nil {
			return codec.Watched{Name: name, Kind: codec.B, Text: v.Value}
		}
	}
	return codec.Watched{Name: name}
}
