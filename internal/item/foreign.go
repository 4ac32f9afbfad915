package item

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The SDK's encoder and decoder hold their options only. The functions of
// attributevalue make new ones for every item.
var (
	encoder = attributevalue.NewEncoder()
	decoder = attributevalue.NewDecoder()
)

// ErrPanic means that attributevalue or a type's own method panicked over a
// value.
var ErrPanic = errors.New("panic")

// Decode is attributevalue's Decode, with an [Error] that says what does not
// decode.
func Decode(value types.AttributeValue, v any) error {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer {
		return decodeForeign(value, v)
	}
	p := planOf(t.Elem())
	if m, ok := value.(*types.AttributeValueMemberM); ok && m != nil {
		if err := decodeForeign(&types.AttributeValueMemberM{Value: p.ownOnly(m.Value)}, v); err != nil {
			return p.notDecoded(m.Value, err)
		}
		return nil
	}
	if err := decodeForeign(value, v); err != nil {
		return p.located(value, err)
	}
	return nil
}

// ownOnly returns an item without the attributes whose names differ from that of a
// field in case only, if the field has an attribute of its own name: see
// [names.respell]. attributevalue reads both into the field, in the order of a map.
func (p *plan) ownOnly(attributes map[string]types.AttributeValue) map[string]types.AttributeValue {
	own := attributes
	for name := range attributes {
		field, respelled := p.fieldOf(name)
		if !respelled || attributes[p.fields[field].name] == nil {
			continue
		}
		if len(own) == len(attributes) {
			own = maps.Clone(attributes)
		}
		delete(own, name)
	}
	return own
}

// decodeForeign is attributevalue's Decode, with times as in [plan.wholeSeconds]. Some types,
// such as one with an embedded pointer to an unexported struct, make it panic when an item has
// the attribute; this is an error here.
func decodeForeign(value types.AttributeValue, v any) (err error) {
	defer recovered(v, &err)
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Pointer {
		if value, err = planOf(t.Elem()).wholeSeconds(value); err != nil {
			return err
		}
	}
	return decoder.Decode(value, v)
}

// encodeForeign is attributevalue's Encode, likewise.
func encodeForeign(v any) (value types.AttributeValue, err error) {
	defer recovered(v, &err)
	return encoder.Encode(v)
}

func recovered(v any, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w over a %T: %v", ErrPanic, v, r)
	}
}

// give lets attributevalue put an attribute into the field v.
func (f *field) give(value types.AttributeValue, v reflect.Value) error {
	// attributevalue does not look for methods on a field whose type has no name,
	// but it does on what it is given a pointer to.
	named := f.plan.typ.Name() != "" || f.plan.typ.Kind() != reflect.Struct
	if named && f.options == (options{}) {
		return decodeForeign(value, v.Addr().Interface())
	}
	alone := reflect.New(f.alone)
	err := decodeForeign(&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{aloneName: value}}, alone.Interface())
	v.Set(alone.Elem().Field(0))
	return err
}
