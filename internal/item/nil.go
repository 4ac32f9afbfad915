package item

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// errNil means that a Marshaler gave a nil where a value has to be.
var errNil = errors.New("the value is nil")

// Nil reports whether an attribute value, or one inside it, is nil or a pointer that is
// nil: no response has such a value, and no request may. path leads to it, "" to the
// value itself. It has no names, which may be the keys of a map.
func Nil(value types.AttributeValue) (path string, is bool) { return nilBelow(value, 0) }

// NilIn is [Nil] for an item. The path begins with the name of its attribute.
func NilIn(item map[string]types.AttributeValue) (path string, is bool) {
	for name, value := range item {
		if path, is := Nil(value); is {
			return name + path, true
		}
	}
	return "", false
}

// nilBelow does not visit deeper values than DynamoDB stores: it must come to an end.
func nilBelow(value types.AttributeValue, level int) (path string, is bool) {
	p := ValueOf(value)
	if p.Kind == 0 || level > maxLevels {
		return "", p.Kind == 0
	}
	for i, e := range p.List {
		if path, is := nilBelow(e, level+1); is {
			return at(i) + path, true
		}
	}
	for _, e := range p.Map {
		if path, is := nilBelow(e, level+1); is {
			return InMap + path, true
		}
	}
	return "", false
}

// noNil returns what attributevalue has encoded, or an error if a Marshaler gave a nil
// for a part of it. A value that is nil itself is left out.
func noNil(value types.AttributeValue, err error) (types.AttributeValue, error) {
	if value == nil || err != nil {
		return nil, err
	}
	if path, is := Nil(value); is {
		return nil, &Error{Path: path, Problem: errNil.Error(), Err: errNil}
	}
	return value, nil
}
