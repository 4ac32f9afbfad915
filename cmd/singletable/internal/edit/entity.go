package edit

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// ErrAlone means that the other items of an entity cannot be told, so that an item can be
// changed alone only. Nothing was written.
var ErrAlone = errors.New("the other items of the entity cannot be told")

// ErrDetached means that a change of attributes makes another key of an item than the one it
// is stored under. Reads of the entity would not find the item any more. Nothing was written.
var ErrDetached = fmt.Errorf("%w: another key", table.ErrInvalid)

// ErrLeft means that an item is not stored, while another item of its entity is. Nothing was
// written.
var ErrLeft = fmt.Errorf("%w: the item is not stored, but another item of its entity is", table.ErrInvalid)

// PutEntity plans to store an item of an entity, and to change the other items with it. The
// first plan is that of the item, which is the one of the entity's Items with the number
// here. The others get the attributes that the item changes, if they have them, and the same
// version. A copy whose key is made of a changed attribute moves. Keys in indexes that were
// made of changed attributes are made of the new ones, unless the item changes them itself.
// For an item that is not stored, all items of the entity are created.
//
// Errors: those of [Editor.Put], [ErrAlone], [ErrDetached] and [ErrLeft].
func (e *Editor) PutEntity(ctx context.Context, entity tablemodel.Entity, here int, item table.Item) ([]Plan, error) {
	if err := e.table.CheckItem(item); err != nil {
		return nil, err
	}
	plan, err := e.read(ctx, e.table.KeyOf("", item))
	if err != nil {
		return nil, err
	}
	item = maps.Clone(item)
	e.follow(entity.Items[here], plan.Old, item)
	if plan, err = e.put(plan, item, nil); err != nil {
		return nil, err
	}
	if !plan.writes {
		return []Plan{plan}, nil
	}
	if err := CheckKeys(entity, here, plan); err != nil {
		return nil, err
	}
	c := entityChange{e: e, entity: entity, here: here, main: plan}
	before, after, err := c.keys()
	if err != nil {
		return nil, err
	}
	all := []Plan{plan}
	for i := range entity.Items {
		if i == here {
			continue
		}
		plans, err := c.other(ctx, i, before[i], after[i])
		if err != nil {
			return nil, err
		}
		all = append(all, plans...)
	}
	return all, nil
}

// CheckKeys refuses a plan that changes an attribute which the key of the item is made of, or
// which the key of the entity's main item is made of. here is the number of the item in the
// entity's Items. A plan that makes the attributes agree with the key again is fine.
//
// Errors: [ErrDetached].
func CheckKeys(entity tablemodel.Entity, here int, plan Plan) error {
	// Keys that cannot be told are zero.
	after, _ := entity.Keys(plan.New)
	before := make([]keys.Key, len(after))
	if plan.Old != nil {
		before, _ = entity.Keys(plan.Old)
	}
	if key := after[here]; key != plan.Key && key != before[here] {
		return detached("the item", plan.Key, key)
	}
	if main := before[0]; here != 0 && main != (keys.Key{}) && after[0] != main {
		return detached("the main item", main, after[0])
	}
	return nil
}

func detached(what string, from, to keys.Key) error {
	makes := "no key"
	if to != (keys.Key{}) {
		makes = "the key " + keyText(to)
	}
	return fmt.Errorf("%w: the attributes make %s, and %s is stored under %s. A service moves an entity with Repo.Update. Here only attributes that the key is not made of change",
		ErrDetached, makes, what, keyText(from))
}

// keyText is a key for people.
func keyText(k keys.Key) string {
	if k.SK == "" {
		return string(k.PK)
	}
	return string(k.PK) + " / " + string(k.SK)
}

// DeleteEntity plans to delete all items of an entity that are stored. The first plan is that
// of the item under the key.
//
// Errors: those of [Editor.Delete], and [ErrAlone].
func (e *Editor) DeleteEntity(ctx context.Context, entity tablemodel.Entity, here int, key keys.Key) ([]Plan, error) {
	plan, err := e.Delete(ctx, key)
	if err != nil || plan.Old == nil {
		return []Plan{plan}, err
	}
	ks, err := entity.Keys(plan.Old)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAlone, err)
	}
	c := entityChange{e: e, entity: entity, here: here, main: plan}
	all := []Plan{plan}
	for i, k := range ks {
		if i == here || k == (keys.Key{}) {
			continue
		}
		other, err := e.Delete(ctx, k)
		if err != nil {
			return nil, err
		}
		if other.Old == nil {
			continue
		}
		if err := c.checkOwn(i, other.Old); err != nil {
			return nil, err
		}
		all = append(all, other)
	}
	return all, nil
}

