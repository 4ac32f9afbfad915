package tablemodel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// layout is a schema with its defaults, and what the items of a table look like
// in the table and in its indexes.
type layout struct {
	schema schema.Table
	// views are the table, then its indexes in the order of the schema.
	views []view
	// keyNames are the key attributes of the table and of all indexes.
	keyNames []string
}

// view is the table or an index as queries see it.
type view struct {
	// kind is what it is, Table or Index, and name its name.
	kind, name string
	// index is the index's name; empty for the table.
	index string
	// key are the attributes of its keys, the first ones those of the partition key.
	key       []keyAttribute
	partition int // how many
	// holds tells whether the view has an attribute of its items.
	holds func(name string) bool
	// projection is the index; the table's is one of all attributes.
	projection schema.Index
	partitions []partition
}

type keyAttribute struct {
	name string
	kind types.ScalarAttributeType
}

// partition is a partition's items in the order of their sort keys.
type partition []table.Item

// lay lays items out by a schema. op is the caller's name, for errors.
func lay(op string, spec schema.Table, items []table.Item) (layout, error) {
	if err := spec.Validate(); err != nil {
		return layout{}, &table.Error{Op: op, Table: spec.Name, Err: err}
	}
	l := layout{schema: spec.WithDefaults()}
	own := schema.Index{
		PK: l.schema.PK, PKType: l.schema.PKType, SK: l.schema.SK, SKType: l.schema.SKType,
		Projection: types.ProjectionTypeAll,
	}
	base := newView(own).key
	for i, attributes := range items {
		for _, k := range base {
			if !k.in(attributes) {
				err := fmt.Errorf("items[%d]: attribute %q is no key of type %s: %w", i, k.name, k.kind, keys.ErrInvalid)
				return layout{}, &table.Error{Op: op, Table: spec.Name, Err: err}
			}
		}
	}
	for _, x := range slices.Concat([]schema.Index{own}, l.schema.Indexes) {
		v := newView(x)
		if v.index == "" {
			v.kind, v.name = "Table", l.schema.Name
		}
		held := slices.Concat(names(base), names(v.key), x.Include)
		v.holds = func(name string) bool {
			return x.Projection == types.ProjectionTypeAll || slices.Contains(held, name)
		}
		v.partitions = v.partitionsOf(items, base)
		l.keyNames = append(l.keyNames, names(v.key)...)
		l.views = append(l.views, v)
	}
	return l, nil
}

// newView returns the view of an index, without items.
func newView(x schema.Index) view {
	partition, sort := x.Keys()
	v := view{kind: "Index", name: x.Name, index: x.Name, projection: x, partition: len(partition)}
	for _, a := range slices.Concat(partition, sort) {
		v.key = append(v.key, keyAttribute{a.Name, a.Type})
	}
	return v
}

// partitionKey and sortKey return the attributes of the two keys.
func (v view) partitionKey() []keyAttribute { return v.key[:v.partition] }
func (v view) sortKey() []keyAttribute      { return v.key[v.partition:] }

func names(key []keyAttribute) []string {
	names := make([]string, len(key))
	for i, k := range key {
		names[i] = k.name
	}
	return names
}

// partitionsOf returns the items that are in the view, in order: those that have its
// key attributes. The table's key decides between equal keys of an index, for
// which DynamoDB has no order.
func (v view) partitionsOf(items []table.Item, base []keyAttribute) (partitions []partition) {
	var in []table.Item
	for _, item := range items {
		if !slices.ContainsFunc(v.key, func(k keyAttribute) bool { return !k.in(item) }) {
			in = append(in, item)
		}
	}
	slices.SortStableFunc(in, func(a, b table.Item) int {
		for _, k := range slices.Concat(v.key, base) {
			if c := k.compare(a, b); c != 0 {
				return c
			}
		}
		return 0
	})
	for i, item := range in {
		if i == 0 || slices.ContainsFunc(v.partitionKey(), func(k keyAttribute) bool { return k.compare(in[i-1], item) != 0 }) {
			partitions = append(partitions, nil)
		}
		last := &partitions[len(partitions)-1]
		*last = append(*last, item)
	}
	return partitions
}

// in reports whether the item has the attribute, with a value that can be a key.
func (k keyAttribute) in(attributes table.Item) bool {
	p := item.ValueOf(attributes[k.name])
	_, number := item.ParseNumber(p.Text)
	return p.Kind.String() == string(k.kind) && (p.Text != "" || len(p.Bytes) > 0) && (p.Kind != item.N || number)
}

// compare orders two items that have the attribute.
func (k keyAttribute) compare(a, b table.Item) int {
	if k.kind == types.ScalarAttributeTypeN {
		return item.CompareNumbers(item.ValueOf(a[k.name]).Text, item.ValueOf(b[k.name]).Text)
	}
	return cmp.Compare(keyText(a[k.name]), keyText(b[k.name]))
}

// keyText returns the bytes of a string or binary value.
func keyText(v types.AttributeValue) string {
	p := item.ValueOf(v)
	if p.Kind == item.N {
		return ""
	}
	return p.Text + string(p.Bytes)
}

// typeOf returns the type of an item; empty if it has none.
func (l layout) typeOf(attributes table.Item) string { return l.schema.TypeOf(attributes) }

// typeIn returns the type of an item by what a view holds of it.
func (l layout) typeIn(v view, attributes table.Item) string {
	held := maps.Clone(attributes)
	maps.DeleteFunc(held, func(name string, _ types.AttributeValue) bool { return !v.holds(name) })
	return l.typeOf(held)
}

// byType returns the table's items by their types, in the order of their keys.
func (l layout) byType() map[string][]table.Item {
	all := map[string][]table.Item{}
	for _, attributes := range slices.Concat(l.views[0].partitions...) {
		all[l.typeOf(attributes)] = append(all[l.typeOf(attributes)], attributes)
	}
	return all
}

// delimiter is what package keys puts between the segments of a key.
const delimiter = "#"

// kindOf returns what partitions of one kind have in common: the text of their key
// up to the first '#', the whole key without one.
func (v view) kindOf(p partition) string {
	prefix, _, found := strings.Cut(keyText(p[0][v.key[0].name]), delimiter)
	if !found {
		return prefix
	}
	return prefix + delimiter
}
