package tablemodel

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// HTML returns the picture that [Markdown] makes as one page for a browser, with the
// entities that [Infer] finds and with a colour for each type. The page is complete in
// itself: it has no scripts and refers to nothing outside. It follows the light or
// dark mode of the reader, and can be printed.
func HTML(spec schema.Table, items []table.Item, options *Options) (string, error) {
	l, err := lay("HTML", spec, items)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := pageTemplate().Execute(&b, l.page(options.withDefaults())); err != nil {
		return "", &table.Error{Op: "HTML", Table: spec.Name, Err: err}
	}
	return b.String(), nil
}

//go:embed page.html
var pageText string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"line":  oneLine,
		"value": func(s string) string { return cmp.Or(oneLine(s), "(empty)") },
	}).Parse(pageText))
})

// page is what the template shows.
type page struct {
	Name     string
	Facts    []named
	Entities []Entity
	Views    []pageView
	kinds    []string // the types, in order
}

// classes is how many colours there are. Further types share them; the type itself is
// written everywhere.
const classes = 12

// Class returns the number of the colour of a type.
func (p page) Class(kind string) int { return slices.Index(p.kinds, kind) % classes }

// Hues returns the colours, by their number.
func (p page) Hues() []int {
	hues := make([]int, min(len(p.kinds), classes))
	for i := range hues {
		hues[i] = i * 5 % classes * 360 / classes // Neighbours are far apart: 5 and 12 have no common divisor.
	}
	return hues
}

type pageView struct {
	Kind, Name, Layout string
	Partitions         []pagePartition
}

// Keys returns the patterns of partition key and sort key of an item; none if the item
// is not in the view.
func (v pageView) Keys(p Pattern) []string {
	if v.Kind == "Index" {
		p = p.Indexes[v.Name]
	}
	return slices.DeleteFunc([]string{p.PK, p.SK}, func(text string) bool { return text == "" })
}

// pagePartition is a partition, or the number of those left out.
type pagePartition struct {
	LeftOut    string
	Key, Count string
	Titles     []string
	Rows       []pageRow
}

// pageRow is an item, or the number of those left out.
type pageRow struct {
	LeftOut string
	Type    string // empty if the view does not show it
	Cells   []cell
}

// page returns what a page shows of the table.
func (l layout) page(o Options) page {
	kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(l.byType())), func(kind string) bool { return kind == "" })
	p := page{Name: l.schema.Name, Entities: l.entities(), kinds: kinds}
	for _, v := range l.views {
		shown := pageView{Kind: v.kind, Name: v.name, Layout: v.describe(func(name string) string { return name })}
		for _, s := range l.pick(v, o) {
			shown.Partitions = append(shown.Partitions, l.pagePartition(v, s, o))
		}
		p.Views = append(p.Views, shown)
	}
	p.Facts = []named{
		{"Shown", count(len(slices.Concat(l.views[0].partitions...)), "item") + " of " + count(len(kinds), "type")},
		{"Type", l.schema.TypeAttribute},
		{"Expiry", cmp.Or(l.schema.TTLAttribute, "none")},
		{"Stream", cmp.Or(string(l.schema.Stream), "not managed")},
		{"Billing", cmp.Or(string(l.schema.BillingMode), "not managed")},
	}
	return p
}

func (l layout) pagePartition(v view, s shown, o Options) pagePartition {
	if s.rows == nil {
		return pagePartition{LeftOut: s.leftOut}
	}
	first := s.rows[0].value
	p := pagePartition{Key: join(v.partitionKey(), func(k keyAttribute) string {
		return shorten(text(first[k.name]), o.Length)
	}), Count: count(s.items, "item")}
	var items partition
	for _, r := range s.rows {
		if r.value != nil {
			items = append(items, r.value)
		}
	}
	v.partitions = []partition{items} // Columns that are empty in it are left out.
	all := l.columns(v, o)
	columns := all[v.partition:]
	for _, name := range columns {
		p.Titles = append(p.Titles, cmp.Or(name, othersTitle))
	}
	if len(columns) == 0 {
		// Only the key of the table tells the items of such an index apart, and it is
		// the partition key of this one.
		p.Titles = []string{"item"}
	}
	for _, r := range s.rows {
		if r.value == nil {
			p.Rows = append(p.Rows, pageRow{LeftOut: r.leftOut})
			continue
		}
		row := pageRow{Type: l.typeIn(v, r.value)}
		for _, name := range columns {
			row.Cells = append(row.Cells, l.cell(v, r.value, name, all, o))
		}
		if len(columns) == 0 {
			row.Cells = []cell{{Values: []named{{Value: p.Key}}}}
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

// count writes a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
