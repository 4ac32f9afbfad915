package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
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
	names := p.columnNames()
	rows := [][]string{names}
	if len(page.Items) == 0 {
		rows = nil
	}
	for _, item := range page.Items {
		rows = append(rows, p.row(names, item))
	}
	return p.program.print(columns(rows))
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

// row returns the cells of an item, with the beginning of its other attributes in the last.
func (p printer) row(names []string, item table.Item) []string {
	var row []string
	for _, name := range names {
		cell := ""
		if v := item[name]; v != nil {
			cell = valueText(v, maxValue)
		}
		row = append(row, cell)
	}
	summary := ""
	if at, ok := expiry(p.spec, item); ok && !at.After(p.now()) {
		summary = "EXPIRED"
	}
	known := append(headNames(p.spec), indexNames(p.spec)...)
	for _, name := range slices.SortedFunc(maps.Keys(item), simpleFirst(item)) {
		if slices.Contains(known, name) {
			continue
		}
		text := strings.TrimPrefix(summary+" "+printable(name)+"="+valueText(item[name], maxAttribute), " ")
		if len([]rune(text)) > maxSummary {
			summary += " …"
			break
		}
		summary = text
	}
	return append(row, summary)
}

// simpleFirst orders names of attributes so that those with parts come last.
func simpleFirst(item table.Item) func(a, b string) int {
	rank := func(name string) int {
		switch item[name].(type) {
		case *types.AttributeValueMemberL, *types.AttributeValueMemberM:
			return 1
		}
		return 0
	}
	return func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) }
}

// indexNames returns the names of the attributes that are made for indexes. Those of an
// index whose keys have several attributes are data of the item.
func indexNames(spec schema.Table) []string {
	var names []string
	for _, x := range spec.Indexes {
		names = append(names, x.PK, x.SK)
	}
	return names
}
