package tablemodel

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Infer returns a model of sample items: the schema as it is, and for each type an
// entity with the patterns of its keys. The samples are those of a development
// table or of a test; the more there are, the fewer mistakes. They can be in any
// order. Items without a type are in no entity.
//
// Items of a type are of one pattern if their keys have the same number of segments
// and the same prefixes. A segment becomes
//
//   - a constant, if it is the first of its key and a prefix: upper-case letters, or
//     any text that samples of several partitions share. Later segments are constant
//     only if all samples share them, in at least two partitions that differ in more
//     than a number. What all samples share is one as well before {name}, if it is the
//     beginning of that name: customer#{customerId}.
//   - {name}, if it equals an attribute in all samples: see [Pattern]. Of several
//     attributes, it is one whose name resembles the prefix, then the shortest. In the
//     key of a claim it is not the key of the owner: see [ClaimOwner]. In the key of an
//     index it is not a key attribute of another one, unless the key of the table is
//     made of that, too: keys of indexes can be equal by chance.
//   - label_{name:lower} or label_{name:raw}, if it ends with an attribute in all samples,
//     and the label is the attribute's name or several values follow it. It is lower if the
//     label and the values are in lower case.
//   - {1}, {2} and so on otherwise, as the number of a shard.
//
// The main item of an entity is the pattern with keys in indexes, which package repo
// writes to the main item; then the one whose partition key begins with the type;
// then the first in the order of keys. Version is the attribute "revision" or
// "version", if all items have one. Both are guesses: reorder Items and correct
// Version where they are wrong.
//
// A model holds no values but constants. Where identifiers of people look like
// prefixes, or lack an attribute and occur in several partitions, they are taken for
// constants: look at the model before you publish it.
func Infer(spec schema.Table, items []table.Item) (Model, error) {
	l, err := lay("Infer", spec, items)
	if err != nil {
		return Model{}, err
	}
	return Model{Table: spec, Entities: l.entities()}, nil
}

// entities infers the entities, in the order of their types.
func (l layout) entities() []Entity {
	byType := l.byType()
	var all []Entity
	for _, t := range slices.Sorted(maps.Keys(byType)) {
		if t != "" && utf8.ValidString(t) {
			all = append(all, l.entity(t, byType[t]))
		}
	}
	return all
}

// entity infers the entity of a type from its items, which are in the order of their
// keys.
func (l layout) entity(kind string, items []table.Item) Entity {
	e := Entity{Type: kind, Version: l.version(items)}
	in := inference{layout: l, kind: kind}
	_, _, in.claims = ClaimOwner(l.schema, items[0])
	base := l.views[0]
	var forms []string // in the order of their first items
	samples := map[string][]table.Item{}
	prefixes := make([]map[place]bool, len(base.key))
	for i, k := range base.key {
		prefixes[i] = in.prefixes(k, items)
	}
	for _, item := range items {
		form := ""
		for i, k := range base.key {
			segments, _ := segmentsOf(item[k.name])
			form += strconv.Itoa(len(segments)) + delimiter
			if prefixes[i][placeOf(segments)] {
				form += segments[0]
			}
			form += delimiter
		}
		if samples[form] == nil {
			forms = append(forms, form)
		}
		samples[form] = append(samples[form], item)
	}
	in.alone = len(forms) == 1
	for _, form := range forms {
		p := in.keyPattern(base.key, func(i int) ([]table.Item, map[place]bool) { return samples[form], prefixes[i] })
		p.Indexes = in.indexes(samples[form], p)
		e.Items = append(e.Items, p)
	}
	slices.SortStableFunc(e.Items, func(a, b Pattern) int {
		return cmp.Or(
			cmp.Compare(len(b.Indexes), len(a.Indexes)),
			yesFirst(begins(a.PK, kind), begins(b.PK, kind)),
		)
	})
	return e
}

func yesFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// begins reports whether the first segment of a pattern is the type.
func begins(pattern, kind string) bool {
	first, _, _ := strings.Cut(pattern, delimiter)
	return strings.EqualFold(first, kind)
}

