package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/keypattern"
)

// Kind recognizes the items of a type in a table whose programs store no type, as those of
// dynamoose and castore: by their keys, and by attributes.
//
// All conditions must hold, and no item can be of two kinds: [Table.Validate] refuses two whose
// conditions do not exclude each other. Queries, writes and streams go by it as by a type
// attribute. An item of no kind has the type of its type attribute, unless that is the name of a
// kind. What an item of a kind has there is an attribute like others.
type Kind struct {
	// Type is the name of the type in programs and errors. It is not stored.
	Type string `json:"type"`
	// PK and SK are what the keys of the table begin with, up to a delimiter: "USER#". What ends in
	// a letter or a digit is the whole key: "META". Empty means any key.
	PK string `json:"pk,omitzero"`
	SK string `json:"sk,omitzero"`
	// Equal are attributes with a text, and Exists those that are there, whatever they have.
	// Reads of the kind by an index that does not hold them are table.ErrInvalid.
	Equal  map[string]string `json:"equal,omitempty"`
	Exists []string          `json:"exists,omitempty"`
}

// TypeOf returns the type of an item: that of the [Kind] that it has, or what is in its type
// attribute, empty if that is no text. Of the item, the key, the type attribute and those of
// kinds must be there.
func (t Table) TypeOf(item map[string]types.AttributeValue) string {
	for _, k := range t.Kinds {
		if k.is(t, item) {
			return k.Type
		}
	}
	name := t.TypeAttribute
	if name == "" {
		name = defaultType
	}
	is := text(item[name])
	if t.KindOf(is) != nil { // which it would have by its key
		return ""
	}
	return is
}

// KindOf returns the kind of a type, nil if items of the type have a type attribute.
func (t Table) KindOf(name string) *Kind {
	if i := slices.IndexFunc(t.Kinds, func(k Kind) bool { return k.Type == name }); i >= 0 {
		return &t.Kinds[i]
	}
	return nil
}

func text(value types.AttributeValue) string {
	if s, ok := value.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func (k Kind) is(t Table, item map[string]types.AttributeValue) bool {
	if !keypattern.Has(k.PK, text(item[t.PK])) || !keypattern.Has(k.SK, text(item[t.SK])) {
		return false
	}
	for name, want := range k.Equal {
		if text(item[name]) != want {
			return false
		}
	}
	return !slices.ContainsFunc(k.Exists, func(name string) bool { return item[name] == nil })
}

// exclude reports whether no key has both patterns.
func exclude(a, b string) bool {
	if keypattern.IsPrefix(a) && keypattern.IsPrefix(b) {
		return !strings.HasPrefix(a, b) && !strings.HasPrefix(b, a)
	}
	return !keypattern.Has(a, b) && !keypattern.Has(b, a)
}

// apart reports whether no item is of both kinds.
func (k Kind) apart(other Kind) bool {
	for name, value := range k.Equal {
		if with, has := other.Equal[name]; has && with != value {
			return true
		}
	}
	return exclude(k.PK, other.PK) || exclude(k.SK, other.SK)
}

// kindProblems adds what is wrong with the kinds.
func (t Table) kindProblems(p problems) {
	for i, k := range t.Kinds {
		if k.Type == "" {
			p.add("Kinds[%d]: Type: is empty", i)
		}
		if k.PK == "" && k.SK == "" && len(k.Equal)+len(k.Exists) == 0 {
			p.add("Kinds: %q: each item is of it, also those of the library; say what its items have", k.Type)
		}
		if k.PK != "" && t.PKType != types.ScalarAttributeTypeS || k.SK != "" && (t.SK == "" || t.SKType != types.ScalarAttributeTypeS) {
			p.add("Kinds: %q: only keys of type S begin with a text", k.Type)
		}
		for _, name := range slices.Concat(slices.Sorted(maps.Keys(k.Equal)), k.Exists) {
			if name == "" || name == t.PK || name == t.SK || name == t.TTLAttribute {
				p.add("Kinds: %q: attribute %q has another use", k.Type, name)
			}
		}
		for _, other := range t.Kinds[:i] {
			if other.Type == k.Type {
				p.add("Kinds: %q is there twice", k.Type)
			} else if !k.apart(other) {
				p.add("Kinds: an item can be of %q and of %q: let their keys begin differently, or give both another value of one attribute in Equal", other.Type, k.Type)
			}
		}
	}
}
