package repo

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

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
	// indexKeyNames are the key attributes of all indexes of the table.
	indexKeyNames []string
	// parts are those of indexes whose keys have several attributes. They are fields
	// of T, and left out of an item if they are empty.
	parts []string
	// project are the attributes that reads give; all if it is empty.
	project []string
	// textKeys means that the table's keys are a string and a string.
	textKeys bool
	// reserved are the attributes that the repository writes, whatever T has for
	// them: keys, index keys, type and version.
	reserved map[string]bool
	// own are the attributes of T, those reserved and those of upgrades. True are
	// those that matter to a write although T has no field for them: see
	// [Repo.isExtra].
	own map[string]bool
	// counter is what the version attribute is, and field the struct field of T
	// for it, if there is a plain one.
	counter counter
	field   []int
	shapes  shapes
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
		table: t, schema: schema,
		typeValue: &types.AttributeValueMemberS{Value: entity.Type},
		entity:    entity, items: entity.items(),
	}
	r.shapes = newShapes(schema, entity.OldestShape, entity.Upgrades)
	r.reads = t.OfType(entity.Type).WithUpgrade(table.Upgrade{
		Shape: r.shapes.current, Change: r.shapes.upgrade, Attributes: slices.Sorted(maps.Keys(r.shapes.touched)),
	})
	r.consistent = r.reads.Consistent()
	r.attributes, r.known = codec.Attributes(reflect.TypeFor[T]())
	if entity.Version != "" {
		r.counter, _ = probeVersion[T](entity.Version, entity.VersionFromOne)
		r.field = versionField[T](entity.Version)
	}
	for _, x := range schema.Indexes {
		partition, sort := x.Keys()
		for _, a := range slices.Concat(partition, sort) {
			r.indexKeyNames = append(r.indexKeyNames, a.Name)
			if several(x) && a.Name != schema.Type {
				r.parts = append(r.parts, a.Name)
			}
		}
	}
	r.textKeys = schema.SK != "" && schema.PKType == types.ScalarAttributeTypeS && schema.SKType == types.ScalarAttributeTypeS
	r.indexAttributes = entity.indexAttributes(schema)
	r.reserved = map[string]bool{
		schema.PK: true, schema.SK: true, schema.Type: true, entity.Version: true,
		r.shapes.attribute: true, r.shapes.from: true,
	}
	r.own = map[string]bool{
		schema.PK: false, schema.SK: false, schema.Type: false, entity.Version: false,
		r.shapes.attribute: true, r.shapes.from: true,
	}
	for name, gone := range r.shapes.touched {
		r.own[name] = gone
	}
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

// View returns the table as the repository reads it: items of other types are
// [table.ErrWrongType], and those of former shapes are upgraded. It is for readers
// that take a table, such as shard.New. [table.Table.OfType] ends both.
func (r *Repo[T]) View() *table.Table { return r.reads }

// Consistent returns a view of the repository whose reads are strongly
// consistent. See [table.Table.Consistent].
func (r *Repo[T]) Consistent() *Repo[T] {
	view := *r
	view.reads = r.reads.Consistent()
	return &view
}

// Project returns a view of the repository whose reads give only these attributes of T:
// smaller responses at the same charge. The values are incomplete as those of a
// query with a projection, see [Repo.Query]. Writes are not changed. An attribute that
// T does not have is [table.ErrInvalid] in every read. Entities with upgrades are read
// whole and cut afterwards.
func (r *Repo[T]) Project(attributes ...string) *Repo[T] {
	view := *r
	view.project = slices.Clone(attributes)
	return &view
}

// projected returns how a view reads by key: the table to read T from, or false if
// items have to be read whole and cut.
func (r *Repo[T]) projected() (*table.Table, bool, error) {
	for _, name := range r.project {
		if r.known && !r.stores(name) {
			return nil, false, fmt.Errorf("%w: Project: %w", table.ErrInvalid, r.unknown(name))
		}
	}
	if len(r.project) > 0 && r.upgrades() {
		return r.reads, false, nil
	}
	return r.reads.Project(r.project...), true, nil
}

// Get reads the entity under its key or that of one of its copies. A missing or
// expired one is [table.ErrNotFound], an item of another type
// [table.ErrWrongType].
func (r *Repo[T]) Get(ctx context.Context, key keys.Key) (T, error) {
	if len(r.project) == 0 {
		return table.Get[T](ctx, r.reads, key)
	}
	var zero T
	t, direct, err := r.projected()
	if err != nil {
		return zero, r.fail("Get", key, err)
	}
	if !direct {
		item, err := table.Get[table.Item](ctx, t, key)
		if err != nil {
			return zero, err
		}
		return r.decodePart(item, r.project, true)
	}
	v, err := table.Get[T](ctx, t, key)
	if err == nil {
		err = r.forget(&v)
	}
	if err != nil {
		return zero, err
	}
	return v, nil
}

