package api

import (
	"context"
	"net/http"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table"
)

type category struct {
	ID          string `json:"slug"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

func categoryOf(c store.Category) category { return category(c) }

type product struct {
	ID       string `json:"productId"`
	Name     string `json:"name"`
	Category string `json:"category"`
	Price    int64  `json:"price"`
	Stock    int    `json:"stock"`
	Active   bool   `json:"active"`
}

func productOf(p store.Product) product {
	return product{p.ID, p.Name, p.Category, p.Price, p.Stock, p.Active}
}

func (a *API) categories(w http.ResponseWriter, r *http.Request, _ store.User) error {
	all, err := a.shop.Categories(r.Context())
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, httpapi.ListOf(all, "", categoryOf))
}

func (a *API) category(w http.ResponseWriter, r *http.Request, _ store.User) error {
	c, err := a.shop.CategoryBySlug(r.Context(), r.PathValue("slug"))
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, categoryOf(c))
}

func (a *API) productsOf(w http.ResponseWriter, r *http.Request, _ store.User) error {
	return httpapi.WriteList(w, r, func(ctx context.Context, limit int, after string) (table.Page[store.Product], error) {
		return a.shop.ProductsByCategory(ctx, r.PathValue("slug"), limit, after)
	}, productOf)
}

// search returns the active products whose names begin with the query's name.
func (a *API) search(w http.ResponseWriter, r *http.Request, _ store.User) error {
	return httpapi.WriteList(w, r, func(ctx context.Context, limit int, after string) (table.Page[store.Product], error) {
		return a.shop.SearchProducts(ctx, r.URL.Query().Get("name"), limit, after)
	}, productOf)
}

// product returns an active product.
func (a *API) product(w http.ResponseWriter, r *http.Request, _ store.User) error {
	p, err := a.shop.ProductByID(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if !p.Active {
		return table.ErrNotFound
	}
	return httpapi.WriteJSON(w, http.StatusOK, productOf(p))
}

// similar returns the active products that are most like one.
func (a *API) similar(w http.ResponseWriter, r *http.Request, _ store.User) error {
	all, err := a.shop.SimilarProducts(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, httpapi.ListOf(all, "", productOf))
}

func (a *API) addProduct(w http.ResponseWriter, r *http.Request, who store.User) error {
	p := store.Product{ID: store.NewID("p"), Price: -1} // which is refused: a price must be given
	err := httpapi.ReadJSON(w, r, map[string]any{
		"name": &p.Name, "category": &p.Category, "price": &p.Price, "stock": &p.Stock, "active": &p.Active,
	})
	if err != nil {
		return err
	}
	if err := a.shop.AddProduct(r.Context(), who.ID, p); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusCreated, productOf(p))
}

// patchProduct changes what the body names. Pieces are added to the stock, since there
// may be sales at the same time.
func (a *API) patchProduct(w http.ResponseWriter, r *http.Request, who store.User) error {
	var name, category *string
	var price *int64
	var active *bool
	var added int
	err := httpapi.ReadJSON(w, r, map[string]any{"name": &name, "category": &category, "price": &price, "active": &active, "addStock": &added})
	if err != nil {
		return err
	}
	if added < -store.MaxStock || added > store.MaxStock {
		return store.ErrProduct
	}
	p, err := a.shop.ChangeProduct(r.Context(), who.ID, r.PathValue("id"), func(p *store.Product) error {
		set(&p.Name, name)
		set(&p.Category, category)
		set(&p.Price, price)
		set(&p.Active, active)
		p.Stock += added
		return nil
	})
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, productOf(p))
}

// set sets a field if there is a value for it.
func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

func (a *API) addCategory(w http.ResponseWriter, r *http.Request, _ store.User) error {
	var c store.Category
	if err := httpapi.ReadJSON(w, r, map[string]any{"slug": &c.ID, "name": &c.Name, "description": &c.Description}); err != nil {
		return err
	}
	if err := a.shop.AddCategory(r.Context(), c); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusCreated, categoryOf(c))
}
