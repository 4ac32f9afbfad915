package view

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/counted"
	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// item is the page of an item.
type item struct {
	Keys      []keyPart
	Partition string // its address
	Type      chip
	Expiry    *expiry
	Bytes     int64
	Cost      cost
	// Places and Vectors are the indexes that the item has a key attribute of. Outside names
	// the others.
	Places     []itemPlace
	Vectors    []vectorPlace
	Outside    string
	Attributes []attribute
	// More is how many attributes are not shown.
	More   int
	Copies *copies
	// Owner is that of a claim, and Claims are those of another item.
	Owner  *owner
	Claims []link
	// Counts are the numbers in other items that count this one.
	Counts []countedIn
	// Unread means that the entity can have copies that are not known. Learn is the address
	// of the page that reads some items first, if none were.
	Unread    bool
	Learn     string
	JSON      source
	JSONBytes int64 // if it is cut
	JSONHref  string
	// Edit and Guard are for the forms that change the item, if that is allowed.
	Edit, Guard string
}

// itemPlace is the place of an item in an index.
type itemPlace struct {
	Title string
	Keys  []keyPart
	Href  string // of the partition
	// Missing are the key attributes that the item lacks, though it has another: it is not in
	// the index.
	Missing string
}

// countedIn is a number in another item that counts an item.
type countedIn struct {
	link
	Owner         chip
	Attribute, By text
}

// cost is what reads of an item consume, and a write that creates its entity.
type cost struct {
	Read, Write float64
	// Items are those of the entity and its claims, Owners the items that count it, and Indexes
	// the entries in indexes: all have writes of their own.
	Items, Owners, Indexes int
}

// The units that DynamoDB counts in. AWS: "DynamoDB read and write operations", Amazon
// DynamoDB Developer Guide.
const (
	readUnit  = 4 << 10
	writeUnit = 1 << 10
)

func newCost(size int) cost {
	return cost{Read: float64(max(1, (size+readUnit-1)/readUnit)) / 2}
}

// setWrite sets what the write of an entity consumes. Its items that are not stored count as
// well. Of the other items that it writes the size is not known: they count as 1 KB.
func (c *cost) setWrite(s *state, stored []table.Item, claims int, counts []counted.Count) {
	owners := map[keys.Key]bool{}
	for _, n := range counts {
		owners[n.Key] = true
	}
	c.Items, c.Owners = len(stored)+claims, len(owners)
	units := float64(claims + c.Owners)
	for _, item := range stored {
		units += float64(max(1, (item.Size()+writeUnit-1)/writeUnit))
	}
	if c.Together() {
		units *= 2
	}
	for _, item := range stored {
		for i, l := range s.layouts[1:] {
			if _, in := values(item, l.keys()); in {
				c.Indexes++
				units += float64(max(1, (entrySize(s.schema, s.schema.Indexes[i], item)+writeUnit-1)/writeUnit))
			}
		}
	}
	c.Write = units
}

// Together reports whether the write is a transaction.
func (c cost) Together() bool { return c.Items+c.Owners > 1 }

// entrySize returns the size of what an index holds of an item.
func entrySize(t schema.Table, x schema.Index, item table.Item) int {
	if x.Projection == "" || x.Projection == types.ProjectionTypeAll {
		return item.Size()
	}
	pk, sk := x.Keys()
	names := append([]string{t.PK, t.SK}, x.Include...)
	for _, a := range slices.Concat(pk, sk) {
		names = append(names, a.Name)
	}
	entry := maps.Clone(item)
	maps.DeleteFunc(entry, func(name string, _ types.AttributeValue) bool { return !slices.Contains(names, name) })
	return entry.Size()
}

// maxJSON is how much of an item's JSON its page has, in bytes.
const maxJSON = 64 << 10

