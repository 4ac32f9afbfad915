package repo

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Entity describes how values of a Go type are stored. T is a struct or a map with the tags of
// attributevalue. Type and Key are required. [New] refuses a description that cannot work, and
// lists all that is wrong with it: docs/index-keys.md says who decides an attribute. The
// functions depend on their argument only, without its Version, and are called concurrently.
//
// T may have fields for the key attributes of an index ([schema.Index].PKs), for the vector of
// one ([schema.VectorIndex]), and for the expiry: an integer, or a time.Time with the tag option
// unixtime. The entity is in such an index while none of the fields is empty, and has no Copies.
//
// Times: a time.Time with unixtime reads a fraction as whole seconds. A zero one is left out of the
// item, and a number of another year than 0 to 9999 is neither read nor written. Milliseconds are a
// [table.UnixMilli], and texts as of JavaScript a [table.ISOTime].
type Entity[T any] struct {
	// Type is stored in the type attribute of each item. Reads refuse items of another type.
	Type string

	// Key returns the key of the main item, and Indexes its keys in indexes.
	Key     func(T) keys.Key
	Indexes Indexes[T]

	// Copies store the whole entity under further keys, in the transaction of each write. A
	// copy whose key is made of an attribute, such as EMAIL#ana@example.com, makes that unique:
	// a second entity with it is [table.ErrExists].
	Copies []Copy[T]

	// Claims returns further keys that no other entity can have: the seats of an order, the
	// aliases of a user. Each is a small item of the type "‹Type› claim", written in the
	// transaction of the entity, which has 100 items. [Repo.GetByClaim] finds the entity. All
	// programs that write the entity need the same Claims: docs/change-your-table.md.
	Claims func(T) []keys.Key

	// Counters are numbers in other items that every write of the entity keeps exact, and
	// Counted the attributes of T, of type int64 or int, in which other entities count. A copy
	// has none.
	Counters []Counter[T]
	Counted  []string

	// Version names the attribute that guards writes: a write of a stale value is
	// [table.ErrStale]. A string is a revision, drawn at random for each write. Prefer it: it is
	// never used twice, and serves as an ETag. An int64 counts the writes from 1, also those of
	// an entity that is deleted and re-created, which a stale writer can take for the former
	// one. Empty means that the last write wins; then there are no Copies, Claims,
	// Counters or Upgrades.
	Version string

	// Upgrades convert items of earlier releases, from OldestShape on. To change T, append one.
	// Reads apply them; the next write, or a backfill, stores the result.
	Upgrades []Upgrade
	// OldestShape is the shape of the oldest stored items, at first 0. After a verified
	// backfill, raise it and delete the upgrades before it. An older item is [ErrUpgrade].
	OldestShape int
	// FormerCopies return the keys of copies in earlier releases. A refresh deletes these.
	FormerCopies []func(T) keys.Key

	// Shared is for an entity that other programs write by rules of their own.
	Shared *Shared[T]
}

// Copy is one more item in which an entity is stored.
type Copy[T any] struct {
	// Name is the copy's name in errors, after the entity's type: "USER by email".
	// The default is "copy 1" and so on.
	Name string
	// Key gives the key of the item. The zero key leaves the copy out, as for a
	// unique attribute that an entity does not have.
	Key func(T) keys.Key
	// Indexes returns this item's keys in indexes.
	Indexes Indexes[T]
}

// Indexes gives the keys of an item in indexes, by the name of the index. A
// zero key leaves the item out of the index. Each index belongs to one
// item of an entity, or a query of it would return the entity twice.
type Indexes[T any] map[string]func(T) keys.Key

// errInvalidEntity means that the description of an entity is invalid, or does
// not allow the operation. Nothing was sent.
var errInvalidEntity = fmt.Errorf("%w entity", table.ErrInvalid)

// ErrOrphan means that the item under a key is of the right type, and that its
// entity has no such copy: the main item is missing, or gives another key. So
// there is no entity under the key, and it matches [table.ErrNotFound] too. The
// item stays as it is; [table.Delete] removes it.
var ErrOrphan = fmt.Errorf("item is a copy that its entity does not have: %w", table.ErrNotFound)

// refused returns the error of a description with these problems.
func refused(entity, table string, problems ...string) error {
	return &schema.Error{Table: table, Entity: entity, Problems: problems, Err: errInvalidEntity}
}

// description is the [Entity] of any type. Its functions take a pointer to a T.
type description struct {
	Entity[any]
	typ reflect.Type // T
	// shared is Entity.Shared.
	shared shared
	// update is [table.DoReturning] of a pointer to a T.
	update func(context.Context, *table.Table, table.Op) (any, error)
}

