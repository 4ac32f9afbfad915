// Package program runs the example programs: their flags, an engine, and the
// report that they write.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Program is a program that shows something on a table and reports about it.
type Program struct {
	// Name is the program's name.
	Name string
	// Table is the name of its table if the user gives no other.
	Table string
	// Show does it. The table may be there from an earlier run.
	Show func(ctx context.Context, engine *tabletest.Engine, table string, out report.Report) error
}

// Main is for the program's func main. It does not return after a failure.
func (p Program) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := p.Run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
		os.Exit(1)
	}
}

// Run runs the program with the arguments of a command line.
func (p Program) Run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	name := flags.String("table", p.Table, "name of the table; created if missing")
	endpoint := flags.String("endpoint", "", "DynamoDB `URL` to use instead of a local engine; credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the region from AWS_REGION")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := setEndpoint(*endpoint); err != nil {
		return err
	}
	return p.walk(ctx, *name, out)
}

// Walk is a [Mode] that shows it.
func (p Program) Walk(ctx context.Context, r Run) error { return p.walk(ctx, r.Table, r.Stdout) }

func (p Program) walk(ctx context.Context, table string, out io.Writer) error {
	return WithEngine(ctx, "", func(engine *tabletest.Engine) error { return p.Report(ctx, engine, table, out) })
}

// Open creates a table if it is missing, and returns it. The report has the cost of
// its requests.
func Open(ctx context.Context, engine *tabletest.Engine, spec schema.Table, out report.Report) (*table.Table, error) {
	client := engine.Client()
	if err := spec.Ensure(ctx, client); err != nil {
		return nil, err
	}
	return table.New(client, spec, &table.Options{Observe: out.Meter.Observe})
}

// UnlessThere passes over the error of sample data that an earlier run has written.
func UnlessThere(err error) error {
	if errors.Is(err, table.ErrExists) {
		return nil
	}
	return err
}

// Report runs the program on an engine that is there.
func (p Program) Report(ctx context.Context, engine *tabletest.Engine, table string, out io.Writer) error {
	w := &report.Writer{Writer: out}
	r := report.Report{Out: w, Meter: &report.Meter{}}
	r.Line("Table %s on %s", table, engine.Endpoint())
	if err := p.Show(ctx, engine, table, r); err != nil {
		return err
	}
	return w.Err
}