func (s *server) item(v *visit) (*page, error) {
	got, err := s.read(v)
	if err != nil {
		return nil, err
	}
	st := v.state
	k := st.table.KeyOf("", got)
	of, owner := st.kindOf(got)
	c := item{
		Keys: st.keyParts(k, v.now), Partition: st.partitionAddress(st.layouts[0], []string{string(k.PK)}),
		Type: st.chipOf(of), Expiry: expiryOf(got, st.schema.TTLAttribute, v.now),
		Bytes: int64(got.Size()), Cost: newCost(got.Size()),
	}
	var outside, without []string
	c.Places, outside = st.places(got, v.now)
	c.Vectors, without = st.vectorPlaces(v, got)
	c.Outside = strings.Join(append(outside, without...), ", ")
	c.Attributes, c.More = st.attributes(got, v.now)
	if s.options.Write {
		c.Edit, c.Guard = st.itemAddress("edit", k), s.formGuard()
	}
	c.JSONHref = st.itemAddress("item.json", k)
	text := dynamoJSON(got)
	if len(text) > maxJSON {
		c.JSONBytes = int64(len(text))
		text = strings.ToValidUTF8(text[:maxJSON], "") + "…"
	}
	c.JSON = newSource(text)
	if v.FormValue("learn") != "" && !st.scanned() {
		if _, err := s.sample(v); err != nil {
			return nil, err
		}
	}
	if of.Claim {
		c.Owner, err = st.owner(v, of, owner)
	} else {
		c.Claims, err = st.claims(v, got)
	}
	if err != nil {
		return nil, err
	}
	items := []table.Item{got}
	if c.Copies, err = st.copies(v, got); err != nil {
		return nil, err
	}
	if c.Copies != nil {
		items = c.Copies.stored
	}
	counts := counted.Of(st.table, got)
	for _, n := range counts {
		c.Counts = append(c.Counts, countedIn{st.link(n.Key, v.now), newChip(n.Owner), newText(n.Attribute, shortText), newText(n.N, shortText)})
	}
	c.Cost.setWrite(st, items, len(c.Claims), counts)
	c.Unread = st.unread(got)
	if c.Unread && c.Copies == nil && !c.Type.None && !st.scanned() {
		c.Learn = st.itemAddress("item", k, "learn", "1")
	}
	title := strings.Join(stored(c.Keys), " / ") + " · " + st.schema.Name
	return &page{Template: "item", Title: title, Content: c, At: "browse:"}, nil
}

// itemJSON is an item as DynamoDB writes it.
func (s *server) itemJSON(v *visit) (*page, error) {
	got, err := s.read(v)
	if err != nil {
		return nil, err
	}
	return &page{Data: []byte(dynamoJSON(got))}, nil
}

// read reads the item of the address.
func (s *server) read(v *visit) (table.Item, error) {
	if err := s.openTable(v, false); err != nil {
		return nil, err
	}
	key, err := v.key()
	if err != nil {
		return nil, err
	}
	return v.state.stored(v, key)
}

// stored reads the item under a key.
func (s *state) stored(v *visit, key keys.Key) (table.Item, error) {
	got, err := table.Get[table.Item](v.Context(), s.table.Consistent(), key)
	if errors.Is(err, table.ErrNotFound) {
		return nil, &noItem{
			pageError{http.StatusNotFound, "No such item", "There is no item under this key. If a page led here, the item was deleted since."},
			link{s.keyParts(key, v.now), s.partitionAddress(s.layouts[0], []string{string(key.PK)})},
		}
	}
	if err != nil {
		return nil, err
	}
	s.learn([]table.Item{got})
	return got, nil
}

// key returns the key in the address.
func (v *visit) key() (keys.Key, error) {
	q := v.URL.Query()
	texts, err := fromText(v.state.layouts[0].keys(), []string{q.Get("pk"), q.Get("sk")})
	if err != nil {
		return keys.Key{}, err
	}
	return keys.Key{PK: keys.PK(texts[0]), SK: keys.SK(texts[1])}, nil
}

// places returns where an item is in each index, or why not, and the names of the indexes of
// which it has no key attribute at all.
func (s *state) places(got table.Item, now time.Time) (all []itemPlace, outside []string) {
	for _, l := range s.layouts[1:] {
		p := itemPlace{Title: l.title()}
		attributes := l.keys()
		if in, ok := values(got, attributes); ok {
			p.Keys, p.Href = parts(attributes, in, now), s.partitionAddress(l, in[:len(l.Partition)])
		} else {
			p.Missing = strings.Join(missing(got, attributes), ", ")
		}
		own := func(a schema.Attribute) bool { return got[a.Name] != nil && !slices.Contains(s.layouts[0].keys(), a) }
		if !slices.ContainsFunc(attributes, own) {
			outside = append(outside, p.Title)
			continue
		}
		all = append(all, p)
	}
	return all, outside
}

