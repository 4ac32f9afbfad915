package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// output returns the results of two runs, without those of one library.
func output(without string) string {
	var b strings.Builder
	for _, name := range []string{"Query", "Get", "Create", "Update", "UpdateBoth", "TransactPut", "Transact", "CreateOps"} {
		for _, on := range []string{"stub", "engine"} {
			for i, lib := range []string{"sdk", "sdk-maps", "singletable", "guregu"} {
				for _, more := range []int{-100, 100} {
					if n := 1000 * (i + 1); lib != without {
						fmt.Fprintf(&b, "BenchmarkJob/job=%s/on=%s/lib=%s-2 100 %d ns/op %d cpu-ns/op %d B/op %d allocs/op\n", name, on, lib, n, n+more, 2*n, n/100)
					}
				}
			}
		}
	}
	return b.String() + "BenchmarkOther-2 1000 33000 ns/op\nPASS\n"
}

func TestReport(t *testing.T) {
	t.Parallel()
	const marked = "before\n<!-- make bench: begin -->\nold\n<!-- make bench: end -->\nafter\n"
	for name, tt := range map[string]struct {
		in, file string
		refused  bool
	}{
		"results":     {in: output(""), file: marked},
		"no marks":    {in: output(""), file: "before\n", refused: true},
		"nothing":     {in: "PASS\n", file: marked, refused: true},
		"one missing": {in: output("guregu"), file: marked, refused: true},
		"bad number":  {in: "BenchmarkJob/job=Get/on=stub/lib=sdk-2 1000 many ns/op\n" + output(""), file: marked, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "page.md")
			if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := report(strings.NewReader(tt.in), io.Discard, file); tt.refused != (err != nil) {
				t.Errorf("error %v", err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := string(text)
			if tt.refused {
				if got != tt.file {
					t.Errorf("the file has changed: %s", got)
				}
				return
			}
			for _, want := range []string{
				"before\n<!-- make bench: begin -->\n\n| | SDK, `attributevalue` |", "|---|---:|---:|---:|---:|\n",
				"| `Query` of 100 items: CPU | 1.000µs | 2.00 × | 3.00 × | 4.00 × |\n",
				"| … bytes | 2.0 KB | 2.00 × |", "× |\n\n<!-- make bench: end -->\nafter\n",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			if strings.Contains(got, "old") {
				t.Error("the old table is still there")
			}
		})
	}
}
