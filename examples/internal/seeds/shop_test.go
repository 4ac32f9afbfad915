package seeds

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/store"
)

// The people, and the catalogue. Prices are in cents.
var (
	customers = []string{
		"Ana Lima", "Bruno Costa", "Chloé Martin", "Daniel Okafor", "Eva Lindqvist", "Farid Haddad", "Grace Kim", "Hugo Álvarez",
	}
	categories = []store.Category{
		{ID: "garden", Name: "Garden", Description: "For beds and borders."},
		{ID: "home", Name: "Home", Description: "For the rooms you live in."},
		{ID: "kitchen", Name: "Kitchen", Description: "To cook and to eat."},
		{ID: "office", Name: "Office", Description: "To work at home and elsewhere."},
	}
	products = []store.Product{
		{ID: "p-hose", Name: "Garden hose, 20 m", Category: "garden", Price: 3490, Stock: 18},
		{ID: "p-lantern", Name: "Lantern", Category: "garden", Price: 2290, Stock: 26},
		{ID: "p-planter", Name: "Planter, terracotta", Category: "garden", Price: 1850, Stock: 40},
		{ID: "p-spade", Name: "Spade", Category: "garden", Price: 3100, Stock: 9},
		{ID: "p-blanket", Name: "Wool blanket", Category: "home", Price: 7900, Stock: 14},
		{ID: "p-lamp", Name: "Desk lamp", Category: "home", Price: 4900, Stock: 16},
		{ID: "p-mirror", Name: "Round mirror", Category: "home", Price: 11900, Stock: 14},
		{ID: "p-rug", Name: "Rug, 160 × 230", Category: "home", Price: 18900, Stock: 15},
		{ID: "p-vase", Name: "Vase", Category: "home", Price: 2700, Stock: 22},
		{ID: "p-bowl", Name: "Bowl", Category: "kitchen", Price: 900, Stock: 80},
		{ID: "p-cafetiere", Name: "Cafetière", Category: "kitchen", Price: 3200, Stock: 17},
		{ID: "p-kettle", Name: "Kettle", Category: "kitchen", Price: 5900, Stock: 12},
		{ID: "p-knife", Name: "Bread knife", Category: "kitchen", Price: 2500, Stock: 12},
		{ID: "p-pan", Name: "Cast-iron pan", Category: "kitchen", Price: 6400, Stock: 11},
		{ID: "p-chair", Name: "Office chair", Category: "office", Price: 24900, Stock: 17},
		{ID: "p-desk", Name: "Desk, oak", Category: "office", Price: 39900, Stock: 15},
		{ID: "p-notebook", Name: "Notebook, dotted", Category: "office", Price: 1250, Stock: 120},
		{ID: "p-organizer", Name: "Desktop organizer", Category: "office", Price: 1900, Stock: 34},
	}
)

// shopSeed is the shop of a seed.
type shopSeed struct {
	*maker
	*store.Shop
	ids []string // of the customers
}

func TestTheSeedShop(t *testing.T) {
	m := newMaker(t, store.Schema("Shop"))
	s := shopSeed{maker: m, Shop: check.Must(store.New(m.table, demo.Rounds))(t)}
	sent := func(context.Context, string, store.LowStock) error { return nil }
	m.consumers = append(m.consumers, check.Must(s.Auditor())(t), check.Must(s.Notifier(sent))(t))
	s.open()
	s.sell()
	s.carts()
	m.compare("shop", s.Forms(), func(typ string, _ time.Time) bool { return typ == "ATTEMPTS" })
}

// open fills the catalogue, and lets the customers sign up.
func (s *shopSeed) open() {
	ctx := s.t.Context()
	for i, c := range categories {
		s.at(day(0, 8, 10*i), func() error { return s.AddCategory(ctx, c) })
	}
	for i, p := range products {
		p.Active = true
		s.at(day(0, 9, 3*i), func() error { return s.AddProduct(ctx, demo.Shopkeeper, p) })
	}
	for i, name := range customers {
		first, _, _ := strings.Cut(strings.ToLower(name), " ")
		first = strings.ReplaceAll(first, "é", "e")
		u := store.User{ID: "u-" + first, Email: first + "@example.com", Name: name, CreatedAt: day(1+4*i, 10+i, 7*i)}
		s.ids = append(s.ids, u.ID)
		s.at(u.CreatedAt, func() error {
			return demo.SignUp(ctx, s.Shop, u)
		})
	}
	s.at(day(2, 9, 0), func() error {
		_, err := s.SetRole(ctx, demo.Shopkeeper, "ana@example.com", store.Admin)
		return err
	})
	s.at(day(40, 18, 30), func() error {
		_, err := s.ChangeEmail(ctx, "u-eva", "eva.lindqvist@example.org")
		return err
	})
	s.at(day(55, 11, 0), func() error { return s.change("p-hose", func(p *store.Product) { p.Active = false }) })
	s.at(day(58, 15, 20), func() error { return s.change("p-lamp", func(p *store.Product) { p.Price = 4450 }) })
}

