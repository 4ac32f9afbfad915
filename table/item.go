package table

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
	return decoder.Decode(&types.AttributeValueMemberM{Value: i}, v)
}

// The SDK's encoder and decoder hold their options only. The functions of
// attributevalue make new ones for every item.
var (
	encoder = attributevalue.NewEncoder()
	decoder = attributevalue.NewDecoder()
)

// encode makes an item of a value. It and [Item.Decode] are the only places where
// items and Go values meet. The item is a map of its own that the caller may add
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
	value, err := encoder.Encode(v)
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

// cloned returns a copy of the item, unless an attribute is nil: what becomes of
// it depends on the engine.
func cloned(item Item) (Item, error) {
	c := make(Item, len(item)+4)
	for name, value := range item {
		if value == nil {
			return nil, fmt.Errorf("attribute %q is nil", name)
		}
		c[name] = value
	}
	return c, nil
}

// typeName returns the value of the item's type attribute, "" if it has none.
func (t *Table) typeName(item Item) string {
	s, _ := item[t.schema.Type].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// expired reports whether the item's time has come. Like DynamoDB it takes only
// numbers for an expiry. Less than 1 means that the item does not expire:
// DynamoDB does not delete items whose time is more than five years ago, so
// that a field left at its zero value keeps an item.
//
// AWS: "Using time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide.
func (t *Table) expired(item Item, now time.Time) bool {
	if t.schema.TTL == "" {
		return false
	}
	n, ok := item[t.schema.TTL].(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	seconds, err := strconv.ParseFloat(n.Value, 64)
	return err == nil && seconds >= 1 && seconds <= float64(now.Unix())
}

// admit reports whether an item that a request returned is live. It refuses one
// of another type than the view is for.
func (t *Table) admit(item Item, now time.Time) (live bool, err error) {
	if t.expired(item, now) {
		return false, nil
	}
	if t.ofType != "" {
		if have := t.typeName(item); have != t.ofType {
			return false, fmt.Errorf("%w: want %q, have %q in attribute %q", ErrWrongType, t.ofType, have, t.schema.Type)
		}
	}
	return true, nil
}

// read makes a T of an item that a request returned, if it is live.
func read[T any](t *Table, item Item, now time.Time) (v T, live bool, err error) {
	if live, err = t.admit(item, now); !live || err != nil {
		return v, false, err
	}
	if err := item.Decode(&v); err != nil {
		return *new(T), false, err // not what is half filled
	}
	return v, true, nil
}
