package view

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/singletable/singletable/cmd/singletable/internal/telling"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// hues is how many colours types have.
const hues = 12

// chip is the type of an item with its colour.
type chip struct {
	Name text
	Hue  int
	None bool // The item has no type.
	// Untyped means that no item has one as far as is known: the chip is left out.
	Untyped bool
	Claim   bool // The item is a claim of an entity of the type.
	Copy    bool // The item is a copy of an entity of the type.
}

// newChip returns the chip of a type. Its colour depends on the name alone.
func newChip(name string) chip {
	if name == "" {
		return chip{None: true}
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // It never fails.
	return chip{Name: newText(name, shortText), Hue: int(h.Sum32() % hues)}
}

// row is an item in a list.
type row struct {
	// Keys are the sort key in a list of one partition, or all key attributes of the table
	// or index that was read.
	Keys []keyPart
	// TableKeys are the key in the table, if an index was read.
	TableKeys []keyPart
	Href      string
	Type      chip
	// Owner leads from a claim or a copy to the main item.
	Owner  *link
	Expiry *expiry
	// First are the attributes that are shown at once, and Rest those of the More others
	// that can be unfolded.
	First, Rest []attribute
	More        int
	// Score is how near a match of a search is, and Here that it is the item searched for.
	Score string
	Here  bool
}

// What a list shows of an item.
const (
	firstAttributes = 4  // at once
	restAttributes  = 40 // of the others, when they are unfolded
)

// newRow returns an item of the table or of an index. m has the entities that are known.
func (s *state) newRow(l layout, m tablemodel.Model, item table.Item, shown []schema.Attribute, c telling.Choice, now time.Time) row {
	key := s.table.KeyOf("", item)
	k, owner := s.kindOf(item)
	r := row{Type: s.chipOf(k), Expiry: expiryOf(item, s.schema.TTLAttribute, now)}
	if e, here, ok := m.Find(item); ok && here > 0 && !k.Claim {
		r.Type.Copy = true
		ks, _ := e.Keys(item) // Those that it cannot tell are zero.
		owner = ks[0]
	}
	if owner != (keys.Key{}) {
		to := s.link(owner, now)
		r.Owner = &to
	}
	in, _ := values(item, shown)
	r.Keys = parts(shown, in, now)
	if l.Index != "" {
		r.TableKeys = s.keyParts(key, now)
	}
	r.Href = s.itemAddress("item", key)
	first, rest := s.order(c, item)
	all := func(names []string) (shown []attribute) {
		for _, name := range names {
			shown = append(shown, attribute{Name: newText(name, shortText), Value: s.summary(name, item[name], now)})
		}
		return shown
	}
	r.More = len(rest)
	r.First, r.Rest = all(first), all(rest[:min(len(rest), restAttributes)])
	return r
}

// Class is that of the row in the style sheet: the colour of the type, or that the item has
// expired.
func (r row) Class() string {
	switch {
	case r.Expiry != nil && r.Expiry.Expired:
		return "gone"
	case r.Type.None:
		return ""
	}
	return fmt.Sprintf("hue%d", r.Type.Hue)
}

// Hidden returns how many attributes the row does not show at all.
func (r row) Hidden() int { return r.More - len(r.Rest) }

// newRows returns items of the table or of an index, with the attributes that tell them
// apart.
func (s *state) newRows(l layout, items []table.Item, shown []schema.Attribute, now time.Time) []row {
	return s.rows(l, items, shown, s.newChoice(l, items), now)
}

func (s *state) rows(l layout, items []table.Item, shown []schema.Attribute, c telling.Choice, now time.Time) (rows []row) {
	_, m := s.types()
	for _, item := range items {
		rows = append(rows, s.newRow(l, m.Model, item, shown, c, now))
	}
	return rows
}

// maxAttributes bounds the attributes of an item that a page shows. The others are in the
// item's JSON.
const maxAttributes = 300

// attributes returns the attributes of an item in the order of their names, up to the bound,
// and how many more there are. The type, the keys and what is counted are elsewhere on the page.
func (s *state) attributes(item table.Item, now time.Time) (all []attribute, more int) {
	hidden := s.special(item)
	hidden[s.schema.TTLAttribute] = false
	counts := s.counters(s.typeOf(item))
	for _, name := range slices.Sorted(maps.Keys(item)) {
		switch {
		case hidden[name]:
		case len(all) == maxAttributes:
			more++
		default:
			all = append(all, attribute{
				Name: newText(name, shortText), Value: s.value(name, item[name], longText, now), Counts: counts[name],
			})
		}
	}
	return all, more
}

// rowTable is a list of items for a template.
type rowTable struct {
	Caption string
	Columns []string
	Rows    []row
	// Indexed means that the rows have a key in the table, too.
	Indexed bool
	Scored  bool // They are matches of a search.
	// Typed means that a row has a type, an expiry that is shown, or is the item searched for.
	Typed bool
}

func newRowTable(caption string, columns []string, rows []row) rowTable {
	some := len(rows) > 0
	typed := func(r row) bool { return !r.Type.Untyped || r.Here || r.Expiry != nil && !r.Expiry.Far }
	return rowTable{caption, columns, rows, some && rows[0].TableKeys != nil, some && rows[0].Score != "", slices.ContainsFunc(rows, typed)}
}

// rowKeys returns the key attributes that tell the items of a partition apart.
func (l layout) rowKeys() []schema.Attribute {
	if len(l.Sort) > 0 {
		return l.Sort
	}
	return l.Partition
}
