// Package report reads the output of several runs of the benchmarks and makes the table
// in docs/performance.md: medians of the raw SDK, and the ratios of the others to them.
//
//	go run ./suites/benchmarks report -into docs/performance.md < results
package report

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"

	"github.com/singletable/singletable/suites/benchmarks/figure"
)

// rows are those of the table.
var rows = []struct{ job, on, unit, title string }{
	{"Query", "stub", "cpu-sec/op", "`Query` of 100 items: CPU"},
	{"Query", "stub", "B/op", "… bytes"},
	{"Query", "stub", "allocs/op", "… allocations"},
	{"Get", "stub", "cpu-sec/op", "`Get`: CPU"},
	{"Get", "stub", "B/op", "… bytes"},
	{"Create", "stub", "cpu-sec/op", "`Create`, with a copy: CPU"},
	{"Update", "stub", "cpu-sec/op", "`Update` of one field: CPU"},
	{"TransactPut", "stub", "cpu-sec/op", "`TransactPut` of 3 items: CPU"},
	{"CreateOps", "stub", "cpu-sec/op", "`CreateOps` of 100 items: CPU"},
	{"CreateOps", "stub", "B/op", "… bytes"},
}

// peers are the columns. Those after the first are ratios to it.
var peers = []struct{ lib, title string }{
	{"sdk", "SDK, `attributevalue`"},
	{"sdk-maps", "SDK, items by hand"},
	{"singletable", "**`repo`**"},
	{"guregu", "guregu/dynamo"},
}

// Command prints the table, or writes it into the file that its flag names.
func Command(flags *flag.FlagSet) func(context.Context) error {
	into := flags.String("into", "", "`file` to write the table into")
	return func(context.Context) error { return report(os.Stdin, os.Stdout, *into) }
}

func report(in io.Reader, out io.Writer, into string) error {
	all, err := parse(in)
	if err != nil {
		return err
	}
	table, err := all.table()
	if err != nil {
		return err
	}
	fmt.Fprint(out, table)
	if into == "" {
		return nil
	}
	return figure.WriteInto(into, "<!-- make bench: begin -->\n", "<!-- make bench: end -->", "\n"+table+"\n")
}

// measured is what was done, with which library, and what the values are of.
type measured struct{ job, on, lib, unit string }

type results map[measured][]float64

// parse reads the results of benchmarks with the sub-benchmarks job, on and lib.
func parse(in io.Reader) (results, error) {
	all := results{}
	reader := benchfmt.NewReader(in, "standard input")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, record
		case *benchfmt.Result:
			var of measured
			_, parts := record.Name.Parts()
			for _, part := range parts {
				switch key, value, _ := strings.Cut(string(part), "="); key {
				case "/job":
					of.job = value
				case "/on":
					of.on = value
				case "/lib":
					of.lib = value
				}
			}
			for _, v := range record.Values {
				of.unit = v.Unit
				all[of] = append(all[of], v.Value)
			}
		}
	}
	return all, reader.Err()
}

func (r results) table() (string, error) {
	head := []string{""}
	for _, p := range peers {
		head = append(head, p.title)
	}
	lines := [][]string{head}
	for _, row := range rows {
		line := []string{row.title}
		var base float64
		for i, p := range peers {
			values := r[measured{row.job, row.on, p.lib, row.unit}]
			if len(values) == 0 {
				return "", fmt.Errorf("%s on %s: no %s of %s", row.job, row.on, row.unit, p.lib)
			}
			sample := benchmath.NewSample(values, &benchmath.DefaultThresholds)
			median := benchmath.AssumeNothing.Summary(sample, 0.95).Center
			if i == 0 {
				base = median
				line = append(line, amount(median, row.unit))
			} else {
				line = append(line, fmt.Sprintf("%.2f ×", median/base))
			}
		}
		lines = append(lines, line)
	}
	return figure.Table("|---|"+strings.Repeat("---:|", len(peers)), lines...), nil
}

func amount(v float64, unit string) string {
	if strings.HasSuffix(unit, "sec/op") {
		return benchunit.Scale(v, benchunit.Decimal) + "s"
	}
	if unit == "B/op" {
		return fmt.Sprintf("%.1f KB", v/1000)
	}
	return fmt.Sprintf("%.0f", v)
}
