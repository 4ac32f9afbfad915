package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
		return !slices.ContainsFunc(items, func(item table.Item) bool { return p.cell(name, item) != "" })
	})
	kind := func(item table.Item) string { return p.spec.TypeOf(item) }
	byType := map[string][]table.Item{}
	for _, item := range items {
		byType[kind(item)] = append(byType[kind(item)], item)
	}
	equal := map[string]equalText{}
	for kind, of := range byType {
		equal[kind] = equalBeginnings(of)
	}
	c := telling.Choose(p.spec, items, kind, append(p.givenNames(), names...))
	rows := [][]string{names}
	for _, item := range items {
		rows = append(rows, p.row(names, c, equal[kind(item)], item))
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
	for _, name := range append(names, p.spec.TypeAttribute) {
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// equalText is with how many bytes the texts of an attribute begin that all items of a type
// have, by the name of the attribute.
type equalText map[string]int

// equalBeginnings returns with how many bytes the texts of attributes begin that all items have,
// and behind which each has more.
func equalBeginnings(items []table.Item) equalText {
	texts := map[string][]string{}
	for _, item := range items {
		for name, v := range item {
			if text, ok := v.(*types.AttributeValueMemberS); ok {
				texts[name] = append(texts[name], text.Value)
			}
		}
	}
	equal := equalText{}
	for name, all := range texts {
		n, first := 0, slices.MinFunc(all, func(a, b string) int { return len(a) - len(b) })
		for n < len(first) && !slices.ContainsFunc(all, func(text string) bool { return text[n] != first[n] }) {
			n++
		}
		if n < len(first) {
			equal[name] = n
		}
	}
	return equal
}

// text returns an attribute of an item with the beginning of its value or, if that is equal in
// all items and too long, with what differs.
func (equals equalText) text(name string, v types.AttributeValue) string {
	const before = 8 // characters that are equal
	s, ok := v.(*types.AttributeValueMemberS)
	if !ok {
		return printable(name) + "=" + valueText(v, maxAttribute)
	}
	equal := utf8.RuneCountInString(s.Value[:equals[name]])
	if equal < maxAttribute {
		return printable(name) + "=" + valueText(v, maxAttribute)
	}
	text, cut := shortened(string([]rune(s.Value)[equal-before:]), maxAttribute)
	if cut != "" {
		_, cut = shortened(s.Value, maxAttribute) // with the bytes of the whole text
	}
	return printable(name) + "=" + plainOrQuoted("…"+text) + cut
}

// cell returns the value of an attribute. An item of a kind has its type in the column of types,
// if it has no such attribute.
func (p printer) cell(name string, item table.Item) string {
	v := item[name]
	if kind := p.spec.TypeOf(item); name == p.spec.TypeAttribute && v == nil && kind != "" {
		v = &types.AttributeValueMemberS{Value: kind}
	}
	if v == nil {
		return ""
	}
	return valueText(v, maxValue)
}

// row returns the cells of an item, with the beginning of its other attributes in the last, those
// first that tell it apart.
func (p printer) row(names []string, c telling.Choice, equal equalText, item table.Item) []string {
	var row []string
	for _, name := range names {
		row = append(row, p.cell(name, item))
	}
	shown := map[string]bool{}
	for _, name := range append(p.givenNames(), names...) {
		shown[name] = true
	}
	var texts []string
	more := 0
	for _, name := range c.Order(item, shown) {
		// What the keys say already is not repeated, and what is there for an index comes alone.
		if r := c.Rank(item, name); r == telling.Keyed || r == telling.Own && len(texts) > 0 {
			more++
			continue
		}
		texts = append(texts, equal.text(name, item[name]))
	}
	at, ok := expiring.Of(item, p.spec.TTLAttribute)
	return append(row, summary(texts, more, ok && !at.After(p.now())))
}

// summary returns as many texts as a line has room for, and how many there are beyond these and
// so many more. There is always one, if it is cut off.
func summary(texts []string, more int, expired bool) string {
	text, shown := "", 0
	if expired {
		text = "EXPIRED"
	}
	for _, t := range texts {
		next := strings.TrimPrefix(text+" "+t, " ")
		if utf8.RuneCountInString(next) <= maxSummary { // A shorter one can follow.
			text, shown = next, shown+1
		}
	}
	if shown == 0 && len(texts) > 0 {
		text, shown = strings.TrimPrefix(text+" "+string([]rune(texts[0])[:maxSummary-len("EXPIRED ")])+"…", " "), 1
	}
	if more += len(texts) - shown; more > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s … %d more", text, more), " ")
	}
	return text
}

// givenNames returns the names of the attributes of the partition key, which the command line
// gives.
func (p printer) givenNames() []string { return partitionAttributes(p.spec, p.index) }
