package item

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Raw is an item that is not decoded. Values and single attributes can be made of it,
// each with memory of its own. It never changes. A [Decoder] of Raw reads items as they
// are.
type Raw struct {
	// json is the item; or attributes are, if there is a client in between that
	// decodes responses.
	json       []byte
	attributes map[string]types.AttributeValue
}

// RawOf returns an item whose values are not decoded yet.
func RawOf(item map[string]types.AttributeValue) Raw { return Raw{attributes: item} }

// RawJSON returns an item of a response that a [Parser] has read.
func RawJSON(json []byte) Raw { return Raw{json: bytes.Clone(json)} }

// Decode stores the item in what v points to, as [Decode] does. It is half filled
// after an error. It is loose if it may hold an attribute whose name differs from its
// field's in case, or whose type does.
func (r Raw) Decode(v any) (loose bool, err error) {
	if r.json == nil {
		return true, Decode(&types.AttributeValueMemberM{Value: Cloned(r.attributes)}, v)
	}
	to, in := reflect.ValueOf(v).Elem(), NewParser(r.json)
	d := NewDecoder(to.Type(), nil)
	refusal, ok := d.Decode(in, to)
	if !ok {
		return true, fmt.Errorf("the item does not decode into %v", to.Type()) // it was read before
	}
	return d.names.respelled || in.loose, refusal
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
	if r.json == nil {
		for name, value := range r.attributes {
			if wanted == nil || wanted([]byte(name)) {
				add(name, rebuilt(value, Value.clone))
			}
		}
		return found
	}
	in := NewParser(r.json)
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
