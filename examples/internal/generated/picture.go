package generated

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/repo/repotest"
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

// SchemaFile compares a schema file with the schema, the entities and the stored items. The
// findings of singletable check that it accepts are written by hand, and stay.
func SchemaFile(tb testing.TB, path string, spec schema.Table, items []table.Item, forms ...repo.Form) {
	tb.Helper()
	var file struct {
		tablemodel.Model
		Accepted json.RawMessage `json:"accepted,omitempty"`
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	if file.Model, err = repotest.Model(spec, items, forms...); err != nil {
		tb.Fatal(err)
	}
	made, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	File(tb, path, string(made)+"\n")
}
