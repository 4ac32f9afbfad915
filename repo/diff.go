package repo

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// diff is what a write changes of a stored item. All other attributes stay.
type diff struct {
	set    table.Item
	remove []string
}

func (d diff) empty() bool { return len(d.set) == 0 && len(d.remove) == 0 }

// apply returns the item as it is after the write.
func (d diff) apply(stored table.Item) table.Item {
	item := make(table.Item, len(stored)+len(d.set))
	maps.Copy(item, stored)
	maps.Copy(item, d.set)
	for _, name := range d.remove {
		delete(item, name)
	}
	return item
}

// fields returns what changes of the attributes that T's fields encode to, given
// the item as it is stored and T's encoding before and after the change. What
// the stored item has beside them stays, also inside maps.
func (r *Repo[T]) fields(stored, before, after table.Item) diff {
	d := diff{set: table.Item{}}
	respelled := map[string]bool{}
	for name := range stored {
		if field, ok := r.respelled(name); ok {
			d.remove = append(d.remove, name)
			respelled[field] = true
		}
	}
	for name, value := range after {
		if r.reserved[name] || equal(before[name], value) && !respelled[name] {
			continue
		}
		d.set[name] = merge(stored[name], before[name], value)
	}
	for name := range before {
		if _, kept := after[name]; kept || r.reserved[name] {
			continue
		}
		if _, is := stored[name]; is {
			d.remove = append(d.remove, name)
		}
	}
	return d
}

// respelled returns the attribute of T that a stored attribute is read into
// although its name differs in case.
func (r *Repo[T]) respelled(name string) (field string, ok bool) {
	if _, own := slices.BinarySearch(r.attributes, name); own || r.reserved[name] {
		return "", false
	}
	for _, field := range r.attributes {
		if len(field) == len(name) && strings.EqualFold(field, name) {
			return field, true
		}
	}
	return "", false
}

// merge returns the value after a change from before to after was made to the
// stored one. Members of maps that were not changed stay as they are stored.
func merge(stored, before, after types.AttributeValue) types.AttributeValue {
	was, ok := stored.(*types.AttributeValueMemberM)
	if !ok {
		return after
	}
	from, ok := before.(*types.AttributeValueMemberM)
	if !ok {
		return after
	}
	to, ok := after.(*types.AttributeValueMemberM)
	if !ok {
		return after
	}
	merged := maps.Clone(was.Value)
	if merged == nil {
		merged = make(map[string]types.AttributeValue, len(to.Value))
	}
	for name := range from.Value {
		if _, kept := to.Value[name]; !kept {
			delete(merged, name)
		}
	}
	for name, value := range to.Value {
		if _, is := merged[name]; is && equal(from.Value[name], value) {
			continue
		}
		merged[name] = merge(merged[name], from.Value[name], value)
	}
	return &types.AttributeValueMemberM{Value: merged}
}

// equal reports whether two values of one encoder are the same. Nil is equal to
// nil only.
func equal(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		b, ok := b.(*types.AttributeValueMemberS)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberN:
		b, ok := b.(*types.AttributeValueMemberN)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberBOOL:
		b, ok := b.(*types.AttributeValueMemberBOOL)
		return ok && a.Value == b.Value
	}
	return reflect.DeepEqual(a, b)
}
