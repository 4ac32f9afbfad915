package view

import (
	"maps"
	"slices"

	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
	"github.com/singletable/singletable/cmd/singletable/internal/telling"
	"github.com/singletable/singletable/table"
)

// choice says which attributes a list of items shows at once: those that tell its items
// apart. It is made of the items of the list, for each type by itself.
type choice struct {
	of    *state
	ranks map[string]map[string]telling.Rank
	// made are the attributes that the keys of the index are made of, by type. A list of
	// the index shows them first, whatever they are.
	made map[string][]string
}

// newChoice returns the choice for the items of a list of the table or an index.
func (s *state) newChoice(l layout, items []table.Item) choice {
	c := choice{of: s, ranks: map[string]map[string]telling.Rank{}, made: map[string][]string{}}
	byType := map[string][]table.Item{}
	for _, item := range items {
		byType[s.typeOf(item)] = append(byType[s.typeOf(item)], item)
	}
	_, model := s.types()
	for _, e := range model.Entities {
		for _, p := range e.Items {
			in := p.Indexes[l.Index]
			c.made[e.Type] = append(c.made[e.Type], patternNames(in.PK+"#"+in.SK)...)
		}
	}
	for kind, of := range byType {
		c.ranks[kind] = telling.Ranks(of, []string{s.schema.PK, s.schema.SK}, c.made[kind])
	}
	return c
}

// patternNames returns the names of the attributes in a pattern of keys.
func patternNames(of string) []string {
	return slices.DeleteFunc(pattern.Names(of), pattern.IsNumber)
}

// order returns the names of an item's attributes by their ranks. The list shows first of
// them at once. The key of the index is made of the first made ones.
func (c choice) order(item table.Item) (names []string, first, made int) {
	ranks := c.ranks[c.of.typeOf(item)]
	hidden := c.of.special(item)
	for _, name := range slices.Sorted(maps.Keys(item)) {
		if !hidden[name] {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return int(ranks[a] - ranks[b]) })
	for _, name := range names {
		r := ranks[name]
		if r == telling.Made {
			made++
		}
		if r == telling.Made || r < telling.Keyed && first < firstAttributes {
			first++
		}
	}
	return names, first, made
}

// special returns the attributes that a list does not show among the others: the type and
// the expiry, which it shows elsewhere, the key of the table, the owner of a claim, and the
// attributes that exist for the key of an index only.
func (s *state) special(item table.Item) map[string]bool {
	hidden := map[string]bool{s.schema.TypeAttribute: s.schema.KindOf(s.typeOf(item)) == nil, s.schema.TTLAttribute: true}
	for _, l := range s.layouts {
		for _, a := range l.keys() {
			if l.Index == "" || telling.MadeForIndex(a.Name, item[a.Name]) {
				hidden[a.Name] = true
			}
		}
	}
	for _, name := range s.ownerAttributes(item) {
		hidden[name] = true
	}
	return hidden
}
