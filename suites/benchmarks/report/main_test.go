package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const output = `goos: linux
pkg: example
BenchmarkGet/on=stub/lib=sdk-2          1000  30000 ns/op  40000 cpu-ns/op  1000 B/op  100 allocs/op
BenchmarkGet/on=stub/lib=singletable-2  1000  33000 ns/op  40000 cpu-ns/op  1010 B/op  101 allocs/op
BenchmarkGet/on=stub/lib=table-2        1000  16000 ns/op
BenchmarkOther-2                        1000  33000 ns/op
PASS
ok  	example	0.1s
BenchmarkGet/on=stub/lib=sdk-2          1000  34000 ns/op  40000 cpu-ns/op  1000 B/op  100 allocs/op
BenchmarkGet/on=stub/lib=singletable-2  1000  31000 ns/op  40000 cpu-ns/op  1010 B/op  101 allocs/op
BenchmarkGet/on=stub/lib=table-2        1000  16000 ns/op
`

func TestReport(t *testing.T) {
	t.Parallel()
	const want = `| benchmark | on | library | CPU | × sdk | time | × sdk | bytes | × sdk | allocs | × sdk |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
| Get | stub | sdk | 40.00µs ± ∞ | 1.000 | 32.00µs ± ∞ | 1.000 | 1000 | 1.000 | 100 | 1.000 |
| Get | stub | singletable | 40.00µs ± ∞ | 1.000 | 32.00µs ± ∞ | 1.000 | 1010 | 1.010 (~) | 101 | 1.010 (~) |
| Get | stub | table | – | – | 16.00µs ± ∞ | 0.500 (~) | – | – | – | – |

| benchmark | on | library | CPU | × table | time | × table | bytes | × table | allocs | × table |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
| Get | stub | singletable | – | – | 32.00µs ± ∞ | 2.000 (~) | – | – | – | – |

Medians of 2 runs, with the range that holds the median at 95 %. (~) means that the difference may be noise.
`
	var got strings.Builder
	if err := report(strings.NewReader(output), &got, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("wrong report (-want +got):\n%s", diff)
	}
}

func TestReportRefusals(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing":      "PASS\n",
		"no reference": "BenchmarkGet/on=stub/lib=singletable-2 1000 33000 ns/op\n",
		"bad number":   "BenchmarkGet/on=stub/lib=sdk-2 1000 many ns/op\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := report(strings.NewReader(in), &strings.Builder{}, ""); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestReadme(t *testing.T) {
	t.Parallel()
	var results strings.Builder
	for _, name := range []string{"Query", "Get", "Create", "Update", "UpdateBoth", "TransactPut", "Transact", "TransactCreate"} {
		for _, on := range []string{"stub", "engine"} {
			for i, lib := range []string{"sdk", "sdk-expression", "sdk-maps", "singletable", "table", "guregu"} {
				fmt.Fprintf(&results, "Benchmark%s/on=%s/lib=%s 100 %d ns/op %d cpu-ns/op %d B/op %d allocs/op\n",
					name, on, lib, 1000*(i+1), 1000*(i+1), 2000*(i+1), 10*(i+1))
			}
		}
	}
	file := filepath.Join(t.TempDir(), "README.md")
	for name, tt := range map[string]struct {
		text string
		ok   bool
	}{
		"marks":    {"before\n<!-- make bench: begin -->\nold\n<!-- make bench: end -->\nafter\n", true},
		"no marks": {"before\n", false},
	} {
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := report(strings.NewReader(results.String()), io.Discard, file)
		if tt.ok != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !tt.ok {
			if string(got) != tt.text {
				t.Errorf("%s: the file has changed: %s", name, got)
			}
			continue
		}
		for _, want := range []string{
			"before\n", "| `Query` of 100 items: CPU | 1.000µs | 2.00 × | 3.00 × | 4.00 × | 5.00 × | 6.00 × |\n",
			"| … bytes | 2.0 KB | 2.00 × |", "\nafter\n",
		} {
			if !strings.Contains(string(got), want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
		if strings.Contains(string(got), "old") {
			t.Errorf("%s: the old table is still there", name)
		}
	}
	if err := report(strings.NewReader(output), io.Discard, file); err == nil {
		t.Error("results without all libraries: no error")
	}
}
