package probes_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/table"
)

// all are the probes of every area.
func all() []claims {
	return slices.Concat(numbers(), sets(), sizes(), keyValues(), conditions(), updates(), queries(), operands(), transactions(), tables(), vectors())
}

func TestNumberSizes(t *testing.T) {
	t.Parallel()
	for literal, size := range numberSizes {
		if got := (table.Item{"n": n(literal)}).Size() - len("n"); got != size {
			t.Errorf("%s has %d bytes, DynamoDB counts %d", literal, got, size)
		}
	}
}

// TestClaims shows that each claim about AWS in docs and doc comments has a source, and that
// docs/evidence.md counts them. A claim is here by words of it.
func TestClaims(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for line := range strings.Lines(read(t, "suites/probes/claims.tsv")) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) != 4 || row[2] == "" {
			t.Errorf("no row of four: %q", line)
			continue
		}
		file, kind, words := row[0], row[1], row[3]
		if file == "file" {
			continue
		}
		counts[kind]++
		if n := strings.Count(read(t, file), words); n != 1 {
			t.Errorf("%s has %q %d times", file, words, n)
		}
	}
	line := fmt.Sprintf("| %d | %d | %d | 0 |", counts["page"], counts["capture"], counts["sdk"])
	if !strings.Contains(read(t, "docs/evidence.md"), line) {
		t.Errorf("docs/evidence.md does not count the claims: %s", line)
	}
	delete(counts, "page")
	delete(counts, "capture")
	delete(counts, "sdk")
	if len(counts) > 0 {
		t.Errorf("kinds that nobody knows: %v", counts)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
