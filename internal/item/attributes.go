package item

import (
	"reflect"
	"slices"
)

// UnixTimes returns the names of the attributes whose fields are times in seconds, and leave the
// zero time out.
func UnixTimes(t reflect.Type) (names []string) {
	for _, f := range planOf(t).fields {
		field, kind := FieldKind(t, f.name)
		if kind == N && isTime(field) || field == unixTimeType || field == reflect.PointerTo(unixTimeType) {
			names = append(names, f.name)
		}
	}
	return names
}

// Attributes returns the names of the attributes that values of a type have,
// sorted. known is false for types that are not structs, and for those that make
// their attributes themselves.
func Attributes(t reflect.Type) (names []string, known bool) {
	p := planOf(t)
	if p.form != structure || p.marshaled {
		return nil, false
	}
	for _, f := range p.fields {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names, true
}

// Field returns the index of the struct field that an attribute belongs to, as
// [reflect.Value.FieldByIndex] takes it. It knows fields that are strings or
// integers, without options, and those of one of the other types, and none behind a pointer.
func Field(t reflect.Type, attribute string, others ...reflect.Type) (index []int, ok bool) {
	p := planOf(t)
	i, ok := p.byName[attribute]
	if !ok || p.marshaled {
		return nil, false
	}
	f := p.fields[i]
	if slices.Contains(others, f.plan.typ) && !f.pointed {
		return f.index, true
	}
	plain := f.plan.form == text || f.plan.form == integer || f.plan.form == unsigned
	if !plain || f.pointed || f.plan.marshaled || f.plan.numeric || f.asText {
		return nil, false
	}
	return f.index, true
}

// FieldKind returns the type of the field that an attribute belongs to, without
// pointers, and the type of attribute that its values are encoded as, which is L for
// sets too. The latter is 0 if the type does not say: there is no such field, or it
// makes its attribute itself.
func FieldKind(t reflect.Type, attribute string) (field reflect.Type, kind Kind) {
	p := planOf(t)
	i, ok := p.byName[attribute]
	if !ok || p.marshaled {
		return nil, 0
	}
	f := p.fields[i]
	for p = f.plan; p.form == pointer && !p.marshaled; {
		p = p.elem
	}
	if p.marshaled {
		return p.typ, 0
	}
	switch p.form {
	case text:
		if p.numeric && !f.asText {
			return p.typ, N
		}
		return p.typ, S
	case integer, unsigned, float:
		if f.asText {
			return p.typ, S
		}
		return p.typ, N
	case blob:
		return p.typ, B
	case boolean:
		return p.typ, BOOL
	case dictionary, structure:
		return p.typ, M
	case slice, texts:
		if f.asSet {
			return p.typ, SS // or of numbers or bytes: no list
		}
		return p.typ, L
	case moment, foreign:
		return p.typ, kindOfOthers(p.typ, f.options)
	}
	return p.typ, 0
}

// kindOfOthers is the kind of times, and of types that only attributevalue encodes.
func kindOfOthers(t reflect.Type, o options) Kind {
	list := t.Kind() == reflect.Array || t.Kind() == reflect.Slice
	switch {
	case isTime(t) && o.asUnixTime:
		return N
	case isTime(t):
		return S
	case list && t.Elem().Kind() == reflect.Uint8:
		return B
	case list && o.asSet:
		return SS
	case list:
		return L
	}
	return 0
}
