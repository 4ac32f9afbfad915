// Appcore is a payments API: users, transactions and notifications in one
// DynamoDB table, behind HTTP. README.md describes it.
//
// For a look at it, from the root of the repository:
//
//	go run ./examples/appcore -dev -demo
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/table/tabletest"
)

func main() { program.Service("appcore", run) }

// options are the flags.
type options struct {
	dev, demo             bool
	addr, table, endpoint string
	data                  string
	limits                httpapi.Limits
}

func parse(args []string, usage io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("appcore", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.BoolVar(&o.dev, "dev", false, "run for development on this machine only: a local engine, tokens for anyone, a new cursor key")
	flags.BoolVar(&o.demo, "demo", false, "create users with history; with -dev only")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free one")
	flags.StringVar(&o.table, "table", "AppCore", "name of the table; with -dev it is created if missing")
	flags.StringVar(&o.endpoint, "endpoint", "", "DynamoDB `URL`, instead of AWS or a local engine")
	flags.StringVar(&o.data, "data", "", "`file` that keeps the data of the local engine; in memory by default")
	flags.Float64Var(&o.limits.PerSecond, "rate", 50, "how many requests a second each user may send; 0 is no limit")
	flags.IntVar(&o.limits.Burst, "burst", 100, "how many of them at once")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.demo && !o.dev:
		return o, errors.New("-demo goes with -dev: it writes made-up transactions")
	case o.data != "" && !o.dev:
		return o, errors.New("-data goes with -dev: it is for the local engine")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.endpoint != "" {
		// The SDK's own variable, which the local engine gives way to as well.
		if err := os.Setenv(tabletest.EndpointVariable, o.endpoint); err != nil {
			return err
		}
	}
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	limiter, err := httpapi.NewLimiter(o.limits)
	if err != nil {
		return fmt.Errorf("-rate and -burst: %w", err)
	}
	options := &api.Options{Limiter: limiter}
	if o.dev {
		return develop(ctx, o, options, stdout, log)
	}
	app, err := setup.Production(ctx, o.table, os.Getenv, log, options)
	if err != nil {
		return fmt.Errorf("%w (-dev does without)", err)
	}
	// A wrong table or secret is found now, not by the first request.
	if err := core.Schema(o.table).Verify(ctx, app.Client); err != nil {
		return err
	}
	if _, err := app.Lists(ctx); err != nil {
		return err
	}
	return httpapi.Serve(ctx, o.addr, app.API.Handler(nil), log, func(url string) {
		fmt.Fprintf(stdout, "listening on %s\n", url)
	})
}
