package table

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
)

// checkKey reports why a key cannot be one of this table's.
func (t *Table) checkKey(k keys.Key) error {
	if err := checkPK(t.schema.PKType, k.PK); err != nil {
		return err
	}
	if t.schema.SK == "" {
		if k.SK != "" {
			return &keys.Error{Part: "sort key", Rule: "is given, and the table has none", Value: string(k.SK)}
		}
		return nil
	}
	return checkSK(t.schema.SKType, k.SK)
}

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
// keys are equal exactly if they are equal to DynamoDB.
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

// keyItem returns a key as the attributes it is stored in.
func (t *Table) keyItem(k keys.Key) Item {
	item := make(Item, 2)
	t.setKey(item, k)
	return item
}

func kindOfKey(t types.ScalarAttributeType) item.Kind {
	switch t {
	case types.ScalarAttributeTypeN:
		return item.N
	case types.ScalarAttributeTypeB:
		return item.B
	}
	return item.S
}

// setKey writes the key attributes.
func (t *Table) setKey(item Item, k keys.Key) {
	item[t.schema.PK] = keyValue(t.schema.PKType, string(k.PK))
	if t.schema.SK != "" {
		item[t.schema.SK] = keyValue(t.schema.SKType, string(k.SK))
	}
}

// IndexKey returns the attributes that put an item into an index under a key;
// into the table itself if the index is "". The zero key gives none: the item is not in the index. An index that the
// schema lacks is [ErrInvalid], a key that cannot be one of the index's is
// [keys.ErrInvalid].
func (t *Table) IndexKey(index string, k keys.Key) (Item, error) {
	if index == "" {
		if err := t.checkKey(k); err != nil {
			return nil, err
		}
		return t.keyItem(k), nil
	}
	x, ok := t.schema.index(index)
	if !ok {
		return nil, fmt.Errorf("%w: no index %q", errInvalidSchema, index)
	}
	if x.composite() {
		return nil, fmt.Errorf("%w: the keys of index %q have several attributes, which items have by themselves", errInvalidSchema, index)
	}
	if k == (keys.Key{}) {
		return nil, nil
	}
	if err := checkPK(x.PKType, k.PK); err != nil {
		return nil, fmt.Errorf("index %s: %w", index, err)
	}
	item := Item{x.PK: keyValue(x.PKType, string(k.PK))}
	if x.SK == "" {
		return item, nil
	}
	if err := checkSK(x.SKType, k.SK); err != nil {
		return nil, fmt.Errorf("index %s: %w", index, err)
	}
	item[x.SK] = keyValue(x.SKType, string(k.SK))
	return item, nil
}

// KeyOf returns the key that an item is stored under, or its key in an index if
// the name is not empty. Parts that the item does not have are empty, as is the
// key in an index that the schema lacks, or whose keys have several attributes.
func (t *Table) KeyOf(index string, item Item) keys.Key {
	names := [2]string{t.schema.PK, t.schema.SK}
	if index != "" {
		names = [2]string{}
		if x, ok := t.schema.index(index); ok {
			names = [2]string{x.PK, x.SK}
		}
	}
	var texts [2]string
	for i, name := range names {
		if name != "" { // which an invalid item can have
			_, texts[i] = keyText(item[name])
		}
	}
	return keys.Key{PK: keys.PK(texts[0]), SK: keys.SK(texts[1])}
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
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		if v != nil {
			return types.ScalarAttributeTypeS, v.Value
		}
	case *types.AttributeValueMemberN:
		if v != nil {
			return types.ScalarAttributeTypeN, v.Value
		}
	case *types.AttributeValueMemberB:
		if v != nil {
			return types.ScalarAttributeTypeB, string(v.Value)
		}
	}
	return "", ""
}

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
	add := func(a Attribute, limit int, index string) {
		k := indexKey{a.Name, a.Type, limit, index}
		i := slices.IndexFunc(all, func(other indexKey) bool { return other.name == k.name })
		switch {
		case i < 0:
			all = append(all, k)
		case k.limit < all[i].limit:
			all[i] = k
		}
	}
	for _, x := range s.Indexes {
		partition, sort := x.Keys()
		for _, a := range partition {
			add(a, keys.MaxPK, x.Name)
		}
		for _, a := range sort {
			add(a, keys.MaxSK, x.Name)
		}
	}
	return all
}

