package main

import (
	"io"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheREADMEShowsWhatIsStored$ -update

func TestTheREADMEShowsWhatIsStored(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema("any"), nil)
	w := walk{shop: on(t, tbl), Report: report.Report{Out: io.Discard, Meter: &report.Meter{}}}
	check.OK(t, w.run(t.Context()))
	generated.Part(t, "README.md", "stored", generated.Picture(t, schema("Shop"), generated.Stored(t, tbl), &tablemodel.Options{
		Partitions: 2, Items: 2,
		Attributes: []string{"name", "email", "price", "stock", "quantity", "total", "status"},
	}))
}
