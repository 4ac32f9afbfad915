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
