package tablemodel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Mermaid returns a picture of the items as a flowchart for Mermaid, which GitHub
// and GitLab draw in Markdown (in a code block of the language mermaid). It has a
// box for each partition of the table and of the indexes, with its items in the
// order of their sort keys. An arrow leads from an item's place in the table to its
// place in an index. It shows keys and types; Options.Attributes has no effect.
func Mermaid(spec schema.Table, items []table.Item, options *Options) (string, error) {
	l, err := lay("Mermaid", spec, items)
	if err != nil {
		return "", err
	}
	o := options.withDefaults()
	var b strings.Builder
	b.WriteString(wide + "flowchart LR\n")
	picked := make([][]shown, len(l.views))
	for i, v := range l.views {
		picked[i] = l.pick(v, o)
		l.boxes(&b, i, v, picked[i], o)
	}
	for i := 1; i < len(l.views); i++ {
		l.arrows(&b, picked[0], i, picked[i])
	}
	return b.String(), nil
}

// wide keeps Mermaid from breaking a key into lines.
const wide = "%%{init: {\"flowchart\": {\"wrappingWidth\": 900}}}%%\n"

// boxes writes the boxes of a view: v1p0 is the first one of view 1.
func (l layout) boxes(b *strings.Builder, number int, v view, picked []shown, o Options) {
	fmt.Fprintf(b, "  subgraph v%d[\"%s\"]\n", number, label(strings.ToLower(v.kind)+" "+v.name))
	for i, p := range picked {
		var lines []string
		if p.rows == nil {
			lines = append(lines, label(p.leftOut))
		}
		for j, r := range p.rows {
			if j == 0 {
				var parts []string
				for _, k := range v.partitionKey() {
					parts = append(parts, label(shorten(text(r.value[k.name]), o.Length)))
				}
				lines = append(lines, "<b>"+strings.Join(parts, " · ")+"</b>")
			}
			if line := l.line(v, r, o); line != "" {
				lines = append(lines, line)
			}
		}
		fmt.Fprintf(b, "    v%dp%d[\"%s\"]\n", number, i, strings.Join(lines, "<br/>"))
	}
	if len(picked) == 0 {
		fmt.Fprintf(b, "    v%dp0[\"no items\"]\n", number)
	}
	b.WriteString("  end\n")
}

// line is what a box shows of an item.
func (l layout) line(v view, r row, o Options) string {
	if r.value == nil {
		return label(r.leftOut)
	}
	var parts []string
	sorted := v.sortKey()
	if len(sorted) == 0 && v.index != "" {
		sorted = l.views[0].key // nothing but the table's key tells its items apart
	}
	for _, k := range sorted {
		parts = append(parts, label(shorten(text(r.value[k.name]), o.Length)))
	}
	if t := l.typeIn(v, r.value); t != "" {
		parts = append(parts, "<i>"+label(t)+"</i>")
	}
	return strings.Join(parts, " · ")
}

// arrows writes an arrow for each pair of boxes that show an item of the table and the
// same item in an index, which is view number.
func (l layout) arrows(b *strings.Builder, from []shown, number int, to []shown) {
	base := l.views[0].key
	same := func(a, b row) bool {
		return a.value != nil && b.value != nil &&
			!slices.ContainsFunc(base, func(k keyAttribute) bool { return k.compare(a.value, b.value) != 0 })
	}
	for i, p := range from {
		for j, q := range to {
			if slices.ContainsFunc(p.rows, func(a row) bool {
				return slices.ContainsFunc(q.rows, func(b row) bool { return same(a, b) })
			}) {
				fmt.Fprintf(b, "  v0p%d --> v%dp%d\n", i, number, j)
			}
		}
	}
}

// label returns s as text in the label of a box, whatever Mermaid, HTML or the
// page around it would make of it.
func label(s string) string {
	s = oneLine(s)
	var b strings.Builder
	for i, r := range s {
		rest := s[i+len(string(r)):]
		switch {
		case strings.ContainsRune("#;&<>\"'`\\*_[](){}|@$~!^", r),
			r == ':' && (strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "fa-")), // an address, an icon
			r == '.' && strings.HasSuffix(strings.ToLower(s[:i]), "www"):
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