// ApplyAll writes plans in one transaction, if all stored items are still as they were.
//
// Errors:
//   - [ErrChanged].
//   - those of [table.Table.Transact].
func (e *Editor) ApplyAll(ctx context.Context, plans []Plan) error {
	var ops []table.Op
	for _, p := range plans {
		if p.writes {
			ops = append(ops, p.op)
		}
	}
	switch len(ops) {
	case 0:
		return nil
	case 1:
		return changed(e.table.Do(ctx, ops[0]))
	}
	return changed(e.table.Transact(ctx, ops...))
}

// entityChange is a change of one item of an entity, which the others follow.
type entityChange struct {
	e      *Editor
	entity tablemodel.Entity
	here   int  // the number of the item
	main   Plan // of the item
}

// keys returns the keys of all items before the change and after it.
func (c entityChange) keys() (before, after []keys.Key, err error) {
	if after, err = c.entity.Keys(c.main.New); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrAlone, err)
	}
	if c.main.Old == nil {
		return make([]keys.Key, len(after)), after, nil
	}
	if before, err = c.entity.Keys(c.main.Old); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrAlone, err)
	}
	return before, after, nil
}

// other plans for the item of the entity with that number.
func (c entityChange) other(ctx context.Context, number int, before, after keys.Key) ([]Plan, error) {
	none := keys.Key{}
	if before == none && after == none {
		return nil, nil
	}
	var stored Plan
	attributes := c.plain()
	if before != none {
		var err error
		if stored, err = c.e.read(ctx, before); err != nil {
			return nil, err
		}
		if stored.Old == nil {
			return nil, fmt.Errorf("%w: item %d of %d is not stored", ErrAlone, number+1, len(c.entity.Items))
		}
		if err := c.checkOwn(number, stored.Old); err != nil {
			return nil, err
		}
		attributes = c.patched(stored.Old)
	}
	if before == after {
		c.e.follow(c.entity.Items[number], stored.Old, attributes)
		plan, err := c.e.put(stored, attributes, c.version())
		return []Plan{plan}, err
	}
	var plans []Plan
	if before != none {
		removed, err := c.e.Delete(ctx, before)
		if err != nil {
			return nil, err
		}
		plans = append(plans, removed)
	}
	if after == none {
		return plans, nil
	}
	created, err := c.create(ctx, number, after, attributes)
	return append(plans, created), err
}

// checkOwn refuses a stored item that is not of this entity: what it holds leads to another
// item than the one that is changed, as after another entity has taken the key.
func (c entityChange) checkOwn(number int, stored table.Item) error {
	if !c.owns(stored) {
		return fmt.Errorf("%w: item %d of %d holds another entity", ErrAlone, number+1, len(c.entity.Items))
	}
	return nil
}

// owns reports whether a stored item is of this entity.
func (c entityChange) owns(stored table.Item) bool {
	spec := c.e.table.Schema()
	main := c.main.Old
	if main == nil {
		main = c.main.New
	}
	ks, _ := c.entity.Keys(stored) // Those that it cannot tell are zero.
	return ks[c.here] == c.main.Key && spec.TypeOf(stored) == spec.TypeOf(main)
}

// create plans to store an item of the entity under a key.
func (c entityChange) create(ctx context.Context, number int, key keys.Key, attributes table.Item) (Plan, error) {
	plan, err := c.e.read(ctx, key)
	if err != nil {
		return Plan{}, err
	}
	switch {
	case plan.Old == nil:
	case c.main.Old == nil && c.owns(plan.Old):
		return Plan{}, fmt.Errorf("%w: %s", ErrLeft, keyText(key))
	default:
		return Plan{}, fmt.Errorf("%w: another item is stored under the key of item %d of the entity: %s", table.ErrInvalid, number+1, keyText(key))
	}
	at, err := c.e.table.IndexKey("", key)
	if err != nil {
		return Plan{}, err
	}
	maps.Copy(attributes, at)
	c.e.follow(c.entity.Items[number], nil, attributes)
	if err := c.e.table.CheckItem(attributes); err != nil {
		return Plan{}, err
	}
	return c.e.put(plan, attributes, c.version())
}

