package repo

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// encode makes the attributes of a value.
func encode[T any](v T) (table.Item, error) {
	value, err := codec.Encode(&v) // its methods can have pointer receivers
	if err != nil {
		return nil, err
	}
	m, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("%w: a %T is not an item", table.ErrInvalid, v)
	}
	return m.Value, nil
}

func decode[T any](item table.Item) (T, error) {
	var v, zero T
	if err := item.Decode(&v); err != nil {
		return zero, err
	}
	return v, nil
}

// indexKeys returns the attributes that put an item of v into the indexes that
// the ith item declares.
func (r *Repo[T]) indexKeys(i int, v T) (table.Item, error) {
	item := table.Item{}
	for index, key := range r.items[i].Indexes {
		attributes, err := r.table.IndexKey(index, key(v))
		if err != nil {
			return nil, err
		}
		maps.Copy(item, attributes)
	}
	return item, nil
}

// whole returns the ith item of v, given its other attributes:
// v's encoding, or those of a stored item.
func (r *Repo[T]) whole(i int, key keys.Key, v T, attributes table.Item, s stamp) codec.Made {
	own, err := r.table.IndexKey("", key)
	if err != nil {
		return codec.Made{Err: err}
	}
	indexed, err := r.indexKeys(i, v)
	if err != nil {
		return codec.Made{Err: err}
	}
	item := make(table.Item, len(attributes)+len(own)+len(indexed)+2)
	for name, value := range attributes {
		if !r.reserved[name] {
			item[name] = value
		}
	}
	maps.Copy(item, indexed)
	maps.Copy(item, own)
	item[r.schema.Type] = &types.AttributeValueMemberS{Value: r.entity.Type}
	if r.counter != unversioned {
		item[r.entity.Version] = s.value()
	}
	return codec.Made{Item: item}
}

// shared reports whether a decoded T can hold memory of the item that it was
// decoded from, other than bytes.
func shared(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if t.Implements(reflect.TypeFor[types.AttributeValue]()) || t.Implements(reflect.TypeFor[attributevalue.Unmarshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[attributevalue.Unmarshaler]()) {
		return true
	}
	switch t.Kind() {
	case reflect.Interface:
		return reflect.TypeFor[types.AttributeValue]().Implements(t) && t.NumMethod() > 0
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return shared(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if shared(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// cloned returns a copy of a value that shares no memory with it.
func cloned(value types.AttributeValue) types.AttributeValue {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return &types.AttributeValueMemberS{Value: v.Value}
	case *types.AttributeValueMemberN:
		return &types.AttributeValueMemberN{Value: v.Value}
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}
	case *types.AttributeValueMemberNULL:
		return &types.AttributeValueMemberNULL{Value: v.Value}
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberNS:
		return &types.AttributeValueMemberNS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBS:
		return &types.AttributeValueMemberBS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberL:
		l := make([]types.AttributeValue, len(v.Value))
		for i, e := range v.Value {
			l[i] = cloned(e)
		}
		return &types.AttributeValueMemberL{Value: l}
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: clonedItem(v.Value)}
	}
	return value
}

func clonedItem(item table.Item) table.Item {
	c := make(table.Item, len(item))
	for name, value := range item {
		c[name] = cloned(value)
	}
	return c
}
