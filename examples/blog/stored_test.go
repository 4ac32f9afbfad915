package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/repo/repotest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestThe(Schema|Docs)|^TestStoredForms$ -update

func TestTheSchemaFileIsMadeOfStoredItems(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, store.Schema("any"), nil)
	s := numbered(check.Must(store.New(tbl, nil))(t))
	out := report.Report{Out: io.Discard, Meter: &report.Meter{}}
	for _, part := range []func(context.Context, *store.Store, report.Report) error{
		seed, publishedPosts, groups, folders, metrics, counter,
	} {
		check.OK(t, part(t.Context(), s, out))
	}
	generated.SchemaFile(t, "schema.json", store.Schema("Blog"), generated.Stored(t, tbl), s.Forms()...)
}

func TestStoredForms(t *testing.T) {
	t.Parallel()
	s := check.Must(store.New(tabletest.New(t, store.Schema("any"), nil), nil))(t)
	repotest.Golden(t, "testdata/stored.json", *generated.Update, s.Forms()...)
}

// numbered returns a store whose ids are id-1 and so on.
func numbered(s *store.Store) *store.Store {
	ids := 0
	s.NewID = func() string { ids++; return fmt.Sprintf("id-%d", ids) }
	return s
}

func TestTheDocsShowTheWalk(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	out := report.Report{Out: &text, Meter: &report.Meter{}}
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, store.Schema("any"), &table.Options{Observe: out.Meter.Observe})
	objects := check.Must(store.OpenDirectory(t.TempDir()))(t)
	defer objects.Close()
	s := numbered(check.Must(store.New(tbl, objects))(t))
	check.OK(t, walk(t.Context(), client, s, out))
	generated.File(t, "docs/walk.txt", strings.TrimSpace(text.String())+"\n")
}
