package once

import (
	"fmt"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Twelve callers send each request twice, and responses are lost. The invoices have the numbers
// from 1 on, without a gap, and both responses to a request have the same invoice.
func TestInvoicesHaveNoGaps(t *testing.T) {
	t.Parallel()
	const callers = 12
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), Schema, nil)
	s := check.Must(NewInvoices(tbl))(t)
	check.OK(t, s.books.Create(t.Context(), &Book{Account: "ana"}))
	faults.Next("TransactWriteItems", tabletest.DropResponse(), tabletest.Throttle(), tabletest.DropResponse())
	var got [2 * callers]Invoice
	check.Together(len(got), func(i int) {
		var err error
		if got[i], err = s.Issue(t.Context(), "ana", fmt.Sprint("key-", i/2), int64(i/2)); err != nil {
			t.Error(err)
		}
	})
	all := check.Must(table.Collect(s.invoices.All(t.Context(), table.Query{PK: account.PK("ana"), Range: invoice.All()})))(t)
	check.Equal(t, "invoices", len(all), callers)
	for n, i := range all {
		check.Equal(t, "number", i.Number, int64(n+1))
		check.Equal(t, "both responses", got[2*i.Cents] == i && got[2*i.Cents+1] == i, true)
	}
}
