package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/check"
	"github.com/singletable/singletable/cmd/singletable/internal/kinds"
	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// overview is what the first page of a table shows.
type overview struct {
	Name    string
	Facts   []fact
	Indexes []indexFacts
	Vectors []vectorFacts
	Omitted []string
	// Map has the types that were seen, and their keys. Inferred means that no schema file was
	// given.
	Inferred bool
	// Untyped says that no item that was read has a type, and what to do about it.
	Untyped string
	Map     []keyMapRow
	// Findings are those of the design that are about nothing else on the page.
	Findings []check.Finding
	// Partitions are those of a sample of so many items.
	Partitions []partitionRow
	// Rows are the items instead, if each is a partition.
	Rows    []row
	Columns []string
	// Alike is how many partitions of a kind are shown at most, 0 if all are.
	Alike  int
	Items  int
	Browse string
}

// fact is a line about a table.
type fact struct{ Name, Text, Note string }

// indexFacts are those of the table, which is the first, and its indexes.
type indexFacts struct {
	Name            string
	Partition, Sort string
	// Note says what of an item an index holds, unless it is all, and how much it has.
	Note     string
	Findings []check.Finding
}

// keyMapRow is an item of an entity: a line of the map that shows in which partitions of the table
// and the indexes the items of each type are.
type keyMapRow struct {
	Type chip
	// Name is that of a copy, or says that these are claims. It is empty for the main item.
	Name  string
	Cells []keyMapCell
}

// keyMapCell is the pattern of the keys of an item in the table or an index.
type keyMapCell struct {
	PK, SK []patternPart
	// Attributes says that the keys are attributes of the item anyway.
	Attributes string
	// Title is that of the table or index.
	Title    string
	Findings []check.Finding
}

// patternPart is a constant or the name of an attribute in a pattern.
type patternPart struct {
	Text      text
	Attribute bool
}

// In reports whether the item is in the table or index.
func (c keyMapCell) In() bool { return c.PK != nil || c.Attributes != "" }

// The overview shows the partitions that say the most to a person. Those of a kind have the same
// prefix and the same types of items.
const (
	partitionsOnOverview = 20
	partitionsOfKind     = 3
)

func (s *server) overview(v *visit) (*page, error) {
	if err := s.openTable(v, true); err != nil {
		return nil, err
	}
	st := v.state
	items, err := s.sample(v)
	if err != nil {
		return nil, err
	}
	seen, model := st.types()
	about := newFindings(st.findings)
	o := overview{
		Name: st.schema.Name, Facts: st.facts(len(items)), Indexes: st.indexes(about), Vectors: st.vectors(), Omitted: st.omitted, Map: st.keyMap(model, seen, about),
		Partitions: st.partitions(v, st.layouts[0], items), Items: len(items), Browse: st.root.address(st.schema.Name, "browse"),
		Findings: about.rest(), Inferred: st.given == nil,
	}
	slices.SortStableFunc(o.Partitions, func(a, b partitionRow) int {
		return cmp.Or(cmp.Compare(b.telling, a.telling), cmp.Compare(len(b.Items), len(a.Items)))
	})
	main := st.layouts[0]
	if some := fewOfKind(o.Partitions); !main.single() && len(some) < len(o.Partitions) {
		o.Partitions, o.Alike = some, partitionsOfKind
	}
	o.Partitions = expiredLast(o.Partitions[:min(len(o.Partitions), partitionsOnOverview)])
	if main.single() {
		o.Columns = attributeNames(main.keys())
		for _, p := range o.Partitions {
			o.Rows = append(o.Rows, p.Items...)
		}
	}
	if !slices.ContainsFunc(seen, func(k known) bool { return k.Type != "" }) && len(seen) > 0 {
		var k kinds.Finder
		k.Add(st.schema, items...)
		o.Untyped = k.Hint(st.schema)
	}
	return &page{Template: "overview", Title: st.schema.Name, Content: o, At: "overview"}, nil
}

