package demo_test

import (
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A seed is cut at each of its requests, and the next one completes it.
func TestASeedThatWasCutIsCompleted(t *testing.T) {
	t.Parallel()
	for passed, done := 0, false; !done; passed++ {
		var faults tabletest.Faults
		tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), store.Schema("Shop"), nil)
		same := check.Must(table.New(tabletest.Client(t), tbl.Schema(), nil))(t)
		faults.Next("", make([]tabletest.Fault, passed)...)
		faults.Always("", tabletest.DropRequest())
		done = demo.Seed(t.Context(), check.Must(store.New(tbl, 1))(t)) == nil
		s := check.Must(store.New(same, 1))(t)
		check.OK(t, demo.Seed(t.Context(), s))
		check.Equal(t, "categories", len(check.Must(s.Categories(t.Context()))(t)), len(demo.Categories))
		for _, p := range demo.Products {
			check.Must(s.ProductByID(t.Context(), p.ID))(t)
		}
		for _, u := range demo.Users {
			check.Must(s.LogIn(t.Context(), store.Login{Email: u.Email, Password: demo.Password, Client: "a"}))(t)
		}
	}
}

func TestASeedKeepsWhatWasChanged(t *testing.T) {
	t.Parallel()
	s := check.Must(store.New(tabletest.New(t, store.Schema("Shop"), nil), 1))(t)
	check.OK(t, demo.Seed(t.Context(), s))
	check.Must(s.ChangeProduct(t.Context(), "eva", "p-lamp", func(p *store.Product) error { p.Price = 1; return nil }))(t)
	check.OK(t, demo.Seed(t.Context(), s))
	check.Equal(t, "price", check.Must(s.ProductByID(t.Context(), "p-lamp"))(t).Price, int64(1))
	check.OK(t, demo.Reset(t.Context(), s))
	check.Equal(t, "price after a reset", check.Must(s.ProductByID(t.Context(), "p-lamp"))(t).Price, demo.Products[0].Price)
}
