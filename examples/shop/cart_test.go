package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// quantities returns a cart as quantities by product.
func quantities(t *testing.T, s *shop, user string) map[string]int {
	t.Helper()
	lines, err := s.cart(t.Context(), user)
	must(t, err)
	all := map[string]int{}
	for _, l := range lines {
		all[l.ProductID] = l.Quantity
	}
	return all
}

func TestACartIsFilledAndEmptied(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp"}, Product{ID: "desk", Name: "Desk"})
	must(t, s.addToCart(t.Context(), "ana", "lamp", 1, noon))
	must(t, s.addToCart(t.Context(), "ana", "desk", 1, noon))
	must(t, s.addToCart(t.Context(), "ana", "lamp", 2, noon))
	must(t, s.addToCart(t.Context(), "ana-2", "desk", 9, noon))
	if diff := cmp.Diff(map[string]int{"lamp": 3, "desk": 1}, quantities(t, s, "ana")); diff != "" {
		t.Errorf("the cart (-want +got):\n%s", diff)
	}
	must(t, s.removeFromCart(t.Context(), "ana", "lamp"))
	must(t, s.removeFromCart(t.Context(), "ana", "lamp"))
	if diff := cmp.Diff(map[string]int{"desk": 1}, quantities(t, s, "ana")); diff != "" {
		t.Errorf("after the removal (-want +got):\n%s", diff)
	}
}

func TestAddingToOneLineAtOnceLosesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp"})
	for i, err := range atOnce(8, func(int) error { return s.addToCart(t.Context(), "ana", "lamp", 2, noon) }) {
		if err != nil {
			t.Errorf("add %d: %v", i, err)
		}
	}
	if diff := cmp.Diff(map[string]int{"lamp": 16}, quantities(t, s, "ana")); diff != "" {
		t.Errorf("the cart (-want +got):\n%s", diff)
	}
}

func TestWhatIsNotSoldIsNotInCarts(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp"})
	must(t, s.addProduct(t.Context(), Product{ID: "old", Name: "Old lamp", Category: "things"}))
	for _, product := range []string{"old", "none"} {
		if err := s.addToCart(t.Context(), "ana", product, 1, noon); !errors.Is(err, errNotSold) {
			t.Errorf("%s: error %v", product, err)
		}
	}
	for _, quantity := range []int{0, -1} {
		if err := s.addToCart(t.Context(), "ana", "lamp", quantity, noon); !errors.Is(err, errQuantity) {
			t.Errorf("quantity %d: error %v", quantity, err)
		}
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
		must(t, s.addToCart(t.Context(), user, "lamp", 1, noon))
	}
	must(t, s.addToCart(t.Context(), "dora", "lamp-2", 1, noon))
	holders := func() []string {
		t.Helper()
		var users []string
		after := ""
		for {
			page, err := s.cartsWith(t.Context(), "lamp", 2, after)
			must(t, err)
			for _, l := range page.Items {
				users = append(users, l.UserID)
			}
			if after = page.Next; after == "" {
				return users
			}
		}
	}
	if diff := cmp.Diff([]string{"ana", "bruno", "carla"}, holders()); diff != "" {
		t.Errorf("carts with lamps (-want +got):\n%s", diff)
	}
	must(t, s.removeFromCart(t.Context(), "ana", "lamp"))
	_, err := s.checkOut(t.Context(), "bruno", "o-1", noon)
	must(t, err)
	if diff := cmp.Diff([]string{"carla"}, holders()); diff != "" {
		t.Errorf("after a removal and an order (-want +got):\n%s", diff)
	}
}
