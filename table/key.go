package table

import (
	"cmp"
	"fmt"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
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

// checkPlain checks a key attribute that is not a string.
func checkPlain(kind types.ScalarAttributeType, part, text string, limit int) error {
	switch {
	case text == "":
		return &keys.Error{Part: part, Rule: "is empty"}
	case len(text) > limit:
		return &keys.Error{Part: part, Rule: fmt.Sprintf("is longer than %d bytes", limit), Value: text}
	case kind == types.ScalarAttributeTypeN && !number.MatchString(text):
		return &keys.Error{Part: part, Rule: "is not a plain decimal number without needless zeros", Value: text}
	case kind == types.ScalarAttributeTypeN && !codec.StorableNumber(text):
		return &keys.Error{Part: part, Rule: "is a number of more than 38 digits, or of a magnitude outside 1e-130 to 1e126", Value: text}
	}
	return nil
}

// compareKeys compares two valid keys by their order in the table.
func compareKeys(kind types.ScalarAttributeType, a, b keys.SK) int {
	if kind != types.ScalarAttributeTypeN {
		return cmp.Compare(a, b)
	}
	return codec.CompareNumbers(string(a), string(b))
}

// keyItem returns a key as the attributes it is stored in.
func (t *Table) keyItem(k keys.Key) Item {
	item := make(Item, 2)
	t.setKey(item, k)
	return item
}

// setKey writes the key attributes unless they are there: an item that repo has
// made is shared by the goroutines that use its op.
func (t *Table) setKey(item Item, k keys.Key) {
	setKeyAttribute(item, t.schema.PK, t.schema.PKType, string(k.PK))
	if t.schema.SK != "" {
		setKeyAttribute(item, t.schema.SK, t.schema.SKType, string(k.SK))
	}
}

func setKeyAttribute(item Item, name string, kind types.ScalarAttributeType, text string) {
	if have, value := keyText(item[name]); have != kind || value != text {
		item[name] = keyValue(kind, text)
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
// key in an index that the schema lacks.
func (t *Table) KeyOf(index string, item Item) keys.Key {
	names := [2]string{t.schema.PK, t.schema.SK}
	if index != "" {
		x, _ := t.schema.index(index)
		names = [2]string{x.PK, x.SK}
	}
	_, pk := keyText(item[names[0]])
	_, sk := keyText(item[names[1]])
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
