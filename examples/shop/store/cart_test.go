package store

import (
	"fmt"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
)

// quantities returns a cart as quantities by product.
func quantities(t *testing.T, s *Shop, user string) map[string]int {
	t.Helper()
	lines := check.Must(s.Cart(t.Context(), user))(t)
	all := map[string]int{}
	for _, l := range lines {
		all[l.ProductID] = l.Quantity
	}
	return all
}

func TestWhatIsNotSoldIsNotInCarts(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp"})
	check.OK(t, s.AddProduct(t.Context(), "eva", Product{ID: "old", Name: "Old lamp", Category: "things"}))
	for _, product := range []string{"old", "none"} {
		check.Is(t, s.AddToCart(t.Context(), "ana", product, 1, noon), ErrNotSold, product)
	}
	for _, quantity := range []int{0, -1, MaxQuantity + 1} {
		check.Is(t, s.AddToCart(t.Context(), "ana", "lamp", quantity, noon), ErrQuantity, fmt.Sprintf("quantity %d", quantity))
	}
	if got := quantities(t, s, "ana"); len(got) > 0 {
		t.Errorf("the cart: %v", got)
	}
}

func TestTheCartsThatHoldAProduct(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9}, Product{ID: "lamp-2", Name: "Lamp"})
	for _, user := range []string{"ana", "bruno", "carla"} {
		check.OK(t, s.AddToCart(t.Context(), user, "lamp", 1, noon))
	}
	check.OK(t, s.AddToCart(t.Context(), "dora", "lamp-2", 1, noon))
	holders := func() []string {
		t.Helper()
		var users []string
		after := ""
		for {
			page := check.Must(s.CartsWith(t.Context(), "lamp", 2, after))(t)
			for _, l := range page.Items {
				users = append(users, l.UserID)
			}
			if after = page.Next; after == "" {
				return users
			}
		}
	}
	check.Equal(t, "carts with lamps", holders(), []string{"ana", "bruno", "carla"})
	check.OK(t, s.RemoveFromCart(t.Context(), "ana", "lamp"))
	check.Must(s.CheckOut(t.Context(), "bruno", "o-1", noon))(t)
	check.Equal(t, "after a removal and an order", holders(), []string{"carla"})
}
