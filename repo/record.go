package repo

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// record is one item of an entity, or the reason why there cannot be one. It
// carries the reason into the op, which has no place for an error, so that it
// comes out, with the op's name, when the op is run.
type record struct {
	item table.Item
	err  error
}

// MarshalDynamoDBAttributeValue implements [attributevalue.Marshaler].
func (r record) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberM{Value: r.item}, r.err
}

var _ attributevalue.Marshaler = record{}

// entry is one placement of a value: its key and its item.
type entry struct {
	name string
	key  keys.Key
	record
}

// entries returns the items that v is stored in, with the given version.
func (r *Repo[T]) entries(v T, version int64) []entry {
	all := make([]entry, len(r.placements))
	for i, p := range r.placements {
		all[i] = entry{name: p.Name, key: p.Key(v)}
		all[i].item, all[i].err = r.item(v, p, version)
	}
	return all
}

// item encodes v for one placement.
func (r *Repo[T]) item(v T, p Placement[T], version int64) (table.Item, error) {
	item, err := encode(v)
	if err != nil {
		return nil, err
	}
	for _, attribute := range r.indexAttributes {
		delete(item, attribute)
	}
	for index, key := range p.Indexes {
		attributes, err := r.table.IndexKey(index, key(v))
		if err != nil {
			return nil, err
		}
		maps.Copy(item, attributes)
	}
	item[r.schema.Type] = &types.AttributeValueMemberS{Value: r.entity.Type}
	if r.entity.Version != "" {
		item[r.entity.Version] = versionValue(version)
	}
	return item, nil
}

func encode[T any](v T) (table.Item, error) {
	value, err := attributevalue.Marshal(v)
	if err != nil {
		return nil, err
	}
	m, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("a %T is not an item", v)
	}
	return m.Value, nil
}

// version returns the version that v was read with. A value that cannot be
// encoded has none; its ops fail when they are run.
func (r *Repo[T]) version(v T) int64 {
	if r.entity.Version == "" {
		return 0
	}
	item, err := encode(v)
	if err != nil {
		return 0
	}
	n, ok := item[r.entity.Version].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	version, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0
	}
	return version
}
