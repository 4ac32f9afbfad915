package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// ErrPattern means that the keys of an item are not those that the patterns of its entity make
// of its attributes. Reads of the entity would not find it, or find it by a former value.
// Nothing was written.
var ErrPattern = fmt.Errorf("%w: the keys are not those of the entity", table.ErrInvalid)

// Unchecked is a part of an item's keys that a model does not describe, so that
// [CheckPatterns] has not compared it. It is comparable.
type Unchecked struct {
	// Entity is the type of the item, "" for an item without one.
	Entity string
	// Attribute is the key attribute, "" for all keys of the item.
	Attribute string
	// Pattern is that of the attribute in the model, "" if the model has none.
	Pattern string
	// Differs means that the attribute is in a key that does not have the constants of its
	// pattern.
	Differs bool
	// Missing means that the item lacks the attribute, and has the other one of the index.
	Missing bool
}

// String says what was not checked, and why. It names no value of the item but its type.
func (u Unchecked) String() string {
	switch {
	case u.Entity == "":
		return "all keys of an item without a type"
	case u.Attribute == "":
		return fmt.Sprintf("all keys of entity %q, which the schema file does not have", u.Entity)
	case u.Pattern == "":
		return fmt.Sprintf("attribute %q of entity %q, which has no pattern in the schema file", u.Attribute, u.Entity)
	case u.Missing:
		return fmt.Sprintf("attribute %q of entity %q, which is missing, though the other key of its index is there; it has the pattern %q", u.Attribute, u.Entity, u.Pattern)
	case u.Differs:
		return fmt.Sprintf("attribute %q of entity %q, which is in a key of another form than the pattern %q", u.Attribute, u.Entity, u.Pattern)
	}
	return fmt.Sprintf("attribute %q of entity %q, but for the constants: its pattern %q does not say what the numbers in braces are made of", u.Attribute, u.Entity, u.Pattern)
}

// CheckPatterns refuses an item whose key, or whose key in an index, is not what the patterns of
// its entity make of its attributes. It sends nothing.
//
// An item of no entity of the model is fine. So is an item without a key in an index, or with
// one of another form than the pattern: an entity can leave it out, or make another one of some
// of its states. One of the two keys of an index without the other is refused if the attributes
// make the other one. A pattern with segments that are not known is not compared. The keys that were
// not compared are returned. There are none for a model without entities, which checks nothing.
//
// Errors: [ErrPattern]. It names the entity, the attribute and the pattern, and no value.
func CheckPatterns(tbl *table.Table, model tablemodel.Model, item table.Item) ([]Unchecked, error) {
	spec := tbl.Schema()
	kind := spec.TypeOf(item)
	switch {
	case len(model.Entities) == 0:
		return nil, nil
	case kind == "":
		return []Unchecked{{}}, nil
	}
	e, here, ok := model.Find(item)
	if !ok {
		return checkKnown(spec, model, kind)
	}
	p := e.Items[here]
	key := tbl.KeyOf("", item)
	c := patternCheck{spec: spec, entity: e.Type, item: item}
	c.key(spec.PK, spec.PKType, string(key.PK), p.PK)
	if !spec.SimpleKey {
		c.key(spec.SK, spec.SKType, string(key.SK), p.SK)
	}
	for _, x := range spec.Indexes {
		of, key := p.Indexes[x.Name], tbl.KeyOf(x.Name, item)
		if x.Local { // which has the table's partition key
			of.PK, key.PK = "", ""
		}
		switch differs := !like(of.PK, string(key.PK)) || !like(of.SK, string(key.SK)); {
		case !x.Local && key.PK == "" || x.SK != "" && key.SK == "": // It is not in the index.
			c.half(x, key, of)
			continue
		case differs || of.PK+of.SK == "":
			c.skip(x.PK, x.PKType, string(key.PK), of.PK, differs)
			c.skip(x.SK, x.SKType, string(key.SK), of.SK, differs)
			continue
		}
		c.key(x.PK, x.PKType, string(key.PK), of.PK)
		c.key(x.SK, x.SKType, string(key.SK), of.SK)
	}
	return c.unchecked, c.err
}

// checkKnown refuses an item of an entity that has no such key.
func checkKnown(spec schema.Table, model tablemodel.Model, kind string) ([]Unchecked, error) {
	for _, e := range model.Entities {
		if e.Type != kind {
			continue
		}
		var all []string
		for _, p := range e.Items {
			all = append(all, strings.Trim(p.PK+" / "+p.SK, " /"))
		}
		return nil, fmt.Errorf("%w: entity %q: attributes %q and %q are like none of its patterns: %s",
			ErrPattern, kind, spec.PK, spec.SK, strings.Join(all, ", "))
	}
	return []Unchecked{{Entity: kind}}, nil
}

// patternCheck compares the key attributes of an item with their patterns.
type patternCheck struct {
	spec      schema.Table
	entity    string
	item      table.Item
	unchecked []Unchecked
	err       error // of the first attribute that is wrong
}