// version returns the attribute that seems to guard the writes of the items.
func (l layout) version(items []table.Item) string {
	for _, name := range []string{"revision", "version"} {
		if !slices.ContainsFunc(items, func(i table.Item) bool {
			switch v := i[name].(type) {
			case *types.AttributeValueMemberN:
				return !digits(v.Value)
			case *types.AttributeValueMemberS:
				// A string called version is more likely that of a document.
				return name != "revision" || v.Value == ""
			}
			return true
		}) {
			return name
		}
	}
	return ""
}

// inference is what is known while an entity is inferred.
type inference struct {
	layout
	kind string
	// alone means that all items of the entity are of one pattern.
	alone bool
	// claims means that the items are claims: an attribute that holds the key of the owner
	// is no part of their own.
	claims bool
	// apart are the key attributes of indexes that the key of an index is not made of.
	apart map[string]bool
}

// keyPattern infers the patterns of a partition key and a sort key. of returns the
// samples for the i-th key attribute, and its prefixes.
func (in inference) keyPattern(key []keyAttribute, of func(i int) ([]table.Item, map[place]bool)) (p Pattern) {
	counter := 0
	for i, text := range []*string{&p.PK, &p.SK}[:len(key)] {
		samples, prefixes := of(i)
		*text = in.pattern(key[i], samples, prefixes, &counter)
	}
	return p
}

// pattern infers the pattern of a key attribute, which all samples have with the
// same number of segments. counter counts the segments that are not known.
func (in inference) pattern(k keyAttribute, samples []table.Item, prefixes map[place]bool, counter *int) string {
	rows := make([][]string, len(samples))
	for i, item := range samples {
		rows[i], _ = segmentsOf(item[k.name])
	}
	// They are the same for all segments, of which a key has up to 2,049.
	exact := sync.OnceValue(func() bool { return in.inPartitions(samples, false) })
	apartFromNumbers := sync.OnceValue(func() bool { return in.inPartitions(samples, true) })
	shared := func(text string) bool {
		if k.name != in.schema.SK && !isUpper(text) {
			return apartFromNumbers()
		}
		return exact()
	}
	var segments []segment
	near, alike := "", false // the segment before, if all samples have it
	for i := range rows[0] {
		texts := make([]string, len(rows))
		for j, row := range rows {
			texts[j] = row[i]
		}
		s := in.segment(k, i, texts, samples, near, prefixes[placeOf(rows[0])], shared)
		//mutants:guard a word is a constant only before an attribute of its name | TestInferredPatterns | beginsName(near, s.attribute) => true
		if alike && segments[i-1].isUnknown() && beginsName(near, s.attribute) {
			segments[i-1] = segment{constant: true, raw: near}
		}
		segments = append(segments, s)
		alike = k.kind == types.ScalarAttributeTypeS && !slices.ContainsFunc(texts, func(t string) bool { return t != texts[0] })
		if near = ""; alike {
			near = texts[0]
		}
	}
	parts := make([]string, len(segments))
	for i, s := range segments {
		switch {
		case !s.isUnknown():
		case in.alone && k.kind != types.ScalarAttributeTypeS && nameable(k.name):
			s.attribute = k.name // which no copy has with another value
		default:
			*counter++
		}
		parts[i] = s.String(*counter)
	}
	return strings.Join(parts, delimiter)
}

// beginsName reports whether a word is the beginning of an attribute's name: customer of customerId.
func beginsName(word, attribute string) bool {
	return len(word) > 1 && strings.HasPrefix(strings.ToLower(attribute), strings.ToLower(word))
}

