package table

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
)

// layout is what the keys of a table or index look like.
type layout struct {
	// secondary is the index, nil for the table itself.
	secondary       *schema.Index
	partition, sort []schema.Attribute
	// keys are the attributes that say where an item stands: partition key, sort key,
	// then the table's own key.
	keys []schema.Attribute
	// composite means that the keys have several attributes, which are not built by
	// package keys.
	composite bool
}

// layoutsOf returns the layout of each index, and under "" that of the table.
func layoutsOf(spec *schema.Table) map[string]layout {
	own := schema.Index{PK: spec.PK, PKType: spec.PKType, SK: spec.SK, SKType: spec.SKType}
	partition, sort := own.Keys()
	all := map[string]layout{"": {partition: partition, sort: sort, keys: slices.Concat(partition, sort)}}
	for i := range spec.Indexes {
		x := &spec.Indexes[i]
		of := layout{secondary: x, composite: len(x.PKs) > 0}
		of.partition, of.sort = x.Keys()
		for _, a := range slices.Concat(of.partition, of.sort, all[""].keys) {
			if !slices.Contains(of.keys, a) {
				of.keys = append(of.keys, a)
			}
		}
		all[x.Name] = of
	}
	return all
}

// names returns the names of the key attributes that a [keys.Key] has, "" for others.
func (l layout) names() (pk, sk string) {
	if len(l.partition) > 0 && !l.composite {
		pk = l.partition[0].Name
	}
	if len(l.sort) > 0 && !l.composite {
		sk = l.sort[0].Name
	}
	return pk, sk
}

// global reports whether it is that of a global index.
func (l layout) global() bool { return l.secondary != nil && !l.secondary.Local }

// partial reports whether items in it may lack attributes that the table's have.
func (l layout) partial() bool {
	return l.secondary != nil && l.secondary.Projection != types.ProjectionTypeAll
}

// has reports whether items in it have an attribute if those of the table do. A local
// index fetches others for a projection, which a number has none of.
func (l layout) has(attribute string) bool {
	return !l.partial() || l.includes(attribute) || l.isKey(attribute)
}

// isKey reports whether the attribute is one of its own keys.
func (l layout) isKey(attribute string) bool {
	return slices.ContainsFunc(slices.Concat(l.partition, l.sort), func(a schema.Attribute) bool { return a.Name == attribute })
}

// includes reports whether the projection of a partial index names the attribute.
func (l layout) includes(attribute string) bool {
	return slices.Contains(l.secondary.Include, attribute)
}

// fixedKey is a key attribute that has one value in all items of a query.
type fixedKey struct {
	schema.Attribute
	text string
}

func (k fixedKey) value() types.AttributeValue { return keyValue(k.Type, k.text) }
