package main

import (
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheREADMEShowsWhatIsStored$ -update

func TestTheREADMEShowsWhatIsStored(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec("any"), nil)
	r := check.Must(newRepos(tbl))(t)
	check.OK(t, seed(t.Context(), r))
	generated.Part(t, "README.md", "stored", generated.Picture(t, spec("AppCore"), generated.Stored(t, tbl), &tablemodel.Options{
		Partitions: 2, Items: 1, Attributes: []string{"name", "amount", "text"},
	}))
}
