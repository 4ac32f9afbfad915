package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
)

// figures are the rows of the summary.
var figures = []struct{ name, on, unit, title string }{
	{"Query", "stub", "cpu-sec/op", "`Query` of 100 items: CPU"},
	{"Query", "stub", "B/op", "… bytes"},
	{"Query", "stub", "allocs/op", "… allocations"},
	{"Query", "engine", "cpu-sec/op", "… the client's CPU on the local engine"},
	{"Get", "stub", "cpu-sec/op", "`Get`: CPU"},
	{"Get", "stub", "B/op", "… bytes"},
	{"Create", "stub", "cpu-sec/op", "`Create`, with a copy: CPU"},
	{"Create", "stub", "B/op", "… bytes"},
	{"Update", "stub", "cpu-sec/op", "`Update` of one field: CPU"},
	{"Update", "stub", "B/op", "… bytes"},
	{"UpdateBoth", "stub", "cpu-sec/op", "`Update` of one field, with a copy: CPU"},
	{"UpdateBoth", "stub", "B/op", "… bytes"},
	{"TransactPut", "stub", "cpu-sec/op", "`TransactPut` of 3 items: CPU"},
	{"TransactPut", "stub", "B/op", "… bytes"},
	{"Transact", "stub", "cpu-sec/op", "`Transact`, with a condition, of 3 items: CPU"},
	{"Transact", "stub", "B/op", "… bytes"},
	{"TransactCreate", "stub", "cpu-sec/op", "`TransactCreate` of 100 items: CPU"},
	{"TransactCreate", "stub", "B/op", "… bytes"},
}

// peers are the columns of the summary. The others are ratios to the first.
var peers = []struct{ lib, title string }{
	{"sdk", "SDK, `attributevalue`"},
	{"sdk-expression", "… and `expression`"},
	{"sdk-maps", "SDK, items by hand"},
	{"singletable", "**`repo`**"},
	{"table", "`table` alone"},
	{"guregu", "guregu/dynamo"},
}

// summary returns the short table.
func (s *results) summary() (string, error) {
	var b strings.Builder
	b.WriteString("| |")
	for _, p := range peers {
		b.WriteString(" " + p.title + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(peers)) + "\n")
	for _, f := range figures {
		b.WriteString("| " + f.title + " |")
		var base float64
		for i, p := range peers {
			r, ok := s.find(job{f.name, f.on}, p.lib)
			if !ok || len(r.values[f.unit]) == 0 {
				return "", fmt.Errorf("%s on %s: no %s of %s", f.name, f.on, f.unit, p.lib)
			}
			sample := benchmath.NewSample(r.values[f.unit], &benchmath.DefaultThresholds)
			median := benchmath.AssumeNothing.Summary(sample, 0.95).Center
			if i == 0 {
				base = median
				b.WriteString(" " + amount(median, f.unit) + " |")
				continue
			}
			fmt.Fprintf(&b, " %.2f × |", median/base)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
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

// The marks between which a file has the table.
const (
	begin = "<!-- make bench: begin -->\n"
	end   = "<!-- make bench: end -->"
)

// writeInto puts a table between the marks of a file.
func writeInto(file, table string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		return errors.New(file + " does not have the marks around the table")
	}
	changed := bytes.Join([][]byte{before, []byte(begin + "\n" + table + "\n" + end), after}, nil)
	return os.WriteFile(file, changed, 0o644)
}
