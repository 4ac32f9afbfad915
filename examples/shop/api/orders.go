package api

import (
	"context"
	"net/http"
	"time"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table"
)

type cartLine struct {
	Product  string `json:"productId"`
	Name     string `json:"name"`
	Quantity int    `json:"quantity"`
	Price    *int64 `json:"price,omitempty"` // of one piece; none if it is not sold now
}

type cart struct {
	httpapi.List[cartLine]
	Revision string `json:"cartRevision"`
}

type order struct {
	ID       string       `json:"orderId"`
	User     string       `json:"userId"`
	PlacedAt string       `json:"placedAt"`
	Status   store.Status `json:"status"`
	Total    int64        `json:"total"`
	Items    []orderItem  `json:"items,omitempty"` // not in lists
}

type orderItem struct {
	Product  string `json:"productId"`
	Name     string `json:"name"`
	Quantity int    `json:"quantity"`
	Price    int64  `json:"price"`
	Subtotal int64  `json:"subtotal"`
}

func orderOf(o store.Order) order {
	return order{ID: o.ID, User: o.UserID, PlacedAt: httpapi.Clock(o.PlacedAt), Status: o.Status, Total: o.Total}
}

func wholeOrder(o store.Order, items []store.OrderItem) order {
	whole := orderOf(o)
	for _, i := range items {
		whole.Items = append(whole.Items, orderItem{i.ProductID, i.Name, i.Quantity, i.Price, i.Subtotal})
	}
	return whole
}

func (a *API) cart(w http.ResponseWriter, r *http.Request, who store.User) error {
	lines, err := a.shop.Cart(r.Context(), who.ID)
	if err != nil {
		return err
	}
	prices, err := a.shop.Prices(r.Context(), lines)
	if err != nil {
		return err
	}
	items := httpapi.ListOf(lines, "", func(l store.CartLine) cartLine {
		line := cartLine{Product: l.ProductID, Name: l.Name, Quantity: l.Quantity}
		if price, sold := prices[l.ProductID]; sold {
			line.Price = &price
		}
		return line
	})
	return httpapi.WriteJSON(w, http.StatusOK, cart{items, store.CartRevision(lines, prices)})
}

func (a *API) addToCart(w http.ResponseWriter, r *http.Request, who store.User) error {
	var id string
	var quantity int
	if err := httpapi.ReadJSON(w, r, map[string]any{"productId": &id, "quantity": &quantity}); err != nil {
		return err
	}
	if err := a.shop.AddToCart(r.Context(), who.ID, id, quantity, time.Now().UTC()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) removeFromCart(w http.ResponseWriter, r *http.Request, who store.User) error {
	if err := a.shop.RemoveFromCart(r.Context(), who.ID, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// checkOut orders the cart whose revision is in the body, which is what the user has seen.
func (a *API) checkOut(w http.ResponseWriter, r *http.Request, who store.User) error {
	key, err := rest.IdempotencyKey(r.Header)
	if err != nil {
		return err
	}
	if key == "" {
		return rest.BadRequest("missing_idempotency_key", "an Idempotency-Key is required")
	}
	var revision string
	if err := httpapi.ReadJSON(w, r, map[string]any{"cartRevision": &revision}); err != nil {
		return err
	}
	if revision == "" {
		return rest.BadRequest("invalid_cartRevision", "the cartRevision that GET /cart has returned is required")
	}
	response, replayed, err := store.CheckOutOnce(r.Context(), a.shop, who.ID, key, revision, func(o store.Order, items []store.OrderItem) (httpapi.Created, error) {
		return httpapi.NewCreated("/orders/"+o.ID, wholeOrder(o, items))
	})
	if err != nil {
		return err
	}
	response.Write(w, replayed)
	return nil
}

func (a *API) orders(w http.ResponseWriter, r *http.Request, who store.User) error {
	return httpapi.WriteList(w, r, func(ctx context.Context, limit int, after string) (table.Page[store.Order], error) {
		return a.shop.OrdersByUser(ctx, who.ID, limit, after)
	}, orderOf)
}

// order returns an order of the user; to an admin, any order. Another user's order is a
// 404, so that nobody learns which ids there are.
func (a *API) order(w http.ResponseWriter, r *http.Request, who store.User) error {
	o, items, err := a.shop.OrderWithItems(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if o.UserID != who.ID && who.Role != store.Admin {
		return table.ErrNotFound
	}
	return httpapi.WriteJSON(w, http.StatusOK, wholeOrder(o, items))
}

// patchOrder moves an order on to its next status.
func (a *API) patchOrder(w http.ResponseWriter, r *http.Request, who store.User) error {
	var status store.Status
	if err := httpapi.ReadJSON(w, r, map[string]any{"status": &status}); err != nil {
		return err
	}
	o, err := a.shop.Advance(r.Context(), who.ID, r.PathValue("id"), status)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, orderOf(o))
}
