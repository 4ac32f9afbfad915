// Package walk goes through the access patterns of the shop on sample data. It prints
// the keys that each pattern uses, what it finds, and what it costs.
package walk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Program is the walk. It uses a local DynamoDB engine, or the one that
// AWS_ENDPOINT_URL_DYNAMODB names.
var Program = program.Program{Name: "shop", Table: "Shop", Show: show}

func show(ctx context.Context, engine *tabletest.Engine, name string, out report.Report) error {
	s := store.Schema(name)
	tbl, err := program.Open(ctx, engine, s, out)
	if err != nil {
		return err
	}
	shop, err := store.New(tbl, demo.Rounds)
	if err != nil {
		return err
	}
	out.Line("keys %s and %s, indexes %s and %s", s.PK, s.SK, s.Indexes[0].Name, s.Indexes[1].Name)
	w := walk{Shop: shop, Report: out, table: tbl}
	if err := w.run(ctx); err != nil {
		return err
	}
	return w.follow(ctx, engine.Client())
}

// walk shows the access patterns, one after the other.
type walk struct {
	*store.Shop
	report.Report
	table *table.Table
}

func (w walk) run(ctx context.Context) error {
	w.Title("Sample data")
	if err := demo.Reset(ctx, w.Shop); err != nil {
		return err
	}
	w.Line("  %d users (2 items each: the profile and the e-mail), %d categories, %d products",
		len(demo.Users), len(demo.Categories), len(demo.Products))
	w.spent()
	for _, step := range []func(context.Context) error{
		w.login, w.uniqueEmail, w.catalogue, w.category, w.allActive, w.search,
		w.similar, w.fillCarts, w.whoHasIt, w.order, w.soldOut, w.orderAndItems, w.status, w.ordersOfUser,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// expect returns nil if err is the one that the walk wants to show.
func expect(err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("got error %w, want %w", err, want)
}

// at prints a key, as what the next write or read is about.
func (w walk) at(what string, k keys.Key) {
	w.Line("  %s: PK = %s, SK = %s", what, k.PK, k.SK)
}

// spent prints what writes have cost, or reads and writes together.
func (w walk) spent() {
	requests, units := w.Meter.Take()
	w.Line("  requests %d, units %g", requests, units)
}

// client is the network address of the client in the walk.
const client = "203.0.113.7"

func (w walk) login(ctx context.Context) error {
	w.Title("1. Login by e-mail, and a user by id")
	u, err := w.LogIn(ctx, store.Login{Email: "Ana@Example.com", Password: demo.Password, Client: client})
	if err != nil {
		return err
	}
	w.at("read", store.EmailKey(u.Email))
	w.Rows(fmt.Sprintf("%s\t%s\t%s\t%s", u.ID, u.Name, u.Email, u.Role))
	w.Line("  The attempt is counted for the client, for both, and for the e-mail; then the user is read.")
	w.spent()
	w.at("read", store.UserKey(u.ID))
	if _, err := w.UserByID(ctx, u.ID); err != nil {
		return err
	}
	w.Cost("read", 1)
	_, err = w.LogIn(ctx, store.Login{Email: "ana@example.com", Password: "guessed", Client: client})
	if err := expect(err, store.ErrLogin); err != nil {
		return err
	}
	w.Line("  with another password: %v", store.ErrLogin)
	w.spent()
	return nil
}

func (w walk) uniqueEmail(ctx context.Context) error {
	w.Title("2. An e-mail belongs to one user")
	second := store.User{ID: "u-other", Email: "ana@example.com", Name: "Another Ana", CreatedAt: demo.Opening}
	w.at("create in one transaction", store.UserKey(second.ID))
	w.at("                      and", store.EmailKey(second.Email))
	_, err := w.SignUp(ctx, second, demo.Password)
	if err := expect(err, store.ErrEmailTaken); err != nil {
		return err
	}
	w.Line("  refused: %v", store.ErrEmailTaken)
	w.spent()
	return nil
}

func (w walk) catalogue(ctx context.Context) error {
	w.Title("3. The categories, and one by its slug")
	w.query(store.CategoriesQuery)
	categories, err := w.Categories(ctx)
	if err != nil {
		return err
	}
	row := func(c store.Category) string {
		return fmt.Sprintf("%s\t%s\t%s", store.CategoryKey(c.ID).SK, c.Name, c.Description)
	}
	report.Found(w.Report, categories, row)
	w.at("read", store.CategoryKey("home"))
	c, err := w.CategoryBySlug(ctx, "home")
	if err != nil {
		return err
	}
	report.Found(w.Report, []store.Category{c}, row)
	return nil
}

func (w walk) category(ctx context.Context) error {
	w.Title("4. The active products of a category")
	w.query(store.ProductsQuery("home"))
	page, err := w.ProductsByCategory(ctx, "home", 20, "")
	if err != nil {
		return err
	}
	w.Line("  The desktop bin is not active and so has no keys in the index: nothing is read and filtered out.")
	report.Found(w.Report, page.Items, productRow(store.InCategoryKey))
	return nil
}

func (w walk) allActive(ctx context.Context) error {
	w.Title("5. All active products, for an admin")
	w.Line("  the categories, then a query like the one above for each, merged by name")
	page, err := w.ActiveProducts(ctx, 20, "")
	if err != nil {
		return err
	}
	report.Found(w.Report, page.Items, productRow(store.InCategoryKey))
	return nil
}

func (w walk) search(ctx context.Context) error {
	w.Title("6. Active products whose name begins with Desk, then with desk l")
	for _, text := range []string{"Desk", "desk l"} {
		q, err := store.NamedQuery(text)
		if err != nil {
			return err
		}
		w.query(q)
		page, err := w.SearchProducts(ctx, text, 20, "")
		if err != nil {
			return err
		}
		report.Found(w.Report, page.Items, productRow(store.ByNameKey))
	}
	return nil
}

func (w walk) similar(ctx context.Context) error {
	w.Title("7. Active products that are like the desk lamp")
	w.at("read", store.VectorKey("p-lamp"))
	w.Line("  search the vector index near to that vector, then read the products by their keys")
	products, err := w.SimilarProducts(ctx, "p-lamp")
	if err != nil {
		return err
	}
	report.Found(w.Report, products, func(p store.Product) string {
		return fmt.Sprintf("%s\t%s\t%s", store.ProductKey(p.ID).PK, p.Name, money(p.Price))
	})
	return nil
}

func (w walk) fillCarts(ctx context.Context) error {
	w.Title("8. Carts: add, list, remove")
	for _, add := range []struct {
		user, product string
		quantity      int
	}{
		{"u-ana", "p-lamp", 1},
		{"u-ana", "p-lamp", 1}, // a second one: the line has two now
		{"u-ana", "p-bowl", 4},
		{"u-ana", "p-spade", 1},
		{"u-bruno", "p-lamp", 2},
		{"u-bruno", "p-knife", 1},
	} {
		if err := w.AddToCart(ctx, add.user, add.product, add.quantity, demo.Opening.Add(time.Hour)); err != nil {
			return err
		}
	}
	if err := w.RemoveFromCart(ctx, "u-ana", "p-spade"); err != nil {
		return err
	}
	w.Line("  added six times, removed once")
	w.spent()
	return w.showCart(ctx, "u-ana")
}

func (w walk) showCart(ctx context.Context, user string) error {
	w.query(store.CartQuery(user))
	lines, err := w.Cart(ctx, user)
	if err != nil {
		return err
	}
	report.Found(w.Report, lines, func(l store.CartLine) string {
		return fmt.Sprintf("%s\t%d\t%s", store.CartLineKey(l.UserID, l.ProductID).SK, l.Quantity, l.Name)
	})
	return nil
}

func (w walk) whoHasIt(ctx context.Context) error {
	w.Title("9. Who has the desk lamp in the cart?")
	w.query(store.CartsQuery("p-lamp"))
	page, err := w.CartsWith(ctx, "p-lamp", 20, "")
	if err != nil {
		return err
	}
	report.Found(w.Report, page.Items, func(l store.CartLine) string { return fmt.Sprintf("%s\t%d\t%s", l.UserID, l.Quantity, l.Name) })
	return nil
}

func (w walk) query(q table.Query) { w.Query(store.Schema(""), q) }

// productRow prints a product with the key under which it was found.
func productRow(key func(store.Product) keys.Key) func(store.Product) string {
	return func(p store.Product) string {
		return fmt.Sprintf("%s\t%s\t%s\t%d in stock", key(p).SK, p.Name, money(p.Price), p.Stock)
	}
}

func money(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
