// Package dynamojson reads and writes items in the JSON of the DynamoDB API, such as
// {"name": {"S": "ana"}}. Reading is strict, since what is read is written to tables:
// a member that is there twice, or a value of two types, is refused.
package dynamojson

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// Item returns the item as encoding/json writes it in that form. Names and the members
// of sets are sorted, so that equal items give equal text.
func Item(item table.Item) map[string]any {
	if item == nil {
		return nil
	}
	m := make(map[string]any, len(item))
	for name, v := range item {
		m[name] = Value(v)
	}
	return m
}

// Value is [Item] for one value. It is nil for none.
func Value(v types.AttributeValue) any {
	member := func(kind string, value any) any { return map[string]any{kind: value} }
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return member("S", v.Value)
	case *types.AttributeValueMemberN:
		return member("N", v.Value)
	case *types.AttributeValueMemberB:
		return member("B", append([]byte{}, v.Value...)) // Nil would be null.
	case *types.AttributeValueMemberBOOL:
		return member("BOOL", v.Value)
	case *types.AttributeValueMemberNULL:
		return member("NULL", v.Value)
	case *types.AttributeValueMemberSS:
		return member("SS", sorted(v.Value, cmp.Compare))
	case *types.AttributeValueMemberNS:
		return member("NS", sorted(v.Value, cmp.Compare))
	case *types.AttributeValueMemberBS:
		return member("BS", sorted(v.Value, bytes.Compare))
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = Value(e)
		}
		return member("L", list)
	case *types.AttributeValueMemberM:
		m := make(map[string]any, len(v.Value))
		for name, e := range v.Value {
			m[name] = Value(e)
		}
		return member("M", m)
	}
	return nil
}

// sorted returns a sorted copy that is not nil, which would be written as null.
func sorted[T any](set []T, compare func(a, b T) int) []T {
	set = append([]T{}, set...)
	slices.SortFunc(set, compare)
	return set
}

// Decode reads one item: a map of attributes, or an object whose member Item is one, as
// GetItem of the AWS CLI returns it. Other members of such an object are ignored.
//
// Errors name the attribute and no value. Numbers are not checked: see
// [table.Table.CheckItem].
func Decode(text string) (table.Item, error) {
	item, err := decodeItem(text)
	if err == nil {
		return item, nil
	}
	var envelope map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &envelope) != nil || envelope["Item"] == nil {
		return nil, err
	}
	return decodeItem(string(envelope["Item"]))
}

func decodeItem(text string) (table.Item, error) {
	d := json.NewDecoder(strings.NewReader(text))
	item := table.Item{}
	err := object(d, nil, func(name string, path []string) (err error) {
		item[name], err = value(d, path)
		return err
	})
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			return nil, errors.New("there is more after the item")
		}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return item, nil
}

// maxDepth is far above the 32 levels that DynamoDB takes; it keeps hostile text from
// using up the stack.
const maxDepth = 100

// fault returns an error that names the attribute.
func fault(path []string, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if len(path) == 0 {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %s", strings.TrimPrefix(strings.Join(path, ""), "."), text)
}

// object reads an object, and calls member to read the value of each of its members.
func object(d *json.Decoder, path []string, member func(name string, path []string) error) error {
	if len(path) > maxDepth {
		return errors.New("is nested too deeply")
	}
	if token, err := d.Token(); err != nil {
		return err
	} else if token != json.Delim('{') {
		return fault(path, "is not an object")
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // Package json returns nothing else here.
		if seen[name] {
			return fault(path, "member %q is there twice", name)
		}
		seen[name] = true
		if err := member(name, append(path, "."+name)); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// value reads the value of an attribute: an object with one member, the type.
func value(d *json.Decoder, path []string) (v types.AttributeValue, err error) {
	members := 0
	err = object(d, path, func(kind string, _ []string) (err error) {
		members++
		v, err = valueOf(d, kind, path)
		return err
	})
	if err == nil && members != 1 {
		err = fault(path, "is not a value with one type, such as {\"S\": \"text\"}")
	}
	return v, err
}

func valueOf(d *json.Decoder, kind string, path []string) (types.AttributeValue, error) {
	switch kind {
	case "S":
		text, err := scalar[string](d, path)
		return &types.AttributeValueMemberS{Value: text}, err
	case "N":
		text, err := scalar[string](d, path)
		return &types.AttributeValueMemberN{Value: text}, err
	case "B":
		data, err := binary(d, path)
		return &types.AttributeValueMemberB{Value: data}, err
	case "BOOL":
		is, err := scalar[bool](d, path)
		return &types.AttributeValueMemberBOOL{Value: is}, err
	case "NULL":
		is, err := scalar[bool](d, path)
		return &types.AttributeValueMemberNULL{Value: is}, err
	case "SS":
		set, err := array(d, path, scalar[string])
		return &types.AttributeValueMemberSS{Value: set}, err
	case "NS":
		set, err := array(d, path, scalar[string])
		return &types.AttributeValueMemberNS{Value: set}, err
	case "BS":
		set, err := array(d, path, binary)
		return &types.AttributeValueMemberBS{Value: set}, err
	case "L":
		list, err := array(d, path, value)
		return &types.AttributeValueMemberL{Value: list}, err
	case "M":
		m := map[string]types.AttributeValue{}
		err := object(d, path, func(name string, path []string) (err error) {
			m[name], err = value(d, path)
			return err
		})
		return &types.AttributeValueMemberM{Value: m}, err
	}
	return nil, fault(path, "has no type of DynamoDB, which are S, N, B, BOOL, NULL, SS, NS, BS, L and M")
}

// scalar reads a text or a boolean.
func scalar[T string | bool](d *json.Decoder, path []string) (v T, err error) {
	token, err := d.Token()
	if err != nil {
		return v, err
	}
	v, ok := token.(T)
	if !ok {
		return v, fault(path, "is not a JSON %T, as its type wants", v)
	}
	return v, nil
}

func binary(d *json.Decoder, path []string) ([]byte, error) {
	text, err := scalar[string](d, path)
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fault(path, "is not base64")
	}
	return data, nil
}

func array[T any](d *json.Decoder, path []string, element func(*json.Decoder, []string) (T, error)) ([]T, error) {
	if token, err := d.Token(); err != nil {
		return nil, err
	} else if token != json.Delim('[') {
		return nil, fault(path, "is not an array")
	}
	all := []T{}
	for d.More() {
		v, err := element(d, append(path, fmt.Sprintf("[%d]", len(all))))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	_, err := d.Token()
	return all, err
}
