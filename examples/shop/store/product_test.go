package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
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
	check.OK(t, s.AddCategory(t.Context(), want[1]))
	check.OK(t, s.AddCategory(t.Context(), want[0]))
	got := check.Must(s.Categories(t.Context()))(t)
	check.Equal(t, "categories", got, want)
	check.Is(t, s.AddCategory(t.Context(), want[0]), table.ErrExists, "the same category again")
	check.Is(t, s.AddProduct(t.Context(), "eva", Product{ID: "p", Name: "Lamp", Category: "kitchen", Active: true}), ErrNoCategory, "a product without a category")
	check.Is(t, check.Err(s.ProductByID(t.Context(), "p")), table.ErrNotFound, "it is there")
}

// A race can create a category too many. The list of all products works all the same.
func TestCategoriesHaveALimit(t *testing.T) {
	t.Parallel()
	s := open(t)
	check.Together(8, func(worker int) {
		for i := worker; i < maxCategories; i += 8 {
			c := Category{ID: fmt.Sprint("c-", i), Name: "Things"}
			if err := s.categories.Create(t.Context(), &c); err != nil {
				t.Error(err)
			}
		}
	})
	check.OK(t, s.AddProduct(t.Context(), "eva", Product{ID: "p", Name: "Lamp", Category: "c-0", Active: true}))
	beyond := Category{ID: "d", Name: "Beyond"}
	check.Is(t, s.AddCategory(t.Context(), beyond), ErrCategories)
	check.Is(t, s.AddCategory(t.Context(), Category{ID: "c-7", Name: "Things"}), table.ErrExists)
	check.OK(t, s.categories.Create(t.Context(), &beyond))
	check.Equal(t, "all active", ids(check.Must(s.ActiveProducts(t.Context(), 0, ""))(t).Items), []string{"p"})
}

func TestInactiveProductsAreApart(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "p-1", Name: "Lamp"}, Product{ID: "p-2", Name: "Ladder"})
	check.OK(t, s.AddCategory(t.Context(), Category{ID: "things-2", Name: "A longer id"}))
	check.OK(t, s.AddProduct(t.Context(), "eva", Product{ID: "p-3", Name: "Lamb", Category: "things-2", Active: true}))
	show := func() [2][]string {
		t.Helper()
		category := check.Must(s.ProductsByCategory(t.Context(), "things", 0, ""))(t)
		search := check.Must(s.SearchProducts(t.Context(), "la", 0, ""))(t)
		// Nothing was read that is not shown.
		check.Equal(t, "items were read", category.Stats.Scanned+search.Stats.Scanned, len(category.Items)+len(search.Items))
		return [2][]string{ids(category.Items), ids(search.Items)}
	}
	activate := func(active bool) {
		t.Helper()
		check.Must(s.ChangeProduct(t.Context(), "eva", "p-1", func(p *Product) error {
			p.Active = active
			return nil
		}))(t)
	}
	both := [2][]string{{"p-2", "p-1"}, {"p-2", "p-3", "p-1"}}
	check.Equal(t, "all active", show(), both)
	activate(false)
	check.Equal(t, "p-1 inactive", show(), [2][]string{{"p-2"}, {"p-2", "p-3"}})
	check.Equal(t, "inactive", ids(check.Must(s.InactiveProducts(t.Context(), 0, ""))(t).Items), []string{"p-1"})
	activate(true)
	check.Equal(t, "inactive", ids(check.Must(s.InactiveProducts(t.Context(), 0, ""))(t).Items), nil)
	check.Equal(t, "p-1 active again", show(), both)
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
		"o\u0308":   {"umlaut"},
		"机":         {"east"},
		"机 d":       {"east"},
	} {
		page := check.Must(s.SearchProducts(t.Context(), text, 0, ""))(t)
		check.Equal(t, fmt.Sprintf("%q", text), ids(page.Items), want)
		if page.Stats.Scanned != len(want) {
			t.Errorf("%q: %d items were read for %d", text, page.Stats.Scanned, len(want))
		}
	}
	for _, text := range []string{"", "  "} {
		check.Is(t, check.Err(s.SearchProducts(t.Context(), text, 0, "")), ErrEmptySearch, text)
	}
}

