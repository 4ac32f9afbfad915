package table

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
)

func checkPK(kind types.ScalarAttributeType, pk keys.PK) error {
	if kind == types.ScalarAttributeTypeS {
		return pk.Validate()
	}
	return checkPlain(kind, "partition key", string(pk), keys.MaxPK)
}

func checkSK(kind types.ScalarAttributeType, sk keys.SK) error {
	if kind == types.ScalarAttributeTypeS && sk != "" {
		return sk.Validate()
	}
	return checkPlain(kind, "sort key", string(sk), keys.MaxSK)
}

// plain reports whether a number is written as DynamoDB returns it, so that two
// keys are equal exactly if they are equal to DynamoDB. Seen:
// nubo-db/dynamodb-conformance, putItem/numericKeys.test.ts,
// limits/numberPrecision.test.ts.
func plain(number string) bool {
	_, ok := item.ParseNumber(number)
	return ok && item.PlainNumber(number) == number
}

// checkPlain checks a key attribute that is not a string.
func checkPlain(kind types.ScalarAttributeType, part, text string, limit int) error {
	switch {
	case text == "":
		return &keys.Error{Part: part, Rule: "is empty"}
	case len(text) > limit:
		return &keys.Error{Part: part, Rule: fmt.Sprintf("is longer than %d bytes", limit), Value: text}
	case kind == types.ScalarAttributeTypeS && !utf8.ValidString(text):
		return &keys.Error{Part: part, Rule: "is not UTF-8", Value: text}
	case kind == types.ScalarAttributeTypeN && !plain(text):
		return &keys.Error{Part: part, Rule: "is not a plain decimal number without needless zeros", Value: text}
	case kind == types.ScalarAttributeTypeN && !item.StorableNumber(text):
		return &keys.Error{Part: part, Rule: "is a number of more than 38 digits, or of a magnitude outside 1e-130 to 1e126", Value: text}
	}
	return nil
}

// compareKeys compares two valid keys by their order in the table.
func compareKeys(kind types.ScalarAttributeType, a, b keys.SK) int {
	if kind != types.ScalarAttributeTypeN {
		return cmp.Compare(a, b)
	}
	return item.CompareNumbers(string(a), string(b))
}

func keyValue(kind types.ScalarAttributeType, text string) types.AttributeValue {
	switch kind {
	case types.ScalarAttributeTypeN:
		return &types.AttributeValueMemberN{Value: text}
	case types.ScalarAttributeTypeB:
		return &types.AttributeValueMemberB{Value: []byte(text)}
	}
	return &types.AttributeValueMemberS{Value: text}
}

// keyText is the inverse of keyValue; a value that is no key attribute's gives
// an empty type.
func keyText(value types.AttributeValue) (types.ScalarAttributeType, string) {
	switch p := item.ValueOf(value); p.Kind {
	case item.S, item.N:
		return types.ScalarAttributeType(p.Kind.String()), p.Text
	case item.B:
		return types.ScalarAttributeTypeB, string(p.Bytes)
	}
	return "", ""
}

// indexKey is a key attribute of indexes. DynamoDB refuses an item with an invalid
// one, even if the item lacks the index's other key attribute. AWS: "Managing
// Global Secondary Indexes in DynamoDB" and "Detecting and correcting index key
// violations in DynamoDB", Amazon DynamoDB Developer Guide.
type indexKey struct {
	name  string
	kind  types.ScalarAttributeType
	limit int    // bytes
	index string // one of the indexes, for messages
}

func indexKeysOf(spec *schema.Table) []indexKey {
	var all []indexKey
	add := func(a schema.Attribute, limit int, index string) {
		k := indexKey{a.Name, a.Type, limit, index}
		i := slices.IndexFunc(all, func(other indexKey) bool { return other.name == k.name })
		switch {
		case i < 0:
			all = append(all, k)
		case k.limit < all[i].limit:
			all[i] = k
		}
	}
	for _, x := range spec.Indexes {
		partition, sort := x.Keys()
		for _, a := range partition {
			add(a, keys.MaxPK, x.Name)
		}
		for _, a := range sort {
			add(a, keys.MaxSK, x.Name)
		}
	}
	for _, x := range spec.Vectors {
		if x.Partition.Name != "" {
			add(x.Partition, keys.MaxPK, x.Name)
		}
		for _, a := range x.Filters {
			add(a, keys.MaxPK, x.Name)
		}
	}
	return all
}

// fault returns why the attribute cannot have a value.
func (k indexKey) fault(value types.AttributeValue) *fault {
	switch kind, text := keyText(value); {
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
