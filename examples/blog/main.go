// Blog shows the classic patterns of single-table design: users, posts and
// comments, newest first; groups with members, readable from both sides, and
// their counts; folders and files, moved atomically; metrics over time;
// published posts in a sparse index; a counter spread over shards; names that are
// copied into comments and follow their authors by the table's stream. Then it migrates
// a blog from three tables into the single one while writers write.
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
	"os"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The migration has three tables more, NAME-Users and so on.
var blog = program.Program{Name: "blog", Table: "Blog", Show: show}

func main() { blog.Main() }

// show is the program proper: a table, and one access pattern after the other.
func show(ctx context.Context, engine *tabletest.Engine, name string, out report.Report) (err error) {
	client, schema := engine.Client(), store.Schema(name)
	if err := schema.Ensure(ctx, client); err != nil {
		return err
	}
	tbl, err := table.New(client, schema, &table.Options{Observe: out.Meter.Observe})
	if err != nil {
		return err
	}
	path, err := os.MkdirTemp("", "blog-objects-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(path)) }()
	objects, err := store.OpenDirectory(path)
	if err != nil {
		return err
	}
	defer objects.Close()
	s, err := store.New(tbl, objects)
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context, *store.Store, report.Report) error{
		seed, postsAndComments, largeContent, publishedPosts, groups, folders, metrics, counter,
	} {
		if err := part(ctx, s, out); err != nil {
			return err
		}
	}
	if err := names(ctx, client, s, out); err != nil {
		return err
	}
	return migration(ctx, client, s, out)
}
