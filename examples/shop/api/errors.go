package api

import (
	"errors"
	"net/http"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/shop/session"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// failures are the errors that a client can do something about. The first one that an
// error matches counts: those of the shop come before the library's general ones. An
// empty message is the error's own text, which is for clients.
var failures = []struct {
	err     error
	failure httpapi.Failure
}{
	{session.ErrUnauthorized, httpapi.Failure{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "log in first"}},
	{errRole, httpapi.Failure{Status: http.StatusForbidden, Code: "insufficient_role", Message: "this is for admins"}},

	{store.ErrInvalidEmail, httpapi.Failure{Status: http.StatusBadRequest, Code: "invalid_email"}},
	{store.ErrPassword, httpapi.Failure{Status: http.StatusBadRequest, Code: "invalid_password"}},
	{store.ErrName, httpapi.Failure{Status: http.StatusBadRequest, Code: "invalid_name"}},
	{store.ErrEmailTaken, httpapi.Failure{Status: http.StatusConflict, Code: "email_taken"}},
	{store.ErrLogin, httpapi.Failure{Status: http.StatusUnauthorized, Code: "login_failed"}},
	{store.ErrAttempts, httpapi.Failure{Status: http.StatusTooManyRequests, Code: "too_many_attempts"}},

	{store.ErrCategory, httpapi.Failure{Status: http.StatusBadRequest, Code: "invalid_category"}},
	{store.ErrProduct, httpapi.Failure{Status: http.StatusBadRequest, Code: "invalid_product"}},
	{store.ErrEmptySearch, httpapi.Failure{Status: http.StatusBadRequest, Code: "invalid_name"}},
	{store.ErrNoCategory, httpapi.Failure{Status: http.StatusConflict, Code: "no_category"}},

	{store.ErrQuantity, httpapi.Failure{Status: http.StatusBadRequest, Code: "invalid_quantity"}},
	{store.ErrNotSold, httpapi.Failure{Status: http.StatusConflict, Code: "not_sold"}},
	{store.ErrEmptyCart, httpapi.Failure{Status: http.StatusConflict, Code: "empty_cart"}},
	{store.ErrCartTooLarge, httpapi.Failure{Status: http.StatusConflict, Code: "cart_too_large"}},
	{store.ErrPriceChanged, httpapi.Failure{Status: http.StatusConflict, Code: "price_changed", Message: "a price has changed; look at the products again"}},
	{store.ErrStatus, httpapi.Failure{Status: http.StatusConflict, Code: "invalid_status", Message: "an order goes from PLACED to PAID, SHIPPED and DELIVERED"}},

	{paginate.ErrInvalidCursor, httpapi.Failure{Status: http.StatusBadRequest, Code: "invalid_cursor", Message: "lastKey is not one that this list has given out to you; start again without it"}},
	{idempotency.ErrPayloadMismatch, httpapi.Failure{Status: http.StatusConflict, Code: "idempotency_key_reused", Message: "this Idempotency-Key was used for another request"}},
	{idempotency.ErrInvalidRequest, httpapi.Failure{Status: http.StatusBadRequest, Code: "invalid_idempotency_key", Message: "the Idempotency-Key is too long or not text"}},
	{keys.ErrInvalid, httpapi.Failure{Status: http.StatusNotFound, Code: "not_found", Message: "there is nothing here"}},
	{table.ErrNotFound, httpapi.Failure{Status: http.StatusNotFound, Code: "not_found", Message: "there is nothing here"}},
	{table.ErrExists, httpapi.Failure{Status: http.StatusConflict, Code: "exists", Message: "this exists already"}},
	{table.ErrConflict, httpapi.Failure{Status: http.StatusConflict, Code: "conflict", Message: "this was changed at the same time; look at it and try again"}},
}

// failureOf is the one place that says which error is which status. What it does not
// know is a fault of the server, of which the client learns nothing.
func failureOf(err error) *httpapi.Failure {
	if short, ok := errors.AsType[*store.StockError](err); ok {
		return &httpapi.Failure{Status: http.StatusConflict, Code: "out_of_stock", Message: short.Error()}
	}
	for _, known := range failures {
		if errors.Is(err, known.err) {
			f := known.failure
			if f.Message == "" {
				f.Message = known.err.Error()
			}
			return &f
		}
	}
	if table.Classify(err) == table.Transient {
		return &httpapi.Failure{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "try again in a moment; repeat an order with the same Idempotency-Key"}
	}
	return nil
}
