package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/check"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
)

const checkHelp = `Usage: singletable check [flags] SCHEMA.json

Check finds faults in the design of a table, for a build: a partition key that all writes
of a type share, an index that nothing is in, a list without an order. It talks to nothing.
The page docs/check.md of the library lists the rules; a finding names its source.

A finding that is right for your table is accepted in the schema file, with a reason:

  "accepted": [
    {"id": "low-cardinality-key", "place": "entity CATEGORY", "reason": "30 categories"}
  ]

An accepted finding that does not occur any more is a finding, too. -load is the load of
"singletable simulate": it decides more rules, and leaves out keys that cannot be hot.

-base is the schema file of the live table, as the main branch has it. Check then says what
the change means for that table, step by step in the order of deployment. Steps do not
change the exit code. In a GitHub workflow, findings and steps are annotations, too.

Exit codes: 0 no finding but accepted ones, 1 findings, 2 no result.

Examples:

  singletable check schema.json
  singletable check -load load.json -factor 10 schema.json
  git show origin/main:schema.json | singletable check -base - schema.json
`

// checkedDesign is the output of check.
type checkedDesign struct {
	Table    string          `json:"table"`
	OK       bool            `json:"ok"`
	Findings []check.Finding `json:"findings"`
	Accepted []check.Finding `json:"accepted"`
	Steps    []check.Step    `json:"steps,omitempty"`
	// file and load are the names of the files, and base that of the former one, or empty.
	file, load, base string
}

// designFlags are the flags of check.
type designFlags struct {
	load, base  *string
	factor      *float64
	annotations *bool
}

func newDesignFlags(fs *flag.FlagSet) designFlags {
	return designFlags{
		load:        fs.String("load", "", "`file` with the load of the table, as of simulate"),
		factor:      fs.Float64("factor", 1, "the `number` of times the load that the table has to take"),
		base:        fs.String("base", "", "schema `file` of the live table: say what the change means for it"),
		annotations: fs.Bool("annotations", false, "print annotations for GitHub; by default in a GitHub workflow"),
	}
}

func (p *program) check(_ context.Context, args []string) error {
	fs, asJSON := flags("check")
	f := newDesignFlags(fs)
	rest, err := p.parse(fs, checkHelp, args, oneSchema)
	if err != nil {
		return err
	}
	if err := f.validate(rest[0], *asJSON); err != nil {
		return err
	}
	out, err := p.checkFile(rest[0], f)
	if err != nil {
		return err
	}
	text := out.text()
	if *f.annotations || p.getenv("GITHUB_ACTIONS") == "true" {
		text += out.annotations()
	}
	return p.printResult(out, text, *asJSON, out.OK)
}

// validate checks the command line.
func (f designFlags) validate(file string, asJSON bool) error {
	inputs := slices.DeleteFunc([]string{file, *f.base, *f.load}, func(name string) bool { return name != "-" })
	switch {
	case len(inputs) > 1:
		return usageError("standard input is one file")
	case !(*f.factor > 0 && *f.factor <= 1e6):
		return usageError("-factor must be above 0, and at most 1,000,000")
	case *f.annotations && asJSON:
		return usageError("-annotations are no JSON")
	}
	return nil
}

// checkFile checks a schema file.
func (p *program) checkFile(name string, f designFlags) (checkedDesign, error) {
	file, text, at, err := p.readSchemaFile(name, "")
	if err != nil {
		return checkedDesign{}, err
	}
	if problems := check.Validate(file.Accepted); len(problems) > 0 {
		return checkedDesign{}, fmt.Errorf("%s: %s", at, strings.Join(problems, "\n"))
	}
	d := check.Design{Model: file.Model, Factor: *f.factor}
	loadText := ""
	if *f.load != "" {
		if d.Load, loadText, err = p.loadOf(*f.load, file); err != nil {
			return checkedDesign{}, err
		}
	}
	out := checkedDesign{Table: file.Name, file: at, load: *f.load, base: *f.base}
	out.Findings, out.Accepted = check.Run(d, file.Accepted)
	out.OK = len(out.Findings) == 0
	for _, all := range [][]check.Finding{out.Findings, out.Accepted} {
		check.Locate(all, text, loadText)
	}
	if *f.base != "" {
		former, err := p.readModel(*f.base, "")
		if err != nil {
			return checkedDesign{}, err
		}
		out.Steps = check.Steps(former, file.Model, d.Load)
	}
	// JSON has lists, also where there is nothing.
	out.Findings, out.Accepted = append([]check.Finding{}, out.Findings...), append([]check.Finding{}, out.Accepted...)
	return out, nil
}