// version returns the version that all items of the entity get, nil if none is known.
func (c entityChange) version() types.AttributeValue {
	if c.main.Version == "" {
		return nil
	}
	return c.main.New[c.main.Version]
}

// plain returns the attributes of the changed item that a copy of it has: all but keys that
// are made for an item, and vectors, which the library leaves out of copies.
func (c entityChange) plain() table.Item {
	own := c.ownAttributes()
	item := maps.Clone(c.main.New)
	maps.DeleteFunc(item, func(name string, _ types.AttributeValue) bool { return own[name] })
	return item
}

// patched returns the attributes of a stored item of the entity after the change. It keeps
// to the attributes that it has, unless it has all others of the changed item.
func (c entityChange) patched(stored table.Item) table.Item {
	own, item := c.ownAttributes(), maps.Clone(stored)
	whole := true
	for name, v := range c.main.Old {
		whole = whole && (own[name] || Equal(stored[name], v))
	}
	for _, name := range names(c.main.Old, c.main.New) {
		before, after := c.main.Old[name], c.main.New[name]
		switch {
		case own[name] || Equal(before, after) || name == c.main.Version:
		case stored[name] == nil && (!whole || before != nil):
		case after == nil:
			delete(item, name)
		default:
			item[name] = after
		}
	}
	return item
}

// ownAttributes returns the attributes that each item of an entity has for itself.
func (c entityChange) ownAttributes() map[string]bool {
	spec := c.e.table.Schema()
	own := map[string]bool{spec.PK: true, spec.SK: true}
	for _, x := range spec.Indexes {
		p := c.entity.Items[c.here].Indexes[x.Name]
		for name, pattern := range map[string]string{x.PK: p.PK, x.SK: p.SK} {
			// The pattern of an attribute that is of the entity itself is its name.
			if pattern != "{"+name+"}" {
				own[name] = true
			}
		}
	}
	for _, x := range spec.Vectors {
		own[x.Attribute] = true
	}
	return own
}

// follow sets the keys in indexes that the pattern makes of the item's attributes, where the
// stored item has those that are made of its own, and the item has no others.
func (e *Editor) follow(p tablemodel.Pattern, stored, item table.Item) {
	for _, x := range e.table.Schema().Indexes {
		pattern, ok := p.Indexes[x.Name]
		if !ok {
			continue
		}
		if x.Local {
			pattern.PK = p.PK
		}
		before, _ := keyOf(pattern, stored)
		after, known := keyOf(pattern, item)
		if !known {
			continue
		}
		followAttribute(x.PK, x.PKType, string(before.PK), string(after.PK), stored, item)
		followAttribute(x.SK, x.SKType, string(before.SK), string(after.SK), stored, item)
	}
}

// followAttribute sets one attribute of such a key. A key of another type than a text is an
// attribute of the entity itself.
func followAttribute(name string, kind types.ScalarAttributeType, before, after string, stored, item table.Item) {
	if name == "" || kind != types.ScalarAttributeTypeS || before == after {
		return
	}
	var made types.AttributeValue
	if before != "" {
		made = &types.AttributeValueMemberS{Value: before}
	}
	if !Equal(stored[name], made) || !Equal(item[name], stored[name]) {
		return
	}
	if after == "" {
		delete(item, name)
		return
	}
	item[name] = &types.AttributeValueMemberS{Value: after}
}

// keyOf returns the key that a pattern makes of an item, the zero key if the item lacks an
// attribute of it. It is not known if the pattern has segments that are not attributes.
func keyOf(p tablemodel.Pattern, item table.Item) (k keys.Key, known bool) {
	// Behind a main item that always has a key, a missing attribute is no error.
	all, err := tablemodel.Entity{Items: []tablemodel.Pattern{{PK: "MAIN"}, {PK: p.PK, SK: p.SK}}}.Keys(item)
	return all[1], err == nil
}
