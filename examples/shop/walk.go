package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// walk shows the access patterns, one after the other.
type walk struct {
	*shop
	report.Report
}

func (w walk) run(ctx context.Context) error {
	w.Title("Sample data")
	if err := seed(ctx, w.shop); err != nil {
		return err
	}
	w.Line("  %d users (2 items each: the profile and the e-mail), %d categories, %d products",
		len(sampleUsers), len(sampleCategories), len(sampleProducts))
	w.spent()
	for _, step := range []func(context.Context) error{
		w.login, w.uniqueEmail, w.catalogue, w.category, w.search,
		w.fillCarts, w.whoHasIt, w.order, w.soldOut, w.orderAndItems, w.status, w.ordersOfUser,
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

func (w walk) login(ctx context.Context) error {
	w.Title("1. Login by e-mail")
	u, err := w.logIn(ctx, "Ana@Example.com", samplePassword)
	if err != nil {
		return err
	}
	w.at("read", emailKey(u.Email))
	w.Rows(fmt.Sprintf("%s\t%s\t%s", u.ID, u.Name, u.Email))
	w.Cost("read", 1)
	_, err = w.logIn(ctx, "ana@example.com", "guessed")
	if err := expect(err, errLogin); err != nil {
		return err
	}
	w.Line("  with another password: %v", errLogin)
	w.spent()
	return nil
}

func (w walk) uniqueEmail(ctx context.Context) error {
	w.Title("2. An e-mail belongs to one user")
	second := User{ID: "u-other", Email: "ana@example.com", Name: "Another Ana", CreatedAt: opening}
	w.at("create in one transaction", userKey(second.ID))
	w.at("                      and", emailKey(second.Email))
	_, err := w.signUp(ctx, second, samplePassword)
	if err := expect(err, errEmailTaken); err != nil {
		return err
	}
	w.Line("  refused: %v", errEmailTaken)
	w.spent()
	return nil
}

func (w walk) catalogue(ctx context.Context) error {
	w.Title("3. The categories")
	w.query(allCategories)
	categories, err := w.listCategories(ctx)
	if err != nil {
		return err
	}
	report.Found(w.Report, categories, func(c Category) string { return fmt.Sprintf("%s\t%s", categoryKey(c.ID).SK, c.Name) })
	return nil
}

func (w walk) category(ctx context.Context) error {
	w.Title("4. The active products of a category")
	w.query(productsOf("home"))
	page, err := w.productsByCategory(ctx, "home", 20, "")
	if err != nil {
		return err
	}
	w.Line("  The desktop bin is not active and so has no keys in the index: nothing is read and filtered out.")
	report.Found(w.Report, page.Items, productRow(inCategory))
	return nil
}

func (w walk) search(ctx context.Context) error {
	w.Title("5. Active products whose name begins with Desk, then with desk l")
	for _, text := range []string{"Desk", "desk l"} {
		q, err := productsNamed(text)
		if err != nil {
			return err
		}
		w.query(q)
		page, err := w.searchProducts(ctx, text, 20, "")
		if err != nil {
			return err
		}
		report.Found(w.Report, page.Items, productRow(inNames))
	}
	return nil
}

func (w walk) fillCarts(ctx context.Context) error {
	w.Title("6. Carts: add, list, remove")
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
		if err := w.addToCart(ctx, add.user, add.product, add.quantity, opening.Add(time.Hour)); err != nil {
			return err
		}
	}
	if err := w.removeFromCart(ctx, "u-ana", "p-spade"); err != nil {
		return err
	}
	w.Line("  added six times, removed once")
	w.spent()
	return w.showCart(ctx, "u-ana")
}

func (w walk) showCart(ctx context.Context, user string) error {
	w.query(cartOf(user))
	lines, err := w.cart(ctx, user)
	if err != nil {
		return err
	}
	report.Found(w.Report, lines, func(l CartLine) string {
		return fmt.Sprintf("%s\t%d\t%s", cartLineKey(l.UserID, l.ProductID).SK, l.Quantity, l.Name)
	})
	return nil
}

func (w walk) whoHasIt(ctx context.Context) error {
	w.Title("7. Who has the desk lamp in the cart?")
	w.query(cartsWithProduct("p-lamp"))
	page, err := w.cartsWith(ctx, "p-lamp", 20, "")
	if err != nil {
		return err
	}
	report.Found(w.Report, page.Items, func(l CartLine) string { return fmt.Sprintf("%s\t%d\t%s", l.UserID, l.Quantity, l.Name) })
	return nil
}

func (w walk) query(q table.Query) { w.Query(schema(""), q) }

// productRow prints a product with the key under which it was found.
func productRow(key func(Product) keys.Key) func(Product) string {
	return func(p Product) string {
		return fmt.Sprintf("%s\t%s\t%s\t%d in stock", key(p).SK, p.Name, money(p.Price), p.Stock)
	}
}

func money(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
