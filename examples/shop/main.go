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

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/examples/shop/walk"
)

func main() { program.Service("shop", run) }

// options are the flags.
type options struct {
	program.Options
	walk, dev, serve bool
	admin            string
}

func parse(args []string, usage io.Writer) (options, error) {
	o := options{Options: program.Options{Table: walk.Program.Table}}
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.BoolVar(&o.walk, "walk", false, "walk through the access patterns on a local engine, and print them; without another mode, this one")
	flags.BoolVar(&o.dev, "dev", false, "serve for development on this machine only: a local engine, sample data, a new key")
	flags.BoolVar(&o.serve, "serve", false, "serve a table that is there")
	flags.StringVar(&o.admin, "admin", "", "make the user with this `e-mail` an admin")
	if err := o.Parse(flags, args); err != nil {
		return o, err
	}
	modes := 0
	for _, mode := range []bool{o.walk, o.dev, o.serve, o.admin != ""} {
		if mode {
			modes++
		}
	}
	if modes > 1 {
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
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	switch {
	case o.walk:
		return walk.Program.Run(ctx, []string{"-table", o.Table}, stdout)
	case o.dev:
		return develop(ctx, o, stdout, log)
	}
	client, name, err := setup.Client(ctx, func(string) string { return o.Table })
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
	keys, err := setup.ParseKeys(os.Getenv(setup.KeyVariable))
	if err != nil {
		return fmt.Errorf("%s: %w (-dev does without)", setup.KeyVariable, err)
	}
	shop, err := setup.Shop(client, name, keys, store.Rounds)
	if err != nil {
		return err
	}
	api, err := setup.API(shop, keys, log)
	if err != nil {
		return err
	}
	return o.Serve(ctx, api.Handler(), stdout, log)
}
