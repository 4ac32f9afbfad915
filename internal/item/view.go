package item

import (
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// View is what the reads of a table do with the items of one type, before they are
// values. It is what package repo tells package table, and no part of the API.
type View struct {
	// Type is what the items have in the type attribute of the table.
	Type string
	// Shape is the shape that the program knows: the number in the shape attribute of
	// the table, 0 where it is missing.
	Shape int
	// Change is given every item of another shape, as a whole. It changes the item, and
	// with it the number of its shape, or the next reader that is given the item would
	// change it again. It is called by several goroutines at once.
	Change func(item map[string]types.AttributeValue, shape int) error
	// Equal are attributes that each item has, with their texts. An item with another value is
	// of another type; one that lacks them, as an index may, is not.
	Equal map[string]string
	// Version and At name two attributes, or nothing. An item of this shape in which they
	// differ is given to Change, too: a program of an older shape has written it.
	Version, At string
	// Attributes are those that Change can touch. A filter on one of them, and an index
	// that does not project all attributes, are refused, since they would miss items or
	// misread them. With a projection, items are read as a whole and cut afterwards.
	Attributes []string
	// Whole is the Go type of whole entities. A read that gives less than all of an item is
	// not read into it: see [View.IsWhole]. Nil means any type may be less.
	Whole reflect.Type
	// Check is given a pointer to each value of the type Whole, and the key of its item: see
	// [View.WholeIn]. Its error says why that is less than the entity. Nil means that no item is.
	Check func(v any, pk, sk string) error
}

// IsWhole reports whether an item that is read into a value of type t is read into one of the
// type Whole: into t itself, into what t embeds, or into an interface, in which an item is a
// map. A write can be given each of them.
func (v *View) IsWhole(t reflect.Type) bool {
	_, is := v.within(t)
	return is
}

// WholeIn returns the value of the type Whole that an item was read into, with value. It is not
// valid if there is none. That of an interface is a copy.
func (v *View) WholeIn(value reflect.Value) (whole reflect.Value) {
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	index, is := v.within(value.Type())
	switch {
	case !is:
		return whole
	case value.Kind() == reflect.Interface:
		if read := value.Elem(); read.IsValid() && read.CanConvert(v.Whole) {
			whole = reflect.New(v.Whole).Elem()
			whole.Set(read.Convert(v.Whole))
		}
		return whole
	case len(index) == 0:
		return value
	}
	at, err := value.FieldByIndexErr(index)
	if err != nil {
		return whole // below a nil pointer
	}
	if at.Type() != v.Whole { // a pointer to one
		if at = at.Elem(); !at.IsValid() {
			return whole
		}
	}
	return reflect.NewAt(v.Whole, at.Addr().UnsafePointer()).Elem() // it may be in an unexported field
}

// within returns the index of the field of t that is read as a Whole; none if t is.
func (v *View) within(t reflect.Type) (index []int, is bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case v.Whole == nil:
		return nil, false
	case t == v.Whole, t.Kind() == reflect.Interface && v.Whole.Kind() == reflect.Map:
		return nil, true
	}
	return embeds(t, v.Whole, nil)
}

// embeds returns the index of the field by which a struct type embeds another type, at any
// depth, so that an item is read into both. Those above it end the search in types that embed
// themselves.
func embeds(t, other reflect.Type, above []reflect.Type) (index []int, is bool) {
	if t.Kind() != reflect.Struct || slices.Contains(above, t) {
		return nil, false
	}
	above = append(above, t)
	for i := range t.NumField() {
		f := t.Field(i)
		e := f.Type
		if e.Kind() == reflect.Pointer {
			e = e.Elem()
		}
		name, _ := parseTag(f.Tag)
		// The method of an embedded type reads the whole item, whatever the tag says.
		if !f.Anonymous || (name != "" || e.Kind() != reflect.Struct) && !implements(e, unmarshalerType) {
			continue
		}
		if e == other {
			return []int{i}, true
		}
		if deeper, is := embeds(e, other, above); is {
			return append([]int{i}, deeper...), true
		}
	}
	return nil, false
}

// Reading is how a package of this module reads a table, instead of by the view that it was
// given.
type Reading struct {
	// Type is the only type that is read, "" for all. Views are for items of their types.
	Type  string
	Views []View
	// Whole ends a projection, and leaves out what has expired.
	Whole bool
}

// Guard is what package repo requires of the item under the key of an op.
type Guard struct {
	// Shape is required if ByShape is set. An item of a newer one is table.ErrNewerShape, and
	// one of an older one table.ErrStale. A missing item has any.
	Shape   Shape
	ByShape bool
	// OrStale makes a condition by Op.If that fails table.ErrStale: it compares the item with
	// what was read of it.
	OrStale bool
	// Same are the attributes that these conditions are about, with the values that they had; nil
	// is one that was missing. If a stored item has these, another condition has failed.
	Same map[string]types.AttributeValue
	// Uncounted says of a condition by Op.If that an expired item under the key is not counted
	// any more.
	Uncounted bool
}

// Shape is which shapes of a stored item an op of package table is for.
type Shape struct {
	// Most is the greatest shape. With Admits, a greater one that admits programs of this one
	// will do, too.
	Most   int
	Admits bool
	// Least is the least shape, 0 for any, and for an item without a shape.
	Least int
}
