package table

import (
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/keypattern"
	"github.com/singletable/singletable/schema"
)

// Items of a [schema.Kind] are told by their keys and attributes. Where items of other types have
// a condition on the type attribute, these have one on all of that.

// tellsType reports whether an attribute is one of those by which the type of an item is known.
func (t *Table) tellsType(name string) bool {
	s := &t.schema
	if name == s.PK || name == s.SK || name == s.TypeAttribute {
		return true
	}
	return slices.ContainsFunc(s.Kinds, func(k schema.Kind) bool {
		_, equal := k.Equal[name]
		return equal || slices.Contains(k.Exists, name)
	})
}

// typeAttributes returns the attributes that tell the type that is read, apart from keys of the
// table, which each index has.
func (t *Table) typeAttributes() (names []string) {
	k := t.schema.KindOf(t.ofType)
	if k == nil {
		return []string{t.schema.TypeAttribute}
	}
	for name := range k.Equal {
		names = append(names, name)
	}
	names = append(names, k.Exists...)
	slices.Sort(names)
	return names
}

// kindClauses returns the conditions that an item is of a kind. Those on keys that a query cannot
// filter by are left out.
func kindClauses(k *schema.Kind, b *bindings, s *schema.Table, isKey func(name string) bool) (all []string) {
	key := func(placeholder, name, pattern string) {
		if pattern == "" || isKey(name) {
			return
		}
		b.name("#k"+placeholder, name)
		b.value(":k"+placeholder, &types.AttributeValueMemberS{Value: pattern})
		if keypattern.IsPrefix(pattern) {
			all = append(all, "begins_with(#k"+placeholder+", :k"+placeholder+")")
		} else {
			all = append(all, "#k"+placeholder+" = :k"+placeholder)
		}
	}
	key("p", s.PK, k.PK)
	key("s", s.SK, k.SK)
	for i, name := range slices.Sorted(maps.Keys(k.Equal)) {
		n := strconv.Itoa(i)
		b.name("#ke"+n, name)
		b.value(":ke"+n, &types.AttributeValueMemberS{Value: k.Equal[name]})
		all = append(all, "#ke"+n+" = :ke"+n)
	}
	for i, name := range k.Exists {
		n := strconv.Itoa(i)
		b.name("#kx"+n, name)
		all = append(all, "attribute_exists(#kx"+n+")")
	}
	return all
}

// equalClauses returns the conditions that counted items have no other values of the attributes
// that all items of their views have. See [items.differs].
func (r *reader) equalClauses() (all []string) {
	for i, v := range r.t.views {
		for j, name := range slices.Sorted(maps.Keys(v.Equal)) {
			if !r.has(name) || r.isKey(name) {
				continue
			}
			n := strconv.Itoa(i) + "x" + strconv.Itoa(j)
			r.input.ExpressionAttributeNames["#v"+n] = name
			r.input.ExpressionAttributeValues[":v"+n] = keyValue(types.ScalarAttributeTypeS, v.Equal[name])
			all = append(all, "(attribute_not_exists(#v"+n+") OR #v"+n+" = :v"+n+")")
		}
	}
	return all
}

// checkKindKeys refuses a query that would count items of other kinds: DynamoDB filters by no key
// of the query. AWS: Query, Amazon DynamoDB API Reference.
func (r *reader) checkKindKeys(k *schema.Kind) error {
	s := &r.t.schema
	for _, name := range r.t.typeAttributes() {
		if !r.has(name) {
			return invalid("Index", "%q does not hold the attribute %q, by which a count of %q tells the type of an item", r.Index, name, k.Type)
		}
	}
	for name, pattern := range map[string]string{s.PK: k.PK, s.SK: k.SK} {
		if pattern == "" || !r.isKey(name) {
			continue
		}
		is := func(text string) bool { return keypattern.Has(pattern, text) }
		all := r.ranged.Name == name && (keypattern.IsPrefix(pattern) && is(string(r.Range.Prefix)) || is(string(r.Range.From)) && is(string(r.Range.To)))
		for _, fixed := range r.fixed {
			all = all || fixed.Name == name && is(fixed.text)
		}
		//mutants:guard a count is of one kind | TestKinds ./repo
		if !all {
			return invalid("Range", "the items of %q have keys that begin with %q in attribute %q: give the query that", k.Type, pattern, name)
		}
	}
	return nil
}
