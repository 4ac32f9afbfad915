package item

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Times as numbers. attributevalue reads whole seconds only, of any year, and stores the zero
// time as a time in the year 1. Other programs store fractions, and milliseconds, which are read
// as a year beyond 9999; and take the year 1 for an expiry that has come. So here
//
//   - a number with a fraction is read as its whole seconds, rounded down;
//   - a number outside of the years 0 to 9999 is refused, read or written;
//   - a field with the tag option unixtime that holds the zero time is left out.

// firstSecond and lastSecond bound the years 0 to 9999.
const (
	firstSecond = -62167219200
	lastSecond  = 253402300799
)

// ZeroSecond is the number that attributevalue makes of the zero time.
const ZeroSecond = "-62135596800"

var errFarTime = errors.New("a time outside of the years 0 to 9999")

// farTime returns the error of a number of seconds outside of these years.
func farTime() *Error {
	return &Error{Err: errFarTime, Problem: "a number that is in seconds a time outside of the years 0 to 9999, as of a time in milliseconds; " +
		"use a table.UnixMilli for these"}
}

// isTime reports whether attributevalue treats a type as it does a time.Time.
func isTime(t reflect.Type) bool { return t.Kind() == reflect.Struct && t.ConvertibleTo(timeType) }

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// holdsTime reports whether a type is a time, or holds one and nothing else.
func holdsTime(t reflect.Type) bool {
	return isTime(t) || t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Anonymous && t.Field(0).Type == timeType
}

// Floor returns the greatest integer that is not greater than a number; false if it is no
// number, or no int64.
func Floor(number string) (floor int64, ok bool) {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return n, true
	}
	d, ok := ParseNumber(number)
	switch {
	case !ok || d.exponent > 19 && d.digits > 0:
		return 0, false
	case d.digits == 0:
		return 0, true
	case d.exponent > 0:
		text := d.plain()
		if d.exponent < d.digits {
			text = text[:len(text)-(d.digits-d.exponent)-len(".")]
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, false
		}
		floor = n
	}
	if d.negative && d.exponent < d.digits {
		floor--
	}
	return floor, floor < 0 == d.negative // or it is beyond the least int64
}

// parseTime parses the text of RFC 3339, or the number of seconds since 1970.
func parseTime(k Kind, b []byte) (t time.Time, ok bool) {
	if k == N {
		seconds, ok := Floor(string(b))
		//mutants:guard milliseconds are not read as seconds | TestTimesAfterTheYear9999 | ok && seconds >= firstSecond && seconds <= lastSecond => ok
		return time.Unix(seconds, 0), ok && seconds >= firstSecond && seconds <= lastSecond
	}
	t, err := time.Parse(time.RFC3339, string(b))
	return t, err == nil
}

// wholeSeconds returns a value that attributevalue reads as parseTime does: with whole seconds
// where the plan's type has times. Other values stay as they are.
func (p *plan) wholeSeconds(value types.AttributeValue) (types.AttributeValue, error) {
	return p.times(nil, value, func(_ *field, n string) (string, error) {
		seconds, ok := Floor(n)
		switch {
		case ok && (seconds < firstSecond || seconds > lastSecond):
			return "", farTime()
		case ok:
			return strconv.FormatInt(seconds, 10), nil
		}
		if _, number := ParseNumber(n); number { // beyond an int64
			return "", farTime()
		}
		return n, nil // attributevalue refuses it
	})
}

// timeChange returns the number that a time is to have, "" if it is to be left out. It is given
// the field of a struct that holds the time, nil if there is none.
type timeChange func(f *field, n string) (string, error)

// times returns a value with the changed numbers of the plan's times, nil if it is left out. It
// is that of the field f, if that is not nil. What does not change is shared.
func (p *plan) times(f *field, value types.AttributeValue, change timeChange) (types.AttributeValue, error) {
	for p.form == pointer {
		p = p.elem
	}
	elem, parts, changed, err := p.element(), ValueOf(value), false, error(nil)
	switch {
	case parts.Kind == N && p.time:
		was := parts.Text
		parts.Text, err = change(f, was)
		if changed = parts.Text != was; changed && parts.Text == "" {
			return nil, err
		}
	case parts.Kind == NS && elem != nil && elem.time:
		parts.Texts, changed = slices.Clone(parts.Texts), true
		for i, n := range parts.Texts {
			if parts.Texts[i], err = change(nil, n); err != nil {
				return nil, err
			}
		}
	case parts.Kind == L && elem != nil:
		parts.List, changed, err = elem.timesOfList(parts.List, change)
	case parts.Kind == M && (elem != nil || p.form == structure):
		parts.Map, changed, err = p.timesOfMap(parts.Map, elem, change)
	}
	if changed && err == nil {
		value = parts.Value()
	}
	return value, err
}

// timesOfList is times of the elements of a list, each of the plan's type.
func (p *plan) timesOfList(list []types.AttributeValue, change timeChange) (of []types.AttributeValue, changed bool, err error) {
	for i, value := range list {
		made, err := p.times(nil, value, change)
		if err != nil {
			return nil, false, err
		}
		if made != value && !changed {
			list, changed = slices.Clone(list), true
		}
		list[i] = made
	}
	return list, changed, nil
}

// timesOfMap is times of the members of a map, each with the plan elem, or that of its field.
func (p *plan) timesOfMap(m map[string]types.AttributeValue, elem *plan, change timeChange) (of map[string]types.AttributeValue, changed bool, err error) {
	of = m
	for name, value := range m {
		inner, f := elem, (*field)(nil)
		if p.form == structure {
			if f = p.field(name); f == nil {
				continue
			}
			inner = f.plan
		}
		made, err := inner.times(f, value, change)
		if err != nil {
			return nil, false, err
		}
		if made == value {
			continue
		}
		if !changed {
			of, changed = maps.Clone(m), true
		}
		if of[name] = made; made == nil {
			delete(of, name)
		}
	}
	return of, changed, nil
}

// element returns the plan of the elements of a list or map, nil if it has none, or if its type
// reads itself.
func (p *plan) element() *plan {
	elem := p.elem
	if k := p.typ.Kind(); p.form == foreign && (k == reflect.Array || k == reflect.Map) && !implements(p.typ, unmarshalerType) {
		elem = planOf(p.typ.Elem())
	}
	for elem != nil && elem.form == pointer {
		elem = elem.elem
	}
	return elem
}

// withoutZeroTimes returns what attributevalue has made of a field without the zero times that
// are left out.
func (f *field) withoutZeroTimes(value types.AttributeValue) (types.AttributeValue, error) {
	return f.plan.times(f, value, func(f *field, n string) (string, error) {
		if f != nil && f.asUnixTime && n == ZeroSecond {
			return "", nil
		}
		return n, nil
	})
}

// leavesOut reports whether the field of a time leaves out its value: a zero time that would be
// stored as one in the year 1, or of which its own method makes NULL.
func (f *field) leavesOut(value reflect.Value, made types.AttributeValue) bool {
	is := ValueOf(made)
	if is.Kind != NULL && (is.Kind != N || is.Text != ZeroSecond) {
		return false
	}
	for ; value.Kind() == reflect.Pointer; value = value.Elem() {
		if value.IsNil() {
			return false
		}
	}
	t, marshaled := value.Type(), implements(value.Type(), marshalerType)
	return is.Kind == NULL && marshaled || t == unixTimeType || f.asUnixTime && !marshaled
}