// segment infers the i-th segment of a key. shared reports whether samples of at least two
// partitions have a later segment. Partitions that differ in numbers are one if the segment
// is no prefix: it may be the identifier of a person whose items are spread over several.
func (in inference) segment(k keyAttribute, i int, texts []string, samples []table.Item, near string, prefix bool, shared func(string) bool) segment {
	constant := segment{constant: true, raw: texts[0]}
	same := !slices.ContainsFunc(texts, func(t string) bool { return t != texts[0] })
	if i == 0 && prefix && same {
		return constant
	}
	takes := func(indexKey string) bool { return indexKey == k.name || !in.apart[indexKey] }
	if s, ok := in.attribute(texts, samples, near, k.kind, takes); ok {
		return s
	}
	if s, ok := in.labelled(texts, samples, takes); ok && k.kind == types.ScalarAttributeTypeS {
		return s
	}
	if k.kind != types.ScalarAttributeTypeS || i == 0 || !same || !sharable(texts[0]) {
		return segment{}
	}
	if texts[0] != "" && !shared(texts[0]) {
		return segment{}
	}
	return constant
}

// inPartitions reports whether samples are of at least two partitions. Partitions that
// differ in nothing but numbers are one if withoutNumbers.
func (in inference) inPartitions(samples []table.Item, withoutNumbers bool) bool {
	partition := func(item table.Item) string {
		text := keyText(item[in.schema.PK])
		if !withoutNumbers {
			return text
		}
		pk := strings.Split(text, delimiter)
		for i, s := range pk {
			if digits(s) {
				pk[i] = ""
			}
		}
		return strings.Join(pk, delimiter)
	}
	first := partition(samples[0])
	return slices.ContainsFunc(samples, func(item table.Item) bool { return partition(item) != first })
}

// indexes infers the keys in indexes of samples that are of one pattern.
func (in inference) indexes(samples []table.Item, of Pattern) map[string]Pattern {
	in.apart = in.indexKeys()
	for _, key := range []string{of.PK, of.SK} {
		segments, _ := parsePattern(key) // There are none without a sort key.
		for _, s := range segments {
			delete(in.apart, s.attribute)
		}
	}
	patterns := map[string]Pattern{}
	for _, v := range in.views[1:] {
		if len(v.projection.PKs) > 0 {
			continue
		}
		inside := slices.DeleteFunc(slices.Clone(samples), func(item table.Item) bool {
			return slices.ContainsFunc(v.key, func(k keyAttribute) bool { return !k.in(item) })
		})
		if len(inside) == 0 {
			continue
		}
		patterns[v.index] = in.keyPattern(v.key, func(i int) ([]table.Item, map[place]bool) {
			// The first shard of a sharded index has one segment less than the others.
			groups := bySegments(v.key[i], inside)
			longest := groups[slices.Max(slices.Collect(maps.Keys(groups)))]
			return longest, in.prefixes(v.key[i], longest)
		})
	}
	if len(patterns) == 0 {
		return nil
	}
	return patterns
}

// indexKeys returns the key attributes of indexes, except for those of keys of several
// attributes, which are attributes of the entities themselves.
func (in inference) indexKeys() map[string]bool {
	all := map[string]bool{}
	for _, x := range in.schema.Indexes {
		for _, name := range []string{x.PK, x.SK} {
			if name != "" {
				all[name] = true
			}
		}
	}
	return all
}

// attribute returns the attribute that equals the texts of a key attribute in all samples.
// near is the constant before them. A key attribute of an index is one if there is no other, and
// if takes is true for it.
func (in inference) attribute(texts []string, samples []table.Item, near string, kind types.ScalarAttributeType, takes func(indexKey string) bool) (segment, bool) {
	var found []segment
	for name := range samples[0] {
		if s, ok := in.equal(name, texts, samples, kind); ok {
			found = append(found, s)
		}
	}
	keys := in.indexKeys()
	isKey := func(s segment) bool { return keys[s.attribute] }
	found = slices.DeleteFunc(found, func(s segment) bool { return isKey(s) && !takes(s.attribute) })
	if len(found) == 0 {
		return segment{}, false
	}
	near = strings.ToLower(near)
	resembles := func(s segment) bool { return near != "" && strings.Contains(strings.ToLower(s.attribute), near) }
	return slices.MinFunc(found, func(a, b segment) int {
		return cmp.Or(
			yesFirst(!isKey(a), !isKey(b)),
			yesFirst(resembles(a), resembles(b)),
			cmp.Compare(len(a.attribute), len(b.attribute)),
			cmp.Compare(a.attribute, b.attribute),
		)
	}), true
}

