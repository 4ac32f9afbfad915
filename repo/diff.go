package repo

import (
	"errors"
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
	for _, change := range changes {
		switch name := change.Name; {
		case c.reserved[name]:
			if given == nil {
				given = table.Item{}
			}
			given[name] = change.After
		case change.After == nil, c.isEmptyIndexField(name, change.After):
			d.remove = append(d.remove, name)
		case !isMerged(change.After):
			d.set[name] = change.After
		default:
			if err := d.merge(name, c.storedFor(raw, extra, name), change.Before, change.After); err != nil {
				return diff{}, nil, err
			}
		}
	}
	if err := c.checkExpiry(d.set); err != nil {
		return diff{}, nil, err
	}
	if err := c.respell(&d, raw, extra, after); err != nil {
		return diff{}, nil, err
	}
	return d, given, nil
}

// merge adds the change of an attribute that depends on what is stored.
func (d *diff) merge(name string, stored, before, after types.AttributeValue) error {
	value, err := merge(stored, before, after)
	switch {
	case err != nil:
		return fmt.Errorf("%w: attribute %q: %w", table.ErrInvalid, name, err)
	case value == nil:
		d.remove = append(d.remove, name)
	default:
		d.set[name] = value
	}
	return nil
}

// respell adds to the changes that attributes in another spelling get that of T.
func (c *core) respell(d *diff, raw item.Raw, extra table.Item, after any) error {
	for name := range extra {
		if c.entity.shared.is {
			if err := c.checkSpelling(name, raw, *d); err != nil {
				return err
			}
			continue
		}
		field, ok := c.respelled(name)
		//mutants:guard an owner keeps a number in other letters, which no write of it stores | TestOwnersKeepRespelledNumbers | slices.Contains(c.entity.Counted, field) => false
		if !ok || slices.Contains(c.entity.Counted, field) || len(raw.Attributes(func(n []byte) bool { return string(n) == field })) > 0 {
			continue // another program's, if the field has its own
		}
		d.remove = append(d.remove, name)
		if d.changes(field) || c.reserved[field] {
			continue
		}
		all, err := c.encode(after)
		if err != nil {
			return err
		}
		if value := all[field]; value != nil {
			if err := d.merge(field, extra[name], value, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// zeroTimes returns the removal of stored times in the year 1, as which other programs and 0.1.0-rc.1
// have stored the zero time: who compares them takes an entity for expired.
func (c *core) zeroTimes(raw item.Raw) (d diff) {
	if len(c.unixTimes) == 0 {
		return d
	}
	d.set = table.Item{}
	for name, value := range raw.Attributes(func(n []byte) bool { return slices.Contains(c.unixTimes, string(n)) }) {
		//mutants:guard a time in the year 1 goes with the next change | TestZeroTimesAreRemoved
		if is := item.ValueOf(value); is.Kind == item.N && is.Text == item.ZeroSecond && !c.reserved[name] {
			d.remove = append(d.remove, name)
		}
	}
	slices.Sort(d.remove)
	return d
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

// storedFor returns what is stored for an attribute of T, also in another spelling.
func (c *core) storedFor(raw item.Raw, extra table.Item, name string) types.AttributeValue {
	if value := raw.Attributes(func(n []byte) bool { return string(n) == name })[name]; value != nil {
		return value
	}
	for other, value := range extra {
		if field, _ := c.respelled(other); field == name {
			return value
		}
	}
	return nil
}

// isMerged reports whether what is stored decides how a value is written.
func isMerged(value types.AttributeValue) bool {
	kind := item.ValueOf(value).Kind
	return kind == item.M || kind == item.L || kind == item.NULL
}

var errSetsInList = errors.New("the list has sets in it, which would become lists: give their fields the tag option stringset, numberset or binaryset")

// merge returns the value after a change from before to after was made to the
// stored one; nil if it is removed. Members of maps that were not changed stay as they are stored,
// and a set stays one.
func merge(stored, before, after types.AttributeValue) (types.AttributeValue, error) {
	was, from, to := item.ValueOf(stored), item.ValueOf(before), item.ValueOf(after)
	switch {
	//mutants:guard a set that was read stays one | TestSetsStaySets | was.Kind.IsSet() => false
	case was.Kind.IsSet() && (to.Kind == item.L || to.Kind == item.NULL):
		return setOf(was.Kind, to.List)
	//mutants:guard sets in a list do not become lists | TestSetsStaySets | hidesSet(stored, before) => false
	case was.Kind == item.L && to.Kind == item.L && hidesSet(stored, before):
		return nil, errSetsInList
	case was.Kind != item.M || from.Kind != item.M || to.Kind != item.M:
		return after, nil
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
		now, err := merge(merged[name], from.Map[name], value)
		if err != nil {
			return nil, err
		}
		if merged[name] = now; now == nil {
			delete(merged, name)
		}
	}
	return &types.AttributeValueMemberM{Value: merged}, nil
}

// setOf returns the set of a kind that has the elements of a list; nil if it has none, since no
// set is empty. One with duplicates is refused when it is written.
func setOf(kind item.Kind, list []types.AttributeValue) (types.AttributeValue, error) {
	set := item.Value{Kind: kind}
	for _, element := range list {
		e := item.ValueOf(element)
		switch {
		case e.Kind == item.S && kind == item.SS, e.Kind == item.N && kind == item.NS:
			set.Texts = append(set.Texts, e.Text)
		case e.Kind == item.B && kind == item.BS:
			set.Blobs = append(set.Blobs, e.Bytes)
		default:
			return nil, errors.New("a set is stored, and the value has an element of another type than that has")
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return set.Value(), nil
}

// hidesSet reports whether a value was read of a stored one that has a set where the value has a
// list.
func hidesSet(stored, value types.AttributeValue) bool {
	was, is := item.ValueOf(stored), item.ValueOf(value)
	for i, element := range was.List {
		if i < len(is.List) && hidesSet(element, is.List[i]) {
			return true
		}
	}
	for name, member := range was.Map {
		if hidesSet(member, is.Map[name]) {
			return true
		}
	}
	return was.Kind.IsSet() && is.Kind == item.L
}
