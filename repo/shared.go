package repo

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Shared is for an entity whose items other programs write, too, by rules of their own, such as
// a service in TypeScript on ElectroDB, DynamoDB-Toolbox or OneTable. docs/share-a-table.md says
// how to go about it, and which of their calls keep what this program writes.
//
// Nothing of theirs is lost: [Repo.Update], [Repo.Save] and [Repo.Delete] read the item and expect
// that each attribute that T has is still as it was read, with the type, the expiry and the
// Constants. Otherwise they start over, within the budget of [table.Table.Retry]. Attributes that
// T does not have stay. What others write without a condition can overwrite what this program has
// written. An attribute whose name differs from T's in case only stays theirs: a change of what
// T has read of it is [table.ErrInvalid].
//
// [Entity].Version names the attribute in which they all keep the time of the last write: the
// updated of OneTable, the _md of Toolbox. An int64 or a [table.UnixMilli] is a time in
// milliseconds, a string or a [table.ISOTime] one as JavaScript writes it:
// 2026-01-02T03:04:05.000Z, UTC. A write sets the time, at least a millisecond after the stored
// one, unless that is 24 hours ahead. Save of a value with another time than the stored one is
// [table.ErrStale]. It is no ETag: two writers can give the same time. Without a Version, Save
// replaces what T has, whatever was stored when the value was read, also where a write comes in
// between.
//
// After a lost response, an Update, a Save of a stored entity and a Delete are
// [table.ErrOutcomeUnknown]: no revision tells whose write is stored.
//
// T is a struct with at most 140 attributes, Constants and the expiry included. What a condition
// cannot compare, as with many attributes missing, is [table.ErrTooLarge]. There are
// no Copies, Claims, Counters or Upgrades, and of the ops only [Repo.CreateOps]. All methods that
// replace an item, or change it without a read, are [table.ErrInvalid]: PutOps, UpdateOps,
// DeleteOps, Patch, PatchOps and Upsert. So is an Update that changes the main key.
type Shared[T any] struct {
	// Constants are text attributes that each item of the entity has, as the type: "1" in
	// ElectroDB's __edb_v__. Writes store them. An item with another value is
	// [table.ErrWrongType]. One that lacks them is read, and the next write adds them, as does
	// [Repo.Refresh]. T has no fields for them.
	Constants map[string]string

	// Unique returns the keys of the items by which the other programs keep values unique, such
	// as _unique#User#email#ana@example.com of OneTable. They have no owner: an item is written
	// with the entity, and deleted by the write that changes the value or deletes the entity. A
	// value that is taken is [table.ErrExists]. The item has its keys and UniqueType, nothing
	// else. Return the zero key for an empty value: it has no item. An item of a [schema.Kind]
	// under such a key stays.
	//
	// An entity without its item gets one when the value changes. An entity that expires leaves
	// its item, so that the value stays taken. CheckUnique of package backfill finds both.
	Unique func(T) []keys.Key
	// UniqueType is what these items have in the type attribute, as _Unique. Empty means that
	// they have none.
	UniqueType string
}

// shared is the [Shared] of any type, or the zero value.
type shared struct {
	Shared[any]
	is bool
}

func sharedOf[T any](s *Shared[T]) shared {
	if s == nil {
		return shared{}
	}
	of := shared{Shared[any]{Constants: s.Constants, UniqueType: s.UniqueType}, true}
	if s.Unique != nil {
		of.Unique = func(v any) []keys.Key { return s.Unique(*v.(*T)) }
	}
	return of
}

// sharedProblems adds what a shared entity cannot have.
func (e *description) sharedProblems(p *problems, spec schema.Table, names []string, known bool) {
	kind := spec.KindOf(e.Type)
	if !e.shared.is {
		if kind != nil {
			p.add("Type: %q is of the Kinds of the schema, whose items other programs write; set Shared", e.Type)
		}
		return
	}
	has := map[string]bool{
		"Copies": len(e.Copies) > 0, "FormerCopies": len(e.FormerCopies) > 0, "Claims": e.Claims != nil,
		"Counters": len(e.Counters) > 0, "Counted": len(e.Counted) > 0, "Upgrades": len(e.Upgrades) > 0 || e.OldestShape > 0,
	}
	for _, what := range slices.Sorted(maps.Keys(has)) {
		if has[what] {
			p.add("%s: other programs do not keep them; a Shared entity has none", what)
		}
	}
	n := len(names) + len(e.shared.Constants)
	if spec.TTLAttribute != "" {
		n++
	}
	if n > maxGuarded {
		p.add("Shared: %d attributes, Constants and the expiry included, and a condition compares %d", n, maxGuarded)
	}
	if !known {
		p.add("Shared: %v has no fields, or makes its attributes itself, so a write cannot expect that they are as they were read", e.typ)
	}
	used := append(attributesOf(spec), e.Version)
	for _, name := range slices.Sorted(maps.Keys(e.shared.Constants)) {
		if kind != nil && kind.Equal[name] != "" {
			if kind.Equal[name] != e.shared.Constants[name] {
				p.add("Shared: Constants: attribute %q has another value in the Kinds of the schema", name)
			}
			used = slices.DeleteFunc(used, func(other string) bool { return other == name && name == spec.TypeAttribute })
		}
		switch {
		case name == "" || slices.Contains(used, name):
			p.add("Shared: Constants: attribute %q has another use", name)
		case slices.Contains(names, name):
			p.add("Shared: Constants: %v has a field for attribute %q, which they decide", e.typ, name)
		case e.shared.Constants[name] == "":
			p.add("Shared: Constants: attribute %q is empty", name)
		}
	}
	if e.shared.UniqueType != "" && (e.shared.Unique == nil || e.shared.UniqueType == e.Type) {
		p.add("Shared: UniqueType: is the type of the items of Unique, and not that of the entity")
	}
}

