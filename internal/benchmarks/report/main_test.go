package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const output = `goos: linux
pkg: example
BenchmarkGet/on=stub/lib=sdk-2          1000  30000 ns/op  40000 cpu-ns/op  1000 B/op  100 allocs/op
BenchmarkGet/on=stub/lib=singletable-2  1000  33000 ns/op  40000 cpu-ns/op  1010 B/op  101 allocs/op
BenchmarkTransact/on=stub/lib=sdk-2     1000  30000 ns/op
BenchmarkTransact/on=stub/lib=sdk-expression-2 1000  60000 ns/op
BenchmarkOther-2                        1000  33000 ns/op
PASS
ok  	example	0.1s
BenchmarkGet/on=stub/lib=sdk-2          1000  34000 ns/op  40000 cpu-ns/op  1000 B/op  100 allocs/op
BenchmarkGet/on=stub/lib=singletable-2  1000  31000 ns/op  40000 cpu-ns/op  1010 B/op  101 allocs/op
BenchmarkTransact/on=stub/lib=sdk-2     1000  30000 ns/op
BenchmarkTransact/on=stub/lib=sdk-expression-2 1000  60000 ns/op
`

func TestReport(t *testing.T) {
	t.Parallel()
	const want = `| benchmark | on | library | CPU | × sdk | time | × sdk | bytes | × sdk | allocs | × sdk |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
| Get | stub | sdk | 40.00µs ± ∞ | 1.000 | 32.00µs ± ∞ | 1.000 | 1000 | 1.000 | 100 | 1.000 |
| Get | stub | singletable | 40.00µs ± ∞ | 1.000 | 32.00µs ± ∞ | 1.000 | 1010 | 1.010 (~) | 101 | 1.010 (~) |
| Transact | stub | sdk | – | – | 30.00µs ± ∞ | 1.000 | – | – | – | – |
| Transact | stub | sdk-expression | – | – | 60.00µs ± ∞ | 2.000 (~) | – | – | – | – |

| benchmark | on | library | CPU | × sdk-expression | time | × sdk-expression | bytes | × sdk-expression | allocs | × sdk-expression |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
| Transact | stub | sdk | – | – | 30.00µs ± ∞ | 0.500 (~) | – | – | – | – |
| Transact | stub | sdk-expression | – | – | 60.00µs ± ∞ | 1.000 | – | – | – | – |

Medians of 2 runs, with the range that holds the median at 95 %. (~) means that the difference may be noise.
`
	var got strings.Builder
	if err := report(strings.NewReader(output), &got); err != nil {
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
			if err := report(strings.NewReader(in), &strings.Builder{}); err == nil {
				t.Error("no error")
			}
		})
	}
}
