// Shop is an e-commerce application in one DynamoDB table: users, a catalogue,
// carts and orders. The program walks through its access patterns and prints the
// keys that each uses, what it finds, and what it costs. It never scans.
//
// Run it from the root of the repository:
//
//	go run ./examples/shop
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
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	name := flags.String("table", "Shop", "name of the table; created if missing")
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

// show is the program proper: a table, sample data, and a walk through the
// access patterns.
func show(ctx context.Context, engine *tabletest.Engine, s table.Schema, out io.Writer) error {
	client := engine.Client()
	if err := s.Ensure(ctx, client); err != nil {
		return err
	}
	m := &report.Meter{}
	tbl, err := table.New(client, s, &table.Options{Observe: m.Observe})
	if err != nil {
		return err
	}
	market, err := newShop(tbl, sampleRounds)
	if err != nil {
		return err
	}
	w := walk{shop: market, Report: report.Report{Out: out, Meter: m}}
	w.Line("Table %s on %s: keys %s and %s, indexes %s and %s", s.Name, engine.Endpoint(), s.PK, s.SK, gsi1, gsi2)
	return w.run(ctx)
}
