package idempotency

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// inspector finds what package json leaves out of a value or replaces without an
// error.
type inspector struct {
	members map[reflect.Type][]member
	// asWritten is set for JSON of marshalers in which the order of members
	// matters.
	asWritten bool
}

// member is a field of a struct, possibly of an embedded one.
type member struct {
	index  []int
	name   string // in JSON
	path   string // in Go
	tagged bool
	// hidden means that package json leaves the field out, and no tag says so; omitzero,
	// that it does so if the field calls itself zero.
	hidden, omitzero bool
}

// inspect checks a value that package json has encoded already. Its error names
// the field, never a value.
func (x *inspector) inspect(v reflect.Value, path string) error {
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		if v.IsNil() {
			return nil
		}
	}
	switch m := marshaler(v).(type) {
	case json.Marshaler:
		text, err := m.MarshalJSON()
		x.asWritten = x.asWritten || err == nil && ambiguous(text)
		return inspectPromoted(v, path)
	case encoding.TextMarshaler:
		text, _ := m.MarshalText() // which has succeeded already
		if err := checkText(string(text), path); err != nil {
			return err
		}
		return inspectPromoted(v, path)
	}
	if isReader(v.Type()) {
		return fmt.Errorf("%s: %v is a reader, read it and take the bytes", path, v.Type())
	}
	switch v.Kind() {
	case reflect.String:
		return checkText(v.String(), path)
	case reflect.Pointer, reflect.Interface:
		return x.inspect(v.Elem(), path)
	case reflect.Slice, reflect.Array:
		return x.inspectList(v, path)
	case reflect.Map:
		return x.inspectMap(v, path)
	case reflect.Struct:
		return x.inspectStruct(v, path)
	}
	return nil
}

func (x *inspector) inspectList(v reflect.Value, path string) error {
	// Bytes have no content to lose, unless they write themselves. Package json
	// also takes the methods of a pointer to an element.
	if e := v.Type().Elem(); e.Kind() == reflect.Uint8 && reflect.PointerTo(e).NumMethod() == 0 {
		return nil
	}
	for i := range v.Len() {
		if err := x.inspect(v.Index(i), path+"[]"); err != nil {
			return err
		}
	}
	return nil
}

func (x *inspector) inspectMap(v reflect.Value, path string) error {
	seen := make(map[string]bool, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		name := mapName(entries.Key())
		err := checkText(name, path+" (a map's key)")
		if err == nil && seen[name] {
			err = fmt.Errorf("%s: two keys of the map have one name in JSON", path)
		}
		if err == nil {
			err = x.inspect(entries.Value(), path+"[]")
		}
		if err != nil {
			return err
		}
		seen[name] = true
	}
	return nil
}

// mapName returns the name that package json gives to a map's key.
func mapName(key reflect.Value) string {
	if key.Kind() == reflect.String {
		return key.String()
	}
	if m, ok := key.Interface().(encoding.TextMarshaler); ok {
		if key.Kind() == reflect.Pointer && key.IsNil() {
			return ""
		}
		text, _ := m.MarshalText()
		return string(text)
	}
	return fmt.Sprint(key.Interface())
}

func (x *inspector) inspectStruct(v reflect.Value, path string) error {
	for _, m := range x.membersOf(v.Type()) {
		field, err := v.FieldByIndexErr(m.index)
		switch {
		case err != nil: // behind an embedded pointer that is nil
		case (m.hidden || m.omitzero && callsItselfZero(field)) && !field.IsZero():
			return fmt.Errorf("%s.%s: the field is set, and its JSON leaves it out; tag it `json:\"-\"` if it does not count", path, m.path)
		case !m.hidden:
			if err := x.inspect(field, path+"."+m.path); err != nil {
				return err
			}
		}
	}
	return nil
}

// inspectPromoted checks a value that writes itself, maybe by the method of an embedded
// field: that leaves out what the other fields hold. A field does not count if the JSON
// is the same without it.
func inspectPromoted(v reflect.Value, path string) error {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || !embedsMarshaler(v.Type()) {
		return nil
	}
	whole := reflect.New(v.Type())
	whole.Elem().Set(v)
	text, err := json.Marshal(whole.Interface())
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if err != nil || f.Anonymous || !f.IsExported() || f.Tag.Get("json") == "-" || v.Field(i).IsZero() {
			continue
		}
		without := reflect.New(v.Type())
		without.Elem().Set(v)
		without.Elem().Field(i).SetZero()
		if less, err := json.Marshal(without.Interface()); err == nil && bytes.Equal(less, text) {
			return fmt.Errorf("%s.%s: the field is set, and the JSON of an embedded field leaves it out; "+
				"tag it `json:\"-\"` if it does not count", path, f.Name)
		}
	}
	return nil
}