// errSharedMoves: a condition cannot expect that nobody adds attributes that T does not know.
var errSharedMoves = fmt.Errorf("%w: it is Shared, and what other programs add at the same time would be lost: its main key cannot change", errInvalidEntity)

// errShared is the error of what a shared entity cannot do.
func (c *core) errShared(what string) error {
	return fmt.Errorf("%w: %q is Shared, and %s would lose what other programs have written; use Update", errInvalidEntity, c.entity.Type, what)
}

// Times of a Version.
const (
	// farAhead is how far a stored time can be ahead before a write goes back to its own: another
	// program's clock was wrong.
	farAhead = 24 * time.Hour
	// earliest is a time of 1973 in milliseconds: what is less is a number that counts, or seconds.
	earliest = 1e11
)

// nextTime returns the stamp of a write that comes after s, by the clock.
func (c *core) nextTime(s stamp) stamp {
	now := c.table.Now().UnixMilli()
	was := s.version
	if t, err := time.Parse(time.RFC3339, s.revision); err == nil {
		was = t.UnixMilli()
	}
	//mutants:guard a version that is a time grows with each write | TestSharedVersion | was >= now && => false &&
	if was >= now && was-now < farAhead.Milliseconds() {
		now = was + 1
	}
	if c.counter == clockedText {
		return stamp{revision: table.ISOTime{Time: time.UnixMilli(now)}.String()}
	}
	return stamp{version: now}
}

// checkConstants reports an item with another value of a constant than the entity's. One that
// lacks it is the entity's.
func (c *core) checkConstants(attributes table.Item) error {
	for name, want := range c.entity.shared.Constants {
		if is := attributes[name]; is != nil && item.Text(is) != want {
			return fmt.Errorf("%w: want %q in attribute %q, have %q", table.ErrWrongType, want, name, item.Shortened(item.Text(is)))
		}
	}
	return nil
}

// withConstants adds to the changes of an item the constants that it lacks.
func (p *planner) withConstants(d diff) diff {
	for name, value := range p.entity.shared.Constants {
		if p.was.item[name] == nil {
			d = d.over(diff{set: table.Item{name: &types.AttributeValueMemberS{Value: value}}})
		}
	}
	return d
}

// checkSpelling refuses a change of what T has read of an attribute whose name differs in case
// from its own: it is the other program's, and stays under its name.
func (c *core) checkSpelling(name string, raw item.Raw, d diff) error {
	field, ok := c.respelled(name)
	if !ok || !d.changes(field) || len(raw.Attributes(func(n []byte) bool { return string(n) == field })) > 0 {
		return nil
	}
	return fmt.Errorf("%w: attribute %q is stored as %q, by another program: give the field that name", table.ErrInvalid, field, name)
}

// expected returns the attributes of a shared entity that must be as they were read: those of
// T, also in another spelling, the constants and the expiry.
func (c *core) expected(as table.Item) map[string]bool {
	names := map[string]bool{}
	for _, name := range c.attributes {
		names[name] = true
	}
	for name := range c.entity.shared.Constants {
		names[name] = true
	}
	for name := range as {
		if _, respelled := c.respelled(name); respelled {
			names[name] = true
		}
	}
	if c.schema.TTLAttribute != "" {
		names[c.schema.TTLAttribute] = true
	}
	return names
}

// uniqueOf returns the keys by which other programs keep values of v unique, each once.
func (c *core) uniqueOf(v any) (all []keys.Key) {
	if c.entity.shared.Unique == nil || v == nil {
		return nil
	}
	for _, key := range c.entity.shared.Unique(v) {
		if key != (keys.Key{}) && !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	return all
}

// uniqueName is the name of the items of Unique in errors.
func (c *core) uniqueName() string { return c.entity.Type + " unique" }

func (c *core) newUnique(key keys.Key) step {
	attributes := table.Item{}
	err := c.setKey(attributes, key)
	if c.entity.shared.UniqueType != "" {
		attributes[c.schema.TypeAttribute] = &types.AttributeValueMemberS{Value: c.entity.shared.UniqueType}
	}
	return step{verb: create, key: key, name: c.uniqueName(), made: item.Made{Item: attributes, Err: err}}
}

// saveUnique plans the items of Unique, of what is stored and of what is to be. One that stays is
// not touched.
func (p *planner) saveUnique() {
	was, now := p.uniqueOf(p.was.v), p.uniqueOf(p.v)
	for _, key := range now {
		if !slices.Contains(was, key) {
			p.differs = true
			p.steps = append(p.steps, p.newUnique(key))
		}
	}
	for _, key := range was {
		if slices.Contains(now, key) {
			continue
		}
		is, read := p.old.seen[key]
		switch {
		case !read && (p.old.doubts[key] || p.entity.shared.UniqueType == "" && len(p.schema.Kinds) > 0): // no condition tells an item of a kind
			p.need = append(p.need, key)
		//mutants:guard an item of another form is no unique value | TestSharedUnique | p.schema.TypeOf(is) == p.entity.shared.UniqueType => true
		case !read, is != nil && p.schema.TypeOf(is) == p.entity.shared.UniqueType:
			p.steps = append(p.steps, step{verb: remove, key: key, name: p.uniqueName(), unique: true})
		}
	}
}

// removesUnique returns the op that deletes an item of Unique.
func (c *core) removesUnique(s step) table.Op {
	op := table.Delete(s.key).WithName(s.name)
	if c.entity.shared.UniqueType != "" {
		return op.IfType(c.entity.shared.UniqueType)
	}
	return op.If(item.Name(c.schema.TypeAttribute).AttributeNotExists())
}