// loadOf reads the load of a schema file, whose indexes it must have.
func (p *program) loadOf(name string, file schemaFile) (*simulate.Load, string, error) {
	text, at, err := p.readInput(name, maxInput)
	if err != nil {
		return nil, "", err
	}
	l, err := simulate.Read(strings.NewReader(text))
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", at, err)
	}
	has := map[string]bool{"": true}
	for _, x := range file.Indexes {
		has[x.Name] = true
	}
	var errs []error
	for _, index := range slices.Sorted(maps.Keys(simulate.Peaks(l))) {
		if !has[index] {
			errs = append(errs, fmt.Errorf("%s: the load has the index %q, and the schema file does not", at, index))
		}
	}
	return &l, text, errors.Join(errs...)
}

func (c checkedDesign) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d accepted\n", oneLine(c.Table), quantity.Of(len(c.Findings), "finding"), len(c.Accepted))
	for _, f := range c.Findings {
		fmt.Fprintf(&b, "\n%s: %s%s\n  %s\n  Do: %s\n  Source: %s\n", f.ID, oneLine(f.Place), c.lineOf(f), oneLine(f.Says), f.Do, f.Source)
	}
	if len(c.Accepted) > 0 {
		b.WriteString("\nAccepted:\n")
	}
	for _, f := range c.Accepted {
		fmt.Fprintf(&b, "  %s: %s: %s\n", f.ID, oneLine(f.Place), oneLine(f.Reason))
	}
	if c.base != "" {
		b.WriteString(c.change())
	}
	return b.String()
}

// lineOf says where a finding is.
func (c checkedDesign) lineOf(f check.Finding) string {
	if f.Line == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", oneLine(c.fileOf(f)), f.Line)
}

func (c checkedDesign) fileOf(f check.Finding) string {
	if f.InLoad {
		return c.load
	}
	return c.file
}

// change says what the change from the former file takes.
func (c checkedDesign) change() string {
	if len(c.Steps) == 0 {
		return "\nThe change from " + oneLine(c.base) + " moves nothing in a live table.\n"
	}
	var b strings.Builder
	b.WriteString("\nThe change from " + oneLine(c.base) + " for a live table, in the order of deployment:\n")
	when := ""
	for _, s := range c.Steps {
		if s.When != when {
			when = s.When
			fmt.Fprintf(&b, "  %s:\n", when)
		}
		fmt.Fprintf(&b, "    %s: %s\n      %s\n", oneLine(s.Place), oneLine(s.Does), s.Recipe)
	}
	return b.String()
}

// annotations returns commands of a GitHub workflow, which shows them at the lines of the files.
// They are read from standard output.
func (c checkedDesign) annotations() string {
	var b strings.Builder
	for _, f := range c.Findings {
		fmt.Fprintf(&b, "::error file=%s", property(c.fileOf(f)))
		if f.Line > 0 {
			fmt.Fprintf(&b, ",line=%d", f.Line)
		}
		fmt.Fprintf(&b, ",title=%s::%s\n", property(f.ID), message(f.Place+": "+f.Says+" "+f.Do))
	}
	for _, s := range c.Steps {
		kind := "notice"
		if s.Impossible {
			kind = "warning"
		}
		fmt.Fprintf(&b, "::%s file=%s,title=%s::%s\n", kind, property(c.file), property(s.When), message(s.Place+": "+s.Does+" "+s.Recipe))
	}
	return b.String()
}

// message and property escape a text in a command of a workflow.
func message(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(message(text))
}
