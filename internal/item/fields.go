package item

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// options are those of a field's tag.
type options struct {
	omitEmpty, nullEmpty         bool
	omitEmptyElem, nullEmptyElem bool
	asText, asUnixTime           bool
	asSet                        bool
}

// tagKey is the key of the tags that attributevalue reads.
const tagKey = "dynamodbav"

// parseTag returns the name and the options of a field's tag; "-" as the name of
// a field that is left out.
func parseTag(tag reflect.StructTag) (name string, o options) {
	name, rest, _ := strings.Cut(tag.Get(tagKey), ",")
	for option := range strings.SplitSeq(rest, ",") {
		switch option {
		case "omitempty":
			o.omitEmpty = true
		case "nullempty":
			o.nullEmpty = true
		case "omitemptyelem":
			o.omitEmptyElem = true
		case "nullemptyelem":
			o.nullEmptyElem = true
		case "string":
			o.asText = true
		case "unixtime":
			o.asUnixTime = true
		case "stringset", "numberset", "binaryset":
			o.asSet = true
		}
	}
	return name, o
}

// candidate is a field that has an attribute unless another one hides it.
type candidate struct {
	field
	tagged, settable bool
}

// embedded is a struct whose fields count as those of the struct around it.
type embedded struct {
	typ     reflect.Type
	index   []int
	pointed bool
	// settable means that the way to it can be walked, and built where it is
	// nil.
	settable bool
}

// fieldsOf returns the fields of a struct that have attributes, in the order of
// their indexes, by Go's rules for embedded structs: of several fields with one
// name the least deep counts, then the one that has its name from a tag; if
// there are still several, none does: these names are clashes. settable is false if one
// cannot be set.
func fieldsOf(t reflect.Type) (fields []field, settable bool, clashes []string) {
	byName := map[string][]candidate{}
	depths := map[reflect.Type]int{}
	level := []embedded{{typ: t, settable: true}}
	for depth := 0; len(level) > 0; depth++ {
		var deeper []embedded
		found := map[string][]candidate{}
		for _, e := range level {
			first, again := depths[e.typ]
			if again && first < depth {
				continue
			}
			depths[e.typ] = depth
			within := e.fields(found)
			if !again {
				deeper = append(deeper, within...)
			}
		}
		for name, candidates := range found {
			if _, hidden := byName[name]; !hidden {
				byName[name] = candidates
			}
		}
		level = deeper
	}
	settable = true
	for name, candidates := range byName {
		c, ok := dominant(candidates)
		if !ok {
			clashes = append(clashes, name)
			continue
		}
		fields = append(fields, c.field)
		settable = settable && c.settable
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	slices.Sort(clashes)
	return fields, settable, clashes
}

// fields adds the fields of an embedded struct to found. It returns the structs embedded
// in it.
func (e embedded) fields(found map[string][]candidate) (deeper []embedded) {
	for i := range e.typ.NumField() {
		f := e.typ.Field(i)
		name, o := parseTag(f.Tag)
		if name == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		t := f.Type
		pointed := t.Kind() == reflect.Pointer && t.Name() == ""
		if pointed {
			t = t.Elem()
		}
		index := append(slices.Clone(e.index), i)
		if f.Anonymous && name == "" && t.Kind() == reflect.Struct {
			deeper = append(deeper, embedded{t, index, e.pointed || pointed, e.settable && (f.IsExported() || !pointed)})
			continue
		}
		c := candidate{
			field:  field{name: cmp.Or(name, f.Name), index: index, pointed: e.pointed, options: o, alone: alone(f)},
			tagged: name != "", settable: e.settable && f.IsExported(),
		}
		found[c.name] = append(found[c.name], c)
	}
	return deeper
}

// dominant returns the one field of those with a name and a depth that counts.
func dominant(candidates []candidate) (candidate, bool) {
	tagged := slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return !c.tagged })
	if len(tagged) > 0 {
		candidates = tagged
	}
	return candidates[0], len(candidates) == 1
}

// aloneName is the name that the field of an alone type and its attribute have.
const aloneName = "F"

// alone returns a struct type with one field, of the type of f and with the
// options of its tag.
func alone(f reflect.StructField) reflect.Type {
	_, rest, _ := strings.Cut(f.Tag.Get(tagKey), ",")
	tag := tagKey + ":" + strconv.Quote(aloneName+","+rest)
	return reflect.StructOf([]reflect.StructField{{Name: aloneName, Type: f.Type, Tag: reflect.StructTag(tag)}})
}

// at returns the field of a struct, of which v is one, and makes the embedded
// structs on the way to it.
func (f *field) at(v reflect.Value) reflect.Value {
	for i, x := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}
