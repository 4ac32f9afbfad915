package walk

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The price list: DynamoDB on demand, table class Standard, in us-east-1, in dollars per
// million request units, since 1 November 2024.
const (
	readPrice  = 0.125
	writePrice = 0.625
)

// units are what a pattern consumes.
type units struct{ requests, read, write float64 }

func (u *units) add(e table.Event) {
	u.requests++
	switch e.Operation {
	case "GetItem", "BatchGetItem", "Query", "SearchVectors": // which is charged by bytes, and has no units
		u.read += e.Capacity
	default:
		u.write += e.Capacity
	}
}

func TestTheDocsShowWhatPatternsCost(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var spent units
	var mu sync.Mutex // a list of several partitions sends requests at the same time
	tbl := tabletest.New(t, store.Schema("Shop"), &table.Options{
		Now: func() time.Time { return demo.Opening }, // attempts to log in are counted by the clock
		Observe: func(_ context.Context, e table.Event) {
			mu.Lock()
			defer mu.Unlock()
			spent.add(e)
		},
	})
	s := check.Must(store.New(tbl, 1))(t)
	check.OK(t, demo.Seed(ctx, s))
	at := demo.Opening
	anas := store.Login{Email: demo.Users[0].Email, Password: demo.Password, Client: client}
	check.OK(t, s.AddToCart(ctx, "u-ana", "p-bowl", 1, at), s.AddToCart(ctx, "u-ana", "p-lamp", 1, at))
	check.OK(t, check.Err(s.LogIn(ctx, anas))) // the first one of a window creates the count
	found := func(n int, err error) error {
		if err == nil && n == 0 {
			err = table.ErrNotFound
		}
		return err
	}
	var rows []string
	for _, p := range []struct {
		pattern string
		run     func() error
	}{
		{"sign up", func() error {
			return check.Err(s.SignUp(ctx, store.User{ID: "u-carla", Email: "carla@example.com", Name: "Carla", CreatedAt: at}, demo.Password))
		}},
		{"mail a code", func() error { _, _, err := s.NewCode(ctx, demo.Users[1].Email); return err }},
		{"set a password", func() error {
			_, code, err := s.NewCode(ctx, demo.Users[1].Email)
			if err != nil {
				return err
			}
			spent = units{}
			return check.Err(s.SetPassword(ctx, code, demo.Password, ""))
		}},
		{"log in", func() error { return check.Err(s.LogIn(ctx, anas)) }},
		{"user by id", func() error { return check.Err(s.UserByID(ctx, "u-ana")) }},
		{"user of a session, with each request of a user", func() error { return check.Err(s.UserOf(ctx, "u-ana", 0)) }},
		{"the categories", func() error { return check.Err(s.Categories(ctx)) }},
		{"category by slug", func() error { return check.Err(s.CategoryBySlug(ctx, "home")) }},
		{"20 products of a category", func() error {
			p, err := s.ProductsByCategory(ctx, "home", 20, "")
			return found(len(p.Items), err)
		}},
		{"20 products by name", func() error { p, err := s.SearchProducts(ctx, "desk", 20, ""); return found(len(p.Items), err) }},
		{"20 of all active products, of 3 categories", func() error { p, err := s.ActiveProducts(ctx, 20, ""); return found(len(p.Items), err) }},
		{"20 inactive products", func() error { p, err := s.InactiveProducts(ctx, 20, ""); return found(len(p.Items), err) }},
		{"one product", func() error { return check.Err(s.ProductByID(ctx, "p-lamp")) }},
		{"5 similar products; the search itself is charged by bytes", func() error { p, err := s.SimilarProducts(ctx, "p-lamp"); return found(len(p), err) }},
		{"change a name", func() error {
			return check.Err(s.ChangeProduct(ctx, demo.Shopkeeper, "p-desk", func(p *store.Product) error { p.Name = "Desk, pine"; return nil }))
		}},
		{"change a price", func() error {
			return check.Err(s.ChangeProduct(ctx, demo.Shopkeeper, "p-desk", func(p *store.Product) error { p.Price++; return nil }))
		}},
		{"add to the cart", func() error { return s.AddToCart(ctx, "u-ana", "p-spade", 1, at) }},
		{"the cart", func() error { return check.Err(s.Cart(ctx, "u-ana")) }},
		{"remove from the cart", func() error { return s.RemoveFromCart(ctx, "u-ana", "p-spade") }},
		{"order 2 products, with an idempotency key", func() error {
			lines := check.Must(s.Cart(ctx, "u-ana"))(t)
			cart := store.CartRevision(lines, check.Must(s.Prices(ctx, lines))(t))
			spent = units{}
			_, _, err := store.CheckOutOnce(ctx, s, "u-ana", "k", cart, func(o store.Order, _ []store.OrderItem) (string, error) { return o.ID, nil })
			return err
		}},
		{"20 orders of a user", func() error { p, err := s.OrdersByUser(ctx, "u-ana", 20, ""); return found(len(p.Items), err) }},
		{"an order with its 2 items", func() error {
			p, err := s.OrdersByUser(ctx, "u-ana", 1, "")
			if err != nil {
				return err
			}
			spent = units{}
			_, _, err = s.OrderWithItems(ctx, p.Items[0].ID)
			return err
		}},
		{"change the status of an order", func() error {
			p, err := s.OrdersByUser(ctx, "u-ana", 1, "")
			if err != nil {
				return err
			}
			spent = units{}
			return check.Err(s.Advance(ctx, demo.Shopkeeper, p.Items[0].ID, store.Paid))
		}},
		{"audits of a product", func() error { return check.Err(s.AuditsByEntity(ctx, store.ProductType, "p-lamp", 20, "")) }},
		{"20 notifications of low stock", func() error { return check.Err(s.LowStocks(ctx, 20, "")) }},
		{"audits of a day", func() error { return check.Err(s.AuditsByDay(ctx, demo.Opening, 20, "")) }},
	} {
		spent = units{}
		if err := p.run(); err != nil {
			t.Fatalf("%s: %v", p.pattern, err)
		}
		dollars := (spent.read*readPrice + spent.write*writePrice) / 1000 // of 1,000 times
		rows = append(rows, fmt.Sprintf("%-64s %8g %10g %11g %17.5f\n", p.pattern, spent.requests, spent.read, spent.write, dollars))
	}
	generated.File(t, "../docs/costs.txt", fmt.Sprintf("At $%g for a million read units and $%g for a million write units:\n\n", readPrice, writePrice)+
		fmt.Sprintf("%-64s %8s %10s %11s %17s\n", "pattern", "requests", "read units", "write units", "dollars for 1,000")+strings.Join(rows, ""))
}