// fewOfKind returns the first partitions of each kind.
func fewOfKind(all []partitionRow) (some []partitionRow) {
	n := map[string]int{}
	for _, p := range all {
		types := map[string]bool{}
		for _, r := range p.Items {
			types[r.Type.Name.String()] = true
		}
		kind := fmt.Sprint(p.Keys[0].Segments[0].Text, slices.Sorted(maps.Keys(types)))
		if n[kind]++; n[kind] <= partitionsOfKind {
			some = append(some, p)
		}
	}
	return some
}

// facts returns what DynamoDB and the schema say of the table, of which so many items were read.
func (s *state) facts(read int) []fact {
	d := s.live
	n, size := aws.ToInt64(d.ItemCount), ""
	if bytes := aws.ToInt64(d.TableSizeBytes); bytes > 0 {
		size = sizeText(bytes) + ", "
	}
	items := fact{"Items", "about " + quantity.Grouped(n), size + "DynamoDB counts them every six hours"}
	switch {
	case s.sampledWhole():
		items = fact{"Items", quantity.Grouped(int64(read)), "all were read"}
	case n == 0:
		items = fact{"Items", quantity.Grouped(int64(read)) + " or more", "DynamoDB has not counted them yet"}
	}
	all := []fact{
		items,
		{"Capacity", capacity(s.schema), ""},
		{"Expiry", cmp.Or(s.schema.TTLAttribute, "none"), ""},
		{"Stream", cmp.Or(strings.ToLower(strings.ReplaceAll(string(s.schema.Stream), "_", " ")), "off"), ""},
	}
	if s.hasTypeAttribute() {
		all = slices.Insert(all, 2, fact{"Type attribute", s.schema.TypeAttribute, ""})
	}
	if d.TableStatus != types.TableStatusActive {
		all = append(all, fact{"Status", string(d.TableStatus), ""})
	}
	return all
}

func capacity(s schema.Table) string {
	if s.BillingMode == types.BillingModeProvisioned {
		return fmt.Sprintf("%d read and %d write units per second", s.ProvisionedThroughput.Read, s.ProvisionedThroughput.Write)
	}
	return "on demand"
}

// indexes returns the facts about the table and its indexes.
func (s *state) indexes(about *findings) []indexFacts {
	var all []indexFacts
	for i, l := range s.layouts {
		f := indexFacts{Name: l.title(), Partition: names(l.Partition), Sort: names(l.Sort)}
		if i > 0 {
			x := s.schema.Indexes[i-1]
			f.Note, f.Findings = strings.Join(s.notes(l, x), ", "), about.of("index "+x.Name)
		}
		all = append(all, f)
	}
	return all
}

// holds says which attributes an index has.
func holds(projection types.ProjectionType, include []string) string {
	switch projection {
	case types.ProjectionTypeKeysOnly:
		return "keys only"
	case types.ProjectionTypeInclude:
		return "keys and " + strings.Join(include, ", ")
	}
	return "all attributes"
}

// notes returns what of an item an index holds, unless it is all, and what DynamoDB says of it.
func (s *state) notes(l layout, x schema.Index) (all []string) {
	if x.Local {
		all = append(all, "local")
	}
	if x.Projection != "" && x.Projection != types.ProjectionTypeAll {
		all = append(all, holds(x.Projection, x.Include))
	}
	in := func(item table.Item) bool {
		_, ok := values(item, l.keys())
		return ok
	}
	count := uncounted
	for _, g := range s.live.GlobalSecondaryIndexes {
		if aws.ToString(g.IndexName) == l.Index {
			count = s.counts(g.ItemCount, g.IndexSizeBytes, in)
			if g.IndexStatus != types.IndexStatusActive {
				all = append(all, string(g.IndexStatus))
			}
		}
	}
	for _, x := range s.live.LocalSecondaryIndexes {
		if aws.ToString(x.IndexName) == l.Index {
			count = s.counts(x.ItemCount, x.IndexSizeBytes, in)
		}
	}
	if count != uncounted { // The number of the table's items says so.
		all = append(all, count)
	}
	return all
}