// missing returns the names of the attributes that an item lacks, or has as another
// type.
func missing(got table.Item, attributes []schema.Attribute) []string {
	var all []string
	for _, a := range attributes {
		if _, ok := values(got, []schema.Attribute{a}); !ok {
			all = append(all, a.Name)
		}
	}
	return all
}

// copies are the items of an entity next to each other.
type copies struct {
	Type    chip
	Columns []copyColumn
	Rows    []copyRow
	More    int // rows that are not shown
	// Drift is how many attributes differ that should not, and Missing how many items
	// there are not.
	Drift, Missing int
	// Problem says why the copies could not be found.
	Problem string
	stored  []table.Item
}

// copyColumn is an item of the entity.
type copyColumn struct {
	Title   string
	Keys    []keyPart
	Href    string
	Here    bool // It is the item of the page.
	Missing bool
}

// copyRow is an attribute that differs between the items.
type copyRow struct {
	Name  text
	Cells []copyCell
}

// copyCell is an attribute of an item.
type copyCell struct {
	Value   *value // nil if the item lacks it
	Differs bool   // from the main item
	// NoItem means that there is no item to have it.
	NoItem bool
}

// copies reads the other items of the entity that an item belongs to. It returns nil if
// the entity is not known, or has one item, and for a claim.
func (s *state) copies(v *visit, got table.Item) (*copies, error) {
	_, model := s.types()
	e, here, ok := model.Find(got)
	if k, _ := s.kindOf(got); !ok || k.Claim || len(e.Items) < 2 {
		return nil, nil
	}
	c := &copies{Type: newChip(e.Type)}
	ks, unknown := e.Keys(got)
	if unknown != nil {
		c.Problem = "The attributes of this item do not give the keys of all of the entity's items."
	}
	own := s.table.KeyOf("", got)
	ask := slices.DeleteFunc(slices.Clone(ks), func(k keys.Key) bool { return k == own || k == keys.Key{} })
	read, err := table.BatchGet[table.Item](v.Context(), s.table.Consistent(), ask)
	if err != nil {
		return nil, fmt.Errorf("copies of the item: %w", err)
	}
	var items []table.Item
	for i, k := range ks {
		stored := read[k]
		if i == here {
			// Its attributes may have drifted from its key.
			stored, k = got, own
		}
		if k == (keys.Key{}) {
			continue // The entity has no such copy.
		}
		column := copyColumn{Title: fmt.Sprintf("copy %d", i), Here: i == here, Missing: stored == nil}
		if i == 0 {
			column.Title = "main item"
		}
		if column.Missing {
			c.Missing++
		}
		items = append(items, stored)
		column.Href = s.itemAddress("item", k)
		column.Keys = s.keyParts(k, v.now)
		c.Columns = append(c.Columns, column)
	}
	if len(c.Columns) < 2 && unknown == nil {
		return nil, nil
	}
	c.stored = slices.DeleteFunc(slices.Clone(items), func(i table.Item) bool { return i == nil })
	c.compare(s, items, v.now)
	return c, nil
}

// compare sets the rows: the attributes that differ and are no keys.
func (c *copies) compare(s *state, items []table.Item, now time.Time) {
	keyNames := map[string]bool{}
	for _, l := range s.layouts {
		for _, a := range l.keys() {
			keyNames[a.Name] = true
		}
	}
	names := map[string]bool{}
	for _, i := range items {
		for name := range i {
			names[name] = true
		}
	}
	first := slices.IndexFunc(items, func(i table.Item) bool { return i != nil })
	for _, name := range slices.Sorted(maps.Keys(names)) {
		r, drift := copyRow{Name: newText(name, shortText)}, false
		for _, i := range items {
			cell := copyCell{NoItem: i == nil}
			if a, ok := i[name]; ok {
				shown := s.summary(name, a, now)
				cell.Value = &shown
			}
			cell.Differs = i != nil && !edit.Equal(i[name], items[first][name])
			drift = drift || cell.Differs
			r.Cells = append(r.Cells, cell)
		}
		if drift && !keyNames[name] {
			c.Rows = append(c.Rows, r)
		}
	}
	c.Drift = len(c.Rows)
	c.More = max(0, len(c.Rows)-maxAttributes)
	c.Rows = c.Rows[:len(c.Rows)-c.More]
}
