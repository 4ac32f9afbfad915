// Quickstart shows single-table design at work: it creates the table AppCore,
// writes users, transactions and notifications into it, and reads them back by
// the four access patterns of a small payments application, with the keys it
// uses and what each read costs. Then it repeats a write as a client would that
// got no answer.
//
// Run it from the root of the repository:
//
//	go run ./examples/quickstart
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
	"syscall"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	name := flags.String("table", "AppCore", "name of the table; created if missing")
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

// show is the program proper: a table, data, the four access patterns, and a write
// that is repeated.
func show(ctx context.Context, engine *tabletest.Engine, s table.Schema, w io.Writer) error {
	client := engine.Client()
	if err := s.Ensure(ctx, client); err != nil {
		return err
	}
	meter := &report.Meter{}
	tbl, err := table.New(client, s, &table.Options{Observe: meter.Observe})
	if err != nil {
		return err
	}
	r, err := newRepos(tbl)
	if err != nil {
		return err
	}
	out := report.Report{Out: w, Meter: meter}
	out.Line("Table %s on %s", s.Name, engine.Endpoint())

	out.Title("Sample data")
	if err := seed(ctx, r); err != nil {
		return err
	}
	out.Line("  2 users, 16 transactions (2 items each), 3 notifications: one table, one partition for each user")
	requests, units := meter.Take()
	out.Line("  requests %d, write units %g", requests, units)

	if err := userTransactions(ctx, r, out, "u-123"); err != nil {
		return err
	}
	if err := transactionByID(ctx, r, out, "tx-abc"); err != nil {
		return err
	}
	if err := userNotifications(ctx, r, out, "u-123"); err != nil {
		return err
	}
	if err := newestTransactions(ctx, r, out, 10); err != nil {
		return err
	}
	return retriedCreate(ctx, r, out)
}
