package main

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheREADMEShowsWhatIsStored$ -update

func TestTheREADMEShowsWhatIsStored(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, store.Schema("any"), nil)
	s := check.Must(store.New(tbl, nil))(t)
	ids := 0
	s.NewID = func() string { ids++; return fmt.Sprintf("id-%d", ids) }
	out := report.Report{Out: io.Discard, Meter: &report.Meter{}}
	for _, part := range []func(context.Context, *store.Store, report.Report) error{
		seed, publishedPosts, groups, folders, metrics, counter,
	} {
		check.OK(t, part(t.Context(), s, out))
	}
	generated.Part(t, "README.md", "stored", generated.Picture(t, store.Schema("Blog"), generated.Stored(t, tbl), &tablemodel.Options{
		Partitions: 2, Items: 2,
		Attributes: []string{"name", "title", "text", "authorName", "userName", "groupName", "role", "joinedAt", "commentCount", "postCount", "memberCount", "groupCount", "kind", "size", "value", "count"},
	}))
}
