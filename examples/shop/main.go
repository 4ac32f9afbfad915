// Shop is an e-commerce application in one DynamoDB table: a walk through its access
// patterns, and a server with a store page. README.md describes it.
//
// From the root of the repository:
//
//	go run ./examples/shop
//	go run ./examples/shop -dev
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/examples/shop/walk"
	"github.com/singletable/singletable/table/tabletest"
)

func main() { program.Service("shop", run) }

// options are the flags.
type options struct {
	walk, dev, serve             bool
	admin, addr, table, endpoint string
}

func parse(args []string, usage io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.BoolVar(&o.walk, "walk", false, "walk through the access patterns on a local engine, and print them; without another mode, this one")
	flags.BoolVar(&o.dev, "dev", false, "serve for development on this machine only: a local engine, sample data, a new key")
	flags.BoolVar(&o.serve, "serve", false, "serve a table that is there")
	flags.StringVar(&o.admin, "admin", "", "make the user with this `e-mail` an admin")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free one")
	flags.StringVar(&o.table, "table", "Shop", "name of the table; with -walk and -dev it is created if missing")
	flags.StringVar(&o.endpoint, "endpoint", "", "DynamoDB `URL`, instead of AWS or a local engine")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	modes := 0
	for _, mode := range []bool{o.walk, o.dev, o.serve, o.admin != ""} {
		if mode {
			modes++
		}
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case modes > 1:
		return o, errors.New("-walk, -dev, -serve and -admin exclude each other")
	}
	o.walk = modes == 0 || o.walk
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
	switch {
	case o.walk:
		return walk.Program.Run(ctx, []string{"-table", o.table}, stdout)
	case o.dev:
		return develop(ctx, o, stdout, log)
	}
	client, name, err := setup.Client(ctx, func(string) string { return o.table })
	if err != nil {
		return err
	}
	// A wrong table is found now, not by the first request.
	if err := store.Schema(name).Verify(ctx, client); err != nil {
		return err
	}
	if o.admin != "" {
		shop, err := setup.Shop(client, name, nil, store.Rounds)
		if err == nil {
			_, err = shop.SetRole(ctx, "command", o.admin, store.Admin)
		}
		return err
	}
	key, err := setup.Key(os.Getenv)
	if err != nil {
		return fmt.Errorf("%w (-dev does without)", err)
	}
	shop, err := setup.Shop(client, name, key, store.Rounds)
	if err != nil {
		return err
	}
	api, err := setup.API(shop, key, log)
	if err != nil {
		return err
	}
	return httpapi.Serve(ctx, o.addr, api.Handler(), log, func(url string) { fmt.Fprintf(stdout, "listening on %s\n", url) })
}
