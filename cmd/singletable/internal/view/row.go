package view

import (
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/singletable/singletable/cmd/singletable/internal/telling"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// hues is how many colours types have.
const hues = 12

// chip is the type of an item with its colour.
type chip struct {
	Name  text
	Hue   int
	None  bool // The item has no type.
	Claim bool // The item is a claim of an entity of the type.
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
	// Owner leads from a claim to its owner.
	Owner  *link
	Expiry *expiry
	// First are the attributes that are shown at once, and Rest those of the More others
	// that can be unfolded.
	First, Rest []attribute
	More        int
	Bytes       int64
	// Score is how near a match of a search is, and Here that it is the item searched for.
	Score string
	Here  bool
}

// What a list shows of an item.
const (
	firstAttributes = 4  // at once
	restAttributes  = 40 // of the others, when they are unfolded
)

// newRow returns an item of the table or of an index.
func (s *state) newRow(l layout, item table.Item, shown []schema.Attribute, c telling.Choice, now time.Time) row {
	key := s.table.KeyOf("", item)
	k, owner := s.kindOf(item)
	r := row{Type: k.chip(), Expiry: expiryOf(item, s.schema.TTLAttribute, now), Bytes: int64(item.Size())}
	if k.Claim {
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

// Hidden returns how many attributes the row does not show at all.
func (r row) Hidden() int { return r.More - len(r.Rest) }

// newRows returns items of the table or of an index, with the attributes that tell them
// apart.
func (s *state) newRows(l layout, items []table.Item, shown []schema.Attribute, now time.Time) []row {
	return s.rows(l, items, shown, s.newChoice(l, items), now)
}

func (s *state) rows(l layout, items []table.Item, shown []schema.Attribute, c telling.Choice, now time.Time) (rows []row) {
	for _, item := range items {
		rows = append(rows, s.newRow(l, item, shown, c, now))
	}
	return rows
}

// maxAttributes bounds the attributes of an item that a page shows. The others are in the
// item's JSON.
const maxAttributes = 300

// attributes returns the attributes of an item in the order of their names: all keys, and
// others up to the bound.
func (s *state) attributes(item table.Item, now time.Time) []attribute {
	special := map[string]bool{s.schema.TypeAttribute: true, s.schema.TTLAttribute: true}
	for _, l := range s.layouts {
		for _, a := range l.keys() {
			special[a.Name] = true
		}
	}
	for _, x := range s.schema.Vectors {
		special[x.Attribute], special[x.Partition.Name] = true, true
	}
	for _, name := range s.ownerAttributes(item) {
		special[name] = true
	}
	var all []attribute
	others := 0
	for _, name := range slices.Sorted(maps.Keys(item)) {
		if !special[name] {
			if others++; others > maxAttributes {
				continue
			}
		}
		all = append(all, attribute{
			Name: newText(name, shortText), Value: s.value(name, item[name], longText, now), Key: special[name],
			Bytes: table.Item{name: item[name]}.Size(),
		})
	}
	return all
}

// rowTable is a list of items for a template.
type rowTable struct {
	Caption string
	Columns []string
	Rows    []row
	// Indexed means that the rows have a key in the table, too.
	Indexed bool
	Scored  bool // They are matches of a search.
}

func newRowTable(caption string, columns []string, rows []row) rowTable {
	some := len(rows) > 0
	return rowTable{caption, columns, rows, some && rows[0].TableKeys != nil, some && rows[0].Score != ""}
}

// rowKeys returns the key attributes that tell the items of a partition apart.
func (l layout) rowKeys() []schema.Attribute {
	if len(l.Sort) > 0 {
		return l.Sort
	}
	return l.Partition
}