// GetMany reads any number of entities and returns them by key. A key whose entity
// is missing or expired is not in the map. See [table.BatchGet].
func (r *Repo[T]) GetMany(ctx context.Context, ks []keys.Key) (map[keys.Key]T, error) {
	if len(r.project) == 0 {
		return table.BatchGet[T](ctx, r.reads, ks)
	}
	t, direct, err := r.projected()
	if err != nil {
		return nil, r.fail("GetMany", keys.Key{}, err)
	}
	if direct {
		found, err := table.BatchGet[T](ctx, t, ks)
		for key, v := range found {
			if err := r.forget(&v); err != nil {
				return nil, r.fail("GetMany", key, err)
			}
			found[key] = v
		}
		return found, err
	}
	items, err := table.BatchGet[table.Item](ctx, t, ks)
	if err != nil {
		return nil, err
	}
	found := make(map[keys.Key]T, len(items))
	for key, item := range items {
		if found[key], err = r.decodePart(item, r.project, true); err != nil {
			return nil, r.fail("GetMany", key, err)
		}
	}
	return found, nil
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
	fail := func(err error) (table.Page[T], error) {
		return table.Page[T]{}, r.fail("Query", keys.Key{PK: q.PK}, err)
	}
	q = r.withProject(q)
	if err := r.checkQuery(q); err != nil {
		return fail(err)
	}
	project, part := q.Project, incomplete(r.schema, q)
	if len(project) > 0 && len(r.shapes.upgrades) > 0 {
		q.Project = nil
		items, err := table.QueryPage[table.Item](ctx, r.reads, q)
		page := table.Page[T]{Next: items.Next, Prev: items.Prev, Stats: items.Stats, Items: make([]T, len(items.Items))}
		for i := 0; i < len(items.Items) && err == nil; i++ {
			if page.Items[i], err = r.decodePart(items.Items[i], project, true); err != nil {
				return fail(err)
			}
		}
		return page, err
	}
	page, err := table.QueryPage[T](ctx, r.reads, q)
	if err == nil && part {
		for i := range page.Items {
			if err := r.forget(&page.Items[i]); err != nil {
				return fail(err)
			}
		}
	}
	return page, err
}

// All reads the whole of a query whose items are all entities of this type. The
// error is yielded once, last, and must be looked at: see [table.All].
func (r *Repo[T]) All(ctx context.Context, q table.Query) iter.Seq2[T, error] {
	q = r.withProject(q)
	if err := r.checkQuery(q); err != nil {
		return func(yield func(T, error) bool) {
			var zero T
			yield(zero, r.fail("All", keys.Key{PK: q.PK}, err))
		}
	}
	project := q.Project
	if len(project) > 0 && len(r.shapes.upgrades) > 0 {
		q.Project = nil
		return converted(table.All[table.Item](ctx, r.reads, q), func(item table.Item) (T, error) {
			return r.decodePart(item, project, true)
		})
	}
	all := table.All[T](ctx, r.reads, q)
	if !incomplete(r.schema, q) {
		return all
	}
	return converted(all, func(v T) (T, error) {
		err := r.forget(&v)
		return v, err
	})
}

// Count returns how many items of this type a query gives, as Stats.Items, and what
// it took: see [table.Table.Count]. Where copies of an entity are in the partition,
// they count too.
func (r *Repo[T]) Count(ctx context.Context, q table.Query) (table.Stats, error) {
	if err := r.checkQuery(q); err != nil {
		return table.Stats{}, r.fail("Count", keys.Key{PK: q.PK}, err)
	}
	return r.reads.Count(ctx, q)
}

// withProject returns the query with the view's projection, unless it has its own.
func (r *Repo[T]) withProject(q table.Query) table.Query {
	if len(q.Project) == 0 {
		q.Project = r.project
	}
	return q
}

// converted converts the values of a sequence.
func converted[A, B any](all iter.Seq2[A, error], convert func(A) (B, error)) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		for a, err := range all {
			var b B
			if err == nil {
				b, err = convert(a)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// fail returns the error of an operation on the entity under a key.
func (r *Repo[T]) fail(op string, key keys.Key, err error) error {
	return &table.Error{Op: op, Name: r.entity.Type, Table: r.schema.Name, Key: key, Err: err}
}
