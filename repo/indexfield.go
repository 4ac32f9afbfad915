package repo

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/schema"
)

// several reports whether the keys of an index have several attributes, which no
// function makes.
func several(x schema.Index) bool { return len(x.PKs) > 0 }

// indexFieldProblems adds fields of T that are keys of an index and cannot be. An index
// has all items of the entity if T, or every item, has all of its key attributes.
func (e *description) indexFieldProblems(p *problems, spec schema.Table, fields []string) {
	tableKey := func(a schema.Attribute) bool { return a.Name == spec.PK || a.Name == spec.SK }
	inAll := func(a schema.Attribute) bool { return tableKey(a) || a.Name == spec.TypeAttribute }
	lacks := func(a schema.Attribute) bool { return !slices.Contains(fields, a.Name) }
	for _, x := range spec.Indexes {
		partition, sort := x.Keys()
		parts := slices.DeleteFunc(slices.Concat(partition, sort), inAll)
		if slices.ContainsFunc(parts, lacks) || !several(x) && e.declares(x.Name) {
			continue
		}
		// By a key of the table, each item is where its own key says.
		if len(e.Copies) > 0 && !slices.ContainsFunc(partition, tableKey) {
			p.add("Copies: %v has all key attributes of index %q, and a query of it would return the copies too", e.typ, x.Name)
		}
		if !several(x) {
			continue
		}
		for _, a := range parts {
			if problem := checkIndexField(e.typ, a); problem != "" {
				p.add("index %q: attribute %q: %s", x.Name, a.Name, problem)
			}
		}
	}
}

// declares reports whether an item of the entity gives its keys in an index by a
// function.
func (e *description) declares(index string) bool {
	return slices.ContainsFunc(e.items(), func(item Copy[any]) bool {
		_, declared := item.Indexes[index]
		return declared
	})
}

// checkIndexField says why the field of T cannot be a key attribute, "" if it can.
func checkIndexField(t reflect.Type, a schema.Attribute) string {
	f, kind := item.FieldKind(t, a.Name)
	want := map[types.ScalarAttributeType]item.Kind{
		types.ScalarAttributeTypeS: item.S, types.ScalarAttributeTypeN: item.N, types.ScalarAttributeTypeB: item.B,
	}[a.Type]
	switch {
	case kind == 0: // the field makes its value itself
	case kind != want:
		return fmt.Sprintf("a %v is not of type %s, which the index has", f, a.Type)
	case isTime(f) && kind == item.S:
		return fmt.Sprintf("a %v is a text of varying length, which is not in order of time; use the tag option unixtime, or a string", f)
	}
	return ""
}

// isTime reports whether attributevalue encodes the type as it does a time.Time.
func isTime(t reflect.Type) bool { return t.ConvertibleTo(reflect.TypeFor[time.Time]()) }

// isEmptyIndexField reports whether an attribute is left out since it has a value that an index cannot
// hold: the item is not in the index then. It is a key of an index with several attributes, a
// vector, or what a search is for.
func (c *core) isEmptyIndexField(name string, value types.AttributeValue) bool {
	if !slices.Contains(c.indexParts, name) {
		return false
	}
	switch p := item.ValueOf(value); p.Kind {
	case item.NULL:
		return true
	case item.S, item.B, item.L:
		return len(p.Text)+len(p.Bytes)+len(p.List) == 0
	}
	return false
}

// withoutEmptyIndexFields returns changes in which such attributes are removed.
func (c *core) withoutEmptyIndexFields(d diff) diff {
	for name, value := range d.set {
		if c.isEmptyIndexField(name, value) {
			delete(d.set, name)
			d.remove = append(d.remove, name)
		}
	}
	return d
}
