package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
)

// order places an order of one lamp.
func order(t *testing.T, s *shop, user, id string, at time.Time) Order {
	t.Helper()
	check.OK(t, s.addToCart(t.Context(), user, "lamp", 1, at))
	return check.Must(s.checkOut(t.Context(), user, id, at))(t)
}

func TestAStatusChangesInBothItems(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9})
	order(t, s, "ana", "o-1", noon)
	for _, to := range []Status{paid, shipped, delivered} {
		want := check.Must(s.advance(t.Context(), "eva", "o-1", to))(t)
		if want.Status != to {
			t.Errorf("the order: %+v, want status %s", want, to)
		}
		got, _, err := s.orderWithItems(t.Context(), "o-1")
		check.OK(t, err)
		check.Equal(t, "the order", got, want)
		list := check.Must(s.ordersByUser(t.Context(), "ana", 0, ""))(t)
		check.Equal(t, "the user's orders", list.Items, []Order{want})
	}
	check.Is(t, check.Err(s.advance(t.Context(), "eva", "none", paid)), table.ErrNotFound, "no such order")
}

func TestAStatusFollowsAnother(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9})
	order(t, s, "ana", "o-1", noon)
	for _, to := range []Status{placed, shipped, delivered, "", "LOST"} {
		check.Is(t, check.Err(s.advance(t.Context(), "eva", "o-1", to)), errStatus, fmt.Sprintf("from PLACED to %q", to))
	}
	went := 0
	for i, err := range check.Errors(8, func(int) error { _, err := s.advance(t.Context(), "eva", "o-1", paid); return err }) {
		switch {
		case err == nil:
			went++
		case !errors.Is(err, errStatus):
			t.Errorf("change %d: %v", i, err)
		}
	}
	if went != 1 {
		t.Errorf("the order was paid %d times", went)
	}
}
