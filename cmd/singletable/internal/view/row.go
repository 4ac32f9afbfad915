package view

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
	// First are the attributes that are shown at once, Rest the others.
	First, Rest []attribute
	Bytes       int64
	// Score is how near a match of a search is, and Here that it is the item searched for.
	Score string
	Here  bool
}

// firstAttributes is how many attributes of an item a list shows at once.
const firstAttributes = 4

// newRow returns an item of the table or of an index.
func (s *state) newRow(l layout, item table.Item, shown []schema.Attribute, now time.Time) row {
	key := s.table.KeyOf("", item)
	k, owner := s.kindOf(item)
	r := row{Type: k.chip(), Expiry: expiryOf(item, s.schema.TTL, now), Bytes: int64(item.Size())}
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
	all := s.attributes(item, func(v types.AttributeValue) value { return summary(v, now) })
	// A map says less in a line than a name.
	slices.SortStableFunc(all, func(a, b attribute) int { return cmp.Compare(a.Value.rank(), b.Value.rank()) })
	for _, a := range all {
		switch {
		case a.Key:
		case len(r.First) < firstAttributes:
			r.First = append(r.First, a)
		default:
			r.Rest = append(r.Rest, a)
		}
	}
	return r
}

// newRows returns items of the table or of an index.
func (s *state) newRows(l layout, items []table.Item, shown []schema.Attribute, now time.Time) []row {
	var rows []row
	for _, item := range items {
		rows = append(rows, s.newRow(l, item, shown, now))
	}
	return rows
}

// attributes returns the attributes of an item in the order of their names.
func (s *state) attributes(item table.Item, show func(types.AttributeValue) value) []attribute {
	special := map[string]bool{s.schema.Type: true, s.schema.TTL: true}
	for _, l := range s.layouts {
		for _, a := range l.keys() {
			special[a.Name] = true
		}
	}
	for _, name := range s.ownerAttributes(item) {
		special[name] = true
	}
	var all []attribute
	for _, name := range slices.Sorted(maps.Keys(item)) {
		all = append(all, attribute{
			Name: newText(name, shortText), Value: show(item[name]), Key: special[name],
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
