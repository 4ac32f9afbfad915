package store

import (
	"context"
	"errors"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
)

func TestSimilarProductsAreActiveAndNearestFirst(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Desk lamp"}, Product{ID: "floor", Name: "Floor lamp"}, Product{ID: "lantern", Name: "Lantern"}, Product{ID: "spade", Name: "Spade"})
	check.OK(t, s.AddProduct(t.Context(), "eva", Product{ID: "secret", Name: "Desk lamp, new", Category: "things"}))
	similar := func(id string) []string {
		t.Helper()
		return ids(check.Must(s.SimilarProducts(t.Context(), id))(t))
	}
	change := func(id string, change func(*Product)) {
		t.Helper()
		check.Must(s.ChangeProduct(t.Context(), "eva", id, func(p *Product) error { change(p); return nil }))(t)
	}
	check.Equal(t, "like the lamp", similar("lamp"), []string{"floor", "lantern", "spade"})
	for _, id := range []string{"secret", "none"} {
		check.Is(t, check.Err(s.SimilarProducts(t.Context(), id)), table.ErrNotFound, id)
	}
	change("spade", func(p *Product) { p.Name = "Desk lamp, red" })
	check.Equal(t, "after a new name", similar("lamp"), []string{"spade", "floor", "lantern"})
	change("floor", func(p *Product) { p.Active = false })
	check.Is(t, check.Err(s.SimilarProducts(t.Context(), "floor")), table.ErrNotFound, "one that was taken out")
	change("secret", func(p *Product) { p.Active = true })
	check.Equal(t, "after one was taken out, and one put in", similar("lamp"), []string{"secret", "spade", "lantern"})
	for range maxSimilar {
		check.OK(t, s.AddProduct(t.Context(), "eva", Product{ID: NewID("p"), Name: "Desk lamp", Category: "things", Active: true}))
	}
	check.Equal(t, "at most", len(similar("lamp")), maxSimilar)
}

// The model costs money, and it can fail: then nothing is written.
func TestTheModelIsCalledForANewText(t *testing.T) {
	t.Parallel()
	s := open(t)
	var texts []string
	s.Model = func(ctx context.Context, text string) ([]float32, error) {
		texts = append(texts, text)
		return letters(ctx, text)
	}
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Price: 100, Stock: 10})
	check.OK(t, s.AddToCart(t.Context(), "ana", "lamp", 3, noon))
	check.Must(s.CheckOut(t.Context(), "ana", "o-1", noon))(t)
	change := func(change func(*Product)) error {
		return check.Err(s.ChangeProduct(t.Context(), "eva", "lamp", func(p *Product) error { change(p); return nil }))
	}
	check.OK(t, change(func(p *Product) { p.Price = 120 }), change(func(p *Product) { p.Name = "Lantern" }))
	check.Equal(t, "texts", texts, []string{"Lamp\nthings", "Lantern\nthings"})
	failure := errors.New("no model")
	s.Model = func(context.Context, string) ([]float32, error) { return nil, failure }
	check.Is(t, change(func(p *Product) { p.Name = "Torch" }), failure)
	check.Is(t, s.AddProduct(t.Context(), "eva", Product{ID: "torch", Name: "Torch", Category: "things", Active: true}), failure)
	check.Equal(t, "name", check.Must(s.ProductByID(t.Context(), "lamp"))(t).Name, "Lantern")
	check.Is(t, check.Err(s.ProductByID(t.Context(), "torch")), table.ErrNotFound)
}
