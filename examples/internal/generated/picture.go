package generated

import (
	"testing"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// Picture returns what a table holds, as tables in Markdown. The schema is the
// example's own, whose name the table of a test does not have.
func Picture(tb testing.TB, spec schema.Table, items []table.Item, options *tablemodel.Options) string {
	tb.Helper()
	picture, err := tablemodel.Markdown(spec, items, options)
	if err != nil {
		tb.Fatal(err)
	}
	return picture
}

// Diagram returns what a table holds, as a diagram for Markdown.
func Diagram(tb testing.TB, spec schema.Table, items []table.Item, options *tablemodel.Options) string {
	tb.Helper()
	diagram, err := tablemodel.Mermaid(spec, items, options)
	if err != nil {
		tb.Fatal(err)
	}
	return "```mermaid\n" + diagram + "```\n"
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