func (s *shopSeed) change(product string, change func(*store.Product)) error {
	_, err := s.ChangeProduct(s.t.Context(), demo.Shopkeeper, product, func(p *store.Product) error {
		change(p)
		return nil
	})
	return err
}

// sell places orders, the later ones less far on their way.
func (s *shopSeed) sell() {
	ctx := s.t.Context()
	const orders = 18
	for i := range orders {
		user := s.ids[i*5%len(s.ids)]
		at := day(40+i*50/orders, 9+s.rand.IntN(11), s.rand.IntN(60))
		for range 1 + s.rand.IntN(3) {
			p := pick(s.maker, products[1:])
			s.at(at, func() error { return s.AddToCart(ctx, user, p.ID, 1+s.rand.IntN(2), at) })
			at = at.Add(90 * time.Second)
		}
		id := fmt.Sprintf("o-%d", 1001+i)
		s.at(at, func() error {
			if i%6 < 5 {
				_, err := s.CheckOut(ctx, user, id, at)
				return err
			}
			respond := func(o store.Order, _ []store.OrderItem) (map[string]any, error) {
				id = o.ID
				return map[string]any{"orderId": o.ID, "total": o.Total}, nil
			}
			lines := check.Must(s.Cart(ctx, user))(s.t)
			cart := store.CartRevision(lines, check.Must(s.Prices(ctx, lines))(s.t))
			_, _, err := store.CheckOutOnce(ctx, s.Shop, user, fmt.Sprintf("checkout-%d", i), cart, respond)
			return err
		})
		way := []store.Status{store.Paid, store.Shipped, store.Delivered}
		for n, to := range way[:max(0, min(len(way), orders-1-i))] {
			s.at(at.Add(time.Duration(n+1)*20*time.Hour), func() error {
				_, err := s.Advance(ctx, demo.Shopkeeper, id, to)
				return err
			})
		}
	}
	// The last lamps go, and new ones come.
	lamp := check.Must(s.ProductByID(ctx, "p-lamp"))(s.t)
	at := day(91, 12, 15)
	s.at(at, func() error { return s.AddToCart(ctx, "u-grace", "p-lamp", lamp.Stock-1, at) })
	s.at(at.Add(time.Minute), func() error {
		_, err := s.CheckOut(ctx, "u-grace", "o-1019", s.now)
		return err
	})
	s.at(day(92, 8, 0), func() error { return s.change("p-lamp", func(p *store.Product) { p.Stock += 25 }) })
}

// carts fills carts that are not ordered yet, and counts attempts to log in.
func (s *shopSeed) carts() {
	ctx := s.t.Context()
	for i, c := range []struct {
		user, product string
		quantity      int
	}{
		{"u-ana", "p-lamp", 1},
		{"u-ana", "p-organizer", 2},
		{"u-bruno", "p-lamp", 2},
		{"u-bruno", "p-bowl", 6},
		{"u-chloe", "p-vase", 1},
		{"u-farid", "p-desk", 1},
		{"u-farid", "p-chair", 1},
		{"u-hugo", "p-notebook", 10},
	} {
		at := day(93, 17, 4*i)
		s.at(at, func() error { return s.AddToCart(ctx, c.user, c.product, c.quantity, at) })
	}
	for i, email := range []string{"ana@example.com", "bruno@example.com", "mallory@example.net"} {
		s.at(day(93, 18, i), func() error {
			_, err := s.LogIn(ctx, store.Login{Email: email, Password: demo.Password, Client: "203.0.113.7"})
			if email == "mallory@example.net" {
				check.Is(s.t, err, store.ErrLogin)
				err = nil
			}
			return err
		})
	}
}
