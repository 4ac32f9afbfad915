package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestAnOrderTakesTheCartAndTheStock(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Price: 4900, Stock: 3}, Product{ID: "bowl", Name: "Bowl", Price: 900, Stock: 5})
	check.OK(t, s.AddToCart(t.Context(), "ana", "lamp", 3, noon))
	check.OK(t, s.AddToCart(t.Context(), "ana", "bowl", 2, noon))

	placedOrder := check.Must(s.CheckOut(t.Context(), "ana", "o-1", noon))(t)
	want := Order{ID: "o-1", UserID: "ana", PlacedAt: noon, Status: Placed, Items: 2, Total: 3*4900 + 2*900, ChangedBy: "ana", Revision: placedOrder.Revision}
	check.Equal(t, "the order", placedOrder, want)
	order, items, err := s.OrderWithItems(t.Context(), "o-1")
	check.OK(t, err)
	check.Equal(t, "the stored order", order, want)
	wantItems := []OrderItem{
		{OrderID: "o-1", Number: 1, ProductID: "bowl", Name: "Bowl", Quantity: 2, Price: 900, Subtotal: 1800},
		{OrderID: "o-1", Number: 2, ProductID: "lamp", Name: "Lamp", Quantity: 3, Price: 4900, Subtotal: 14700},
	}
	check.Equal(t, "the items", items, wantItems)
	if lamps, bowls := inStock(t, s, "lamp"), inStock(t, s, "bowl"); lamps != 0 || bowls != 3 {
		t.Errorf("in stock: %d lamps, %d bowls", lamps, bowls)
	}
	check.Is(t, check.Err(s.CheckOut(t.Context(), "ana", "o-2", noon)), ErrEmptyCart, "the same cart again")
}

// nothingWritten checks that an order was refused as a whole.
func nothingWritten(t *testing.T, s *Shop, user, order string, cart map[string]int) {
	t.Helper()
	if _, _, err := s.OrderWithItems(t.Context(), order); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("the order is there: %v", err)
	}
	page := check.Must(s.OrdersByUser(t.Context(), user, 0, ""))(t)
	if len(page.Items) > 0 {
		t.Errorf("the user's orders: %v", page.Items)
	}
	check.Equal(t, "the cart", quantities(t, s, user), cart)
}

func TestTheErrorNamesTheProductsThatRanOut(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s,
		Product{ID: "lamp", Name: "Desk lamp", Stock: 1},
		Product{ID: "bowl", Name: "Bowl", Stock: 50},
		Product{ID: "spade", Name: "Spade"},
	)
	cart := map[string]int{"lamp": 2, "bowl": 4, "spade": 1}
	for product, quantity := range cart {
		check.OK(t, s.AddToCart(t.Context(), "ana", product, quantity, noon))
	}
	_, err := s.CheckOut(t.Context(), "ana", "o-1", noon)
	short, ok := errors.AsType[*StockError](err)
	if !ok || !errors.Is(err, ErrOutOfStock) {
		t.Fatalf("error: %v", err)
	}
	want := []Shortage{
		{ProductID: "lamp", Name: "Desk lamp", Wanted: 2, Left: 1},
		{ProductID: "spade", Name: "Spade", Wanted: 1, Left: 0},
	}
	check.Equal(t, "what ran out", short.Short, want)
	if want := "out of stock: Desk lamp (2 wanted, 1 left), Spade (1 wanted, 0 left)"; short.Error() != want {
		t.Errorf("message %q, want %q", short, want)
	}
	nothingWritten(t, s, "ana", "o-1", cart)
	check.Equal(t, "bowls left", inStock(t, s, "bowl"), 50)
}

func TestAnEngineThatDoesNotReturnTheProductIsAskedForIt(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s, _ := openFaulty(t, &faults)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 1})
	check.OK(t, s.AddToCart(t.Context(), "ana", "lamp", 2, noon))
	faults.Next("TransactWriteItems", tabletest.CancelTransaction("None", "None", "None", "None", "ConditionalCheckFailed"))
	_, err := s.CheckOut(t.Context(), "ana", "o-1", noon)
	short, ok := errors.AsType[*StockError](err)
	if !ok {
		t.Fatalf("error: %v", err)
	}
	check.Equal(t, "what ran out", short.Short, []Shortage{{ProductID: "lamp", Name: "Lamp", Wanted: 2, Left: 1}})
}

