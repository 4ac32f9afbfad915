package repo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/table"
)

// diff is what a write changes of a stored item. All other attributes stay.
type diff struct {
	set    table.Item
	remove []string
}

func (d diff) empty() bool { return len(d.set) == 0 && len(d.remove) == 0 }

// over returns the changes of d and those of under that d does not make.
func (d diff) over(under diff) diff {
	if under.empty() {
		return d
	}
	both := diff{set: maps.Clone(under.set), remove: slices.Clone(d.remove)}
	maps.Copy(both.set, d.set)
	for _, name := range d.remove {
		delete(both.set, name)
	}
	for _, name := range under.remove {
		if _, set := both.set[name]; !set && !slices.Contains(both.remove, name) {
			both.remove = append(both.remove, name)
		}
	}
	return both
}

// changes reports whether an attribute changes.
func (d diff) changes(attribute string) bool {
	return d.set[attribute] != nil || slices.Contains(d.remove, attribute)
}

// apply returns the item as it is after the write.
func (d diff) apply(raw item.Raw) table.Item {
	item := raw.Attributes(nil)
	maps.Copy(item, d.set)
	for _, name := range d.remove {
		delete(item, name)
	}
	return item
}

// fields returns what changes of the attributes that T's fields encode to,
// given the stored item and T before and after the change. extra are the item's
// attributes that [core.isExtra] reports. Attributes that T does not have stay,
// also inside maps. given are those that change although the repository decides them.
func (c *core) fields(raw item.Raw, extra table.Item, before, after any) (d diff, given table.Item, err error) {
	changes, err := compare(before, after)
	if err != nil {
		return diff{}, nil, err
	}
	d = diff{set: make(table.Item, len(changes)+1)}
	set := func(name string, before, after types.AttributeValue) {
		if _, ok := after.(*types.AttributeValueMemberM); ok {
			after = merge(raw.Attributes(func(n []byte) bool { return string(n) == name })[name], before, after)
		}
		d.set[name] = after
	}
	for _, change := range changes {
		switch name := change.Name; {
		case c.reserved[name]:
			if given == nil {
				given = table.Item{}
			}
			given[name] = change.After
		case change.After == nil, c.isEmptyIndexField(name, change.After):
			d.remove = append(d.remove, name)
		default:
			set(name, change.Before, change.After)
		}
	}
	if err := c.checkExpiry(d.set); err != nil {
		return diff{}, nil, err
	}
	for name := range extra {
		if c.entity.shared.is {
			if err := c.checkSpelling(name, raw, d); err != nil {
				return diff{}, nil, err
			}
			continue
		}
		field, ok := c.respelled(name)
		//mutants:guard an owner keeps a number in other letters, which no write of it stores | TestOwnersKeepRespelledNumbers | slices.Contains(c.entity.Counted, field) => false
		if !ok || slices.Contains(c.entity.Counted, field) || len(raw.Attributes(func(n []byte) bool { return string(n) == field })) > 0 {
			continue // another program's, if the field has its own
		}
		d.remove = append(d.remove, name)
		if _, changed := d.set[field]; changed || c.reserved[field] {
			continue
		}
		all, err := c.encode(after)
		if err != nil {
			return diff{}, nil, err
		}
		if value := all[field]; value != nil {
			set(field, value, value)
		}
	}
	return d, given, nil
}

// compare is [item.Compare]. A value that does not encode is invalid.
func compare(before, after any) ([]item.Change, error) {
	changes, err := item.Compare(before, after)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	return changes, nil
}

// isExtra reports whether an attribute of a stored item matters to a write
// although no field of T has it: the keys of indexes, the shape, what upgrades
// remove, and other spellings of T's attributes.
func (c *core) isExtra(name []byte) bool {
	if matters, ok := c.own[string(name)]; ok {
		return matters
	}
	_, ok := c.respelled(string(name))
	return ok
}

// respelled returns the attribute of T that a stored attribute is read into
// although its name differs in case.
func (c *core) respelled(name string) (field string, ok bool) {
	if _, own := c.own[name]; own {
		return "", false
	}
	for _, field := range c.attributes {
		if strings.EqualFold(field, name) {
			return field, true
		}
	}
	return "", false
}

// merge returns the value after a change from before to after was made to the
// stored one. Members of maps that were not changed stay as they are stored.
func merge(stored, before, after types.AttributeValue) types.AttributeValue {
	was, from, to := item.ValueOf(stored), item.ValueOf(before), item.ValueOf(after)
	if was.Kind != item.M || from.Kind != item.M || to.Kind != item.M {
		return after
	}
	merged := maps.Clone(was.Map)
	if merged == nil {
		merged = make(map[string]types.AttributeValue, len(to.Map))
	}
	for name := range from.Map {
		if _, kept := to.Map[name]; !kept {
			delete(merged, name)
		}
	}
	for name, value := range to.Map {
		if _, is := merged[name]; is && item.Equal(from.Map[name], value) {
			continue
		}
		merged[name] = merge(merged[name], from.Map[name], value)
	}
	return &types.AttributeValueMemberM{Value: merged}
}
