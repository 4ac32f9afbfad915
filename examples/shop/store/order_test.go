package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
)

// order places an order of one lamp.
func order(t *testing.T, s *Shop, user, id string, at time.Time) Order {
	t.Helper()
	check.OK(t, s.AddToCart(t.Context(), user, "lamp", 1, at))
	return check.Must(s.CheckOut(t.Context(), user, id, at))(t)
}

func TestAStatusChangesInBothItems(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9})
	order(t, s, "ana", "o-1", noon)
	for _, to := range []Status{Paid, Shipped, Delivered} {
		want := check.Must(s.Advance(t.Context(), "eva", "o-1", to))(t)
		if want.Status != to {
			t.Errorf("the order: %+v, want status %s", want, to)
		}
		got, _, err := s.OrderWithItems(t.Context(), "o-1")
		check.OK(t, err)
		check.Equal(t, "the order", got, want)
		list := check.Must(s.OrdersByUser(t.Context(), "ana", 0, ""))(t)
		check.Equal(t, "the user's orders", list.Items, []Order{want})
	}
	check.Is(t, check.Err(s.Advance(t.Context(), "eva", "none", Paid)), table.ErrNotFound, "no such order")
}

func TestAStatusFollowsAnother(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9})
	order(t, s, "ana", "o-1", noon)
	for _, to := range []Status{Placed, Shipped, Delivered, "", "LOST"} {
		check.Is(t, check.Err(s.Advance(t.Context(), "eva", "o-1", to)), ErrStatus, fmt.Sprintf("from PLACED to %q", to))
	}
	went := 0
	for i, err := range check.Errors(8, func(int) error { _, err := s.Advance(t.Context(), "eva", "o-1", Paid); return err }) {
		switch {
		case err == nil:
			went++
		case !errors.Is(err, ErrStatus):
			t.Errorf("change %d: %v", i, err)
		}
	}
	if went != 1 {
		t.Errorf("the order was paid %d times", went)
	}
}
