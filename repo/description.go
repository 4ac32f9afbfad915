package repo

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// description is the [Entity] of any type. Its functions take a pointer to a T.
type description struct {
	Entity[any]
	typ reflect.Type // T
	// load is [table.Get]. loose is that of [codec.Read].
	load func(context.Context, *table.Table, keys.Key) (s *stored, loose bool, err error)
	// update is [table.UpdateReturning].
	update func(context.Context, *table.Table, table.Op) (any, error)
	// rows is [table.QueryRows], without the values.
	rows func(context.Context, *table.Table, table.Query, table.Item) (table.RowPage[struct{}], error)
}

// keyFunc returns a key of the value that its argument points to.
type keyFunc = func(any) keys.Key

// describe returns the description of an entity.
func describe[T any](e Entity[T]) description {
	d := description{typ: reflect.TypeFor[T](), load: load[T], update: update[T], rows: rows[T]}
	d.Entity = Entity[any]{
		Type: e.Type, Key: ofPointer(e.Key), Indexes: ofPointers(e.Indexes),
		Version: e.Version, VersionFromOne: e.VersionFromOne,
		Upgrades: e.Upgrades, OldestShape: e.OldestShape,
	}
	for _, c := range e.Copies {
		d.Copies = append(d.Copies, Copy[any]{Name: c.Name, Key: ofPointer(c.Key), Indexes: ofPointers(c.Indexes)})
	}
	for _, former := range e.FormerKeys {
		d.FormerKeys = append(d.FormerKeys, ofPointer(former))
	}
	for _, former := range e.FormerCopies {
		d.FormerCopies = append(d.FormerCopies, ofPointer(former))
	}
	return d
}

// ofPointer returns a key function for pointers, nil for nil.
func ofPointer[T any](key func(T) keys.Key) keyFunc {
	if key == nil {
		return nil
	}
	return func(v any) keys.Key { return key(*v.(*T)) }
}

func ofPointers[T any](indexes Indexes[T]) Indexes[any] {
	all := make(Indexes[any], len(indexes))
	for name, key := range indexes {
		all[name] = ofPointer(key)
	}
	return all
}

// zero returns a pointer to a new T.
func (e *description) zero() any { return reflect.New(e.typ).Interface() }

func load[T any](ctx context.Context, t *table.Table, key keys.Key) (s *stored, loose bool, err error) {
	read, err := table.Get[codec.Read[T]](ctx, t, key)
	if err != nil {
		return nil, false, err
	}
	return &stored{raw: read.Raw, v: new(read.Value)}, read.Loose, nil
}

func update[T any](ctx context.Context, t *table.Table, op table.Op) (any, error) {
	v, err := table.UpdateReturning[T](ctx, t, op)
	return &v, err
}

func rows[T any](ctx context.Context, t *table.Table, q table.Query, start table.Item) (table.RowPage[struct{}], error) {
	page, err := table.QueryRows[T](ctx, t, q, start)
	bare := table.RowPage[struct{}]{Next: page.Next, Stats: page.Stats, Rows: make([]table.Row[struct{}], len(page.Rows))}
	for i, row := range page.Rows {
		bare.Rows[i] = table.Row[struct{}]{Key: row.Key, IndexKey: row.IndexKey, Size: row.Size, Err: row.Err}
	}
	return bare, err
}

// items returns all items of the entity, the one under Key first.
func (e *description) items() []Copy[any] {
	all := []Copy[any]{{Name: e.Type, Key: e.Key, Indexes: e.Indexes}}
	for i, c := range e.Copies {
		if c.Name == "" {
			c.Name = "copy " + strconv.Itoa(i+1)
		}
		c.Name = e.Type + " " + c.Name
		all = append(all, c)
	}
	return all
}

// validate reports everything that is wrong with the description.
func (e *description) validate(schema table.Schema) error {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }

	if e.Type == "" {
		bad("Type: is empty")
	}
	if k := e.typ.Kind(); k != reflect.Struct && k != reflect.Map {
		bad("%v is no struct or map", e.typ)
	}
	owner := map[string]string{}
	for i, p := range e.items() {
		field := "Key"
		if i > 0 {
			field = fmt.Sprintf("Copies[%d].Key", i-1)
		}
		if p.Key == nil {
			bad("%s: is nil", field)
		}
		for _, index := range slices.Sorted(maps.Keys(p.Indexes)) {
			switch first, twice := owner[index]; {
			case twice:
				bad("Indexes: %q is on %s and on %s, and a query of it would return the entity twice", index, first, p.Name)
			case !slices.ContainsFunc(schema.Indexes, func(x table.Index) bool { return x.Name == index }):
				bad("Indexes: the schema has no index %q", index)
			case slices.ContainsFunc(schema.Indexes, func(x table.Index) bool { return x.Name == index && several(x) }):
				bad("Indexes: the keys of %q have several attributes, which are fields of %v and need no function", index, e.typ)
			case p.Indexes[index] == nil:
				bad("Indexes[%q]: is nil", index)
			}
			owner[index] = p.Name
		}
	}
	switch e.Version {
	case "":
		if len(e.Copies) > 0 {
			bad("Copies: need a Version, or they would drift apart")
		}
	case schema.PK, schema.SK, schema.Type, schema.TTL:
		bad("Version: attribute %q has another use in the schema", e.Version)
	default:
		if _, problem := probeVersion(e.typ, e.Version, e.VersionFromOne); problem != "" {
			bad("%s", problem)
		}
	}
	names, known := codec.Attributes(e.typ)
	problems = append(problems, e.upgradeProblems(schema, names, known)...)
	problems = append(problems, e.partProblems(schema, names)...)
	if slices.ContainsFunc(slices.Concat(e.FormerKeys, e.FormerCopies), func(key keyFunc) bool { return key == nil }) {
		bad("FormerKeys, FormerCopies: one is nil")
	}
	if len(e.FormerKeys)+len(e.FormerCopies) > 0 && e.Version == "" {
		bad("FormerKeys, FormerCopies: need a Version")
	}
	if len(e.Copies) > 0 {
		for _, attribute := range e.indexAttributes(schema) {
			if slices.Contains(names, attribute) {
				bad("Indexes: %q is a key of an index and a field of %v too, which the other items would not hold",
					attribute, e.typ)
			}
		}
	}
	if len(problems) > 0 {
		return &EntityError{Type: e.Type, Problems: problems}
	}
	return nil
}

// indexAttributes returns the key attributes of the indexes that the entity
// declares.
func (e *description) indexAttributes(schema table.Schema) []string {
	var names []string
	for _, x := range schema.Indexes {
		for _, p := range e.items() {
			if _, declared := p.Indexes[x.Name]; !declared {
				continue
			}
			for _, name := range []string{x.PK, x.SK} {
				// A local index has the table's partition key.
				if name != "" && name != schema.PK && name != schema.SK && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
