package view

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// access is a way to the items of a type: the pattern of their keys in the table or an
// index.
type access struct {
	Type   chip
	By     string // the attributes of the partition key
	Title  string // of the table or index
	PK, SK []patternPart
	Href   string

	kind    string
	main    bool // It is that of the main item in the table.
	layout  layout
	pattern tablemodel.Pattern
}

// accesses returns the ways to the items of the types that are known.
func (s *state) accesses() []access {
	seen, model := s.types()
	sortEntities(model.Entities, seen)
	var all []access
	for _, e := range model.Entities {
		for i, p := range e.Items {
			for _, l := range s.layouts {
				in := p
				if l.Index != "" {
					in = p.Indexes[l.Index]
				}
				if l.Local {
					in.PK = p.PK
				}
				if l.composite || in.PK == "" || in.SK == "" && l.Index != "" && len(l.Sort) > 0 {
					continue
				}
				a := access{
					Type: newChip(e.Type), Title: l.title(), By: partitionNames(in.PK), PK: patternParts(in.PK),
					kind: e.Type, main: i == 0 && l.Index == "", layout: l, pattern: in,
					Href: s.root.address(s.schema.Name, "query", "of", e.Type, "item", strconv.Itoa(i), "index", l.Index),
				}
				if in.SK != "" {
					a.SK = patternParts(in.SK)
				}
				all = append(all, a)
			}
		}
	}
	return all
}

// partitionNames returns the names of the attributes in the pattern of a partition key, or
// says that it varies. It is empty if all items have the same one.
func partitionNames(of string) string {
	names := slices.DeleteFunc(pattern.Names(of), pattern.IsNumber)
	if len(names) == 0 && len(pattern.Names(of)) > 0 {
		return "key"
	}
	return strings.Join(names, ", ")
}

// sortEntities puts entities into the order of the types that were seen, and those that were
// not seen last.
func sortEntities(entities []tablemodel.Entity, seen []known) {
	order := map[string]int{}
	for i, k := range seen {
		order[k.Type] = i - len(seen)
	}
	slices.SortStableFunc(entities, func(a, b tablemodel.Entity) int { return order[a.Type] - order[b.Type] })
}

// accessForm is the form with the attributes of a pattern.
type accessForm struct {
	access
	Action string
	// Kind, Item and Index name the pattern in the address.
	Kind, Item, Index string
	Fields            []accessField
}

// accessField is an attribute in a pattern.
type accessField struct {
	field
	Required bool // The partition key is made of it.

	of pattern.Segment
}

// newAccess returns the form of the pattern in the address, nil without one.
func (s *state) newAccess(v *visit) (*accessForm, error) {
	if v.FormValue("of") == "" {
		return nil, nil
	}
	return s.accessForm(v, v.FormValue("of"), v.FormValue("item"), v.FormValue("index"))
}

// accessForm returns the form of a pattern, with the values of the address.
func (s *state) accessForm(v *visit, kind, item, index string) (*accessForm, error) {
	href := s.root.address(s.schema.Name, "query", "of", kind, "item", item, "index", index)
	all := s.accesses()
	i := slices.IndexFunc(all, func(a access) bool { return a.Href == href })
	if i < 0 {
		return nil, &pageError{http.StatusNotFound, "No such pattern", "No keys of this type were seen since the start of singletable view. Open the overview of the table, and choose a pattern again."}
	}
	f := &accessForm{access: all[i], Action: s.root.address(s.schema.Name, "query"), Kind: kind, Item: item, Index: index}
	for n, of := range []string{f.pattern.PK, f.pattern.SK} {
		for _, s := range pattern.Split(of) {
			if !s.Constant() && !slices.ContainsFunc(f.Fields, func(known accessField) bool { return known.Name == s.Name }) {
				f.Fields = append(f.Fields, accessField{field{Name: s.Name, Note: formNote(s.Form)}, n == 0, s})
			}
		}
	}
	for i := range f.Fields {
		if given := v.Form["with"]; i < len(given) {
			f.Fields[i].Value = given[i]
		}
	}
	return f, nil
}

// Time reports whether the beginning of the value can be given, as that of a time.
func (f accessField) Time() bool { return f.of.Form == "time" && !f.Required }

// formNote says how the value of a placeholder is written.
func formNote(form string) string {
	switch form {
	case "", "lower", "raw":
		return ""
	case "time", "time-ms":
		return "a time"
	}
	return "a whole number"
}

// address returns the address of the query of the form. The sort key is made as far as its
// attributes are given, from the left.
func (f *accessForm) address(s *state) (string, error) {
	pk, whole, err := f.key(f.pattern.PK, f.layout.Partition[0].Type)
	if err == nil && !whole {
		err = fmt.Errorf("%w: the partition key needs %s", table.ErrInvalid, f.By)
	}
	if err != nil {
		return "", err
	}
	pks, err := fromText(f.layout.Partition, []string{pk})
	if err != nil || f.pattern.SK == "" {
		return s.keyAddress("query", f.layout, pks), err
	}
	sk, whole, err := f.key(f.pattern.SK, f.layout.Sort[0].Type)
	op := opBegins
	switch {
	case err != nil:
		return "", err
	case whole:
		op = opEquals
	case sk == "":
		op = opAny
	}
	return s.keyAddress("query", f.layout, pks, "op", op, "sk", sk), nil
}

// key makes a key, or the beginning of one up to the first attribute that is not given. It
// is whole if all are given.
func (f *accessForm) key(of string, kind types.ScalarAttributeType) (text string, whole bool, err error) {
	item := table.Item{}
	var made []string
	rest := ""
	for _, s := range pattern.Split(of) {
		segment := s.String()
		if !s.Constant() {
			i := slices.IndexFunc(f.Fields, func(in accessField) bool { return in.Name == s.Name })
			value := strings.TrimSpace(f.Fields[i].Value)
			_, notNumber := strconv.ParseInt(value, 10, 64)
			_, notTime := time.Parse(time.RFC3339, value)
			switch {
			case value == "":
				return f.joined(made, rest, item)
			case kind != types.ScalarAttributeTypeS:
				return value, true, nil // It is one segment, as it is.
			case s.Unknown():
				segment = pattern.Text(s.Before + keys.Str(value).String() + s.After)
			case s.Form == "time" && notTime != nil && notNumber != nil:
				rest = s.Before + value // the beginning of a time
				return f.joined(made, rest, item)
			case s.Form != "" && s.Escapes() && notNumber == nil:
				item[s.Name] = &types.AttributeValueMemberN{Value: value}
			default:
				item[s.Name] = &types.AttributeValueMemberS{Value: value}
			}
		}
		made = append(made, segment)
	}
	text, _, err = f.joined(made, "", item)
	return strings.TrimSuffix(text, "#"), true, err
}

// joined makes the segments, and adds the beginning of the next one.
func (f *accessForm) joined(segments []string, rest string, item table.Item) (text string, whole bool, err error) {
	if len(segments) == 0 {
		return rest, false, nil
	}
	made, err := tablemodel.Entity{Type: f.Kind, Items: []tablemodel.Pattern{{PK: strings.Join(segments, "#")}}}.Keys(item)
	if err != nil {
		return "", false, err
	}
	return string(made[0].PK) + "#" + rest, false, nil
}
