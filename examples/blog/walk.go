package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table/tabletest"
)

// blog is the walk. The migration has three tables more, NAME-Users and so on.
var blog = program.Program{Name: "blog", Table: "Blog", Show: show}

// show is the walk: a table, and one access pattern after the other.
func show(ctx context.Context, engine *tabletest.Engine, name string, out report.Report) (err error) {
	tbl, err := program.Open(ctx, engine, store.Schema(name), out)
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
	if err := walk(ctx, engine.Client(), s, out); err != nil {
		return err
	}
	return migration(ctx, engine.Client(), s, out)
}

// walk shows the patterns 1 to 12.
func walk(ctx context.Context, client *dynamodb.Client, s *store.Store, out report.Report) error {
	for _, part := range []func(context.Context, *store.Store, report.Report) error{
		seed, postsAndComments, largeContent, publishedPosts, groups, folders, metrics, counter,
	} {
		if err := part(ctx, s, out); err != nil {
			return err
		}
	}
	return names(ctx, client, s, out)
}
