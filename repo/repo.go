package repo

import (
	"context"
	"iter"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Repo reads and writes the entities of one type in a table. It is safe for
// concurrent use. Get one from [New].
type Repo[T any] struct {
	table      *table.Table // as given
	reads      *table.Table // refuses items of other types
	consistent *table.Table // is reads, read consistently
	schema     table.Schema
	typeValue  types.AttributeValue // of all items; nobody changes it
	entity     Entity[T]
	items      []Copy[T]
	// attributes are the names of those that T's fields have, sorted; known is
	// false if T makes its attributes itself.
	attributes []string
	known      bool
	// indexAttributes are the key attributes of the indexes that the entity
	// declares. They are written on the item that declares them only.
	indexAttributes []string
	// reserved are the attributes that the repository writes, whatever T has for
	// them: keys, index keys, type and version.
	reserved map[string]bool
	// own are the attributes of T and those reserved. True are the keys of indexes.
	own map[string]bool
	// counter is what the version attribute is, and field the struct field of T
	// for it, if there is a plain one.
	counter counter
	field   []int
}

// New returns a repository for an entity. A description that is invalid is
// an [*EntityError] that lists everything that is wrong.
func New[T any](t *table.Table, entity Entity[T]) (*Repo[T], error) {
	if t == nil {
		return nil, &EntityError{Type: entity.Type, Problems: []string{"the table is nil"}}
	}
	schema := t.Schema()
	if err := entity.validate(schema); err != nil {
		return nil, err
	}
	r := &Repo[T]{
		table: t, reads: t.OfType(entity.Type), schema: schema,
		typeValue: &types.AttributeValueMemberS{Value: entity.Type},
		entity:    entity, items: entity.items(),
	}
	r.consistent = r.reads.Consistent()
	r.attributes, r.known = codec.Attributes(reflect.TypeFor[T]())
	if entity.Version != "" {
		r.counter, _ = probeVersion[T](entity.Version, entity.VersionFromOne)
		r.field = versionField[T](entity.Version)
	}
	r.indexAttributes = entity.indexAttributes(schema)
	r.reserved = map[string]bool{schema.PK: true, schema.SK: true, schema.Type: true, entity.Version: true}
	r.own = map[string]bool{schema.PK: false, schema.SK: false, schema.Type: false, entity.Version: false}
	for _, name := range r.attributes {
		r.own[name] = false
	}
	for _, name := range r.indexAttributes {
		r.reserved[name], r.own[name] = true, true
	}
	return r, nil
}

// declares reports whether an attribute is a key of an index that the ith
// item declares.
func (r *Repo[T]) declares(i int, attribute string) bool {
	for _, x := range r.schema.Indexes {
		if _, declared := r.items[i].Indexes[x.Name]; declared && (attribute == x.PK || attribute == x.SK) {
			return true
		}
	}
	return false
}

// Consistent returns a view of the repository whose reads are strongly
// consistent. See [table.Table.Consistent].
func (r *Repo[T]) Consistent() *Repo[T] {
	view := *r
	view.reads = r.reads.Consistent()
	return &view
}

// Get reads the entity under its key or that of one of its copies. A missing or
// expired one is [table.ErrNotFound], an item of another type
// [table.ErrWrongType].
func (r *Repo[T]) Get(ctx context.Context, key keys.Key) (T, error) {
	return table.Get[T](ctx, r.reads, key)
}

// GetMany reads any number of entities and returns them by key. A key whose entity
// is missing or expired is not in the map. See [table.BatchGet].
func (r *Repo[T]) GetMany(ctx context.Context, ks []keys.Key) (map[keys.Key]T, error) {
	return table.BatchGet[T](ctx, r.reads, ks)
}

// Query reads one page of a query whose items are all entities of this type.
// See [table.QueryPage], and [Collect] and [Stream] for partitions that hold
// several types.
//
// With Query.Project, or from an index that does not project all attributes, the
// values are incomplete, here and in the other reads of queries. They have no
// version, so that a write of one is [table.ErrStale] and does not take for empty
// what was not read. [Repo.Update] reads the whole entity first. An entity without
// Version has no such protection.
func (r *Repo[T]) Query(ctx context.Context, q table.Query) (table.Page[T], error) {
	if err := r.checkQuery(q.Filter, q.Project); err != nil {
		return table.Page[T]{}, r.fail("Query", keys.Key{PK: q.PK}, err)
	}
	page, err := table.QueryPage[T](ctx, r.reads, q)
	if err == nil && incomplete(r.schema, q) {
		for i := range page.Items {
			if err := r.forget(&page.Items[i]); err != nil {
				return table.Page[T]{}, r.fail("Query", keys.Key{PK: q.PK}, err)
			}
		}
	}
	return page, err
}

// All reads the whole of a query whose items are all entities of this type. The
// error is yielded once, last, and must be looked at: see [table.All].
func (r *Repo[T]) All(ctx context.Context, q table.Query) iter.Seq2[T, error] {
	if err := r.checkQuery(q.Filter, q.Project); err != nil {
		return func(yield func(T, error) bool) {
			var zero T
			yield(zero, r.fail("All", keys.Key{PK: q.PK}, err))
		}
	}
	all := table.All[T](ctx, r.reads, q)
	if !incomplete(r.schema, q) {
		return all
	}
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if err == nil {
				err = r.forget(&v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// fail returns the error of an operation on the entity under a key.
func (r *Repo[T]) fail(op string, key keys.Key, err error) error {
	return &table.Error{Op: op, Name: r.entity.Type, Table: r.schema.Name, Key: key, Err: err}
}
