package generated

import (
	"testing"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// Picture returns what a table holds, in Markdown: tables, and a diagram if the
// schema has indexes. The schema is the example's own, whose name the table of a
// test does not have.
func Picture(tb testing.TB, spec schema.Table, items []table.Item, options *tablemodel.Options) string {
	tb.Helper()
	picture, err := tablemodel.Markdown(spec, items, options)
	if err != nil {
		tb.Fatal(err)
	}
	if len(spec.Indexes) == 0 {
		return picture
	}
	diagram, err := tablemodel.Mermaid(spec, items, options)
	if err != nil {
		tb.Fatal(err)
	}
	return picture + "\n<details><summary>The same as a diagram</summary>\n\n```mermaid\n" + diagram + "```\n\n</details>\n"
}

// Stored returns all items of a table.
func Stored(tb testing.TB, t *table.Table) []table.Item {
	tb.Helper()
	items, err := tablemodel.Scan(tb.Context(), t.Consistent(), 10_000)
	if err != nil {
		tb.Fatal(err)
	}
	return items
}
