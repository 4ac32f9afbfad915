package item

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// FieldValue returns the attribute that a field of a struct type makes of a value, as its tag
// says; nil if the field leaves it out. Nil stands for the zero value of the field. A value of
// the field's type, or of that which it points to, is stored as a field of T is. Another one
// has to be the same after it was read into the field: so a 1 is for any number.
func FieldValue(t reflect.Type, attribute string, value any) (types.AttributeValue, error) {
	f := &planOf(t).fields[planOf(t).byName[attribute]]
	v := reflect.New(t).Elem()
	to := f.at(v)
	given, into := reflect.ValueOf(value), to
	if given.IsValid() && to.Kind() == reflect.Pointer && given.Type().AssignableTo(to.Type().Elem()) {
		to.Set(reflect.New(to.Type().Elem()))
		into = to.Elem()
	}
	e := itemEncoder{level: 1}
	if !given.IsValid() || given.Type().AssignableTo(into.Type()) {
		if given.IsValid() {
			into.Set(given)
		}
		if lost := checkDynamic(to, 0); lost != nil {
			return nil, lost.in(attribute)
		}
		made, err := e.field(f, v)
		if err != nil {
			return nil, rooted(t, err)
		}
		return made, nil
	}
	encoded, err := EncodeToRead(value)
	if err == nil {
		err = f.give(encoded, to)
	}
	var made types.AttributeValue
	if err == nil {
		made, err = e.field(f, v)
	}
	if err == nil && (made == nil || !EqualUnordered(AsStored(encoded), AsStored(made))) {
		err = errors.New("it would be stored as another value")
	}
	if err != nil {
		return nil, &Error{Path: attribute, Problem: fmt.Sprintf("a %T does not fit the field of type %v", value, to.Type()), Err: err}
	}
	return made, nil
}
