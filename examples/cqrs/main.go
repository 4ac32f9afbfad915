// Cqrs shows the system of package core: records of many tenants that are changed by
// commands only, with history. README.md describes it.
//
// From the root of the repository:
//
//	go run ./examples/cqrs -dev
//	go run ./examples/cqrs -walk
//
// The first serves it over HTTP, the second walks through its access patterns.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/singletable/singletable/examples/internal/program"
)

func main() { program.Service("cqrs", run) }

// walked is the walk through the access patterns.
var walked = program.Program{Name: "cqrs", Table: "Cqrs", Show: show}

// options are the flags of the server.
type options struct {
	program.Options
	data, database string
}

func parse(args []string, usage io.Writer) (options, error) {
	o := options{Options: program.Options{Table: walked.Table}}
	flags := flag.NewFlagSet("cqrs", flag.ContinueOnError)
	flags.SetOutput(usage)
	dev := flags.Bool("dev", false, "serve on this machine only: a local engine, tokens for anyone, a new cursor key")
	flags.Bool("walk", false, "walk through the access patterns instead, and end; -table and -endpoint go with it")
	flags.StringVar(&o.data, "data", "", "`file` that keeps the data of the local engine; in memory by default")
	if err := o.Parse(flags, args); err != nil {
		return o, err
	}
	if !*dev {
		return o, errors.New("-dev or -walk is needed; a service of your own is assembled as develop.go does it")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	walk := func(arg string) bool { return arg == "-walk" || arg == "--walk" }
	if slices.ContainsFunc(args, walk) {
		return walked.Run(ctx, slices.DeleteFunc(slices.Clone(args), walk), stdout)
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	o.database = os.Getenv("DATABASE_URL")
	return develop(ctx, o, stdout, slog.New(slog.NewJSONHandler(stderr, nil)))
}
