package idempotency

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// jsonField is a field that package json writes of a struct, or of one embedded in it.
type jsonField struct {
	name, goName string
	index        []int
	omitZero     bool
}

// writtenFields returns the fields that package json writes of a struct. The error names
// what it would hide: a field whose name another one has, or all that a struct holds.
func writtenFields(t reflect.Type, path string) ([]jsonField, error) {
	fields, err := jsonFields(t, path, nil, nil)
	switch {
	case err != nil:
		return nil, err
	case len(fields) == 0 && t.Size() > 0:
		return nil, nothingWritten(path, t)
	}
	names := map[string]string{}
	for _, f := range fields {
		if other, taken := names[f.name]; taken {
			return nil, fmt.Errorf("%s: the fields %s and %s of %v have one JSON name, and package json hides one or both; "+
				"give them other names, or leave one out with the tag `json:\"-\"`", path, other, f.goName, t)
		}
		names[f.name] = f.goName
	}
	return fields, nil
}

func nothingWritten(path string, t reflect.Type) error {
	return fmt.Errorf("%s: package json writes nothing of a %v; read a reader and give its bytes, "+
		"or leave the field out with the tag `json:\"-\"`", path, t)
}

// jsonFields returns the fields of a struct and of those that package json takes for a part
// of it, whose types are above.
func jsonFields(t reflect.Type, path string, index []int, above []reflect.Type) (fields []jsonField, err error) {
	above = append(slices.Clip(above), t)
	for i := range t.NumField() {
		f := t.Field(i)
		e := f.Type
		if e.Kind() == reflect.Pointer && e.Name() == "" {
			e = e.Elem()
		}
		if leftOut(f.Tag) || !f.IsExported() && (!f.Anonymous || e.Kind() != reflect.Struct) {
			continue
		}
		at := append(slices.Clip(index), i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !validName(name) {
			name = ""
		}
		if !f.Anonymous || name != "" || e.Kind() != reflect.Struct {
			omitZero := slices.Contains(strings.Split(options, ","), "omitzero")
			fields = append(fields, jsonField{cmp.Or(name, f.Name), f.Name, at, omitZero})
			continue
		}
		if slices.Contains(above, e) {
			return nil, fmt.Errorf("%s: %v is embedded in itself, and package json writes its fields only once; "+
				"make that a field with a name", path, e)
		}
		within, err := jsonFields(e, path, at, above)
		switch {
		case err != nil:
			return nil, err
		case len(within) == 0 && f.IsExported() && e.Size() > 0:
			return nil, nothingWritten(path+"."+f.Name, e)
		}
		fields = append(fields, within...)
	}
	return fields, nil
}

// leftOut reports whether package json leaves a field out. The tag "-," names one "-".
func leftOut(tag reflect.StructTag) bool { return tag.Get("json") == "-" }

// validName reports whether package json takes a name from a tag.
func validName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r)
	})
}

// isZero reports whether the tag option omitzero leaves a value out.
func isZero(v reflect.Value) bool {
	if v.IsZero() {
		return true
	}
	if v.CanAddr() {
		v = v.Addr()
	}
	if !v.CanInterface() {
		return false
	}
	z, ok := v.Interface().(interface{ IsZero() bool })
	return ok && z.IsZero()
}