func TestAChangeOfAProductLosesNoSale(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Price: 100, Stock: 10})
	check.OK(t, s.AddToCart(t.Context(), "ana", "lamp", 3, noon))
	calls := 0
	p := check.Must(s.ChangeProduct(t.Context(), "eva", "lamp", func(p *Product) error {
		if calls++; calls == 1 {
			check.Must(s.CheckOut(t.Context(), "ana", "o-1", noon))(t)
		}
		p.Price = 120
		p.Stock += 5
		return nil
	}))(t)
	if calls != 2 || p.Stock != 12 || inStock(t, s, "lamp") != 12 {
		t.Errorf("after %d calls %d in stock, %d stored, want 12", calls, p.Stock, inStock(t, s, "lamp"))
	}
}

func TestCategoriesAreFoundBySlug(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := Category{ID: "home-and-garden", Name: "Home & garden", Description: "For inside and outside."}
	check.OK(t, s.AddCategory(t.Context(), want))
	check.Equal(t, "the category", check.Must(s.CategoryBySlug(t.Context(), want.ID))(t), want)
	check.Is(t, check.Err(s.CategoryBySlug(t.Context(), "none")), table.ErrNotFound)
	for _, id := range []string{"", "Home", "home#x", "-home", "home--x", "home ", strings.Repeat("x", 51)} {
		check.Is(t, s.AddCategory(t.Context(), Category{ID: id, Name: "Home"}), ErrCategory, id)
	}
	check.Is(t, s.AddCategory(t.Context(), Category{ID: "home"}), ErrCategory, "no name")
}

func TestAllActiveProductsAreListedByName(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s, _ := openFaulty(t, &faults)
	empty := check.Must(s.ActiveProducts(t.Context(), 0, ""))(t)
	check.Equal(t, "in an empty shop", len(empty.Items), 0)
	var want []string
	for i := range 26 {
		category := Category{ID: fmt.Sprintf("c-%d", i%4), Name: "Category"}
		check.OK(t, program.UnlessThere(s.AddCategory(t.Context(), category)))
		p := Product{ID: fmt.Sprintf("p-%02d", i), Name: fmt.Sprintf("%c", 'Z'-rune(i)), Category: category.ID, Active: i%5 != 0}
		check.OK(t, s.AddProduct(t.Context(), "eva", p))
		if p.Active {
			want = append([]string{p.ID}, want...)
		}
	}
	check.OK(t, s.AddCategory(t.Context(), Category{ID: "a-category-without-products", Name: "Empty"}))
	for _, limit := range []int{1, 3, 100} {
		var got []string
		for after, pages := "", 1; ; pages++ {
			page := check.Must(s.ActiveProducts(t.Context(), limit, after))(t)
			if got = append(got, ids(page.Items)...); len(page.Items) > limit {
				t.Errorf("a page of %d products, limit %d", len(page.Items), limit)
			}
			if after = page.Next; after == "" {
				break
			}
			if pages == 1 && limit == 3 { // while somebody reads
				check.OK(t, s.AddCategory(t.Context(), Category{ID: "b-new", Name: "New"}))
			}
		}
		check.Equal(t, fmt.Sprintf("products by %d", limit), got, want)
	}
	check.Equal(t, "scans", len(faults.Requests("Scan")), 0)
}

func TestAProductMovesToCategoriesThatExist(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp"})
	move := func(to string) error {
		return check.Err(s.ChangeProduct(t.Context(), "eva", "lamp", func(p *Product) error { p.Category = to; return nil }))
	}
	check.Is(t, move("none"), ErrNoCategory)
	check.OK(t, s.AddCategory(t.Context(), Category{ID: "lights", Name: "Lights"}), move("lights"))
	page := check.Must(s.ProductsByCategory(t.Context(), "lights", 0, ""))(t)
	check.Equal(t, "products of the new category", ids(page.Items), []string{"lamp"})
	for name, change := range map[string]func(*Product){
		"name": func(p *Product) { p.Name = "" }, "price": func(p *Product) { p.Price = -1 }, "stock": func(p *Product) { p.Stock = -1 },
		"high price": func(p *Product) { p.Price = MaxPrice + 1 },
	} {
		check.Is(t, check.Err(s.ChangeProduct(t.Context(), "eva", "lamp", func(p *Product) error { change(p); return nil })), ErrProduct, name)
	}
}