// uncounted is shown instead of a zero that is known to be wrong.
const uncounted = "not counted yet"

// counts returns DynamoDB's own counts of items and bytes. A count is zero until DynamoDB
// has counted. So a zero is shown only if the sample was the whole table, and no item was
// read for which in is true.
func (s *state) counts(items, bytes *int64, in func(table.Item) bool) string {
	n, b := aws.ToInt64(items), aws.ToInt64(bytes)
	switch {
	case n == 0 && (!s.sampledWhole() || s.seenAny(in)):
		return uncounted
	case b == 0:
		return quantity.Of(n, "item")
	}
	return quantity.Of(n, "item") + ", " + sizeText(b)
}

// names returns the names and types of key attributes.
func names(attributes []schema.Attribute) string {
	var all []string
	for _, a := range attributes {
		name := a.Name
		if a.Type != types.ScalarAttributeTypeS {
			name += " (" + string(a.Type) + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// keyMap returns the keys of the entities, in the order of the types that were seen, and the
// types whose keys are not known.
func (s *state) keyMap(m model, seen []known, about *findings) (rows []keyMapRow) {
	sortEntities(m.Entities, seen)
	// The findings of the design have a place such as "entity ORDER, items[1], index GSI1".
	add := func(c chip, name, place string, p tablemodel.Pattern) {
		r := keyMapRow{Type: c, Name: name}
		for _, l := range s.layouts {
			in := cell(l, p)
			in.Title = l.title()
			if l.Index != "" && place != "" {
				in.Findings = about.of(place + ", index " + l.Index)
			} else {
				in.Findings = about.of(place)
			}
			r.Cells = append(r.Cells, in)
		}
		rows = append(rows, r)
	}
	claims := maps.Clone(m.Claims)
	for _, e := range m.Entities {
		for i, p := range e.Items {
			name, place := "", "entity "+e.Type
			if i > 0 {
				name, place = fmt.Sprintf("copy %d", i), fmt.Sprintf("%s, items[%d]", place, i)
			}
			add(newChip(e.Type), name, place, p)
		}
		for _, p := range claims[e.Type].Items {
			add(newChip(e.Type), "claim", "", p)
		}
		delete(claims, e.Type)
	}
	// No main item of these was read.
	for _, of := range slices.Sorted(maps.Keys(claims)) {
		for _, p := range claims[of].Items {
			add(kind{of, true}.chip(), "", "", p)
		}
	}
	for _, unknown := range seen {
		if unknown.Items > 0 && (unknown.Type != "" || len(rows) > 0) && !slices.ContainsFunc(m.Entities, named(unknown.Type)) {
			rows = append(rows, keyMapRow{Type: newChip(unknown.Type), Cells: make([]keyMapCell, len(s.layouts))})
		}
	}
	return rows
}

// cell returns the pattern of an item in the table or an index.
func cell(l layout, p tablemodel.Pattern) keyMapCell {
	if l.composite {
		text := names(l.Partition)
		if len(l.Sort) > 0 {
			text += " / " + names(l.Sort)
		}
		return keyMapCell{Attributes: text}
	}
	if l.Index != "" {
		in, ok := p.Indexes[l.Index]
		if !ok {
			return keyMapCell{}
		}
		if l.Local {
			in.PK = p.PK
		}
		p = in
	}
	return keyMapCell{PK: patternParts(p.PK), SK: patternParts(p.SK)}
}

// patternParts takes a pattern apart at its braces.
func patternParts(of string) []patternPart {
	var all []patternPart
	add := func(text string, attribute bool) {
		if text != "" {
			all = append(all, patternPart{Text: newText(text, shortText), Attribute: attribute})
		}
	}
	for i, s := range pattern.Split(of) {
		if i > 0 {
			add("#", false)
		}
		add(s.Before, false)
		if !s.Constant() {
			add(s.Braces(), true)
		}
		add(s.After, false)
	}
	return all
}
