package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
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
	return !l.partial() || l.includes(attribute) ||
		slices.ContainsFunc(slices.Concat(l.partition, l.sort), func(a schema.Attribute) bool { return a.Name == attribute })
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

// value returns the value as DynamoDB has it.
func (k fixedKey) value() types.AttributeValue { return keyValue(k.Type, k.text) }

// fix returns the key attributes that have one value in all items of a query, and the
// one that its range is about; without a name if all are given.
func (l layout) fix(q Query) (fixed []fixedKey, ranged schema.Attribute, err error) {
	if len(l.sort) > 0 {
		ranged = l.sort[0]
	}
	if !l.composite {
		if len(q.PKs)+len(q.SKs) > 0 {
			return nil, ranged, invalid("PKs", "are for an index whose keys have several attributes; use PK and Range")
		}
		return []fixedKey{{l.partition[0], string(q.PK)}}, ranged, checkPK(l.partition[0].Type, q.PK)
	}
	switch {
	case q.PK != "":
		return nil, ranged, invalid("PK", "is given, and the keys of index %q have several attributes; use PKs", q.Index)
	case len(q.PKs) != len(l.partition):
		return nil, ranged, invalid("PKs", "%d values are given, and the partition of index %q needs one for each of %s", len(q.PKs), q.Index, attributeNames(l.partition))
	case len(q.SKs) > len(l.sort):
		return nil, ranged, invalid("SKs", "%d values are given, and index %q sorts by %s", len(q.SKs), q.Index, attributeNames(l.sort))
	}
	add := func(field string, limit int, attributes []schema.Attribute, texts []string) error {
		for i, text := range texts {
			if err := checkPlain(attributes[i].Type, "value", text, limit); err != nil {
				return invalid(field, "%d, of attribute %q: %w", i, attributes[i].Name, err)
			}
			fixed = append(fixed, fixedKey{attributes[i], text})
		}
		return nil
	}
	if err := add("PKs", keys.MaxPK, l.partition, q.PKs); err != nil {
		return nil, ranged, err
	}
	if ranged = (schema.Attribute{}); len(q.SKs) < len(l.sort) {
		ranged = l.sort[len(q.SKs)]
	}
	return fixed, ranged, add("SKs", keys.MaxSK, l.sort, q.SKs)
}

func attributeNames(attributes []schema.Attribute) string {
	names := make([]string, len(attributes))
	for i, a := range attributes {
		names[i] = strconv.Quote(a.Name)
	}
	return strings.Join(names, ", ")
}

// checkRange reports why a range cannot be one of an attribute's values.
func (l layout) checkRange(a schema.Attribute, r keys.Range) error {
	switch {
	case r == keys.Range{}:
		return nil
	case a.Name == "" && l.composite && len(l.sort) > 0:
		return invalid("Range", "all sort key attributes have a value in SKs")
	case a.Name == "":
		return invalid("Range", "there is no sort key")
	case a.Type == types.ScalarAttributeTypeS && !l.composite:
		return r.Validate()
	case a.Type == types.ScalarAttributeTypeN && r.Prefix != "":
		return invalid("Range", "a number has no prefix")
	}
	for _, sk := range []keys.SK{r.Prefix, r.From, r.To} {
		if sk == "" {
			continue
		}
		if err := checkPlain(a.Type, "sort key", string(sk), keys.MaxSK); err != nil {
			return invalid("Range", "%w", err)
		}
	}
	if r.Prefix != "" && (r.From != "" || r.To != "") {
		return invalid("Range", "a prefix together with bounds")
	}
	return nil
}

// inRange reports whether a value of the attribute lies in a valid range.
func inRange(a schema.Attribute, r keys.Range, sk keys.SK) bool {
	return strings.HasPrefix(string(sk), string(r.Prefix)) &&
		(r.From == "" || compareKeys(a.Type, r.From, sk) <= 0) &&
		(r.To == "" || compareKeys(a.Type, sk, r.To) <= 0)
}

// isEmpty reports whether no value of an attribute can lie in a valid range. Numbers
// are compared as numbers.
func isEmpty(a schema.Attribute, r keys.Range) bool {
	return r.From != "" && r.To != "" && compareKeys(a.Type, r.From, r.To) > 0
}

func invalid(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", errInvalidQuery, field, fmt.Errorf(format, args...))
}
