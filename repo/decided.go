package repo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// One declaration decides what is stored in an attribute. Where there are two, they agree, or
// the entity is refused:
//
//	attribute                         decided by             a field of T with its name
//	key of the table                  Key of the item        empty, or the key of one of the items
//	type                              Type                   empty, or the type
//	version, shape                    the repository         Entity.Version says what it is; none
//	key of an index with a function   the function           refused
//	other attribute                   the field
//
// A T that is a map, or makes its attributes itself, has no fields that New could see. Its
// values are compared with what is stored when they are written.

// deciderProblems adds attributes that two declarations decide.
func (e *description) deciderProblems(p *problems, spec schema.Table, fields []string) {
	for _, name := range e.indexAttributes(spec) {
		//mutants:guard no function overwrites a field | TestNewRefusesTwoDeciders
		if slices.Contains(fields, name) {
			p.add("Indexes: %q is a key of an index with a function, which would overwrite the field of %v: "+
				"let fields be the keys, without a function, or name another attribute in the schema; see docs/index-keys.md", name, e.typ)
		}
	}
}

// sampleProblems adds what the key functions show with a sample value. A sample does not show
// everything, so writes check their values, too, except for functions of a struct's Version.
func (e *description) sampleProblems(p *problems, spec schema.Table, fields []string, known bool) {
	if !known || len(*p) > 0 { // a function may be missing
		return
	}
	if e.Version != "" && e.reads(e.Version) {
		p.add("Version: a key function reads attribute %q, which every write changes", e.Version)
	}
	sample, all := item.Sample(e.typ), []keys.Key{}
	for _, of := range e.items() {
		key, _ := try(of.Key, sample)
		all = append(all, key)
	}
	for _, x := range e.crowdedIndexes(spec, fields, known) {
		if i, j, ok := x.pair(all); ok {
			p.add("%v", x.refusal(e.items()[i].Name, e.items()[j].Name))
		}
	}
}

// reads reports whether a key function reads an attribute, as far as samples show.
func (e *description) reads(attribute string) bool {
	a, b := item.Sample(e.typ), item.Sample(e.typ)
	for n, v := range map[string]any{"1": a, "2": b} {
		if !item.Assign(v, attribute, &types.AttributeValueMemberN{Value: n}) && !item.Assign(v, attribute, &types.AttributeValueMemberS{Value: n}) {
			return false
		}
	}
	return slices.ContainsFunc(e.functions(), func(f keyFunc) bool {
		of, first := try(f, a)
		other, second := try(f, b)
		return first && second && of != other
	})
}

// keyed returns the attributes of a struct that its key reads, and those of its former copies,
// as far as samples show: the key changes with the attribute. If a function panics even with a
// full sample, it may read any attribute.
func (e *description) keyed(attributes []string) (read []string) {
	sample, zero := item.Sample(e.typ), e.zero()
	for _, f := range append([]keyFunc{e.Key}, e.FormerCopies...) {
		full, ok := try(f, sample)
		none, okNone := try(f, zero)
		for _, name := range attributes {
			without, okWithout := try(f, item.Without(sample, name))
			only, okOnly := try(f, item.Only(sample, name))
			if !ok || !okWithout || without != full || okNone && (!okOnly || only != none) {
				read = append(read, name)
			}
		}
	}
	return read
}

// functions returns all key functions of the entity, and one for its claims and for
// each counter.
func (e *description) functions() (all []keyFunc) {
	for _, of := range e.items() {
		all = append(all, of.Key)
		for _, index := range slices.Sorted(maps.Keys(of.Indexes)) {
			all = append(all, of.Indexes[index])
		}
	}
	if e.Claims != nil {
		all = append(all, func(v any) (joined keys.Key) {
			for _, key := range e.Claims(v) {
				joined.PK, joined.SK = joined.PK+key.PK+"\x00", joined.SK+key.SK+"\x00"
			}
			return joined
		})
	}
	for _, x := range e.Counters {
		all = append(all, func(v any) keys.Key {
			is, _ := x.amount(v)
			return keys.Key{PK: is.key.PK + keys.PK(strconv.FormatInt(is.n, 10)), SK: is.key.SK}
		})
	}
	return all
}

