package ledger_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/ledger"
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

			file := filepath.Join("testdata", name+".json")
			if *update {
				must(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			must(t, err)
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("requests (-want +got); if this is wanted, run the test with -update:\n%s", diff)
			}
		})
	}
}
