package repo

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// encode makes the attributes of a value, in a map to add to.
func (c *core) encode(v any) (table.Item, error) {
	item, err := encode(v)
	if !c.known && err == nil {
		item = maps.Clone(item) // it may be T's own
		if item == nil {
			item = table.Item{}
		}
	}
	for _, name := range c.parts {
		if c.isEmptyPart(name, item[name]) {
			delete(item, name)
		}
	}
	return item, err
}

func encode(v any) (table.Item, error) {
	value, err := codec.Encode(v) // a pointer: its methods can have pointer receivers
	if err != nil {
		return nil, err
	}
	m, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("%w: a %v is not an item", table.ErrInvalid, reflect.TypeOf(v).Elem())
	}
	return m.Value, nil
}

// decode makes a value of an item, which it shares no memory with.
func (e *description) decode(raw codec.Raw) (any, error) {
	v := e.zero()
	if err := raw.Decode(v); err != nil {
		return nil, err
	}
	return v, nil
}

// upgraded returns an item in the current shape, except for its shape
// attributes. The item itself stays as it is.
func (c *core) upgraded(item table.Item) (table.Item, error) {
	if err := c.shapes.check(item); err != nil {
		return nil, err
	}
	shape := c.shapes.of(item)
	if shape == c.shapes.current {
		return item, nil
	}
	item = codec.RawOf(item).Attributes(nil)
	return item, c.shapes.upgrade(item, shape)
}

// decodeStored makes a value of an item that was read as it is stored.
func (c *core) decodeStored(item table.Item) (any, error) {
	item, err := c.upgraded(item)
	if err != nil {
		return nil, err
	}
	v, err := c.entity.decode(codec.RawOf(item))
	return v, c.unmet(err)
}

// indexKeys adds the attributes that put an item of v into the indexes that the
// ith item declares.
func (c *core) indexKeys(item table.Item, i int, v any) error {
	for index, key := range c.items[i].Indexes {
		attributes, err := c.table.IndexKey(index, key(v))
		if err != nil {
			return err
		}
		maps.Copy(item, attributes)
	}
	return nil
}

// whole makes the ith item of v of its other attributes: v's
// encoding, or those of a stored item. They become the item.
func (c *core) whole(i int, key keys.Key, v any, item table.Item, s stamp) codec.Made {
	for _, name := range c.indexAttributes {
		delete(item, name)
	}
	if err := c.indexKeys(item, i, v); err != nil {
		return codec.Made{Err: err}
	}
	if err := c.setKey(item, key); err != nil {
		return codec.Made{Err: err}
	}
	item[c.schema.Type] = c.typeValue
	if c.shapes.of(item) < c.shapes.current {
		c.shapes.stamp(item)
	}
	if err := c.fits(s); err != nil {
		return codec.Made{Err: err}
	}
	if c.counter != unversioned && c.stampOf(item) != s {
		item[c.entity.Version] = s.value()
	}
	return codec.Made{Item: item}
}

// setKey sets the key attributes of an item, so that its op has nothing to add.
func (c *core) setKey(item table.Item, key keys.Key) error {
	if c.textKeys {
		item[c.schema.PK] = &types.AttributeValueMemberS{Value: string(key.PK)}
		item[c.schema.SK] = &types.AttributeValueMemberS{Value: string(key.SK)}
		return nil
	}
	own, err := c.table.IndexKey("", key)
	maps.Copy(item, own)
	return err
}
