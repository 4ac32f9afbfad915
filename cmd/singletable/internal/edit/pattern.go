package edit

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// ErrPattern means that the keys of an item are not those that the patterns of its entity make
// of its attributes. Reads of the entity would not find it, or find it by a former value.
// Nothing was written.
var ErrPattern = fmt.Errorf("%w: the keys are not those of the entity", table.ErrInvalid)

// CheckPatterns refuses an item whose key, or whose key in an index, is not what the patterns of
// its entity make of its attributes. It sends nothing.
//
// An item of no entity of the model is fine. So is an item without a key in an index, or with
// one of another form than the pattern: an entity can leave it out, or make another one of some
// of its states. A pattern with segments that are not known is not compared.
//
// Errors: [ErrPattern]. It names the entity, the attribute and the pattern, and no value.
func CheckPatterns(tbl *table.Table, model tablemodel.Model, item table.Item) error {
	spec := tbl.Schema()
	kind, _ := item[spec.Type].(*types.AttributeValueMemberS)
	if kind == nil {
		return nil
	}
	e, here, ok := model.Find(item)
	if !ok {
		return checkKnown(spec, model, kind.Value)
	}
	p := e.Items[here]
	key := tbl.KeyOf("", item)
	err := checkKey(e.Type, spec.PK, spec.PKType, string(key.PK), p.PK, item)
	if err == nil && !spec.SimpleKey {
		err = checkKey(e.Type, spec.SK, spec.SKType, string(key.SK), p.SK, item)
	}
	for _, x := range spec.Indexes {
		pattern, ok := p.Indexes[x.Name]
		key := tbl.KeyOf(x.Name, item)
		if x.Local { // which has the table's partition key
			pattern.PK, key.PK = "", ""
		}
		if !ok || err != nil || !like(pattern.PK, string(key.PK)) || !like(pattern.SK, string(key.SK)) {
			continue
		}
		if !x.Local {
			err = checkKey(e.Type, x.PK, x.PKType, string(key.PK), pattern.PK, item)
		}
		if err == nil {
			err = checkKey(e.Type, x.SK, x.SKType, string(key.SK), pattern.SK, item)
		}
	}
	return err
}

// checkKnown refuses an item of an entity that has no such key.
func checkKnown(spec schema.Table, model tablemodel.Model, kind string) error {
	for _, e := range model.Entities {
		if e.Type != kind {
			continue
		}
		var all []string
		for _, p := range e.Items {
			all = append(all, strings.Trim(p.PK+" / "+p.SK, " /"))
		}
		return fmt.Errorf("%w: entity %q: attributes %q and %q are like none of its patterns: %s",
			ErrPattern, kind, spec.PK, spec.SK, strings.Join(all, ", "))
	}
	return nil
}

// checkKey compares a key attribute that the item has with its pattern. A key of another type
// than a text is an attribute of the entity itself.
func checkKey(entity, name string, kind types.ScalarAttributeType, value, pattern string, item table.Item) error {
	if value == "" || kind != types.ScalarAttributeTypeS || hasUnknown(pattern) {
		return nil
	}
	made, ok := keyOf(tablemodel.Pattern{PK: pattern}, item)
	switch {
	case !ok:
		return fmt.Errorf("%w: entity %q: attribute %q has the pattern %q, and an attribute of it has another form", ErrPattern, entity, name, pattern)
	case made.PK == "":
		return fmt.Errorf("%w: entity %q: attribute %q has the pattern %q, and the item lacks an attribute of it", ErrPattern, entity, name, pattern)
	case string(made.PK) != value:
		return fmt.Errorf("%w: entity %q: attribute %q is not what the pattern %q makes of the item", ErrPattern, entity, name, pattern)
	}
	return nil
}

// like reports whether a key has as many segments as a pattern, and its constants.
func like(pattern, key string) bool {
	of, segments := strings.Split(pattern, "#"), strings.Split(key, "#")
	if len(of) != len(segments) {
		return false
	}
	for i, s := range of {
		constant := !strings.HasPrefix(s, "{") || strings.HasPrefix(s, "{{")
		if constant && strings.NewReplacer("{{", "{", "}}", "}").Replace(s) != segments[i] {
			return false
		}
	}
	return true
}

// hasUnknown reports whether a pattern has a segment that is a number in braces, of which the
// attribute is not known.
func hasUnknown(pattern string) bool {
	for segment := range strings.SplitSeq(pattern, "#") {
		number, open := strings.CutPrefix(segment, "{")
		number, closed := strings.CutSuffix(number, "}")
		if open && closed && number != "" && strings.Trim(number, "0123456789") == "" {
			return true
		}
	}
	return false
}

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
