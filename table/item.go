package table

import (
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
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
	case *item.Raw:
		*raw = item.RawOf(i)
		return nil
	}
	return item.Decode(&types.AttributeValueMemberM{Value: i}, v)
}

// encode makes an item of a value. The item is a map of its own that the caller
// may add to. An untyped nil is an item without attributes.
func encode(v any) (Item, error) {
	switch v := v.(type) {
	case nil:
		return Item{}, nil
	case item.Made:
		return v.Item, v.Err
	case Item:
		return cloned(v), nil
	case map[string]types.AttributeValue:
		return cloned(v), nil
	}
	value, err := item.EncodeToRead(v)
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
func watched(attributes Item, name string) item.Watched {
	switch p := item.PartsOf(attributes[name]); p.Kind {
	case item.S, item.N:
		return item.Watched{Name: name, Kind: p.Kind, Text: []byte(p.Text)}
	case item.B:
		return item.Watched{Name: name, Kind: item.B, Text: p.Bytes}
	}
	return item.Watched{Name: name}
}