// fault returns why the attribute cannot have a value.
func (k indexKey) fault(value types.AttributeValue) *fault {
	kind, text := keyText(value)
	if kind == "" {
		return k.mistyped()
	}
	return k.textFault(kindOfKey(kind), text)
}

// textFault is fault for the text of a value of that type.
func (k indexKey) textFault(kind item.Kind, text string) *fault {
	switch {
	case kind != kindOfKey(k.kind):
		return k.mistyped()
	case text == "":
		return broken(fmt.Sprintf("is a key of index %s and cannot be empty", k.index))
	case kind != item.N && len(text) > k.limit:
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

// shape is what the keys of a table or index look like.
type shape struct {
	partition, sort []Attribute
	// keys are the attributes that say where an item stands: partition key, sort key,
	// then the table's own key.
	keys []Attribute
	// composite means that the keys have several attributes, which are not built by
	// package keys.
	composite bool
}

// shapes returns what the keys of each index look like, and under "" those of the
// table.
func (s *Schema) shapes() map[string]shape {
	own := Index{PK: s.PK, PKType: s.PKType, SK: s.SK, SKType: s.SKType}
	partition, sort := own.Keys()
	all := map[string]shape{"": {partition: partition, sort: sort, keys: slices.Concat(partition, sort)}}
	for _, x := range s.Indexes {
		of := shape{composite: x.composite()}
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

// fixedKey is a key attribute that has one value in all items of a query.
type fixedKey struct {
	Attribute
	text string
}

// value returns the value as DynamoDB has it.
func (k fixedKey) value() types.AttributeValue { return keyValue(k.Type, k.text) }

// fix returns the key attributes that have one value in all items of a query, and the
// one that its range is about; without a name if all are given.
func (s shape) fix(q Query) (fixed []fixedKey, ranged Attribute, err error) {
	if len(s.sort) > 0 {
		ranged = s.sort[0]
	}
	if !s.composite {
		if len(q.PKs)+len(q.SKs) > 0 {
			return nil, ranged, invalid("PKs", "are for an index whose keys have several attributes; use PK and Range")
		}
		return []fixedKey{{s.partition[0], string(q.PK)}}, ranged, checkPK(s.partition[0].Type, q.PK)
	}
	switch {
	case q.PK != "":
		return nil, ranged, invalid("PK", "is given, and the keys of index %q have several attributes; use PKs", q.Index)
	case len(q.PKs) != len(s.partition):
		return nil, ranged, invalid("PKs", "%d values are given, and the partition of index %q needs one for each of %s", len(q.PKs), q.Index, attributeNames(s.partition))
	case len(q.SKs) > len(s.sort):
		return nil, ranged, invalid("SKs", "%d values are given, and index %q sorts by %s", len(q.SKs), q.Index, attributeNames(s.sort))
	}
	add := func(field string, limit int, attributes []Attribute, texts []string) error {
		for i, text := range texts {
			if err := checkPlain(attributes[i].Type, "value", text, limit); err != nil {
				return invalid(field, "%d, of attribute %q: %w", i, attributes[i].Name, err)
			}
			fixed = append(fixed, fixedKey{attributes[i], text})
		}
		return nil
	}
	if err := add("PKs", keys.MaxPK, s.partition, q.PKs); err != nil {
		return nil, ranged, err
	}
	if ranged = (Attribute{}); len(q.SKs) < len(s.sort) {
		ranged = s.sort[len(q.SKs)]
	}
	return fixed, ranged, add("SKs", keys.MaxSK, s.sort, q.SKs)
}

func attributeNames(attributes []Attribute) string {
	names := make([]string, len(attributes))
	for i, a := range attributes {
		names[i] = strconv.Quote(a.Name)
	}
	return strings.Join(names, ", ")
}

// checkRange reports why a range cannot be one of an attribute's values.
func (s shape) checkRange(a Attribute, r keys.Range) error {
	switch {
	case r == keys.Range{}:
		return nil
	case a.Name == "" && s.composite && len(s.sort) > 0:
		return invalid("Range", "all sort key attributes have a value in SKs")
	case a.Name == "":
		return invalid("Range", "there is no sort key")
	case a.Type == types.ScalarAttributeTypeS && !s.composite:
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

// nothing reports whether no value of an attribute can lie in a valid range. Numbers
// are compared as numbers.
func (a Attribute) nothing(r keys.Range) bool {
	return r.From != "" && r.To != "" && compareKeys(a.Type, r.From, r.To) > 0
}

func invalid(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", errInvalidQuery, field, fmt.Errorf(format, args...))
}
