package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/measured"
)

// load.json has what each pattern consumes, with the audits of the stream's consumer.
func TestLoadIsMeasured(t *testing.T) {
	t.Parallel()
	s := openAt(t, func() time.Time { return noon })
	router := auditorOf(t, s)
	stock(t, s, Product{ID: "lamp", Name: "Desk lamp, black", Price: 4900, Stock: 300}, Product{ID: "bowl", Name: "Bowl", Price: 900, Stock: 500})
	for i := range 20 {
		stock(t, s, Product{ID: fmt.Sprintf("p-%013d", i), Name: fmt.Sprintf("Kitchen knife, %d cm", i), Price: 2500, Stock: 40})
	}
	ana := signUp(t, s, User{ID: "u-5f0c2k7hq3", Email: "ana@example.com", Name: "Ana"}, "secret-1")
	check.OK(t, s.AddToCart(t.Context(), ana.ID, "lamp", 1, noon), s.AddToCart(t.Context(), ana.ID, "bowl", 2, noon))
	respond := func(o Order, _ []OrderItem) (string, error) { return o.ID, nil }
	measured.Load(t, "../load.json", measured.Patterns{
		"user of a session": func(ctx context.Context) error { return check.Err(s.UserOf(ctx, ana.ID, ana.Generation)) },
		"products of a category": func(ctx context.Context) error {
			p, err := s.ProductsByCategory(ctx, "things", 20, "")
			if err == nil && len(p.Items) != 20 {
				err = fmt.Errorf("%d products", len(p.Items))
			}
			return err
		},
		"a product":       func(ctx context.Context) error { return check.Err(s.ProductByID(ctx, "lamp")) },
		"add to the cart": func(ctx context.Context) error { return s.AddToCart(ctx, ana.ID, "p-0000000000001", 1, noon) },
		"the cart": func(ctx context.Context) error {
			check.OK(t, s.RemoveFromCart(t.Context(), ana.ID, "p-0000000000001"))
			lines, err := s.Cart(ctx, ana.ID)
			return errors.Join(err, check.Err(s.Prices(ctx, lines)))
		},
		"order 2 products": func(ctx context.Context) error {
			lines := check.Must(s.Cart(t.Context(), ana.ID))(t)
			cart := CartRevision(lines, check.Must(s.Prices(t.Context(), lines))(t))
			if _, _, err := CheckOutOnce(ctx, s, ana.ID, "a1b2c3d4-e5f6", cart, respond); err != nil {
				return err
			}
			return measured.Handle(ctx, router, orderedEvent(t, s, "o-2"))
		},
		"change an order's status": func(ctx context.Context) error {
			if _, err := s.Advance(ctx, "eva", "o-2", Paid); err != nil {
				return err
			}
			order := check.Must(s.orders.Get(t.Context(), OrderKey("o-2")))(t)
			shipped := order
			shipped.Status = Shipped
			return measured.Handle(ctx, router, event(t, s, s.orders.UpdateOps(order, &shipped)...))
		},
		"change a price": func(ctx context.Context) error {
			change := func(p *Product) { p.Price++ }
			if _, err := s.ChangeProduct(ctx, "eva", "lamp", func(p *Product) error { change(p); return nil }); err != nil {
				return err
			}
			return measured.Handle(ctx, router, changed(t, s, "lamp", change))
		},
	})
}
