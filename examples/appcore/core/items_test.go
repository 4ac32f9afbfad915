package core_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of items into README.md")

// The README tells which items are stored. The table there is made of what the
// service really stores.
func TestTheREADMETellsWhatIsStored(t *testing.T) {
	t.Parallel()
	const (
		path  = "../README.md"
		begin = "<!-- items: go test ./core -update -->\n"
		end   = "<!-- /items -->"
	)
	s, tbl, _ := newService(t)
	if err := s.Register(t.Context(), "u-123", "Ana"); err != nil {
		t.Fatal(err)
	}
	tx := create(t, s, "u-123", "8e03978e")
	if _, err := s.Approve(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	notification := text(ofType(t, tbl, "NOTIFICATION")[0], "notifId")
	abstract := strings.NewReplacer(tx, "‹txId›", notification, "‹notifId›", "u-123", "‹userId›", "8e03978e", "‹key›")
	timestamp := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	shardOf := regexp.MustCompile(`GLOBAL_TX#\d`)

	var rows []string
	for _, item := range items(t, tbl) {
		cells := []string{text(item, "entityType")}
		for _, name := range []string{"pk", "sk", "GSI1PK", "GSI1SK"} {
			value := timestamp.ReplaceAllString(abstract.Replace(text(item, name)), "‹time›")
			if value = shardOf.ReplaceAllString(value, "GLOBAL_TX#‹0–3›"); value != "" {
				value = "`" + value + "`"
			}
			cells = append(cells, value)
			delete(item, name)
		}
		delete(item, "entityType")
		cells = append(cells, strings.Join(slices.Sorted(maps.Keys(item)), ", "))
		rows = append(rows, "| "+strings.Join(cells, " | ")+" |\n")
	}
	slices.Sort(rows)
	want := "| entityType | pk | sk | GSI1PK | GSI1SK | other attributes |\n|---|---|---|---|---|---|\n" + strings.Join(rows, "")

	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(readme), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table", path)
	}
	if *update {
		text := fmt.Sprint(before, begin, want, end, after)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run go test ./core -update (-want +got):\n%s", diff)
	}
}
