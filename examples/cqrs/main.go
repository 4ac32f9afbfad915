// Cqrs shows a system for many tenants whose data is changed by commands only:
// each command names the version it was made for, and leaves behind the data at
// the next version, itself, and the history of that version. All of it is in one
// table, as are numbers for orders, a tree of departments, tasks with progress,
// and an import that is killed on the way and goes on.
//
// Run it from the root of the repository:
//
//	go run ./examples/cqrs
//
// It uses a local DynamoDB engine, which it starts and if need be installs, or
// the one that AWS_ENDPOINT_URL_DYNAMODB names.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cqrs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("cqrs", flag.ContinueOnError)
	name := flags.String("table", "Cqrs", "name of the table; created if missing")
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
	if *endpoint != "" {
		if err := os.Setenv(tabletest.EndpointVariable, *endpoint); err != nil {
			return err
		}
	}
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if closed := engine.Close(); err == nil {
			err = closed
		}
	}()
	sticky := &report.Writer{Writer: out}
	if err := show(ctx, engine, schema(*name), sticky); err != nil {
		return err
	}
	return sticky.Err
}

// clock is a time that stands still until it is set, so that the program can
// live through a new year.
type clock struct{ now atomic.Pointer[time.Time] }

func (c *clock) set(t time.Time) { c.now.Store(&t) }

func (c *clock) read() time.Time { return *c.now.Load() }

// walk is the program proper: who asks, and where the answers are printed.
type walk struct {
	service     *service
	acme, other tenant
	clock       *clock
	out         report.Report
	// mortal returns the service as a process sees it that dies after so many
	// requests.
	mortal func(requests int) (*service, error)
}

// show makes the table and walks through the access patterns.
func show(ctx context.Context, engine *tabletest.Engine, s table.Schema, w io.Writer) error {
	client := engine.Client()
	if err := s.Ensure(ctx, client); err != nil {
		return err
	}
	now := &clock{}
	now.set(time.Date(2024, 12, 31, 23, 59, 0, 0, time.UTC))
	// The tokens of pages are sealed. A service reads its keys from a secret.
	cursors, err := paginate.New([]paginate.Key{paginate.NewKey()}, nil)
	if err != nil {
		return err
	}
	meter := &report.Meter{}
	options := &table.Options{Observe: meter.Observe, Now: now.read, Cursors: cursors}
	open := func(client table.Client) (*service, error) {
		t, err := table.New(client, s, options)
		if err != nil {
			return nil, err
		}
		return newService(t)
	}
	svc, err := open(client)
	if err != nil {
		return err
	}
	out := report.Report{Out: w, Meter: meter}
	out.Line("Table %s on %s", s.Name, engine.Endpoint())
	return walk{
		service: svc, clock: now, out: out,
		acme:  svc.as(Caller{Tenant: "ACME", User: "ana", IP: "192.0.2.7"}),
		other: svc.as(Caller{Tenant: "GLOBEX", User: "bob", IP: "198.51.100.9"}),
		mortal: func(requests int) (*service, error) {
			faults := &tabletest.Faults{}
			faults.Next("", make([]tabletest.Fault, requests)...)
			faults.Always("", tabletest.Drop())
			return open(engine.Client(faults.Install))
		},
	}.all(ctx)
}
