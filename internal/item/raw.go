package item

import (
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Read is what [table.Get] is asked for by those who need a value and the item that
// it was made of.
type Read[T any] struct {
	Value T
	Raw   Raw
	// Loose means that Value may hold an attribute whose name differs from its
	// field's in case, or whose type does.
	Loose bool
}

// reading is a pointer to a [Read].
type reading interface {
	valueType() reflect.Type
	parts() (value any, raw *Raw, loose *bool)
}

func (*Read[T]) valueType() reflect.Type { return reflect.TypeFor[T]() }

func (r *Read[T]) parts() (value any, raw *Raw, loose *bool) { return &r.Value, &r.Raw, &r.Loose }

// DecodeItem makes a [Read] of an item that is decoded. It returns false if v points
// to something else.
func DecodeItem(item map[string]types.AttributeValue, v any) (err error, ok bool) { //nolint:revive // as in Decoder.Decode
	r, ok := v.(reading)
	if !ok {
		return nil, false
	}
	value, raw, loose := r.parts()
	*raw, *loose = RawOf(item), true
	return raw.Decode(value), true
}

// Raw is an item that is not decoded: for several values, each with memory of its
// own. It never changes.
type Raw struct {
	// json is the item; or attributes are, if there is a client in between that
	// decodes responses.
	json       string
	attributes map[string]types.AttributeValue
}

// RawOf returns an item whose values are not decoded yet.
func RawOf(item map[string]types.AttributeValue) Raw { return Raw{attributes: item} }

// RawJSON returns an item of a response that a [Reader] has read.
func RawJSON(json []byte) Raw { return Raw{json: string(json)} }

// Decode stores the item in what v points to, as [Decode] does. It is half filled
// after an error.
func (r Raw) Decode(v any) error {
	if r.json == "" {
		return Decode(&types.AttributeValueMemberM{Value: Cloned(r.attributes)}, v)
	}
	to := reflect.ValueOf(v).Elem()
	refusal, ok := NewDecoder(to.Type(), nil).Decode(NewReader([]byte(r.json)), to)
	if !ok {
		return fmt.Errorf("the item does not decode into %v", to.Type()) // it was read before
	}
	return refusal
}

// Attributes returns the attributes that wanted asks for, nil if there are none; or
// all of them in a map to add to, if wanted is nil.
func (r Raw) Attributes(wanted func(name []byte) bool) map[string]types.AttributeValue {
	var found map[string]types.AttributeValue
	if wanted == nil {
		found = map[string]types.AttributeValue{}
	}
	add := func(name string, value types.AttributeValue) {
		if found == nil {
			found = map[string]types.AttributeValue{}
		}
		found[name] = value
	}
	if r.json == "" {
		for name, value := range r.attributes {
			if wanted == nil || wanted([]byte(name)) {
				add(name, clonedValue(value))
			}
		}
		return found
	}
	in := NewReader([]byte(r.json))
	in.Object(func(name []byte) bool {
		if wanted != nil && !wanted(name) {
			return in.ignore()
		}
		value, ok := in.value()
		add(string(name), value)
		return ok
	})
	return found
}