// keyFunc returns a key of the value that its argument points to.
type keyFunc = func(any) keys.Key

// describe returns the description of an entity.
func describe[T any](e Entity[T]) description {
	d := description{typ: reflect.TypeFor[T](), shared: sharedOf(e.Shared), update: update[T]}
	d.Entity = Entity[any]{
		Type: e.Type, Key: ofPointer(e.Key), Indexes: indexesOf(e.Indexes),
		Version: e.Version, Upgrades: e.Upgrades, OldestShape: e.OldestShape,
		FormerCopies: ofPointers(e.FormerCopies), Counted: e.Counted,
	}
	for _, x := range e.Counters {
		of := Counter[any]{Name: x.Name, Key: ofPointer(x.Key), Owner: x.Owner, Alone: x.Alone, Attribute: x.Attribute, Min: x.Min, Max: x.Max}
		if x.Amount != nil {
			of.Amount = func(v any) int64 { return x.Amount(*v.(*T)) }
		}
		d.Counters = append(d.Counters, of)
	}
	if e.Claims != nil {
		d.Claims = func(v any) []keys.Key { return e.Claims(*v.(*T)) }
	}
	for _, c := range e.Copies {
		d.Copies = append(d.Copies, Copy[any]{Name: c.Name, Key: ofPointer(c.Key), Indexes: indexesOf(c.Indexes)})
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

func ofPointers[T any](all []func(T) keys.Key) (of []keyFunc) {
	for _, key := range all {
		of = append(of, ofPointer(key))
	}
	return of
}

func indexesOf[T any](indexes Indexes[T]) Indexes[any] {
	of := make(Indexes[any], len(indexes))
	for name, key := range indexes {
		of[name] = ofPointer(key)
	}
	return of
}

// zero returns a pointer to a new T.
func (e *description) zero() any { return reflect.New(e.typ).Interface() }

func update[T any](ctx context.Context, t *table.Table, op table.Op) (any, error) {
	v, err := table.DoReturning[T](ctx, t, op)
	return &v, err
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

// problems are all that is wrong with a description.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// validate reports everything that is wrong with the description.
func (e *description) validate(spec schema.Table) error {
	p := &problems{}
	if e.Type == "" {
		p.add("Type: is empty")
	}
	e.typeProblems(p, spec)
	e.itemProblems(p, spec)
	e.versionProblems(p, spec)
	names, known := item.Attributes(e.typ)
	e.upgradeProblems(p, spec, names, known)
	e.indexFieldProblems(p, spec, names)
	e.spellingProblems(p, spec, names)
	e.ttlProblems(p, spec)
	e.vectorProblems(p, spec, names, known)
	e.claimProblems(p, spec)
	e.counterProblems(p, spec, names, known)
	e.sharedProblems(p, spec, names, known)
	if slices.ContainsFunc(e.FormerCopies, func(key keyFunc) bool { return key == nil }) {
		p.add("FormerCopies: one is nil")
	}
	e.deciderProblems(p, spec, names)
	e.sampleProblems(p, spec, names, known)
	if len(*p) > 0 {
		return refused(e.Type, spec.Name, *p...)
	}
	return nil
}

// ttlProblems adds why items of the entity would never expire. DynamoDB takes no notice of
// an expiry that is not a number. AWS: "Using time to live (TTL) in DynamoDB", Amazon
// DynamoDB Developer Guide.
func (e *description) ttlProblems(p *problems, spec schema.Table) {
	switch f, kind := item.FieldKind(e.typ, spec.TTLAttribute); {
	case isTableTime(f):
		p.add("TTL: attribute %q: a %v is no number of seconds, by which DynamoDB expires; use a time.Time with the tag option unixtime", spec.TTLAttribute, f)
	case kind == 0 || kind == item.N:
	case kind == item.S && isTime(f):
		p.add("TTL: attribute %q: a %v is stored as text, and DynamoDB expires by a number of seconds; use the tag option unixtime", spec.TTLAttribute, f)
	default:
		p.add("TTL: attribute %q: a %v is not of type N, and DynamoDB expires by a number of seconds", spec.TTLAttribute, f)
	}
}

// versionProblems adds what is wrong with the version, or why one is needed.
func (e *description) versionProblems(p *problems, spec schema.Table) {
	switch e.Version {
	case "":
		if len(e.Copies) > 0 {
			p.add("Copies: need a Version, or they would drift apart")
		}
		if len(e.FormerCopies) > 0 {
			p.add("FormerCopies: need a Version")
		}
	case spec.PK, spec.SK, spec.TypeAttribute, spec.TTLAttribute, spec.Shape, spec.ShapeFrom(), spec.ShapeAt():
		p.add("Version: attribute %q has another use in the schema", e.Version)
	default:
		if slices.Contains(e.indexAttributes(spec), e.Version) {
			p.add("Version: attribute %q is a key of an index that the entity declares", e.Version)
		}
		if _, problem := e.probeVersion(); problem != "" {
			p.add("%s", problem)
		}
	}
}

// attributesOf returns the attributes that have a use in a schema.
func attributesOf(spec schema.Table) []string {
	all := []string{spec.PK, spec.SK, spec.TypeAttribute, spec.TTLAttribute, spec.Shape, spec.ShapeFrom(), spec.ShapeAt()}
	for _, x := range spec.Indexes {
		for _, a := range slices.Concat(x.Keys()) {
			all = append(all, a.Name)
		}
	}
	for _, x := range spec.Vectors {
		for _, a := range vectorFields(x) {
			all = append(all, a.Name)
		}
	}
	return all
}

// spellingProblems adds fields of T that attributes of the schema are read into although
// their names differ, in case: the key of an item, say, or an expiry that never comes.
func (e *description) spellingProblems(p *problems, spec schema.Table, fields []string) {
	own := append(attributesOf(spec), e.Version)
	for _, name := range fields {
		i := slices.IndexFunc(own, func(attribute string) bool { return strings.EqualFold(attribute, name) })
		if i >= 0 && !slices.Contains(own, name) && !slices.Contains(fields, own[i]) {
			p.add("attribute %q of %v differs from attribute %q of the schema or the Version in case only", name, e.typ, own[i])
		}
	}
}

// itemProblems adds items without a key, and indexes that cannot be theirs.
func (e *description) itemProblems(p *problems, spec schema.Table) {
	owner := map[string]string{}
	for i, copied := range e.items() {
		field := "Key"
		if i > 0 {
			field = fmt.Sprintf("Copies[%d].Key", i-1)
		}
		if copied.Key == nil {
			p.add("%s: is nil", field)
		}
		for _, index := range slices.Sorted(maps.Keys(copied.Indexes)) {
			at := slices.IndexFunc(spec.Indexes, func(x schema.Index) bool { return x.Name == index })
			switch first, twice := owner[index]; {
			case twice:
				p.add("Indexes: %q is on %s and on %s, and a query of it would return the entity twice", index, first, copied.Name)
			case at < 0:
				p.add("Indexes: the schema has no index %q", index)
			case several(spec.Indexes[at]):
				p.add("Indexes: the keys of %q have several attributes, which are fields of %v and need no function", index, e.typ)
			case ownKeys(spec, spec.Indexes[at]):
				p.add("Indexes: the keys of %q are keys of the table, which each item has anyway; it needs no function", index)
			case copied.Indexes[index] == nil:
				p.add("Indexes[%q]: is nil", index)
			}
			owner[index] = copied.Name
		}
	}
}

// ownKeys reports whether an index has no other keys than the table.
func ownKeys(spec schema.Table, x schema.Index) bool {
	partition, sort := x.Keys()
	return !slices.ContainsFunc(slices.Concat(partition, sort), func(a schema.Attribute) bool { return a.Name != spec.PK && a.Name != spec.SK })
}

// typeProblems adds why stored items cannot be read as T.
func (e *description) typeProblems(p *problems, spec schema.Table) {
	k, itself := e.typ.Kind(), func(method reflect.Type) bool { return reflect.PointerTo(e.typ).Implements(method) }
	switch {
	case k != reflect.Struct && k != reflect.Map:
		p.add("%v is no struct or map", e.typ)
		return
	case e.typ.ConvertibleTo(reflect.TypeFor[table.Item]()) && !itself(marshaler):
		p.add("%v holds attribute values, which package table reads and writes", e.typ)
		return
	}
	lost := item.RoundTrip(e.typ)
	for _, problem := range lost {
		p.add("%v: %v", e.typ, problem)
	}
	if len(lost) > 0 || itself(unmarshaler) {
		return
	}
	every := table.Item{}
	if spec.KindOf(e.Type) == nil {
		every[spec.TypeAttribute] = &types.AttributeValueMemberS{Value: e.Type}
	}
	if err := every.Decode(e.zero()); err != nil {
		p.add("no item can be read as a %v: %v", e.typ, err)
	}
}

// indexAttributes returns the key attributes of the indexes that the entity
// declares.
func (e *description) indexAttributes(spec schema.Table) []string {
	var names []string
	for _, x := range spec.Indexes {
		for _, p := range e.items() {
			if _, declared := p.Indexes[x.Name]; !declared {
				continue
			}
			for _, name := range []string{x.PK, x.SK} {
				// A local index has the table's partition key.
				if name != "" && name != spec.PK && name != spec.SK && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
