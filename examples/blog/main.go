// Blog shows the classic patterns of single-table design: users, posts and
// comments, newest first; groups with members, readable from both sides, and
// their counts; folders and files, moved atomically; metrics over time;
// published posts in a sparse index; a counter spread over shards. Then it
// migrates a blog from three tables into the single one while writers write.
//
// Run it from the root of the repository:
//
//	go run ./examples/blog
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

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "blog:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("blog", flag.ContinueOnError)
	name := flags.String("table", "Blog", "name of the table; it and three old ones, NAME-Users and so on, are created if missing")
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
	if err := show(ctx, engine, *name, sticky); err != nil {
		return err
	}
	return sticky.Err
}

// show is the program proper: a table, and one access pattern after the other.
func show(ctx context.Context, engine *tabletest.Engine, name string, w io.Writer) error {
	client := engine.Client()
	schema := store.Schema(name)
	if err := schema.Ensure(ctx, client); err != nil {
		return err
	}
	meter := &report.Meter{}
	tbl, err := table.New(client, schema, &table.Options{Observe: meter.Observe})
	if err != nil {
		return err
	}
	s, err := store.New(tbl)
	if err != nil {
		return err
	}
	out := report.Report{Out: w, Meter: meter}
	out.Line("Table %s on %s", name, engine.Endpoint())
	for _, part := range []func(context.Context, *store.Store, report.Report) error{
		seed, postsAndComments, publishedPosts, groups, folders, metrics, counter,
	} {
		if err := part(ctx, s, out); err != nil {
			return err
		}
	}
	return migration(ctx, client, s, out)
}
