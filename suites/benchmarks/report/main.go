// Command report reads the output of several runs of the benchmarks and prints
// tables in Markdown: medians, and their ratios to the raw SDK's.
//
//	go run ./suites/benchmarks/report -into docs/performance.md < results
//
// With -into it also writes the short table into that file.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
)

// tables say which library the others are measured by, and which they are; empty
// means all.
var tables = []struct {
	base string
	only string
}{
	{base: "sdk"},
	{base: "table", only: "singletable"},
}

// columns are the units to print, as benchfmt has them.
var columns = []struct{ unit, title string }{
	{"cpu-sec/op", "CPU"},
	{"sec/op", "time"},
	{"B/op", "bytes"},
	{"allocs/op", "allocs"},
}

func main() {
	into := flag.String("into", "", "`file` to write the short table into")
	flag.Parse()
	if err := report(os.Stdin, os.Stdout, *into); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func report(in io.Reader, out io.Writer, into string) error {
	all, err := parse(in)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, t := range tables {
		rows := slices.DeleteFunc(slices.Clone(all.rows), func(r *row) bool { return t.only != "" && r.lib != t.only })
		if len(rows) == 0 {
			continue
		}
		if err := all.table(&b, rows, t.base); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b, "Medians of %s runs, with the range that holds the median at 95 %%. "+
		"(~) means that the difference may be noise.\n", all.runs())
	if _, err := io.WriteString(out, b.String()); err != nil || into == "" {
		return err
	}
	short, err := all.summary()
	if err != nil {
		return err
	}
	return writeInto(into, short)
}

// table writes the rows and their ratios to those of base.
func (s *results) table(b *strings.Builder, rows []*row, base string) error {
	b.WriteString("| benchmark | on | library |")
	for _, c := range columns {
		b.WriteString(" " + c.title + " | × " + base + " |")
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---:|---:|", len(columns)) + "\n")
	for _, r := range rows {
		reference, ok := s.find(r.job, base)
		if !ok {
			return fmt.Errorf("%s on %s: no results of %s", r.name, r.on, base)
		}
		fmt.Fprintf(b, "| %s | %s | %s |", r.name, r.on, r.lib)
		for _, c := range columns {
			b.WriteString(cells(r.values[c.unit], reference.values[c.unit], c.unit))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return nil
}

// cells returns a median and its ratio to that of the reference.
func cells(values, reference []float64, unit string) string {
	if len(values) == 0 || len(reference) == 0 {
		return " – | – |"
	}
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	other := benchmath.NewSample(slices.Clone(reference), &benchmath.DefaultThresholds)
	own := benchmath.AssumeNothing.Summary(sample, 0.95)
	by := benchmath.AssumeNothing.Summary(other, 0.95)
	text := fmt.Sprintf("%.0f", own.Center)
	if strings.HasSuffix(unit, "sec/op") {
		text = benchunit.Scale(own.Center, benchunit.Decimal) + "s ± " + own.PctRangeString()
	}
	ratio := fmt.Sprintf("%.3f", own.Center/by.Center)
	if c := benchmath.AssumeNothing.Compare(other, sample); c.P > c.Alpha && ratio != "1.000" {
		ratio += " (~)"
	}
	return " " + text + " | " + ratio + " |"
}

// job is one benchmark in one place.
type job struct{ name, on string }

// row holds the results of one job done with one library.
type row struct {
	job
	lib    string
	values map[string][]float64 // By unit.
}

// results are rows in the order of their first appearance.
type results struct{ rows []*row }

func (s *results) find(j job, lib string) (*row, bool) {
	i := slices.IndexFunc(s.rows, func(r *row) bool { return r.job == j && r.lib == lib })
	if i < 0 {
		return nil, false
	}
	return s.rows[i], true
}

func (s *results) add(j job, lib string, values []benchfmt.Value) {
	r, ok := s.find(j, lib)
	if !ok {
		r = &row{job: j, lib: lib, values: map[string][]float64{}}
		s.rows = append(s.rows, r)
	}
	for _, v := range values {
		r.values[v.Unit] = append(r.values[v.Unit], v.Value)
	}
}

// runs says how often the benchmarks ran, by the rows with the fewest and the
// most results.
func (s *results) runs() string {
	count := func(r *row) int { return len(r.values["sec/op"]) }
	byCount := func(a, b *row) int { return cmp.Compare(count(a), count(b)) }
	low, high := count(slices.MinFunc(s.rows, byCount)), count(slices.MaxFunc(s.rows, byCount))
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// parse reads the results of benchmarks with the sub-benchmarks on and lib.
func parse(in io.Reader) (*results, error) {
	all := &results{}
	reader := benchfmt.NewReader(in, "standard input")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, record
		case *benchfmt.Result:
			name, parts := record.Name.Parts()
			var on, lib string
			for _, part := range parts {
				if v, ok := strings.CutPrefix(string(part), "/on="); ok {
					on = v
				}
				if v, ok := strings.CutPrefix(string(part), "/lib="); ok {
					lib = v
				}
			}
			if on != "" && lib != "" {
				all.add(job{string(name), on}, lib, record.Values)
			}
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	if len(all.rows) == 0 {
		return nil, errors.New("no results")
	}
	return all, nil
}
