package repo

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// encode makes the attributes of a value, in a map to add to.
func (r *Repo[T]) encode(v *T) (table.Item, error) {
	item, err := encode(v)
	if !r.known && err == nil {
		item = maps.Clone(item) // it may be T's own
		if item == nil {
			item = table.Item{}
		}
	}
	for _, name := range r.parts {
		if r.isEmptyPart(name, item[name]) {
			delete(item, name)
		}
	}
	return item, err
}

func encode[T any](v *T) (table.Item, error) {
	value, err := codec.Encode(v) // a pointer: its methods can have pointer receivers
	if err != nil {
		return nil, err
	}
	m, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("%w: a %T is not an item", table.ErrInvalid, *v)
	}
	return m.Value, nil
}

// decode makes a value of an item, which it shares no memory with.
func decode[T any](item table.Item) (T, error) {
	var v, zero T
	if err := codec.RawOf(item).Decode(&v); err != nil {
		return zero, err
	}
	return v, nil
}

// upgraded returns an item in the current shape, except for its shape
// attributes. The item itself stays as it is.
func (r *Repo[T]) upgraded(item table.Item) (table.Item, error) {
	if err := r.shapes.check(item); err != nil {
		return nil, err
	}
	shape := r.shapes.of(item)
	if shape == r.shapes.current {
		return item, nil
	}
	item = codec.RawOf(item).Attributes(nil)
	return item, r.shapes.upgrade(item, shape)
}

// decodeStored makes a value of an item that was read as it is stored.
func (r *Repo[T]) decodeStored(item table.Item) (T, error) {
	item, err := r.upgraded(item)
	if err != nil {
		var zero T
		return zero, err
	}
	return decode[T](item)
}

// indexKeys adds the attributes that put an item of v into the indexes that the
// ith item declares.
func (r *Repo[T]) indexKeys(item table.Item, i int, v *T) error {
	for index, key := range r.items[i].Indexes {
		attributes, err := r.table.IndexKey(index, key(*v))
		if err != nil {
			return err
		}
		maps.Copy(item, attributes)
	}
	return nil
}

// whole makes the ith item of v of its other attributes: v's
// encoding, or those of a stored item. They become the item.
func (r *Repo[T]) whole(i int, key keys.Key, v *T, item table.Item, s stamp) codec.Made {
	for _, name := range r.indexAttributes {
		delete(item, name)
	}
	if err := r.indexKeys(item, i, v); err != nil {
		return codec.Made{Err: err}
	}
	if err := r.setKey(item, key); err != nil {
		return codec.Made{Err: err}
	}
	item[r.schema.Type] = r.typeValue
	if r.shapes.of(item) < r.shapes.current {
		delete(item, r.shapes.from)
		r.shapes.stamp(item)
	}
	if r.counter != unversioned && r.stampOf(item) != s {
		item[r.entity.Version] = s.value()
	}
	return codec.Made{Item: item}
}

// appendOwn appends the attributes of the ith item of v that are not fields, by
// the rules of [Repo.whole]: the last one of a name counts.
func (r *Repo[T]) appendOwn(all []codec.Attribute, i int, key keys.Key, v *T, s stamp) ([]codec.Attribute, error) {
	for index, key := range r.items[i].Indexes {
		attributes, err := r.table.IndexKey(index, key(*v))
		if err != nil {
			return nil, err
		}
		for name, value := range attributes {
			all = append(all, codec.AttributeOf(name, value))
		}
	}
	if r.textKeys {
		all = append(all,
			codec.Attribute{Name: r.schema.PK, Kind: codec.S, Text: string(key.PK)},
			codec.Attribute{Name: r.schema.SK, Kind: codec.S, Text: string(key.SK)})
	} else {
		attributes, err := r.table.IndexKey("", key)
		if err != nil {
			return nil, err
		}
		for name, value := range attributes {
			all = append(all, codec.AttributeOf(name, value))
		}
	}
	all = append(all, codec.Attribute{Name: r.schema.Type, Kind: codec.S, Text: r.entity.Type})
	if s := &r.shapes; s.current > 0 {
		all = append(all, codec.Attribute{Name: s.attribute, Kind: codec.N, Text: strconv.Itoa(s.current)})
		if s.admits < s.current {
			all = append(all, codec.Attribute{Name: s.from, Kind: codec.N, Text: strconv.Itoa(s.admits)})
		}
	}
	switch r.counter {
	case versioned:
		all = append(all, codec.Attribute{Name: r.entity.Version, Kind: codec.N, Text: strconv.FormatInt(s.version, 10)})
	case revised:
		all = append(all, codec.Attribute{Name: r.entity.Version, Kind: codec.S, Text: s.revision})
	}
	return all, nil
}

// setKey sets the key attributes of an item, so that its op has nothing to add.
func (r *Repo[T]) setKey(item table.Item, key keys.Key) error {
	if r.textKeys {
		item[r.schema.PK] = &types.AttributeValueMemberS{Value: string(key.PK)}
		item[r.schema.SK] = &types.AttributeValueMemberS{Value: string(key.SK)}
		return nil
	}
	own, err := r.table.IndexKey("", key)
	maps.Copy(item, own)
	return err
}
