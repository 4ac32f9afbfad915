package main

import (
	"io"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheREADMEShowsWhatIsStored$ -update

func TestTheREADMEShowsWhatIsStored(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema("any"), &table.Options{Now: func() time.Time { return opening }})
	w := walk{shop: on(t, tbl), Report: report.Report{Out: io.Discard, Meter: &report.Meter{}}}
	check.OK(t, w.run(t.Context()))
	sale := stream.Change[Product]{
		Kind: stream.Modify, Changed: []string{"stock"}, At: opening.Add(24 * time.Hour), Sequence: "4200000000001", EventID: "e-1",
		Old: &Product{ID: "p-lamp", Name: "Desk lamp", Stock: 3}, New: &Product{ID: "p-lamp", Name: "Desk lamp", Stock: 1, ChangedBy: "u-ana"},
	}
	a := check.Must(newAudit(productEntity, sale))(t)
	check.OK(t, w.audits.Create(t.Context(), &a), w.noticeLowStock(t.Context(), sale))
	generated.Part(t, "README.md", "stored", generated.Picture(t, schema("Shop"), generated.Stored(t, tbl), &tablemodel.Options{
		Partitions: 2, Items: 2,
		Attributes: []string{"name", "email", "price", "stock", "quantity", "total", "status", "kind", "by", "old", "new"},
	}))
}
