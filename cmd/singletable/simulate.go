package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
)

const simulateHelp = `Usage: singletable simulate [flags] LOAD.json
       singletable simulate -trace FILE

Simulate says what a table's design does at a load: at which factor of today's load which
key of which index is refused first, and why; how many requests are refused over time; and
what a month costs, by access pattern and by index, with other designs next to it. If the
load has the handlers of the table's stream, it says which of them falls behind first, how
old records become, and when they are lost. It talks to nothing and takes seconds.

The load is a JSON file with the kinds of partition keys and the access patterns:

  {
    "name": "AppCore",
    "keys": {
      "user": {"count": 1000000, "distribution": "zipf:1.05"},
      "all":  {"count": 1, "sortKeys": "growing", "shards": 16}
    },
    "patterns": [
      {"name": "pay", "rate": 40, "requests": [
        {"op": "write", "keys": "user", "bytes": 600, "transaction": true,
         "indexes": [{"in": "GSI1", "keys": "all"}]}]},
      {"name": "payments of a user", "rate": 200, "requests": [
        {"op": "query", "keys": "user", "items": 20, "bytes": 600}]}
    ],
    "handlers": [{"name": "notify", "perRecord": 0.02, "batchSize": 100, "parallel": 2}]
  }

The page docs/simulate.md of the library lists all members, and main rules of the model. A
rate is how often a pattern happens in a second today. -trace makes such a file of the
requests of a service, which a Trace of package table/telemetry has recorded. Look through
it: a trace cannot tell which sort keys grow, nor which indexes a write writes.

The model has the rules that AWS documents, and a file of load can change what AWS does not
document: after how long a partition is divided, and an on-demand table is scaled. The
result ends with these. It is the same for the same -seed.

Exit codes: 0 the result was printed, 2 no result.

Examples:

  singletable simulate load.json
  singletable simulate -trace trace.jsonl >load.json
  singletable simulate -factor 100 -html load.html load.json
`

// simulateFlags are the flags of simulate.
type simulateFlags struct {
	factor       *float64
	seconds      *int
	seed         *uint64
	prices, html *string
	trace        *bool
}

func newSimulateFlags(fs *flag.FlagSet) simulateFlags {
	return simulateFlags{
		factor:  fs.Float64("factor", 1, "the `number` of times today's load that is simulated and priced"),
		seconds: fs.Int("seconds", 0, "the `number` of seconds that are simulated, at most 604800; by default an hour, or the whole shape"),
		seed:    fs.Uint64("seed", 1, "the `number` that chance begins with"),
		prices:  fs.String("prices", "", "`file` with other prices, as JSON; by default the list prices of us-east-1"),
		trace:   fs.Bool("trace", false, "the file is a trace: print the load that it shows"),
		html:    fs.String("html", "", "`file` to write a page with plots to"),
	}
}

func (p *program) simulate(_ context.Context, args []string) error {
	fs, asJSON := flags("simulate")
	f := newSimulateFlags(fs)
	rest, err := p.parse(fs, simulateHelp, args, takes{1, 1, "the name of a file, or - for standard input"})
	switch {
	case err != nil:
		return err
	case !(*f.factor > 0 && *f.factor <= 1e6):
		return usageError("-factor must be above 0, and at most 1,000,000")
	case *f.seconds < 0 || *f.seconds > 7*24*3600:
		return usageError("-seconds must be 1 to 604800")
	}
	if *f.trace {
		return p.traced(rest[0])
	}
	text, name, err := p.readInput(rest[0], maxInput)
	if err != nil {
		return err
	}
	l, err := simulate.Read(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	prices, err := p.prices(*f.prices)
	if err != nil {
		return err
	}
	report := simulate.New(l, cmp.Or(*f.seconds, min(l.Length(), 7*24*3600)), *f.factor, *f.seed, prices)
	if *f.html != "" {
		var page bytes.Buffer
		if err := report.Page(&page); err != nil {
			return err
		}
		if err := os.WriteFile(*f.html, page.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return p.printResult(report, report.Text(), *asJSON, true)
}

// prices reads a file of prices.
func (p *program) prices(file string) (simulate.Prices, error) {
	prices := simulate.USEast()
	if file == "" {
		return prices, nil
	}
	text, name, err := p.readInput(file, maxInput)
	if err != nil {
		return prices, err
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	prices = simulate.Prices{}
	if err := d.Decode(&prices); err != nil {
		return prices, fmt.Errorf("%s: the prices are no JSON of this form: %w", name, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return prices, fmt.Errorf("%s: there is more after the prices", name)
	}
	if err := prices.Check(); err != nil {
		return prices, fmt.Errorf("%s: %w", name, err)
	}
	return prices, nil
}

// traced prints the load of a trace, which bounds itself.
func (p *program) traced(file string) error {
	in, name := p.stdin, standardInput
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // Nothing was written.
		in, name = f, file
	}
	l, err := simulate.FromTrace(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return p.printJSON(l)
}
