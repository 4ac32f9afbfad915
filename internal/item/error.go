package item

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Error names the attribute and the Go type that do not fit. Its text quotes no
// value. The text of the error that it wraps may: it comes from attributevalue or
// from a method of the type.
type Error struct {
	// Path leads to the attribute, as in items[3].price. It is empty for the
	// item itself. A map's keys may be personal data, so prices[…] is a value of a map. The
	// names of an item's attributes are in the path, also if the item is read into a map.
	Path string
	// key is the name in Path of an attribute that is read into a map.
	key string
	// Problem is what is wrong: "a number does not decode into int8".
	Problem string
	// Err is the cause; never nil.
	Err error
}

// Error returns the path and the problem.
func (e *Error) Error() string {
	text := e.Problem
	if e.Path != "" {
		text = fmt.Sprintf("attribute %q: %s", Shortened(e.Path), text)
	}
	if errors.Is(e.Err, ErrPanic) {
		text += " (panic)"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Shortened bounds a path or a name that goes into a message.
func Shortened(s string) string {
	const most = 256
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// OfValue returns the error of a value that is no item: its names are the keys of a map, if
// it is read into one.
func (e *Error) OfValue() *Error {
	if e.key == "" {
		return e
	}
	of := *e
	of.Path, of.key = InMap+strings.TrimPrefix(e.Path, e.key), ""
	return &of
}

// InMap is the step to a value of a map in a path: its key may be personal data.
const InMap = "[…]"

// Step returns the step in a path from a value to what it stores under a name, and the Go value
// there, if there is one: a field has its name, and a map's key is hidden.
func Step(v reflect.Value, name string) (step string, to reflect.Value) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		if f := planOf(v.Type()).field(name); f != nil {
			to, _ = f.in(v)
			return "." + name, to
		}
	case reflect.Map:
		if key := v.Type().Key(); key.Kind() == reflect.String {
			to = v.MapIndex(reflect.ValueOf(name).Convert(key))
		}
	}
	return InMap, to
}

// in returns the error of an attribute in the one that step leads to.
func (e *Error) in(step string) *Error {
	e.Path = step + e.Path
	return e
}

func at(i int) string { return "[" + strconv.Itoa(i) + "]" }

// notEncoded returns the error of a value that does not encode. step leads to its
// attribute.
func notEncoded(step string, t reflect.Type, err error) *Error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // only one of ours is on its way up
		return e.in(step)
	}
	return &Error{Path: step, Problem: fmt.Sprintf("%v does not encode", t), Err: err}
}

// maxLevels is how deep DynamoDB nests values. The limit also ends the encoding
// of a Go value that contains itself.
const maxLevels = 32

var errLevels = errors.New("nested more than 32 levels deep")

// notDecoded returns the error of an item that does not decode into the plan's
// type. Its cause is err, or for a struct that of the first field.
func (p *plan) notDecoded(item map[string]types.AttributeValue, err error) *Error {
	if p.form == structure {
		for _, name := range slices.Sorted(maps.Keys(item)) {
			if f := p.field(name); f != nil {
				if err := f.give(item[name], reflect.New(f.plan.typ).Elem()); err != nil {
					return f.plan.located(item[name], err).in(name)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item)) {
		if inner := p.member(name); inner != nil && inner.refuses(item[name]) {
			e := inner.located(item[name], err).in(name)
			if p.names() {
				e.key = name
			}
			return e
		}
	}
	return p.located(&types.AttributeValueMemberM{Value: item}, err)
}

// located returns the error of an attribute value that does not decode into the
// plan's type. It decodes the parts of the value again to find the innermost one
// that fails.
func (p *plan) located(value types.AttributeValue, err error) *Error {
	parts := ValueOf(value)
	for _, name := range slices.Sorted(maps.Keys(parts.Map)) {
		if inner := p.member(name); inner != nil && inner.refuses(parts.Map[name]) {
			if p.names() {
				return inner.located(parts.Map[name], err).in(InMap)
			}
			return inner.located(parts.Map[name], err).in("." + name)
		}
	}
	if p.form == slice || p.form == texts {
		inner := planOf(p.typ.Elem())
		if i := slices.IndexFunc(parts.List, inner.refuses); i >= 0 {
			return inner.located(parts.List[i], err).in(at(i))
		}
	}
	problem := fmt.Sprintf("%s does not decode into %v", parts.Kind.words(), p.typ)
	if own, ok := errors.AsType[*Error](decodeForeign(value, reflect.New(p.typ).Interface())); ok {
		problem = own.Problem
	}
	return &Error{Problem: problem, Err: err}
}

// names reports whether the type is a map, whose keys are the names in a value.
func (p *plan) names() bool {
	return p.form == dictionary || p.form == pointer && p.elem.names()
}

// member returns the plan for an element of a map, nil if the type ignores it.
func (p *plan) member(name string) *plan {
	switch p.form {
	case structure:
		if f := p.field(name); f != nil {
			return f.plan
		}
	case dictionary:
		return p.elem
	case pointer:
		if p.elem.form != pointer {
			return p.elem.member(name)
		}
	}
	return nil
}

// refuses reports whether an attribute value does not decode into the plan's
// type.
func (p *plan) refuses(value types.AttributeValue) bool {
	return decodeForeign(value, reflect.New(p.typ).Interface()) != nil
}
