package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/examples/shop/store"
)

// failures are the shop's own errors and their statuses. Those without a message have a text
// for clients.
var failures = slices.Concat([]httpapi.Known{named}, httpapi.Access(), []httpapi.Known{
	httpapi.On(store.ErrInvalidEmail, http.StatusBadRequest, "invalid_email", ""),
	httpapi.On(store.ErrPassword, http.StatusBadRequest, "invalid_password", ""),
	httpapi.On(store.ErrName, http.StatusBadRequest, "invalid_name", ""),
	httpapi.On(store.ErrCode, http.StatusBadRequest, "invalid_code", ""),
	httpapi.On(store.ErrLogin, http.StatusUnauthorized, "login_failed", ""),
	httpapi.On(store.ErrAttempts, http.StatusTooManyRequests, "too_many_attempts", ""),

	httpapi.On(store.ErrCategory, http.StatusBadRequest, "invalid_category", ""),
	httpapi.On(store.ErrCategories, http.StatusConflict, "too_many_categories", ""),
	httpapi.On(store.ErrProduct, http.StatusBadRequest, "invalid_product", ""),
	httpapi.On(store.ErrEmptySearch, http.StatusBadRequest, "invalid_name", ""),
	httpapi.On(store.ErrNoCategory, http.StatusConflict, "no_category", ""),

	httpapi.On(store.ErrQuantity, http.StatusBadRequest, "invalid_quantity", ""),
	httpapi.On(store.ErrNotSold, http.StatusConflict, "not_sold", ""),
	httpapi.On(store.ErrEmptyCart, http.StatusConflict, "empty_cart", ""),
	httpapi.On(store.ErrCartTooLarge, http.StatusConflict, "cart_too_large", ""),
	httpapi.On(store.ErrPriceChanged, http.StatusConflict, "price_changed", "a price has changed; look at the products again"),
	httpapi.On(store.ErrCartChanged, http.StatusConflict, "cart_changed", "the cart or a price in it has changed; look at it again"),
	httpapi.On(store.ErrStatus, http.StatusConflict, "invalid_status", "an order goes from PLACED to PAID, SHIPPED and DELIVERED"),

	httpapi.OnKey(http.StatusNotFound, "not_found", "there is nothing here"),
})

const again = "try again in a moment; repeat an order with the same Idempotency-Key"

// named returns what a client gets to see of errors that name products.
func named(err error) *rest.Failure {
	if short, ok := errors.AsType[*store.StockError](err); ok {
		return &rest.Failure{Status: http.StatusConflict, Code: "out_of_stock", Message: short.Error()}
	}
	if unsold, ok := errors.AsType[*store.NotSoldError](err); ok {
		return &rest.Failure{Status: http.StatusConflict, Code: "not_sold", Message: unsold.Error()}
	}
	return nil
}
