package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/expiring"
	"github.com/singletable/singletable/cmd/singletable/internal/telling"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// printer prints pages.
type printer struct {
	*program
	spec         schema.Table
	index        string
	asJSON, many bool
}

func (p printer) print(page table.Page[table.Item]) error {
	switch {
	case p.asJSON && p.many:
		for _, item := range page.Items {
			if err := p.printJSONLine(jsonLine{dynamojson.Item(item)}); err != nil {
				return err
			}
		}
		return nil
	case p.asJSON:
		out := queried{Items: []dynamojson.Item{}, Next: page.Next, ReadUnits: page.Stats.Capacity}
		for _, item := range page.Items {
			out.Items = append(out.Items, dynamojson.Item(item))
		}
		return p.printJSON(out)
	}
	return p.program.print(columns(p.lines(p.columnNames(), page.Items)))
}

// lines returns the rows of the items with those columns: a row of their names, and one for each
// item with the beginning of its other attributes in the last cell. There are none without items.
func (p printer) lines(names []string, items []table.Item) [][]string {
	if len(items) == 0 {
		return nil
	}
	// A column that is empty for all items says nothing.
	names = slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(items, func(item table.Item) bool { return item[name] != nil })
	})
	ranks, byType := map[string]map[string]telling.Rank{}, map[string][]table.Item{}
	for _, item := range items {
		kind := typeOf(p.spec, item)
		byType[kind] = append(byType[kind], item)
	}
	for kind, of := range byType {
		ranks[kind] = telling.Ranks(of, names, nil)
	}
	rows := [][]string{names}
	for _, item := range items {
		rows = append(rows, p.row(names, ranks[typeOf(p.spec, item)], item))
	}
	return rows
}

// columnNames returns the names of the attributes that have a column: those of the key
// that differ in a partition, which are the sort key of the index and the keys of the
// table, and the type.
func (p printer) columnNames() []string {
	names := []string{p.spec.SK}
	if i := slices.IndexFunc(p.spec.Indexes, func(x schema.Index) bool { return x.Name == p.index }); i >= 0 {
		_, sort := p.spec.Indexes[i].Keys()
		names = append(attributeNames(sort), p.spec.PK, p.spec.SK)
	} else if p.spec.SK == "" {
		names = []string{p.spec.PK}
	}
	var all []string
	for _, name := range append(names, p.spec.Type) {
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// row returns the cells of an item, with the beginning of its other attributes in the last. The
// ranks say which of them come first.
func (p printer) row(names []string, ranks map[string]telling.Rank, item table.Item) []string {
	var row []string
	for _, name := range names {
		cell := ""
		if v := item[name]; v != nil {
			cell = valueText(v, maxValue)
		}
		row = append(row, cell)
	}
	summary, more := "", 0
	if at, ok := expiring.Of(item, p.spec.TTL); ok && !at.After(p.now()) {
		summary = "EXPIRED"
	}
	rank := func(name string) int {
		if telling.MadeForIndex(name, item[name]) && isKey(p.spec, name) {
			return int(telling.Noise) + 1
		}
		return int(ranks[name])
	}
	known := append(p.givenNames(), names...)
	for _, name := range slices.SortedFunc(maps.Keys(item), func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) }) {
		if slices.Contains(known, name) {
			continue
		}
		text := strings.TrimPrefix(summary+" "+printable(name)+"="+valueText(item[name], maxAttribute), " ")
		if utf8.RuneCountInString(text) > maxSummary {
			more++ // A shorter one can follow.
			continue
		}
		summary = text
	}
	if more > 0 {
		summary += fmt.Sprintf(" … %d more", more)
	}
	return append(row, summary)
}

// givenNames returns the names of the attributes of the partition key, which the command line
// gives.
func (p printer) givenNames() []string { return partitionAttributes(p.spec, p.index) }

// isKey reports whether an attribute is a key of an index.
func isKey(spec schema.Table, name string) bool {
	return slices.ContainsFunc(spec.Indexes, func(x schema.Index) bool { return hasKey(x, name) })
}
