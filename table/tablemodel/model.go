package tablemodel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Model is a schema and the entities of its table. As JSON it is a schema file,
// which the command singletable reads. [Infer] makes one of sample items.
//
// It is a plain value: methods do not change it, and it can be shared between
// goroutines.
type Model struct {
	schema.Table
	// Entities are the types of items.
	Entities []Entity `json:"entities,omitempty"`
}

// Entity describes the items of one type.
type Entity struct {
	// Type is the value of the schema's type attribute, or the name of a [schema.Kind].
	Type string `json:"type"`
	// Version is the name of the attribute that guards writes: a number that every
	// write raises, or a string that every write replaces. Empty means that none is
	// known.
	Version string `json:"version,omitempty"`
	// Items are the patterns of the keys of the main item, then of the copies.
	Items []Pattern `json:"items"`
	// Source says where the patterns are from: one of the constants, or empty if that is not known,
	// as after [Infer].
	Source string `json:"source,omitempty"`
}

// The sources of patterns. No key function can be read: each was called with sample values.
const (
	// SourceProgram means that no stored item has confirmed the patterns yet.
	SourceProgram = "program"
	// SourceBoth means that stored items agree with the program.
	SourceBoth = "program and items"
	// SourceItems means that stored items have other patterns than samples show, or that no
	// entity of the program was given. The patterns are a guess.
	SourceItems = "items"
)

// Pattern describes the keys of an item. A key is a row of segments with '#'
// between them, and each segment of a pattern stands for one:
//
//	USER             this text, as it is stored; {{ and }} are braces
//	{userId}         a string or number attribute, escaped as by keys.Str
//	{number:4}       a number attribute, padded as by keys.Int of this width
//	{made:time}      a time as keys.Time writes it, of an attribute with RFC 3339
//	                 text or seconds since 1970
//	{made:time-ms}   the same, of a number of milliseconds since 1970
//	{name:lower}     an attribute in JavaScript's lower case, and not escaped; a number
//	                 as JavaScript writes it: see keys.JSLower and keys.JSNumber
//	{name:raw}       the same, in the case that it has
//	{1}              text that varies and equals no attribute
//
// Text can be around the braces: $shop#customerid_{customerId:lower} is a key of
// ElectroDB. With lower and raw, a value that has a '#' makes no key.
//
// The pattern of a key attribute that is a number or binary is one {name}.
type Pattern struct {
	PK string `json:"pk"`
	// SK is empty in a table or an index without a sort key.
	SK string `json:"sk,omitempty"`
	// Indexes are the keys in indexes, by the name of the index. An index that is
	// missing does not hold the item, or has keys of several attributes.
	Indexes map[string]Pattern `json:"indexes,omitempty"`
}

// Validate checks the schema and the entities. It returns a [*schema.Error]
// that lists everything that is wrong and matches [table.ErrInvalid], or nil.
func (m Model) Validate() error {
	e := &schema.Error{Table: m.Name, Err: table.ErrInvalid}
	if err := m.Table.Validate(); err != nil {
		listed, ok := errors.AsType[*schema.Error](err)
		if !ok {
			return err
		}
		*e = *listed
	}
	bad := func(at, format string, args ...any) {
		e.Problems = append(e.Problems, at+": "+fmt.Sprintf(format, args...))
	}
	seen := map[string]bool{}
	for i, entity := range m.Entities {
		at := fmt.Sprintf("Entities[%d]", i)
		if seen[entity.Type] {
			bad(at+".Type", "%q is used twice", entity.Type)
		}
		seen[entity.Type] = true
		if entity.Type == "" {
			bad(at+".Type", "is empty")
		}
		if len(entity.Items) == 0 {
			bad(at+".Items", "is empty, and an entity has a main item")
		}
		for n, p := range entity.Items {
			m.checkItem(fmt.Sprintf("%s.Items[%d]", at, n), p, bad)
		}
	}
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}

// checkItem calls bad for what is wrong with the pattern of an item.
func (m Model) checkItem(at string, p Pattern, bad func(at, format string, args ...any)) {
	p.check(at, m.SimpleKey, bad)
	for _, name := range slices.Sorted(maps.Keys(p.Indexes)) {
		at, inIndex := fmt.Sprintf("%s.Indexes[%q]", at, name), p.Indexes[name]
		i := slices.IndexFunc(m.Indexes, func(x schema.Index) bool { return x.Name == name })
		switch {
		case i < 0:
			bad(at, "the schema has no such index")
			continue
		case len(m.Indexes[i].PKs) > 0:
			bad(at, "its keys have several attributes, and no pattern")
			continue
		}
		inIndex.check(at, m.Indexes[i].SK == "", bad)
		if len(inIndex.Indexes) > 0 {
			bad(at+".Indexes", "is not empty")
		}
	}
}

// check calls bad for what is wrong with the texts of a pattern.
func (p Pattern) check(at string, noSK bool, bad func(at, format string, args ...any)) {
	if _, err := parsePattern(p.PK); err != nil {
		bad(at+".PK", "%v", err)
	}
	switch _, err := parsePattern(p.SK); {
	case noSK && p.SK != "":
		bad(at+".SK", "is given, and there is no sort key")
	case !noSK && err != nil:
		bad(at+".SK", "%v", err)
	}
}

