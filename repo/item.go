package repo

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
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
	for _, name := range c.indexParts {
		if c.isEmptyIndexField(name, item[name]) {
			delete(item, name)
		}
	}
	return item, err
}

// encodeToStore is encode of a value that is stored as a whole.
func (c *core) encodeToStore(v any) (table.Item, error) {
	attributes, err := c.encode(v)
	return attributes, cmp.Or(err, c.checkExpiry(attributes), c.checkShape(attributes))
}

// checkShape reports the shape in a map that no program like this one could read. One that was
// read with it keeps its shape.
func (c *core) checkShape(attributes table.Item) error {
	if shape := c.shapes.of(attributes); c.shapes.check(attributes) != nil || shape > c.shapes.current && number(attributes[c.shapes.from], shape) > c.shapes.current {
		return fmt.Errorf("%w: attribute %q is decided by the Upgrades, and the value has another one: leave it out", table.ErrInvalid, c.shapes.attribute)
	}
	return nil
}

// checkExpiry returns why the expiry among attributes of T would never come. One that is stored
// already, by another program, does not keep an entity from being moved.
func (c *core) checkExpiry(attributes table.Item) error {
	expiry := attributes[c.schema.TTLAttribute] // of a type that New did not see, as in a map
	if kind := item.ValueOf(expiry).Kind; kind != 0 && kind != item.N && kind != item.NULL {
		return fmt.Errorf("%w: attribute %q is the expiry, a number of seconds since 1970, and not of type %v", table.ErrInvalid, c.schema.TTLAttribute, kind)
	}
	if err := item.CheckExpiry(c.schema.TTLAttribute, attributes[c.schema.TTLAttribute]); err != nil {
		return fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	return nil
}

func encode(v any) (table.Item, error) {
	value, err := item.EncodeToRead(v) // a pointer: its methods can have pointer receivers
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
func (e *description) decode(raw item.Raw) (any, error) {
	v := e.zero()
	if _, err := raw.Decode(v); err != nil {
		return nil, err
	}
	return v, nil
}

// upgraded returns an item in the current shape, except for its shape
// attributes. The item itself stays as it is.
func (c *core) upgraded(attributes table.Item) (table.Item, error) {
	if err := c.shapes.check(attributes); err != nil {
		return nil, err
	}
	shape := c.shapes.of(attributes)
	if c.shapes.base(attributes, shape) == c.shapes.current {
		return attributes, nil
	}
	attributes = item.RawOf(attributes).Attributes(nil)
	return attributes, c.shapes.upgrade(attributes, shape)
}

// decodeStored makes a value of an item that was read as it is stored.
func (c *core) decodeStored(attributes table.Item) (any, error) {
	attributes, err := c.upgraded(attributes)
	if err != nil {
		return nil, err
	}
	v, err := c.entity.decode(item.RawOf(attributes))
	return v, c.misfit(err)
}

// indexKeys adds the attributes that put an item of v into the indexes that the
// ith item declares. The item has none of them yet, and is stored under the key.
func (c *core) indexKeys(attributes table.Item, i int, key keys.Key, v any) error {
	for index, of := range c.items[i].Indexes {
		wanted, err := c.table.IndexKey(index, of(v))
		if err != nil {
			return err
		}
		for name, value := range wanted {
			decided := attributes[name]
			if name == c.schema.PK || name == c.schema.SK {
				own, err := c.table.IndexKey("", key)
				if err != nil {
					return err
				}
				decided = own[name]
			} else {
				attributes[name] = value
			}
			//mutants:guard two functions agree about an attribute that both make | TestWritesRefuseTwoDeciders
			if decided != nil && !item.Equal(decided, value) {
				return c.disagree(i, index, name)
			}
		}
	}
	return nil
}

// disagree returns the error of an index whose function gives an attribute another value than
// the item's key, or than the function of another index, does.
func (c *core) disagree(i int, index, attribute string) error {
	if attribute == c.schema.PK || attribute == c.schema.SK {
		return fmt.Errorf("%w: attribute %q is a key of the table and of index %q, whose function gives another value than Key",
			table.ErrInvalid, attribute, index)
	}
	var indexes []string
	for _, x := range c.schema.Indexes {
		if _, declared := c.items[i].Indexes[x.Name]; declared && (x.PK == attribute || x.SK == attribute) {
			indexes = append(indexes, x.Name)
		}
	}
	return fmt.Errorf("%w: attribute %q is a key of the indexes %q, whose functions give different values", table.ErrInvalid, attribute, indexes)
}

// whole makes the ith item of v of its other attributes: v's
// encoding, or those of a stored item. They become the item.
func (c *core) whole(i int, key keys.Key, v any, attributes table.Item, s stamp) item.Made {
	for _, name := range c.indexAttributes {
		delete(attributes, name)
	}
	if i > 0 {
		for _, x := range c.schema.Vectors { // also those of other releases
			delete(attributes, x.Attribute)
		}
	}
	if err := cmp.Or(c.indexKeys(attributes, i, key, v), c.setKey(attributes, key)); err != nil {
		return item.Made{Err: err}
	}
	for name, value := range c.entity.shared.Constants {
		attributes[name] = &types.AttributeValueMemberS{Value: value}
	}
	if err := c.setType(attributes); err != nil {
		return item.Made{Err: err}
	}
	if c.shapes.of(attributes) < c.shapes.current {
		c.shapes.setShape(attributes)
	}
	if c.counter.stamped() {
		c.setStamp(attributes, s, c.shapes.of(attributes))
	}
	return item.Made{Item: attributes}
}

// setType sets the type of an item. One of a kind has it already.
func (c *core) setType(attributes table.Item) error {
	if c.typeAttribute != "" {
		attributes[c.typeAttribute] = c.typeValue
		if len(c.schema.Kinds) == 0 {
			return nil
		}
	}
	//mutants:guard what is stored is of its kind | TestKinds
	if is := c.schema.TypeOf(attributes); is != c.entity.Type {
		return fmt.Errorf("%w: the item of a %q would be of type %q, by the Kinds of the schema", table.ErrInvalid, c.entity.Type, is)
	}
	return nil
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
