// Package counted reads the mark of an entity that package repo counts in other items.
package counted

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Attribute has the mark. Its form is that of all releases: repo/mark.go.
const Attribute = "entityCounted"

// Count is what an entity counts in its owner.
type Count struct {
	// Counter is the name of the counter.
	Counter string
	// Owner is the type of the item that has the number, and Key its key.
	Owner string
	Key   keys.Key
	// Attribute is that of the number.
	Attribute string
	// N is what was added, a whole number.
	N string
}

// Of returns what an item of a table counts, by the names of the counters. It returns none for
// an item without a mark, or with another attribute of that name.
func Of(t *table.Table, of table.Item) (all []Count) {
	mark, _ := of[Attribute].(*types.AttributeValueMemberM)
	if mark == nil {
		return nil
	}
	in, _ := mark.Value["in"].(*types.AttributeValueMemberM)
	if in == nil {
		return nil
	}
	spec := t.Schema()
	for _, name := range slices.Sorted(maps.Keys(in.Value)) {
		counts, _ := in.Value[name].(*types.AttributeValueMemberL)
		if counts == nil || len(counts.Value) < 4 {
			continue
		}
		list := counts.Value
		key := table.Item{spec.PK: list[3]}
		if len(list) > 4 {
			key[spec.SK] = list[4]
		}
		n, isNumber := list[2].(*types.AttributeValueMemberN)
		c := Count{Counter: name, Owner: text(list[0]), Key: t.KeyOf("", key), Attribute: text(list[1])}
		if isNumber && c.Owner != "" && c.Key != (keys.Key{}) {
			c.N = n.Value
			all = append(all, c)
		}
	}
	return all
}

func text(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