// Find returns the entity that an item of the table belongs to, and which of its
// Items the item is: 0 for the main item. It is not ok if the item's type is
// missing or not in the model, and if its key is like no pattern of the entity.
//
// A pattern that the item's attributes confirm goes first. Otherwise constants, and
// the form of numbers and times, decide: a copy is found although its attributes
// have drifted from its key.
func (m Model) Find(item table.Item) (e Entity, n int, ok bool) {
	l := layout{schema: m.WithDefaults()}
	kind := l.typeOf(item)
	i := slices.IndexFunc(m.Entities, func(e Entity) bool { return e.Type == kind })
	if i < 0 || kind == "" {
		return Entity{}, 0, false
	}
	var best match
	for j, p := range m.Entities[i].Items {
		if found := p.match(item, l.schema.PK, l.schema.SK); slices.Compare(found, best) > 0 {
			best, n = found, j
		}
	}
	if best == nil {
		return Entity{}, 0, false
	}
	return m.Entities[i], n, true
}

// Keys returns the keys of all Items of an entity, in their order, made of the
// attributes of one of them. A copy whose key needs an attribute that the item
// lacks has the zero key: the entity has no such copy, as one that lists users by
// an optional phone number.
//
// An error matches [table.ErrInvalid]. It lists the patterns with a segment that is
// not known, such as {1}, and the attributes that cannot be in their key or that the
// main item needs and the item lacks. The keys of the other Items are returned with
// it; those it lists are zero.
func (e Entity) Keys(item table.Item) ([]keys.Key, error) {
	all := make([]keys.Key, len(e.Items))
	var errs []error
	for i, p := range e.Items {
		key, missing, err := p.key(item)
		if missing != "" && i == 0 {
			err = fmt.Errorf("attribute %q is missing", missing)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("singletable: Keys of %q: items[%d]: %w: %w", e.Type, i, table.ErrInvalid, err))
			continue
		}
		all[i] = key
	}
	return all, errors.Join(errs...)
}

// key makes the key of the pattern. missing is an attribute that the item lacks.
func (p Pattern) key(item table.Item) (key keys.Key, missing string, err error) {
	pk, missing, err := format(p.PK, item)
	if err != nil || missing != "" || p.SK == "" {
		return keys.Key{PK: keys.PK(pk)}, missing, err
	}
	sk, missing, err := format(p.SK, item)
	if err != nil || missing != "" {
		return keys.Key{}, missing, err
	}
	return keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}, "", nil
}

// match says how well a pattern and an item go together, what counts most first: 1 if all
// attributes are as in the key, the number of segments of constant text, and of those that
// are attributes. It is nil if the key is not like the pattern.
type match []int

// match compares the pattern with the key of an item.
func (p Pattern) match(item table.Item, pk, sk string) match {
	m := match{1, 0, 0}
	if !m.part(p.PK, item, pk) || sk != "" && !m.part(p.SK, item, sk) {
		return nil
	}
	return m
}

// part compares the pattern of a key attribute, and reports whether the key is like it.
func (m match) part(pattern string, item table.Item, name string) bool {
	texts, ok := segmentsOf(item[name])
	// An entity can have hundreds of patterns: most are ruled out before they are parsed.
	if !ok || strings.Count(pattern, delimiter) != len(texts)-1 {
		return false
	}
	segments, err := parsePattern(pattern)
	if err != nil {
		return false
	}
	for i, s := range segments {
		if !s.like(texts[i]) {
			return false
		}
		switch {
		case s.constant:
			m[1]++
		case s.attribute != "":
			m[2]++
			text, missing, err := s.text(item)
			if err != nil || missing || text != texts[i] {
				m[0] = 0
			}
		}
	}
	return true
}

// ClaimOwner returns the type of the entity that owns a claim, and the key of its main item.
// Claims are the items that package repo writes for Entity.Claims. It is not ok for other
// items: their type does not end in " claim", or they do not hold a key of the table in the
// attributes ownerPK and ownerSK. Whether the owner is stored shows only a read.
func ClaimOwner(spec schema.Table, attributes table.Item) (kind string, key keys.Key, ok bool) {
	spec = spec.WithDefaults()
	kind, ok = strings.CutSuffix(spec.TypeOf(attributes), item.ClaimSuffix)
	pk, hasPK := ownerKey(attributes, keyAttribute{item.OwnerPK, spec.PKType}, keys.MaxPK)
	sk, hasSK := "", true
	if !spec.SimpleKey {
		sk, hasSK = ownerKey(attributes, keyAttribute{item.OwnerSK, spec.SKType}, keys.MaxSK)
	}
	if !ok || kind == "" || !hasPK || !hasSK {
		return "", keys.Key{}, false
	}
	return kind, keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}, true
}

// ownerKey returns a part of the owner's key, if an item can be stored under it.
func ownerKey(attributes table.Item, of keyAttribute, longest int) (text string, ok bool) {
	p := item.ValueOf(attributes[of.name])
	text = p.Text + string(p.Bytes)
	return text, of.in(attributes) && len(text) <= longest
}