// try calls a key function with a sample, which it may not be made for.
func try(f keyFunc, sample any) (key keys.Key, ok bool) {
	defer func() {
		if recover() != nil {
			key, ok = keys.Key{}, false
		}
	}()
	return f(sample), true
}

// A crowdedIndex holds every item of an entity: each of its keys is one of the table's, the
// type, or a field. Two items in one partition of it are the same entity twice.
type crowdedIndex struct {
	name string
	// pk and sk say which keys of the table its partition has.
	pk, sk bool
	// fields are those without which an item is not in the index.
	fields []string
}

// crowdedIndexes returns the indexes that hold all items, or can hold them if it is not known
// what T has.
func (e *description) crowdedIndexes(spec schema.Table, fields []string, known bool) (all []crowdedIndex) {
	if len(e.Copies) == 0 {
		return nil
	}
	made := e.indexAttributes(spec)
	for _, x := range spec.Indexes {
		if !several(x) && e.declares(x.Name) {
			continue
		}
		of, holdsAll := crowdedIndex{name: x.Name}, true
		partition, sort := x.Keys()
		for i, a := range slices.Concat(partition, sort) {
			switch a.Name {
			case spec.PK:
				of.pk = of.pk || i < len(partition)
			case spec.SK:
				of.sk = of.sk || i < len(partition)
			case spec.TypeAttribute:
			default:
				of.fields = append(of.fields, a.Name)
				holdsAll = holdsAll && (!known || slices.Contains(fields, a.Name)) && !slices.Contains(made, a.Name)
			}
		}
		if holdsAll {
			all = append(all, of)
		}
	}
	return all
}