// embedsMarshaler reports whether a struct has an embedded field that writes itself.
func embedsMarshaler(t reflect.Type) bool {
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && (writesItself(f.Type) || writesItself(reflect.PointerTo(f.Type))) {
			return true
		}
	}
	return false
}

// writesItself reports whether values of a type write themselves as JSON.
func writesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// callsItselfZero reports whether package json takes a value for zero by its IsZero
// method. The zero times of two zones are one instant.
func callsItselfZero(v reflect.Value) bool {
	type zeroer interface{ IsZero() bool }
	switch {
	case !v.CanInterface() || v.Type() == reflect.TypeFor[time.Time]():
		return false
	case v.Type().Implements(reflect.TypeFor[zeroer]()):
		if kind := v.Kind(); (kind == reflect.Pointer || kind == reflect.Interface) && v.IsNil() {
			return true
		}
		return v.Interface().(zeroer).IsZero()
	case reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[zeroer]()):
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		return p.Interface().(zeroer).IsZero()
	}
	return false
}

// membersOf returns the fields of a struct, without those that a tag leaves out.
// Of several with one name, package json takes the one that is embedded least
// deeply, then the one whose name is from a tag, and otherwise none.
func (x *inspector) membersOf(t reflect.Type) []member {
	if all, known := x.members[t]; known {
		return all
	}
	all := appendMembers(nil, t, nil, "", nil)
	slices.SortStableFunc(all, func(a, b member) int {
		if order := cmp.Compare(a.name, b.name); order != 0 {
			return order
		}
		return a.compare(b)
	})
	for i := range all {
		first := i == 0 || all[i-1].name != all[i].name
		tied := i+1 < len(all) && all[i+1].name == all[i].name && all[i].compare(all[i+1]) == 0
		if all[i].name != "" && (!first || tied) {
			all[i].hidden = true
		}
	}
	x.members[t] = all
	return all
}

// compare orders two members of one name, the one that package json prefers
// first.
func (m member) compare(other member) int {
	if by := cmp.Compare(len(m.index), len(other.index)); by != 0 || m.tagged == other.tagged {
		return by
	}
	if m.tagged {
		return -1
	}
	return 1
}

// appendMembers appends the fields of t, which is embedded at index in a struct
// and in the types of around.
func appendMembers(all []member, t reflect.Type, index []int, path string, around []reflect.Type) []member {
	around = append(around[:len(around):len(around)], t)
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" || f.Name == "_" {
			continue
		}
		m := member{index: append(index[:len(index):len(index)], i), path: path + f.Name}
		name, options, _ := strings.Cut(tag, ",")
		m.name, m.omitzero = name, slices.Contains(strings.Split(options, ","), "omitzero")
		m.tagged = m.name != ""
		inner := f.Type
		if inner.Kind() == reflect.Pointer && inner.Name() == "" {
			inner = inner.Elem()
		}
		embedded := f.Anonymous && inner.Kind() == reflect.Struct
		switch {
		case embedded && !m.tagged && !slices.Contains(around, inner):
			all = appendMembers(all, inner, m.index, m.path+".", around)
			continue
		case embedded && !m.tagged, !embedded && !f.IsExported():
			m.name, m.hidden = "", true
		case !m.tagged:
			m.name = f.Name
		}
		all = append(all, m)
	}
	return all
}

// marshaler returns the value as what package json has it write itself by; nil
// if it does not.
func marshaler(v reflect.Value) any {
	candidates := []reflect.Value{v}
	if v.CanAddr() {
		candidates = []reflect.Value{v.Addr(), v}
	}
	for _, kind := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		for _, c := range candidates {
			if c.Type().Implements(kind) && c.CanInterface() {
				return c.Interface()
			}
		}
	}
	return nil
}

func isReader(t reflect.Type) bool {
	reader := reflect.TypeFor[io.Reader]()
	return t.Kind() != reflect.Interface && (t.Implements(reader) || reflect.PointerTo(t).Implements(reader))
}

// checkText refuses a text in which package json would replace bytes.
func checkText(text, path string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s: the text is not UTF-8", path)
	}
	return nil
}
