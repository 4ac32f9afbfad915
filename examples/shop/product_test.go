package main

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func ids(products []Product) []string {
	var all []string
	for _, p := range products {
		all = append(all, p.ID)
	}
	return all
}

func TestCategoriesAreListedInOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := []Category{{ID: "garden", Name: "Garden"}, {ID: "home", Name: "Home"}}
	must(t, s.addCategory(t.Context(), want[1]))
	must(t, s.addCategory(t.Context(), want[0]))
	got, err := s.listCategories(t.Context())
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	if err := s.addCategory(t.Context(), want[0]); !errors.Is(err, table.ErrExists) {
		t.Errorf("the same category again: %v", err)
	}
	err = s.addProduct(t.Context(), Product{ID: "p", Name: "Lamp", Category: "kitchen", Active: true})
	if !errors.Is(err, errNoCategory) {
		t.Errorf("a product without a category: %v", err)
	}
	if _, err := s.productByID(t.Context(), "p"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("it is there: %v", err)
	}
}

func TestInactiveProductsAreInNoIndex(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "p-1", Name: "Lamp"}, Product{ID: "p-2", Name: "Ladder"})
	must(t, s.addCategory(t.Context(), Category{ID: "things-2", Name: "A longer id"}))
	must(t, s.addProduct(t.Context(), Product{ID: "p-3", Name: "Lamb", Category: "things-2", Active: true}))
	show := func() [2][]string {
		t.Helper()
		category, err := s.productsByCategory(t.Context(), "things", 0, "")
		must(t, err)
		search, err := s.searchProducts(t.Context(), "la", 0, "")
		must(t, err)
		// Nothing was read that is not shown.
		if scanned := category.Stats.Scanned + search.Stats.Scanned; scanned != len(category.Items)+len(search.Items) {
			t.Errorf("%d items were read", scanned)
		}
		return [2][]string{ids(category.Items), ids(search.Items)}
	}
	activate := func(active bool) {
		t.Helper()
		_, err := s.changeProduct(t.Context(), "p-1", func(p *Product) error {
			p.Active = active
			return nil
		})
		must(t, err)
	}
	both := [2][]string{{"p-2", "p-1"}, {"p-2", "p-3", "p-1"}}
	if diff := cmp.Diff(both, show()); diff != "" {
		t.Errorf("all active (-want +got):\n%s", diff)
	}
	activate(false)
	if diff := cmp.Diff([2][]string{{"p-2"}, {"p-2", "p-3"}}, show()); diff != "" {
		t.Errorf("p-1 inactive (-want +got):\n%s", diff)
	}
	activate(true)
	if diff := cmp.Diff(both, show()); diff != "" {
		t.Errorf("p-1 active again (-want +got):\n%s", diff)
	}
}

func TestSearchIsByTheBeginningOfTheName(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s,
		Product{ID: "desk", Name: "Desk"},
		Product{ID: "desk-2", Name: "desk"},
		Product{ID: "lamp", Name: "Desk  Lamp"},
		Product{ID: "top", Name: "Desktop"},
		Product{ID: "dial", Name: "Dial"},
		Product{ID: "hash", Name: "#9 screw"},
		Product{ID: "percent", Name: "50% grey"},
		Product{ID: "umlaut", Name: "Öl"},
		Product{ID: "east", Name: "机 Desk"},
	)
	for text, want := range map[string][]string{
		"d":         {"desk", "desk-2", "lamp", "top", "dial"},
		"DES":       {"desk", "desk-2", "lamp", "top"},
		"desk":      {"desk", "desk-2", "lamp", "top"},
		"desk l":    {"lamp"},
		" desk   l": {"lamp"},
		"deskt":     {"top"},
		"desk#":     nil,
		"desk%":     nil,
		"lamp":      nil,
		"e":         nil,
		"#":         {"hash"},
		"#9 s":      {"hash"},
		"50%":       {"percent"},
		"50%2":      nil, // % and what follows is no escape
		"ö":         {"umlaut"},
		"机":         {"east"},
		"机 d":       {"east"},
	} {
		page, err := s.searchProducts(t.Context(), text, 0, "")
		must(t, err)
		if diff := cmp.Diff(want, ids(page.Items)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		if page.Stats.Scanned != len(want) {
			t.Errorf("%q: %d items were read for %d", text, page.Stats.Scanned, len(want))
		}
	}
	for _, text := range []string{"", "  "} {
		if _, err := s.searchProducts(t.Context(), text, 0, ""); !errors.Is(err, errEmptySearch) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestProductsComeInPages(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "1", Name: "Lamp"}, Product{ID: "2", Name: "Lamp"}, Product{ID: "3", Name: "Lamp"})
	for name, read := range map[string]func(context.Context, string, int, string) (table.Page[Product], error){
		"things": s.productsByCategory,
		"lam":    s.searchProducts,
	} {
		var got []string
		after := ""
		for {
			page, err := read(t.Context(), name, 2, after)
			must(t, err)
			got = append(got, ids(page.Items)...)
			if after = page.Next; after == "" {
				break
			}
		}
		if diff := cmp.Diff([]string{"1", "2", "3"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAChangeOfAProductLosesNoSale(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Price: 100, Stock: 10})
	must(t, s.addToCart(t.Context(), "ana", "lamp", 3, noon))
	calls := 0
	p, err := s.changeProduct(t.Context(), "lamp", func(p *Product) error {
		if calls++; calls == 1 {
			_, err := s.checkOut(t.Context(), "ana", "o-1", noon)
			must(t, err)
		}
		p.Price = 120
		p.Stock += 5
		return nil
	})
	must(t, err)
	if calls != 2 || p.Stock != 12 || inStock(t, s, "lamp") != 12 {
		t.Errorf("after %d calls %d in stock, %d stored, want 12", calls, p.Stock, inStock(t, s, "lamp"))
	}
}

func TestAProductIsAddedOnce(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s, _ := openFaulty(t, &faults)
	faults.Next("TransactWriteItems", tabletest.DropResponse())
	stock(t, s, Product{ID: "lamp", Name: "Lamp"})
	err := s.addProduct(t.Context(), Product{ID: "lamp", Name: "Lamp", Category: "things"})
	if !errors.Is(err, table.ErrExists) {
		t.Errorf("the same id again: %v", err)
	}
}
