package main

import (
	"context"
	"io"
	"testing"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/repo/repotest"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestThe(Schema|Docs)|^TestStoredForms$ -update

func TestTheSchemaFileIsMadeOfStoredItems(t *testing.T) {
	t.Parallel()
	engine := programtest.Engine(t)
	name := programtest.Table(t, "Cqrs")
	w, reader, err := newWalk(t.Context(), engine, name, report.Report{Out: io.Discard, Meter: &report.Meter{}})
	check.OK(t, err)
	reader.Table = check.Must(table.New(engine.Client(), schema.Table{Name: name + "-positions"}, nil))(t)
	check.OK(t, reader.Table.Schema().Ensure(t.Context(), engine.Client()))
	check.OK(t, program.WithReader(t.Context(), reader.Run, func(ctx context.Context) error {
		for _, pattern := range []func(context.Context) error{w.commands, w.numbers, w.tree} {
			if err := pattern(ctx); err != nil {
				return err
			}
		}
		return nil
	}))
	generated.SchemaFile(t, "schema.json", core.Schema("Cqrs"), generated.Stored(t, w.table), check.Must(core.New(w.table, nil))(t).Forms()...)
}

func TestStoredForms(t *testing.T) {
	t.Parallel()
	s := check.Must(core.New(tabletest.New(t, core.Schema("any"), nil), nil))(t)
	repotest.Golden(t, "testdata/stored.json", *generated.Update, s.Forms()...)
}