// pair returns two items that the index has in one partition, by the keys of all.
func (x crowdedIndex) pair(all []keys.Key) (i, j int, ok bool) {
	for j, other := range all {
		for i, key := range all[:j] {
			if other != (keys.Key{}) && key != (keys.Key{}) && (!x.pk || key.PK == other.PK) && (!x.sk || key.SK == other.SK) {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

func (x crowdedIndex) refusal(item, other string) string {
	return fmt.Sprintf("Copies: index %q has %s and %s in one partition, and a query of it would return the entity twice; give the copy another key there",
		x.name, item, other)
}

// checkValue reports a value that would be stored otherwise than it is declared. key is that of
// its main item. Its attributes, or those that change, are given; changes tells which. was is
// the value that it replaces, nil if that is not known.
func (c *core) checkValue(v, was any, key keys.Key, attributes table.Item, changes func(attribute string) bool) error {
	//mutants:guard no index has two items of an entity in one partition | FuzzDeclarations
	if len(c.crowded) > 0 {
		if err := c.checkApart(v, changes); err != nil {
			return err
		}
	}
	if len(c.shown) == 0 || c.known && !c.readsShown && c.isMain(key, attributes) {
		return nil
	}
	given := c.givenIn(attributes)
	for i, key := range c.keysOf(v) {
		stored, err := c.written(i, key, v)
		if err != nil {
			return nil // as the write says, of the item
		}
		if name := c.dependsOn(v, stored); name != "" {
			return fmt.Errorf("%w: a key function reads attribute %q, which the repository writes: the keys would be others after a read", errInvalidEntity, name)
		}
		forget(given, stored)
	}
	if was != nil {
		for i, key := range c.keysOf(was) {
			if stored, err := c.written(i, key, was); err == nil {
				forget(given, stored)
			}
		}
	}
	for _, key := range c.formerCopies(v) {
		former := table.Item{}
		if c.setKey(former, key) == nil {
			forget(given, former)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		//mutants:guard a value has nothing that the repository decides otherwise | TestWritesRefuseTwoDeciders
		if p := item.ValueOf(given[name]); p.Kind != item.NULL && len(p.Text)+len(p.Bytes) > 0 {
			return fmt.Errorf("%w: attribute %q is decided by %s, and the value has another one: leave it out", table.ErrInvalid, name, c.deciderOf(name))
		}
	}
	return nil
}

// isMain reports whether attributes are those of the main item under a key, or left out, as
// they are as a rule.
func (c *core) isMain(key keys.Key, attributes table.Item) bool {
	of := func(name, stored string) bool {
		p := item.ValueOf(attributes[name])
		return p.Kind == 0 || p.Kind == item.S && (p.Text == "" || p.Text == stored)
	}
	return c.textKeys && of(c.schema.PK, string(key.PK)) && of(c.schema.SK, string(key.SK)) && of(c.typeAttribute, c.entity.Type)
}

// forget removes from given what is stored so.
func forget(given, stored table.Item) {
	maps.DeleteFunc(given, func(name string, value types.AttributeValue) bool { return item.Equal(stored[name], value) })
}

// checkApart reports two items of v in one partition of an index. A T that can have any
// attribute may have keys that another release has given the main item. They are not the
// caller's, unless they change.
func (c *core) checkApart(v any, changes func(attribute string) bool) error {
	all := c.keysOf(v)
	attributes, err := c.encode(v)
	for _, x := range c.crowded {
		i, j, ok := x.pair(all)
		lacks := func(name string) bool { return attributes[name] == nil }
		if err == nil && ok && !slices.ContainsFunc(x.fields, lacks) && (c.known || len(x.fields) == 0 || slices.ContainsFunc(x.fields, changes)) {
			return fmt.Errorf("%w: %s", errInvalidEntity, x.refusal(c.items[i].Name, c.items[j].Name))
		}
	}
	return err
}

// written returns those of the attributes that T shows which the repository writes in the ith
// item of v.
func (c *core) written(i int, key keys.Key, v any) (table.Item, error) {
	stored := table.Item{}
	if c.typeAttribute != "" {
		stored[c.typeAttribute] = c.typeValue
	}
	if key == (keys.Key{}) {
		return nil, nil // a copy that is left out
	}
	if err := cmp.Or(c.indexKeys(stored, i, key, v), c.setKey(stored, key)); err != nil {
		return nil, err
	}
	if !c.known && c.counter.stamped() {
		stored[c.entity.Version] = c.next(c.stampIn(v)).value()
	}
	maps.DeleteFunc(stored, func(name string, _ types.AttributeValue) bool { return !slices.Contains(c.shown, name) })
	return stored, nil
}

// dependsOn returns the first attribute that changes the result of a key function if v is read
// back with it, "" for none.
func (c *core) dependsOn(v any, stored table.Item) string {
	functions := c.entity.functions()
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		read := c.entity.zero()
		if c.known {
			assign(read, v)
		}
		if !c.known || !item.Assign(read, name, stored[name]) {
			if read = c.entity.zero(); setAttribute(read, v, name, stored[name]) != nil {
				continue // as a read will say
			}
		}
		if slices.ContainsFunc(functions, func(f keyFunc) bool { return f(read) != f(v) }) {
			return name
		}
	}
	return ""
}

// givenIn returns those of a value's attributes that the repository decides. Its version is
// the guard.
func (c *core) givenIn(attributes table.Item) table.Item {
	given := table.Item{}
	for _, name := range c.shown {
		if value := attributes[name]; value != nil && name != c.entity.Version {
			given[name] = value
		}
	}
	return given
}

// deciderOf says what decides an attribute.
func (c *core) deciderOf(name string) string {
	switch name {
	case c.schema.PK, c.schema.SK:
		return "Key"
	case c.typeAttribute:
		return "Type"
	}
	return "a function of Indexes"
}

// setShown sets which attributes that the repository decides T can have.
func (c *core) setShown() {
	for _, name := range append([]string{c.schema.PK, c.schema.SK, c.typeAttribute}, c.indexAttributes...) {
		if name != "" && (!c.known || slices.Contains(c.attributes, name)) {
			c.shown = append(c.shown, name)
		}
	}
	if !c.known && c.counter.stamped() {
		c.shown = append(c.shown, c.entity.Version)
	}
	c.readsShown = c.known && slices.ContainsFunc(c.shown, c.entity.reads)
}
