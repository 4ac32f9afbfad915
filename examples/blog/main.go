// Blog is a blog in one DynamoDB table, behind HTTP: users, posts and comments, groups
// with members, and drives with folders and files. README.md describes it.
//
// For a look at it, from the root of the repository:
//
//	go run ./examples/blog -dev
//
// It also walks through the classic patterns of single-table design, one after the
// other, with keys, rows and costs, and migrates a blog from three tables into the
// single one while writers write:
//
//	go run ./examples/blog -walk
//
// Both use a local DynamoDB engine, which they start and if need be install, or the one
// that AWS_ENDPOINT_URL_DYNAMODB names.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/table/tabletest"
)

func main() { program.Service("blog", run) }

// options are the flags.
type options struct {
	dev                         bool
	addr, table, endpoint, data string
}

func parse(args []string, usage io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("blog", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.BoolVar(&o.dev, "dev", false, "serve for development on this machine only: a local engine, tokens for anyone")
	flags.Bool("walk", false, "show the patterns one after the other, and a migration; takes -table and -endpoint")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free one")
	flags.StringVar(&o.table, "table", blog.Table, "name of the table; created if missing")
	flags.StringVar(&o.endpoint, "endpoint", "", "DynamoDB `URL`, instead of a local engine")
	flags.StringVar(&o.data, "data", "", "`directory` that keeps the table and the objects; by default they are gone when the program ends")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if !o.dev {
		return o, errors.New("give -dev to serve on this machine, or -walk; a deployment needs a user pool and a bucket, see README.md")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if rest := slices.DeleteFunc(slices.Clone(args), isWalk); len(rest) < len(args) {
		return blog.Run(ctx, rest, stdout)
	}
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
	return develop(ctx, o, stdout, slog.New(slog.NewJSONHandler(stderr, nil)))
}

func isWalk(arg string) bool { return arg == "-walk" || arg == "--walk" }
