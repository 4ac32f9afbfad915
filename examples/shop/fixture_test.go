package main

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var noon = time.Date(2024, 1, 15, 12, 0, 0, 0, time.UTC)

// open returns an empty shop of the test's own. Trying a password costs nothing
// there.
func open(t *testing.T) *shop {
	t.Helper()
	return on(t, tabletest.New(t, schema("Shop"), nil))
}

func on(t *testing.T, tbl *table.Table) *shop {
	t.Helper()
	s, err := newShop(tbl, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openFaulty returns an empty shop whose requests meet the faults, and the same
// shop without them.
func openFaulty(t *testing.T, faults *tabletest.Faults) (faulty, plain *shop) {
	t.Helper()
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema("Shop"), nil)
	same, err := table.New(tabletest.Client(t), tbl.Schema(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return on(t, tbl), on(t, same)
}

// meanwhile lets a request pass after do has been carried out.
func meanwhile(do func()) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		do()
		return next.RoundTrip(r)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stock adds active products of the category "things".
func stock(t *testing.T, s *shop, products ...Product) {
	t.Helper()
	must(t, unlessThere(s.addCategory(t.Context(), Category{ID: "things", Name: "Things"})))
	for _, p := range products {
		p.Category, p.Active = "things", true
		must(t, s.addProduct(t.Context(), p))
	}
}

// inStock returns how many pieces of a product are left.
func inStock(t *testing.T, s *shop, id string) int {
	t.Helper()
	p, err := s.products.Consistent().Get(t.Context(), productKey(id))
	must(t, err)
	return p.Stock
}

// atOnce runs do n times, all at the same time, and returns the errors.
func atOnce(n int, do func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	group.Wait()
	return errs
}
