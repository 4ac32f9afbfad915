package walk

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestTheReportShowsKeysRowsAndCosts(t *testing.T) {
	t.Parallel()
	first, again := programtest.Twice(t, Program)
	programtest.Contains(t, first,
		"keys PK and SK, indexes GSI1 and GSI2",
		"sent: Desk lamp is low, 1 left; idempotency key ",
		"table, PK = AUDIT#ORDER#o-0001 and SK begins with CHANGE#",
		"insert  by u-ana         items, orderId, placedAt, status, total, userId\n",
		"modify  by u-shopkeeper  status PAID → SHIPPED\n  found 3, requests 1",
		"modify  by u-ana         stock 3 → 1\n  found 2, requests 1",
		"index GSI1, GSI1PK = AUDIT_DAY#",
		"table, PK = PRODUCT#p-lamp and SK begins with LOW_STOCK#",
	)

	// A second run finds the first one's orders.
	programtest.Contains(t, again, "order o-0002: 2 products, 134.00",
		"modify  by u-shopkeeper  stock 1 → 3\n", "1 left  sent ", "  found 2, requests 1, read units 0.5\n",
		"#o-0002  134.00  SHIPPED\n    ORDER#2024-01-16T09:00:00.000Z#o-0001  134.00  SHIPPED\n  found 2, requests 1")
}

// on walks on a table, without the consumers of the stream.
func on(t *testing.T, tbl *table.Table) *store.Shop {
	t.Helper()
	shop := check.Must(store.New(tbl, 1))(t)
	w := walk{Shop: shop, Report: report.Report{Out: io.Discard, Meter: &report.Meter{}}, table: tbl}
	check.OK(t, w.run(t.Context()))
	return shop
}

func TestNothingIsScanned(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	on(t, tabletest.NewWith(t, tabletest.Client(t, faults.Install), store.Schema("Shop"), nil))
	if scans := faults.Requests("Scan"); len(scans) > 0 {
		t.Errorf("%d scans", len(scans))
	}
}

func TestTheDocsShowTheWalk(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	meter := &report.Meter{}
	tbl := tabletest.New(t, store.Schema("Shop"), &table.Options{Observe: meter.Observe, Now: func() time.Time { return demo.Opening }})
	w := walk{Shop: check.Must(store.New(tbl, 1))(t), Report: report.Report{Out: &out, Meter: meter}, table: tbl}
	check.OK(t, w.run(t.Context()))
	generated.File(t, "../docs/walk.txt", strings.TrimSpace(out.String())+"\n")
}