func TestOf200BuyersOfTheLast50Pieces50Succeed(t *testing.T) {
	t.Parallel()
	const buyers, pieces = 200, 50
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Desk lamp", Price: 4900, Stock: pieces})
	user := func(i int) string { return fmt.Sprintf("u-%d", i) }
	var lines []table.Op
	for i := range buyers {
		lines = append(lines, s.cartLines.CreateOps(new(CartLine{UserID: user(i), ProductID: "lamp", Name: "Desk lamp", Quantity: 1}))...)
	}
	for len(lines) > 0 {
		n := min(len(lines), 100)
		check.OK(t, s.table.Transact(t.Context(), lines[:n]...))
		lines = lines[n:]
	}

	errs := check.Errors(buyers, func(i int) error {
		for {
			_, err := s.CheckOut(t.Context(), user(i), "o-"+user(i), noon)
			// An engine that is busy with the others asks to come again.
			if !errors.Is(err, table.ErrConflict) {
				return err
			}
		}
	})
	bought := 0
	for i, err := range errs {
		switch {
		case err == nil:
			bought++
		case !errors.Is(err, ErrOutOfStock) || !strings.Contains(err.Error(), "Desk lamp (1 wanted, 0 left)"):
			t.Errorf("buyer %d: %v", i, err)
		}
		order, items, missing := s.OrderWithItems(t.Context(), "o-"+user(i))
		if (missing == nil) != (err == nil) || err == nil && (order.UserID != user(i) || len(items) != 1) {
			t.Errorf("buyer %d: checkout %v, order %v with %d items, %v", i, err, order, len(items), missing)
		}
	}
	if left := inStock(t, s, "lamp"); bought != pieces || left != 0 {
		t.Errorf("%d orders of %d pieces, %d left", bought, pieces, left)
	}
	page := check.Must(s.CartsWith(t.Context(), "lamp", buyers, ""))(t)
	if len(page.Items) != buyers-pieces {
		t.Errorf("%d carts still hold the lamp, want %d", len(page.Items), buyers-pieces)
	}
}

func TestAnOrderIsOfWhatWasRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(*testing.T, *Shop)
		cart      map[string]int
		want      error
	}{
		"more of it in the cart": {func(t *testing.T, s *Shop) {
			check.OK(t, s.AddToCart(t.Context(), "ana", "lamp", 1, noon))
		}, map[string]int{"lamp": 2}, table.ErrConflict},
		"none of it in the cart": {func(t *testing.T, s *Shop) {
			check.OK(t, s.RemoveFromCart(t.Context(), "ana", "lamp"))
		}, map[string]int{}, table.ErrConflict},
		"another price": {func(t *testing.T, s *Shop) {
			check.Must(s.ChangeProduct(t.Context(), "eva", "lamp", func(p *Product) error { p.Price++; return nil }))(t)
		}, map[string]int{"lamp": 1}, ErrPriceChanged},
		"not sold any more": {func(t *testing.T, s *Shop) {
			check.Must(s.ChangeProduct(t.Context(), "eva", "lamp", func(p *Product) error { p.Active = false; return nil }))(t)
		}, map[string]int{"lamp": 1}, ErrNotSold},
		"deleted": {func(t *testing.T, s *Shop) {
			check.OK(t, s.products.Delete(t.Context(), ProductKey("lamp")))
		}, map[string]int{"lamp": 1}, ErrNotSold},
		"sold out": {func(t *testing.T, s *Shop) {
			check.Must(s.ChangeProduct(t.Context(), "eva", "lamp", func(p *Product) error { p.Stock = 0; return nil }))(t)
		}, map[string]int{"lamp": 1}, ErrOutOfStock},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			s, plain := openFaulty(t, &faults)
			stock(t, s, Product{ID: "lamp", Name: "Lamp", Price: 100, Stock: 1})
			check.OK(t, s.AddToCart(t.Context(), "ana", "lamp", 1, noon))
			faults.Next("TransactWriteItems", meanwhile(func() { c.meanwhile(t, plain) }))
			check.Is(t, check.Err(s.CheckOut(t.Context(), "ana", "o-1", noon)), c.want)
			nothingWritten(t, plain, "ana", "o-1", c.cart)
		})
	}
}

func TestACartIsOrderedOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 100})
	check.OK(t, s.AddToCart(t.Context(), "ana", "lamp", 1, noon))
	bought := 0
	for i, err := range check.Errors(8, func(i int) error {
		_, err := s.CheckOut(t.Context(), "ana", fmt.Sprintf("o-%d", i), noon)
		return err
	}) {
		switch {
		case err == nil:
			bought++
		case !errors.Is(err, table.ErrConflict) && !errors.Is(err, ErrEmptyCart):
			t.Errorf("checkout %d: %v", i, err)
		}
	}
	if left := inStock(t, s, "lamp"); bought != 1 || left != 99 {
		t.Errorf("%d orders, %d in stock", bought, left)
	}
}

func TestAnOrderIDIsUsedOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9})
	for _, user := range []string{"ana", "bruno"} {
		check.OK(t, s.AddToCart(t.Context(), user, "lamp", 1, noon))
	}
	check.Must(s.CheckOut(t.Context(), "ana", "o-1", noon))(t)
	check.Is(t, check.Err(s.CheckOut(t.Context(), "bruno", "o-1", noon)), table.ErrExists)
}

func TestTheLargestOrderIsOneTransaction(t *testing.T) {
	t.Parallel()
	s := open(t)
	var products []Product
	for i := range MaxProducts + 1 {
		products = append(products, Product{ID: fmt.Sprintf("p-%02d", i), Name: fmt.Sprintf("Part %d", i), Price: 1, Stock: 1})
	}
	stock(t, s, products...)
	for _, p := range products {
		check.OK(t, s.AddToCart(t.Context(), "ana", p.ID, 1, noon))
	}
	check.Is(t, check.Err(s.CheckOut(t.Context(), "ana", "o-1", noon)), ErrCartTooLarge, "one product too many")
	check.OK(t, s.RemoveFromCart(t.Context(), "ana", "p-00"))
	o := check.Must(s.CheckOut(t.Context(), "ana", "o-1", noon))(t)
	if o.Items != MaxProducts || o.Total != MaxProducts {
		t.Errorf("the order: %+v", o)
	}
}

func TestAProductThatIsGoneFromTheShopCannotBeOrdered(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9}, Product{ID: "desk", Name: "Desk", Stock: 9})
	check.OK(t, s.AddToCart(t.Context(), "ana", "lamp", 1, noon))
	check.OK(t, s.AddToCart(t.Context(), "ana", "desk", 1, noon))
	check.OK(t, s.products.Delete(t.Context(), ProductKey("lamp")))
	_, err := s.CheckOut(t.Context(), "ana", "o-1", noon)
	check.Is(t, err, ErrNotSold)
	check.Equal(t, "error", err.Error(), "not sold: Lamp")
	nothingWritten(t, s, "ana", "o-1", map[string]int{"lamp": 1, "desk": 1})
}

func TestARefusedOrderNamesAllProductsThatAreNotSold(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9}, Product{ID: "desk", Name: "Desk", Stock: 9}, Product{ID: "bowl", Name: "Bowl"})
	for _, id := range []string{"lamp", "desk", "bowl"} {
		check.OK(t, s.AddToCart(t.Context(), "ana", id, 1, noon))
	}
	for _, id := range []string{"lamp", "desk"} {
		check.Must(s.ChangeProduct(t.Context(), "eva", id, func(p *Product) error { p.Active = false; return nil }))(t)
	}
	unsold, ok := errors.AsType[*NotSoldError](check.Err(s.CheckOut(t.Context(), "ana", "o-1", noon)))
	if !ok || !slices.Equal(unsold.Names, []string{"Desk", "Lamp"}) {
		t.Errorf("not sold: %+v", unsold)
	}
	err := s.AddToCart(t.Context(), "bruno", "lamp", 1, noon)
	check.Equal(t, "error", err.Error(), "not sold: Lamp")
}
