package api

import (
	"context"
	"net/http"
	"time"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

type audit struct {
	Type    string         `json:"type"`
	ID      string         `json:"id"`
	Kind    stream.Kind    `json:"kind"`
	By      string         `json:"by,omitempty"`
	At      string         `json:"at"`
	Changed []string       `json:"changed"`
	Old     map[string]any `json:"old,omitempty"`
	New     map[string]any `json:"new,omitempty"`
}

func auditOf(a store.Audit) audit {
	return audit{a.Type, a.ID, a.Kind, a.By, httpapi.Clock(a.At), a.Changed, a.Old, a.New}
}

type lowStock struct {
	Product string `json:"productId"`
	Name    string `json:"name"`
	Stock   int    `json:"stock"`
	At      string `json:"at"`
	SentAt  string `json:"sentAt,omitempty"`
}

func lowStockOf(n store.LowStock) lowStock {
	l := lowStock{Product: n.ProductID, Name: n.Name, Stock: n.Stock, At: httpapi.Clock(n.At)}
	if n.SentAt != nil {
		l.SentAt = httpapi.Clock(*n.SentAt)
	}
	return l
}

// allProducts returns the active products, or those that are not.
func (a *API) allProducts(w http.ResponseWriter, r *http.Request, _ store.User) error {
	read := a.shop.ActiveProducts
	switch r.URL.Query().Get("active") {
	case "", "true":
	case "false":
		read = a.shop.InactiveProducts
	default:
		return rest.BadRequest("invalid_active", "active is true or false")
	}
	return httpapi.WriteList(w, r, read, productOf)
}

// audits returns the audits of a day, or of one order, product or user.
func (a *API) audits(w http.ResponseWriter, r *http.Request, _ store.User) error {
	query := r.URL.Query()
	entity, id := query.Get("type"), query.Get("id")
	day, err := time.Parse(time.DateOnly, query.Get("day"))
	byDay, byEntity := query.Has("day"), query.Has("type") || query.Has("id")
	if byDay == byEntity || byDay && err != nil || byEntity && (entity == "" || id == "") {
		return rest.BadRequest("invalid_query", "audits are asked for either by day, such as 2024-01-15, or by type (ORDER, PRODUCT or USER) and id")
	}
	return httpapi.WriteList(w, r, func(ctx context.Context, limit int, after string) (table.Page[store.Audit], error) {
		if byDay {
			return a.shop.AuditsByDay(ctx, day, limit, after)
		}
		return a.shop.AuditsByEntity(ctx, entity, id, limit, after)
	}, auditOf)
}

func (a *API) lowStocks(w http.ResponseWriter, r *http.Request, _ store.User) error {
	return httpapi.WriteList(w, r, a.shop.LowStocks, lowStockOf)
}
