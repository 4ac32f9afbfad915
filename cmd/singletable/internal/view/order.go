package view

import (
	"fmt"

	"github.com/singletable/singletable/cmd/singletable/internal/counted"
	"github.com/singletable/singletable/cmd/singletable/internal/telling"
	"github.com/singletable/singletable/table"
)

// newChoice returns the choice of the attributes that a list shows of items of the table or an
// index. The keys of copies say other attributes than those of main items.
func (s *state) newChoice(l layout, items []table.Item) telling.Choice {
	_, m := s.types()
	group := func(item table.Item) string {
		_, here, _ := m.Find(item)
		return fmt.Sprintf("%d %s", here, s.typeOf(item))
	}
	return telling.Choose(s.schema, items, group, attributeNames(append(l.keys(), s.layouts[0].keys()...)))
}

// order returns the names of an item's attributes. The list shows first of them at once: those
// that a person reads, and one of the others if there are none that differ.
func (s *state) order(c telling.Choice, item table.Item) (first, rest []string) {
	for _, name := range c.Order(item, s.special(item)) {
		switch r := c.Rank(item, name); {
		case len(first) < firstAttributes && (r < telling.Keyed && r != telling.Noise || len(first) == 0 && r == telling.Noise):
			first = append(first, name)
		default:
			rest = append(rest, name)
		}
	}
	return first, rest
}

// special returns the attributes that a list does not show among the others: the type and
// the expiry, which it shows elsewhere, the key of the table, the owner of a claim, what was
// counted, and the attributes that exist for the key of an index only.
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
	if len(counted.Of(s.table, item)) > 0 {
		hidden[counted.Attribute] = true
	}
	return hidden
}
