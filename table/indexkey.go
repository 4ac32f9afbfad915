package table

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
)

// indexKey is a key attribute of indexes. DynamoDB refuses an item with an invalid
// one, even if the item lacks the index's other key attribute.
type indexKey struct {
	name  string
	kind  types.ScalarAttributeType
	limit int    // bytes
	index string // one of the indexes, for messages
}

// indexKeys returns the key attributes of all indexes.
func (s *Schema) indexKeys() []indexKey {
	var all []indexKey
	add := func(k indexKey) {
		i := slices.IndexFunc(all, func(other indexKey) bool { return other.name == k.name })
		switch {
		case k.name == "":
		case i < 0:
			all = append(all, k)
		case k.limit < all[i].limit:
			all[i] = k
		}
	}
	for _, x := range s.Indexes {
		add(indexKey{x.PK, x.PKType, keys.MaxPK, x.Name})
		add(indexKey{x.SK, x.SKType, keys.MaxSK, x.Name})
	}
	return all
}

// fault returns why the attribute cannot have a value.
func (k indexKey) fault(value types.AttributeValue) *fault {
	kind, text := keyText(value)
	switch {
	case kind != k.kind:
		return k.mistyped()
	case text == "":
		return broken(fmt.Sprintf("is a key of index %s and cannot be empty", k.index))
	case kind != types.ScalarAttributeTypeN && len(text) > k.limit:
		return broken(fmt.Sprintf("is a key of index %s and cannot have more than %d bytes", k.index, k.limit))
	}
	return nil
}

func (k indexKey) mistyped() *fault {
	return broken(fmt.Sprintf("is a key of index %s and must be of type %s", k.index, k.kind))
}

// checkIndexKeys returns the first fault of the item's index keys.
func (t *Table) checkIndexKeys(item Item) *fault {
	for _, k := range t.indexKeys {
		if value, there := item[k.name]; there {
			if f := k.fault(value); f != nil {
				return f.in(k.name)
			}
		}
	}
	return nil
}
