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
)

func main() { program.Service("appcore", run) }

// options are the flags.
type options struct {
	program.Options
	dev, demo bool
	data      string
	limits    httpapi.Limits
}

func parse(args []string, usage io.Writer) (options, error) {
	o := options{Options: program.Options{Table: "AppCore"}}
	flags := flag.NewFlagSet("appcore", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.BoolVar(&o.dev, "dev", false, "run for development on this machine only: a local engine, tokens for anyone, a new cursor key")
	flags.BoolVar(&o.demo, "demo", false, "create users with history; with -dev only")
	flags.StringVar(&o.data, "data", "", "`file` that keeps the data of the local engine; in memory by default")
	flags.Float64Var(&o.limits.PerSecond, "rate", 50, "how many requests a second each user may send; 0 is no limit")
	flags.IntVar(&o.limits.Burst, "burst", 100, "how many of them at once")
	if err := o.Parse(flags, args); err != nil {
		return o, err
	}
	switch {
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
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	limiter, err := httpapi.NewLimiter(o.limits)
	if err != nil {
		return fmt.Errorf("-rate and -burst: %w", err)
	}
	options := &api.Options{Limiter: limiter}
	if o.dev {
		return develop(ctx, o, options, stdout, log)
	}
	app, err := setup.Production(ctx, o.Table, os.Getenv, log, options)
	if err != nil {
		return fmt.Errorf("%w (-dev does without)", err)
	}
	// A wrong table or secret is found now, not by the first request.
	if err := core.Schema(o.Table).Verify(ctx, app.Client); err != nil {
		return err
	}
	if _, err := app.Lists(ctx); err != nil {
		return err
	}
	return o.Serve(ctx, app.API.Handler(nil), stdout, log)
}
