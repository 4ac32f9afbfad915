package table

import (
	"cmp"
	"fmt"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// number is the one way to write a number as a key, so that two keys are equal
// if and only if DynamoDB takes them for equal.
var number = regexp.MustCompile(`^(0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]*[1-9])$`)

// checkPlain checks a key attribute that is no string, to which the rules of
// package keys about segments do not apply.
func checkPlain(kind types.ScalarAttributeType, part, text string, limit int) error {
	switch {
	case text == "":
		return &keys.Error{Part: part, Rule: "is empty"}
	case len(text) > limit:
		return &keys.Error{Part: part, Rule: fmt.Sprintf("is longer than %d bytes", limit), Value: text}
	case kind == types.ScalarAttributeTypeN && !number.MatchString(text):
		return &keys.Error{Part: part, Rule: "is not a plain decimal number without needless zeros", Value: text}
	case kind == types.ScalarAttributeTypeN && !storable(text):
		return &keys.Error{Part: part, Rule: "is a number of more than 38 digits, or of a magnitude outside 1e-130 to 1e126", Value: text}
	}
	return nil
}

// storable reports whether a number is within DynamoDB's precision and range.
// AWS: "Supported data types and naming rules", Amazon DynamoDB Developer Guide.
func storable(number string) bool {
	_, digits, exponent, _ := parseNumber(number)
	return digits == "" || len(digits) <= 38 && exponent > -130 && exponent <= 126
}

// compareKeys compares two valid keys that are no strings by their order in the
// table.
func compareKeys(kind types.ScalarAttributeType, a, b keys.SK) int {
	if kind != types.ScalarAttributeTypeN {
		return cmp.Compare(a, b)
	}
	return compareNumbers(string(a), string(b))
}

// keyItem returns a key as the attributes it is stored in.
func (t *Table) keyItem(k keys.Key) Item {
	item := make(Item, 2)
	t.setKey(item, k)
	return item
}

func (t *Table) setKey(item Item, k keys.Key) {
	item[t.schema.PK] = keyValue(t.schema.PKType, string(k.PK))
	if t.schema.SK != "" {
		item[t.schema.SK] = keyValue(t.schema.SKType, string(k.SK))
	}
}

// IndexKey returns the attributes that put an item into an index under a key.
// The zero key gives none: the item is not in the index. An index that the
// schema lacks is [ErrInvalidSchema], a key that cannot be one of the index's is
// [keys.ErrInvalid].
func (t *Table) IndexKey(index string, k keys.Key) (Item, error) {
	x, ok := t.schema.index(index)
	if !ok {
		return nil, fmt.Errorf("%w: no index %q", ErrInvalidSchema, index)
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

// keyOf returns the key that an item is stored under.
func (t *Table) keyOf(item Item) keys.Key {
	_, pk := keyText(item[t.schema.PK])
	_, sk := keyText(item[t.schema.SK])
	return keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}
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
		return types.ScalarAttributeTypeS, v.Value
	case *types.AttributeValueMemberN:
		return types.ScalarAttributeTypeN, v.Value
	case *types.AttributeValueMemberB:
		return types.ScalarAttributeTypeB, string(v.Value)
	}
	return "", ""
}
