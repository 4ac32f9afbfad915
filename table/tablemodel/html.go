package tablemodel

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
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
	return template.Must(template.New("page").Parse(pageText))
})

// page is what the template shows. All texts are in one line; the template escapes
// them.
type page struct {
	Name     string
	Facts    []pageValue
	Hues     []pageHue
	Entities []pageEntity
	Views    []pageView
}

// pageValue is a value with its name.
type pageValue struct{ Name, Value string }

// pageHue is the colour of a class of types.
type pageHue struct{ Class, Hue int }

type pageEntity struct {
	Type  string
	Class int
	Items []pagePattern
}

// pagePattern is an item of an entity.
type pagePattern struct {
	Name string
	// Keys are the patterns of partition key and sort key in each view; none where the
	// item is not.
	Keys [][]string
}

type pageView struct {
	Kind, Name, Layout string
	Partitions         []pagePartition
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
	Typed   bool
	Class   int
	Cells   []pageCell
}

type pageCell struct {
	Type   string
	Values []pageValue
	More   string
}

// classes is how many colours there are. Further types share them; the type itself is
// written everywhere.
const classes = 12

// page returns what a page shows of the table.
func (l layout) page(o Options) page {
	p := page{Name: oneLine(l.schema.Name)}
	all := slices.Concat(l.views[0].partitions...)
	var kinds []string
	for _, item := range all {
		if t := l.typeOf(item); t != "" {
			kinds = append(kinds, t)
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	class := func(kind string) int { return slices.Index(kinds, kind) % classes }
	for i := range min(len(kinds), classes) {
		// Neighbours are far apart: 5 and 12 have no common divisor.
		p.Hues = append(p.Hues, pageHue{i, i * 5 % classes * 360 / classes})
	}
	for _, v := range l.views {
		kind, name := "Index", v.index
		if name == "" {
			kind, name = "Table", l.schema.Name
		}
		shown := pageView{Kind: kind, Name: oneLine(name), Layout: v.describe(oneLine)}
		picked := l.pick(v, o)
		for _, s := range picked {
			shown.Partitions = append(shown.Partitions, l.pagePartition(v, s, class, o))
		}
		p.Views = append(p.Views, shown)
	}
	for _, e := range l.entities() {
		p.Entities = append(p.Entities, l.pageEntity(e, class))
	}
	p.fact("Shown", count(len(all), "item")+" of "+count(len(kinds), "type"))
	p.fact("Type", l.schema.Type)
	p.fact("Expiry", cmp.Or(l.schema.TTL, "none"))
	p.fact("Stream", cmp.Or(string(l.schema.Stream), "not managed"))
	p.fact("Billing", cmp.Or(string(l.schema.BillingMode), "not managed"))
	return p
}

func (p *page) fact(name, value string) {
	p.Facts = append(p.Facts, pageValue{name, oneLine(value)})
}

func (l layout) pageEntity(e Entity, class func(string) int) pageEntity {
	shown := pageEntity{Type: oneLine(e.Type), Class: class(e.Type)}
	for i, p := range e.Items {
		item := pagePattern{Name: "main"}
		if i > 0 {
			item.Name = fmt.Sprintf("copy %d", i)
		}
		for _, v := range l.views {
			key, in := p, true
			if v.index != "" {
				key, in = p.Indexes[v.index]
			}
			var keys []string
			for _, text := range []string{key.PK, key.SK} {
				if in && text != "" {
					keys = append(keys, oneLine(text))
				}
			}
			item.Keys = append(item.Keys, keys)
		}
		shown.Items = append(shown.Items, item)
	}
	return shown
}

func (l layout) pagePartition(v view, s shown, class func(string) int, o Options) pagePartition {
	if s.rows == nil {
		return pagePartition{LeftOut: oneLine(s.leftOut)}
	}
	first := s.rows[0].item
	p := pagePartition{Key: join(v.partitionKey(), func(k keyAttribute) string {
		return shortLine(text(first[k.name]), o)
	}), Count: count(s.items, "item")}
	var items partition
	for _, r := range s.rows {
		if r.item != nil {
			items = append(items, r.item)
		}
	}
	v.partitions = []partition{items} // Columns that are empty in it are left out.
	all := l.columns(v, o)
	columns := all[v.partition:]
	for _, name := range columns {
		p.Titles = append(p.Titles, oneLine(cmp.Or(name, othersTitle)))
	}
	if len(columns) == 0 {
		// Only the key of the table tells the items of such an index apart, and it is
		// the partition key of this one.
		p.Titles = []string{"item"}
	}
	for _, r := range s.rows {
		if r.item == nil {
			p.Rows = append(p.Rows, pageRow{LeftOut: oneLine(r.leftOut)})
			continue
		}
		row := pageRow{}
		if t := l.typeOf(r.item); t != "" && v.holds(l.schema.Type) {
			row.Typed, row.Class = true, class(t)
		}
		for _, name := range columns {
			row.Cells = append(row.Cells, l.pageCell(v, r.item, name, all, o))
		}
		if len(columns) == 0 {
			row.Cells = []pageCell{{Values: []pageValue{{Value: p.Key}}}}
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

func (l layout) pageCell(v view, item table.Item, column string, columns []string, o Options) pageCell {
	value := func(title, name string) pageValue {
		return pageValue{title, cmp.Or(shortLine(text(item[name]), o), "(empty)")}
	}
	switch {
	case column == l.schema.Type && l.typeOf(item) != "":
		return pageCell{Type: shortLine(l.typeOf(item), o)}
	case column != others && item[column] == nil:
		return pageCell{}
	case column != others:
		return pageCell{Values: []pageValue{value("", column)}}
	}
	var cell pageCell
	names, more := l.others(v, item, columns, o)
	for _, name := range names {
		cell.Values = append(cell.Values, value(oneLine(name), name))
	}
	if more > 0 {
		cell.More = fmt.Sprintf("%d more", more)
	}
	return cell
}

// shortLine returns a value in one line, cut if it is long.
func shortLine(s string, o Options) string { return oneLine(shorten(s, o.Length)) }

// count writes a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