// key compares a key attribute that the item has with its pattern. A key of another type than a
// text is an attribute of the entity itself.
func (c *patternCheck) key(name string, kind types.ScalarAttributeType, value, pattern string) {
	switch {
	case value == "" || kind != types.ScalarAttributeTypeS || c.err != nil:
		return
	case hasUnknown(pattern):
		c.skip(name, kind, value, pattern, false)
		return
	}
	made, ok := keyOf(tablemodel.Pattern{PK: pattern}, c.item)
	switch {
	case !ok:
		c.err = fmt.Errorf("%w: entity %q: attribute %q has the pattern %q, and an attribute of it has another form", ErrPattern, c.entity, name, pattern)
	case made.PK == "":
		c.err = fmt.Errorf("%w: entity %q: attribute %q has the pattern %q, and the item lacks an attribute of it", ErrPattern, c.entity, name, pattern)
	case string(made.PK) != value:
		c.err = fmt.Errorf("%w: entity %q: attribute %q is not what the pattern %q makes of the item", ErrPattern, c.entity, name, pattern)
	}
}

// half refuses an item with one of the two keys of an index, if its attributes make the other one,
// and notes it if it is not known what makes it: services write both or none. A key attribute that
// is not of the index alone says nothing.
func (c *patternCheck) half(x schema.Index, key keys.Key, pattern tablemodel.Pattern) {
	missing, there, of, here := x.PK, x.SK, pattern.PK, pattern.SK
	if key.PK != "" {
		missing, there, of, here = x.SK, x.PK, pattern.SK, pattern.PK
	}
	if x.Local || key.PK == "" && key.SK == "" || of == "" || here == "" || here == "{"+there+"}" || !c.isOnlyOf(x.Name, there) {
		return
	}
	made, ok := keyOf(tablemodel.Pattern{PK: of}, c.item)
	switch {
	case ok && made.PK != "" && c.err == nil:
		c.err = fmt.Errorf("%w: entity %q: attribute %q is missing, and attribute %q is there: both are the key in index %s, and it has the pattern %q",
			ErrPattern, c.entity, missing, there, x.Name, of)
	default:
		u := Unchecked{Entity: c.entity, Attribute: missing, Pattern: of, Missing: true}
		if !slices.Contains(c.unchecked, u) {
			c.unchecked = append(c.unchecked, u)
		}
	}
}

// isOnlyOf reports whether an attribute is a text that is in the key of one index, and in no other.
func (c *patternCheck) isOnlyOf(index, name string) bool {
	if name == c.spec.PK || name == c.spec.SK {
		return false
	}
	for _, x := range c.spec.Indexes {
		partition, sort := x.Keys()
		for _, a := range slices.Concat(partition, sort) {
			if a.Name == name && (x.Name != index || a.Type != types.ScalarAttributeTypeS) {
				return false
			}
		}
	}
	return true
}

// skip notes that a key attribute is not compared. A key of the table in the key of an index is
// compared as that.
func (c *patternCheck) skip(name string, kind types.ScalarAttributeType, value, pattern string, differs bool) {
	u := Unchecked{Entity: c.entity, Attribute: name, Pattern: pattern, Differs: differs && pattern != ""}
	ofTable := (name == c.spec.PK || name == c.spec.SK) && !hasUnknown(pattern)
	if value != "" && kind == types.ScalarAttributeTypeS && !ofTable && !slices.Contains(c.unchecked, u) {
		c.unchecked = append(c.unchecked, u)
	}
}

// like reports whether a key has as many segments as a pattern, and its constants.
func like(of, key string) bool {
	segments, texts := pattern.Split(of), strings.Split(key, "#")
	if len(segments) != len(texts) {
		return false
	}
	for i, s := range segments {
		if !s.Like(texts[i]) {
			return false
		}
	}
	return true
}

// hasUnknown reports whether a pattern has a segment that is a number in braces, of which the
// attribute is not known.
func hasUnknown(of string) bool { return slices.ContainsFunc(pattern.Names(of), pattern.IsNumber) }

// CheckAlone refuses a plan that gives another item of the entity another key, which a plan for
// one item leaves where it is.
//
// Errors: [ErrPattern]. It names the entity and the pattern, and no value.
func CheckAlone(model tablemodel.Model, plan Plan) error {
	if plan.Old == nil || plan.New == nil {
		return nil
	}
	e, here, ok := model.Find(plan.Old)
	if !ok {
		return nil
	}
	before, _ := e.Keys(plan.Old) // Those that it cannot tell are zero.
	after, _ := e.Keys(plan.New)
	for i, p := range e.Items {
		if i != here && before[i] != after[i] {
			return fmt.Errorf("%w: entity %q: the change makes another key of the pattern %q, whose item is not changed with it",
				ErrPattern, e.Type, strings.Trim(p.PK+" / "+p.SK, " /"))
		}
	}
	return nil
}
