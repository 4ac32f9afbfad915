package agent

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// keyTypes are the types of a partition key and a sort key.
type keyTypes struct{ pk, sk types.ScalarAttributeType }

// typesOf returns the types of the keys of an index that has one attribute for each.
func (s *server) typesOf(x schema.Index) keyTypes {
	if x.Local {
		return keyTypes{s.model.PKType, x.SKType}
	}
	return keyTypes{x.PKType, x.SKType}
}

// typesIn returns the types of the keys in the table, which is "", or in an index.
func (s *server) typesIn(index string) keyTypes {
	for _, x := range s.model.Indexes {
		if index != "" && x.Name == index && x.PKs == nil {
			return s.typesOf(x)
		}
	}
	return keyTypes{s.model.PKType, s.model.SKType}
}

// kindsIn returns the types that are known of the attributes of a pattern: of those that are a
// key attribute of the table or an index, and of one that is the whole of a number or a binary
// value. All others are texts, or numbers whose text is as in the item.
func (s *server) kindsIn(of asked) map[string]types.ScalarAttributeType {
	kinds := map[string]types.ScalarAttributeType{}
	add := func(name string, kind types.ScalarAttributeType) {
		if name != "" && (kind == types.ScalarAttributeTypeN || kind == types.ScalarAttributeTypeB) {
			kinds[name] = kind
		}
	}
	add(s.model.PK, s.model.PKType)
	add(s.model.SK, s.model.SKType)
	for _, x := range s.model.Indexes {
		partition, sort := x.Keys()
		for _, a := range append(partition, sort...) {
			add(a.Name, a.Type)
		}
	}
	place := s.typesIn(of.index)
	for whole, kind := range map[string]types.ScalarAttributeType{of.pattern.PK: place.pk, of.pattern.SK: place.sk} {
		if segments := pattern.Split(whole); len(segments) == 1 {
			add(segments[0].Name, kind)
		}
	}
	return kinds
}

// keyText returns the text of a key attribute as package keys has it: an argument has base64
// for a binary one, and a number can have needless zeros.
func keyText(kind types.ScalarAttributeType, argument, text string) (string, error) {
	switch kind {
	case types.ScalarAttributeTypeN:
		return dynamojson.Number(text), nil
	case types.ScalarAttributeTypeB:
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", fmt.Errorf("%w %s: it is binary, and not base64", errArgument, argument)
		}
		return string(data), nil
	}
	return text, nil
}

// valueOf returns a key attribute by its text, as package keys has it.
func valueOf(kind types.ScalarAttributeType, text string) types.AttributeValue {
	switch kind {
	case types.ScalarAttributeTypeN:
		return &types.AttributeValueMemberN{Value: text}
	case types.ScalarAttributeTypeB:
		return &types.AttributeValueMemberB{Value: []byte(text)}
	}
	return &types.AttributeValueMemberS{Value: text}
}

// storedKey returns a key that is given as it is stored, in the table or an index.
func (s *server) storedKey(index string, a arguments) (keys.Key, error) {
	place := s.typesIn(index)
	pk, err := keyText(place.pk, "pk", a["pk"])
	sk, errSK := keyText(place.sk, "sk", a["sk"])
	return keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}, errors.Join(err, errSK)
}

// keyOf makes a key of the attributes of its pattern. A time is a text, or the number of the
// attribute.
func (s *server) keyOf(of asked, a arguments) (keys.Key, error) {
	item, kinds := table.Item{}, s.kindsIn(of)
	for _, segment := range pattern.Split(of.pattern.PK + "#" + of.pattern.SK) {
		if segment.Constant() {
			continue
		}
		name := segment.Name
		argument := argumentOf(name)
		text, err := keyText(kinds[name], argument, a[argument])
		if err != nil {
			return keys.Key{}, err
		}
		item[name] = attributeOf(segment, text)
		if kind := kinds[name]; kind != "" && segment.Form == "" {
			item[name] = valueOf(kind, text)
		}
	}
	all, err := tablemodel.Entity{Items: []tablemodel.Pattern{of.pattern}}.Keys(item)
	if err != nil {
		return keys.Key{}, fmt.Errorf("%w: the key cannot be made of the attributes; a time is as in 2024-01-15T10:05:00Z", errArgument)
	}
	return all[0], nil
}

// attributeOf returns the attribute of a segment of a key.
func attributeOf(of pattern.Segment, text string) types.AttributeValue {
	form := of.Form
	if at, err := time.Parse(time.RFC3339, text); err == nil && form == "time-ms" {
		text = strconv.FormatInt(at.UnixMilli(), 10)
	}
	number := dynamojson.Number(text)
	if form != "" && of.Escapes() && (form != "time" || pattern.IsNumber(strings.TrimPrefix(number, "-"))) {
		return &types.AttributeValueMemberN{Value: number}
	}
	return &types.AttributeValueMemberS{Value: text}
}

// bound returns a bound of a segment as it is in a key. It is of one segment: one that went on
// in the next would tell where that begins. A text can be the beginning of one, and so can a
// time.
func (s *server) bound(of pattern.Segment, argument string, a arguments) (string, error) {
	text := a[argument]
	if text == "" {
		return "", nil
	}
	isTime := strings.HasPrefix(of.Form, "time")
	if isTime && beginsTime(text) {
		return text, nil
	}
	key, err := s.keyOf(asked{pattern: tablemodel.Pattern{PK: of.Braces()}}, arguments{argumentOf(of.Name): text})
	switch {
	case err == nil:
		return string(key.PK), nil
	case of.Form == "":
		return keys.Str(text).String(), nil
	case isTime:
		return "", fmt.Errorf("%w %s: is no time, nor the beginning of one, as in 2024-01-15T10:05", errArgument, argument)
	}
	if !of.Escapes() {
		return "", fmt.Errorf("%w %s: cannot be in this key", errArgument, argument)
	}
	return "", fmt.Errorf("%w %s: is no whole number", errArgument, argument)
}

// beginsTime reports whether a text is the beginning of a time, in UTC, as it is in a key. A
// whole one need not be.
func beginsTime(text string) bool {
	// Either can be what is missing: there are days such as 3… that are 30, and not 31.
	for _, whole := range []string{"0000-01-01T00:00:00.000Z", "0000-10-10T00:00:00.000Z"} {
		if len(text) >= len(whole) {
			return false
		}
		if _, err := time.Parse("2006-01-02T15:04:05.000Z", text+whole[len(text):]); err == nil {
			return true
		}
	}
	return false
}
