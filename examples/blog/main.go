// Blog is a blog in one DynamoDB table, behind HTTP: users, posts and comments, groups
// with members, and drives with folders and files. README.md describes it.
//
// For a look at it, from the root of the repository:
//
//	go run ./examples/blog -dev
//
// It also walks through the classic patterns of single-table design, one after
// the other, with keys, rows and costs. And it migrates a blog from three
// tables into the single one while writers write:
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
	"io"
	"log/slog"
	"slices"

	"github.com/singletable/singletable/examples/internal/program"
)

func main() { program.Service("blog", run) }

// options are the flags.
type options struct {
	program.Options
	dev  bool
	data string
}

func parse(args []string, usage io.Writer) (options, error) {
	o := options{Options: program.Options{Table: blog.Table}}
	flags := flag.NewFlagSet("blog", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.BoolVar(&o.dev, "dev", false, "serve for development on this machine only: a local engine, tokens for anyone")
	flags.Bool("walk", false, "show the patterns one after the other, and a migration; takes -table and -endpoint")
	flags.StringVar(&o.data, "data", "", "`directory` that keeps the table and the objects; by default they are gone when the program ends")
	if err := o.Parse(flags, args); err != nil {
		return o, err
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
	return develop(ctx, o, stdout, slog.New(slog.NewJSONHandler(stderr, nil)))
}

func isWalk(arg string) bool { return arg == "-walk" || arg == "--walk" }
