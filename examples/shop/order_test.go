package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// order places an order of one lamp.
func order(t *testing.T, s *shop, user, id string, at time.Time) Order {
	t.Helper()
	must(t, s.addToCart(t.Context(), user, "lamp", 1, at))
	o, err := s.checkOut(t.Context(), user, id, at)
	must(t, err)
	return o
}

func TestAnOrderAndItsItemsAreOneQuery(t *testing.T) {
	t.Parallel()
	m := &report.Meter{}
	plain := open(t)
	stock(t, plain, Product{ID: "lamp", Name: "Lamp", Stock: 9}, Product{ID: "desk", Name: "Desk", Stock: 9})
	must(t, plain.addToCart(t.Context(), "ana", "desk", 2, noon))
	order(t, plain, "ana", "o-1", noon)
	order(t, plain, "ana", "o-10", noon) // its key begins as the other's

	tbl, err := table.New(tabletest.Client(t), plain.table.Schema(), &table.Options{Observe: m.Observe})
	must(t, err)
	o, items, err := on(t, tbl).orderWithItems(t.Context(), "o-1")
	must(t, err)
	if requests, _ := m.Take(); requests != 1 || o.ID != "o-1" || len(items) != 2 {
		t.Errorf("%d requests, order %q with %d items", requests, o.ID, len(items))
	}
	if _, _, err := plain.orderWithItems(t.Context(), "none"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("no such order: %v", err)
	}
}

func TestAUsersOrdersAreNewestFirst(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9})
	for i, hours := range []int{2, 0, 1} {
		order(t, s, "ana", fmt.Sprintf("o-%d", i), noon.Add(time.Duration(hours)*time.Hour))
	}
	order(t, s, "bruno", "o-9", noon)
	must(t, s.addToCart(t.Context(), "ana", "lamp", 1, noon)) // it is in the same partition

	first, err := s.ordersByUser(t.Context(), "ana", 2, "")
	must(t, err)
	rest, err := s.ordersByUser(t.Context(), "ana", 2, first.Next)
	must(t, err)
	var got []string
	for _, o := range append(first.Items, rest.Items...) {
		got = append(got, o.ID)
	}
	if diff := cmp.Diff([]string{"o-0", "o-2", "o-1"}, got); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	if _, err := s.ordersByUser(t.Context(), "bruno", 2, first.Next); !errors.Is(err, paginate.ErrInvalidCursor) {
		t.Errorf("another user's token: %v", err)
	}
}

func TestAStatusChangesInBothItems(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9})
	order(t, s, "ana", "o-1", noon)
	for _, to := range []Status{paid, shipped, delivered} {
		want, err := s.advance(t.Context(), "o-1", to)
		must(t, err)
		if want.Status != to {
			t.Errorf("the order: %+v, want status %s", want, to)
		}
		got, _, err := s.orderWithItems(t.Context(), "o-1")
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the order (-want +got):\n%s", diff)
		}
		list, err := s.ordersByUser(t.Context(), "ana", 0, "")
		must(t, err)
		if diff := cmp.Diff([]Order{want}, list.Items); diff != "" {
			t.Errorf("the user's orders (-want +got):\n%s", diff)
		}
	}
	if _, err := s.advance(t.Context(), "none", paid); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("no such order: %v", err)
	}
}

func TestAStatusFollowsAnother(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9})
	order(t, s, "ana", "o-1", noon)
	for _, to := range []Status{placed, shipped, delivered, "", "LOST"} {
		if _, err := s.advance(t.Context(), "o-1", to); !errors.Is(err, errStatus) {
			t.Errorf("from PLACED to %q: %v", to, err)
		}
	}
	went := 0
	for i, err := range atOnce(8, func(int) error { _, err := s.advance(t.Context(), "o-1", paid); return err }) {
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
