// Package kinds finds out which attribute holds the types of a table's items.
package kinds

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/shell"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Finder looks for the attribute in items of one table. The zero value has seen none.
type Finder struct {
	items int
	typed bool
	// other means that an item has the attribute of the schema, and not as a text.
	other bool
	// values are those of the attributes that could hold a type, and that all items have.
	values map[string]*candidate
	// named counts the items that have one of libraryNames.
	named [len(libraryNames)]int
}

// libraryNames are the attributes in which libraries keep types. Some items of a table can lack
// them, such as those of another library.
var libraryNames = [...]string{"__edb_e__", "_et", "_type", "__en", "dynamodeEntity", "entityType", "type", "entity", "kind"}

// candidate is an attribute that could hold a type.
type candidate struct {
	seen map[string]bool
	odd  int // values that are no words
}

// Add looks at items that were read. spec is the schema of the table, with its defaults.
func (f *Finder) Add(spec schema.Table, items ...table.Item) {
	for _, item := range items {
		f.items++
		f.typed = f.typed || spec.TypeOf(item) != ""
		f.other = f.other || item[spec.TypeAttribute] != nil
		f.countNamed(item)
		if f.items == 1 {
			f.values = map[string]*candidate{}
			for name := range item {
				if name != spec.PK && name != spec.SK {
					f.values[name] = &candidate{seen: map[string]bool{}}
				}
			}
		}
		for name, c := range f.values {
			kind := text(item[name])
			if !word.MatchString(kind) {
				c.odd++
			}
			if c.seen[kind] = true; kind == "" || len(c.seen) > mostKinds {
				delete(f.values, name)
			}
		}
	}
}

func (f *Finder) countNamed(item table.Item) {
	for i, name := range libraryNames {
		if text(item[name]) != "" {
			f.named[i]++
		}
	}
}

// mostKinds is how many types a table has at most. An attribute with more values holds no type.
const mostKinds = 100

// word is the name of a type.
var word = regexp.MustCompile(`^\pL[\pL\pN_.: /-]{0,99}$`)

func text(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// Hint says that no item has the type attribute of the schema, and what to do about it. It is
// empty if one has it, or none was read.
func (f *Finder) Hint(spec schema.Table) string {
	if f.items == 0 || f.typed {
		return ""
	}
	hint := fmt.Sprintf("No item that was read has the attribute %s. ", shell.Quote(spec.TypeAttribute))
	if f.other {
		hint = fmt.Sprintf("An item that was read has the attribute %s, but not as a text, or empty; none has it as a text. ", shell.Quote(spec.TypeAttribute))
	}
	name, found := f.found()
	most, count := f.most()
	switch {
	case found:
		hint += fmt.Sprintf("All of them have %s. If that", shell.Quote(name))
	case 2*count > f.items:
		name, hint = most, hint+fmt.Sprintf("%d of %d have %s. If that", count, f.items, shell.Quote(most))
	default:
		name, hint = "NAME", hint+"If another attribute"
	}
	return hint + fmt.Sprintf(" holds the type of an item, make a schema file that says so, for -schema of the other commands: %s >schema.json",
		shell.Quote("singletable", "schema", "-sample=1000", "-type="+name, "--", spec.Name))
}

// typeName are names of attributes that hold types: those of other libraries, and those that
// say it.
var typeName = regexp.MustCompile(`(?i)^(?:__edb_e__|_et|__en|(?:.*_)?(?:entity|kind|model)|.*type.*|.*entity.*)$`)

// most returns the one of libraryNames that most items have, and how many.
func (f *Finder) most() (name string, count int) {
	for i, n := range f.named {
		if n > count {
			name, count = libraryNames[i], n
		}
	}
	return name, count
}

// found returns the attribute that seems to hold the types: one of such a name, or else the
// only one with values that repeat.
func (f *Finder) found() (name string, ok bool) {
	names := slices.SortedFunc(maps.Keys(f.values), func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	// A library can have types of its own, such as _Unique, among those of the application.
	isNamed := func(name string) bool { return typeName.MatchString(name) && 2*f.values[name].odd < f.items }
	if i := slices.IndexFunc(names, isNamed); i >= 0 {
		return names[i], true
	}
	names = slices.DeleteFunc(names, func(name string) bool { c := f.values[name]; return len(c.seen) >= f.items || c.odd > 0 })
	if len(names) != 1 {
		return "", false
	}
	return names[0], true
}