// usable reports whether a key can be made of an attribute.
func (in inference) usable(name string) bool {
	own := []string{in.schema.PK, in.schema.SK, in.schema.TypeAttribute, in.schema.Shape, in.schema.Shape + "From"}
	return !slices.Contains(own, name) && nameable(name) && (!in.claims || name != item.OwnerPK && name != item.OwnerSK)
}

// equal returns the form in which an attribute equals the texts in all samples.
func (in inference) equal(name string, texts []string, samples []table.Item, kind types.ScalarAttributeType) (segment, bool) {
	if !in.usable(name) {
		return segment{}, false
	}
	forms := []string{formPlain}
	if kind == types.ScalarAttributeTypeS {
		// A time that happens to be stored as in a key is one all the same.
		forms = []string{formTime, formTimeMillis, formPlain}
		if form := strconv.Itoa(len(texts[0])); width(form) > 0 {
			forms = append(forms, form)
		}
		forms = append(forms, formRaw, formLower)
	}
forms:
	for _, form := range forms {
		s := segment{attribute: name, form: form}
		for i, item := range samples {
			text, missing, err := s.text(item)
			if err != nil || missing || text != texts[i] || !sameKind(kind, item[name]) {
				continue forms
			}
		}
		return s, true
	}
	return segment{}, false
}

// labelled returns the attribute that all texts of a key attribute end with, behind one label.
// It is in lower case if the label is, too.
func (in inference) labelled(texts []string, samples []table.Item, takes func(indexKey string) bool) (segment, bool) {
	if !strings.Contains(texts[0], "_") {
		return segment{}, false // as most are
	}
	var found []segment
	isKey := in.indexKeys()
	for name := range samples[0] {
		if !in.usable(name) || isKey[name] && !takes(name) {
			continue
		}
		for _, form := range []string{formLower, formRaw} {
			if s, ok := behindLabel(segment{attribute: name, form: form}, texts, samples); ok {
				found = append(found, s)
				break
			}
		}
	}
	if len(found) == 0 {
		return segment{}, false
	}
	return slices.MinFunc(found, func(a, b segment) int {
		return cmp.Or(
			yesFirst(a.isNamed(), b.isNamed()),
			yesFirst(!isKey[a.attribute], !isKey[b.attribute]),
			cmp.Compare(len(a.attribute), len(b.attribute)),
			cmp.Compare(a.attribute, b.attribute),
		)
	}), true
}

// behindLabel finds the label before the value in all samples. One that is not the name of the
// attribute must be before several values, or it is a part of one.
func behindLabel(s segment, texts []string, samples []table.Item) (segment, bool) {
	values := map[string]bool{}
	for i, item := range samples {
		value, missing, err := s.value(item)
		label, ends := strings.CutSuffix(texts[i], value)
		if i == 0 {
			s.before = label
		}
		if err != nil || missing || !ends || label != s.before {
			return segment{}, false
		}
		values[value] = true
	}
	label := strings.HasSuffix(s.before, "_") && (s.form == formRaw || keys.JSLower(s.before) == s.before)
	return s, label && utf8.ValidString(s.before) && (s.isNamed() || len(values) > 1)
}

// isNamed reports whether the label of a segment is the name of its attribute.
func (s segment) isNamed() bool {
	return s.before == s.attribute+"_" || s.before == keys.JSLower(s.attribute)+"_"
}

// sameKind reports whether an attribute can be in a key attribute of a kind. In a
// string there can be numbers too.
func sameKind(kind types.ScalarAttributeType, v types.AttributeValue) bool {
	own := item.ValueOf(v).Kind
	return own.String() == string(kind) || own == item.N && kind == types.ScalarAttributeTypeS
}
