package store

import (
	"net/http"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var noon = time.Date(2024, 1, 15, 12, 0, 0, 0, time.UTC)

// open returns an empty shop of the test's own. Trying a password costs nothing
// there.
func open(t *testing.T) *Shop {
	t.Helper()
	return on(t, tabletest.New(t, Schema("Shop"), nil))
}

func on(t *testing.T, tbl *table.Table) *Shop {
	t.Helper()
	return check.Must(New(tbl, 1))(t)
}

// openFaulty returns an empty shop whose requests meet the faults, and the same
// shop without them.
func openFaulty(t *testing.T, faults *tabletest.Faults) (faulty, plain *Shop) {
	t.Helper()
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), Schema("Shop"), nil)
	same := check.Must(table.New(tabletest.Client(t), tbl.Schema(), nil))(t)
	return on(t, tbl), on(t, same)
}

// meanwhile lets a request pass after do has been carried out.
func meanwhile(do func()) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		do()
		return next.RoundTrip(r)
	}
}

// stock adds active products of the category "things".
func stock(t *testing.T, s *Shop, products ...Product) {
	t.Helper()
	check.OK(t, program.UnlessThere(s.AddCategory(t.Context(), Category{ID: "things", Name: "Things"})))
	for _, p := range products {
		p.Category, p.Active = "things", true
		check.OK(t, s.AddProduct(t.Context(), "eva", p))
	}
}

// signUp creates a user whose e-mail is verified.
func signUp(t *testing.T, s *Shop, u User, secret string) User {
	t.Helper()
	check.Must(s.SignUp(t.Context(), u, secret))(t)
	return check.Must(s.LogIn(t.Context(), Login{Email: u.Email, Password: secret, Code: codeFor(t, s, u.Email), Client: "sign-up"}))(t)
}

// logIn logs a user in from one client.
func logIn(t *testing.T, s *Shop, email, secret string) (User, error) {
	t.Helper()
	return s.LogIn(t.Context(), Login{Email: email, Password: secret, Client: "a"})
}

// codeFor returns the code of a mail to an e-mail.
func codeFor(t *testing.T, s *Shop, email string) string {
	t.Helper()
	_, text, err := s.NewCode(t.Context(), email)
	check.OK(t, err)
	return text
}

// inStock returns how many pieces of a product are left.
func inStock(t *testing.T, s *Shop, id string) int {
	t.Helper()
	p := check.Must(s.products.Consistent().Get(t.Context(), ProductKey(id)))(t)
	return p.Stock
}
