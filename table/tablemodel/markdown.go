package tablemodel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Markdown returns the items as tables in Markdown: one for the table and one for
// each index, with the items of each partition in the order of their sort keys.
// Partitions are in the order of their keys. DynamoDB itself keeps no such order.
//
// The columns are the keys, the keys in indexes, the type, and in one column
// some of the other attributes: see [Options]. A partition key is shown once,
// next to the first item of its partition.
//
// AWS: "Partitions and data distribution in DynamoDB", Amazon DynamoDB Developer Guide.
func Markdown(spec schema.Table, items []table.Item, options *Options) (string, error) {
	l, err := lay("Markdown", spec, items)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, v := range l.views {
		if i > 0 {
			b.WriteString("\n")
		}
		l.markdown(&b, v, options.withDefaults())
	}
	return b.String(), nil
}

func (l layout) markdown(b *strings.Builder, v view, o Options) {
	fmt.Fprintf(b, "**%s %s**, %s\n\n", v.kind, code(v.name), v.describe(code))
	if len(v.partitions) == 0 {
		b.WriteString("No items.\n")
		return
	}
	columns := l.columns(v, o)
	cells := make([]string, len(columns))
	line := func() { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	for i, name := range columns {
		cells[i] = othersTitle
		if name != others {
			cells[i] = code(name)
		}
	}
	line()
	b.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	for _, p := range l.pick(v, o) {
		if p.rows == nil {
			clear(cells)
			cells[0] = plain(p.leftOut)
			line()
		}
		for i, r := range p.rows {
			clear(cells)
			if r.value == nil {
				cells[min(1, len(cells)-1)] = plain(r.leftOut)
				line()
				continue
			}
			for j, name := range columns {
				if i == 0 || j >= v.partition {
					cells[j] = l.markdownCell(name, l.cell(v, r.value, name, columns, o))
				}
			}
			line()
		}
	}
}

// describe says what a view is sorted by and what it holds. quote writes the name of
// an attribute.
func (v view) describe(quote func(string) string) string {
	text := "partition key " + join(names(v.partitionKey()), quote)
	if len(v.sortKey()) > 0 {
		text += ", sort key " + join(names(v.sortKey()), quote)
	}
	switch v.projection.Projection {
	case types.ProjectionTypeKeysOnly:
		text += ", holds the keys"
	case types.ProjectionTypeInclude:
		text += ", holds the keys and " + join(v.projection.Include, quote)
	}
	return text
}

// others stands for the column of the attributes that have none. No attribute has this
// name.
const (
	others      = ""
	othersTitle = "other attributes"
)

// columns returns the attributes that have a column, and others if these have something
// to show.
func (l layout) columns(v view, o Options) []string {
	more := []string{l.schema.TypeAttribute}
	if v.index != "" {
		more = append(names(l.views[0].key), more...)
	} else {
		more = append(more, l.keyNames...)
	}
	columns := names(v.key)
	for _, name := range more {
		has := func(i table.Item) bool {
			return v.holds(name) && i[name] != nil || name == l.schema.TypeAttribute && l.typeIn(v, i) != ""
		}
		if !slices.Contains(columns, name) && v.has(has) {
			columns = append(columns, name)
		}
	}
	if v.has(func(i table.Item) bool { shown, _ := l.others(v, i, columns, o); return len(shown) > 0 }) {
		return append(columns, others)
	}
	return columns
}

// has reports whether the view has such an item.
func (v view) has(such func(table.Item) bool) bool {
	return slices.ContainsFunc(v.partitions, func(p partition) bool { return slices.ContainsFunc(p, such) })
}

// cell is what a column shows of an item: its type, and some of its attributes.
type cell struct {
	Type string
	// Values have names in the column of others.
	Values []named
	More   int // how many attributes are left out
}

type named struct{ Name, Value string }

func (l layout) cell(v view, item table.Item, column string, columns []string, o Options) cell {
	value := func(name string) string { return shorten(text(item[name]), o.Length) }
	switch t := l.typeIn(v, item); {
	case column == l.schema.TypeAttribute && t != "":
		c := cell{Type: shorten(t, o.Length)}
		if l.schema.KindOf(t) != nil && item[column] != nil && v.holds(column) { // an attribute like others
			c.Values = []named{{Value: value(column)}}
		}
		return c
	case column != others && item[column] == nil:
		return cell{}
	case column != others:
		return cell{Values: []named{{Value: value(column)}}}
	}
	var c cell
	shown, more := l.others(v, item, columns, o)
	for _, name := range shown {
		c.Values = append(c.Values, named{name, value(name)})
	}
	c.More = more
	return c
}

func (l layout) markdownCell(column string, c cell) string {
	parts := []string{}
	if c.Type != "" {
		parts = append(parts, plain(c.Type))
	}
	for _, of := range c.Values {
		switch column {
		case others:
			parts = append(parts, plain(of.Name)+" "+code(of.Value))
		case l.schema.TypeAttribute:
			parts = append(parts, plain(of.Value))
		default:
			parts = append(parts, code(of.Value))
		}
	}
	if c.More > 0 {
		parts = append(parts, fmt.Sprintf("%d more", c.More))
	}
	return strings.Join(parts, ", ")
}

// others returns the attributes of an item to show that have no column, and how many
// there are besides. The keys of other indexes are among them only if somebody asked
// for them.
func (l layout) others(v view, item table.Item, columns []string, o Options) (shown []string, more int) {
	var all []string
	for name := range item {
		asked := slices.Contains(v.projection.Include, name) || slices.Contains(o.Attributes, name)
		if v.holds(name) && !slices.Contains(columns, name) && (asked || !slices.Contains(l.keyNames, name)) {
			all = append(all, name)
		}
	}
	if o.Attributes != nil {
		return slices.DeleteFunc(slices.Clone(o.Attributes), func(name string) bool { return !slices.Contains(all, name) }), 0
	}
	slices.Sort(all)
	shown = all[:min(len(all), defaultAttributes)]
	return shown, len(all) - len(shown)
}

// code returns s as code in the cell of a table. White space that Markdown
// would lose or take for the end of the cell is a space.
func code(s string) string {
	if s == "" {
		return "(empty)"
	}
	s = oneLine(s)
	if strings.Contains(s, `\|`) {
		return "<code>" + entities(s) + "</code>" // renderers disagree on \\|
	}
	s = strings.ReplaceAll(s, "|", `\|`)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// plain returns s as the text of a cell if nothing in it can have a meaning, and
// as code otherwise. Escapes do not help: renderers look for mentions, references
// and addresses in the text that the escapes result in, and leave only code out.
func plain(s string) string {
	if s = oneLine(s); s == "" || harmless().MatchString(s) && !reference().MatchString(s) {
		return s
	}
	return code(s)
}

var (
	// harmless is text that is neither markup nor a mention: words with single
	// signs between them, as in "… 2 more of USER#…".
	harmless = lazy(`^(?:… )?[\p{L}\p{M}\p{N}]+(?:(?:[ _\-.#]|, )[\p{L}\p{M}\p{N}]+)*(?:#?…)?$`)
	// reference is what GitHub or GitLab makes links of: #12, GH-12 and JIRA-12,
	// commits, and addresses.
	reference = lazy(`(?i)#\d|[a-z]-\d|\b[0-9a-f]{7,}\b|\bwww\.`)
)

// lazy compiles an expression when it is first used, so that an import costs nothing.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// entities returns s with everything that could mean something written as HTML
// entities.
func entities(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return b.String()
}

// oneLine returns s in one line: control characters and line separators are
// spaces, and the invisible characters that change the direction of text are
// written as \u202e.
func oneLine(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
