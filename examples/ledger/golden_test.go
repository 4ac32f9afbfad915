package ledger_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/ledger"
	"github.com/singletable/singletable/repo/repotest"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRequests compares the requests of each access pattern with a file, so that
// a change of what is sent shows in a review.
func TestRequests(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*testing.T, *ledger.Ledger) error{
		"open": func(t *testing.T, l *ledger.Ledger) error { return l.Open(t.Context(), "cid", 5) },
		"move": func(t *testing.T, l *ledger.Ledger) error { return l.Move(t.Context(), "ana", "bob", 30) },
		"balance": func(t *testing.T, l *ledger.Ledger) error {
			_, err := l.Balance(t.Context(), "ana")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			l, tbl := newLedger(t, &faults, nil)
			before := len(faults.Requests())
			must(t, call(t, l))
			got := tabletest.Transcript(faults.Requests()[before:], strings.NewReplacer(tbl.Schema().Name, "Ledger"))

			golden(t, filepath.Join("testdata", name+".json"), got)
		})
	}
}

// TestStoredForms fails if stored accounts no longer fit the program, and says which upgrade to write.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	l, _ := newLedger(t, &tabletest.Faults{}, nil)
	repotest.Golden(t, "testdata/stored.json", *update, l.Forms()...)
}

// TestSchemaFile keeps the design that singletable check looks at equal to the program.
func TestSchemaFile(t *testing.T) {
	t.Parallel()
	l, tbl := newLedger(t, &tabletest.Faults{}, nil)
	items, err := tablemodel.Scan(t.Context(), tbl, 0)
	must(t, err)
	model, err := repotest.Model(ledger.Schema, items, l.Forms()...)
	must(t, err)
	text, err := json.MarshalIndent(model, "", "  ")
	must(t, err)
	golden(t, "schema.json", string(text)+"\n")
}

// golden compares a text with a file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); if this is wanted, run the test with -update:\n%s", file, diff)
	}
}
