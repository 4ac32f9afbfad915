package httpapi

import (
	"context"
	"net/http"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// Library are the failures of the library's errors, for a service that returns them as
// they are. What a service says of one itself comes before them.
func Library() []Known {
	return []Known{
		On(paginate.ErrInvalidCursor, http.StatusBadRequest, "invalid_cursor", "lastKey is not one that this list has given out to you; start again without it"),
		On(idempotency.ErrPayloadMismatch, http.StatusUnprocessableEntity, "idempotency_key_reused", "this Idempotency-Key was used for another request"),
		On(idempotency.ErrInvalidRequest, http.StatusBadRequest, "invalid_idempotency_key", "an Idempotency-Key has 1 to 255 bytes of text"),
		On(table.ErrTooLarge, http.StatusRequestEntityTooLarge, "too_large", "this is too large"),
		OnKey(http.StatusBadRequest, "invalid", "a name, an id or a path is empty, too long or not text"),
		On(table.ErrNotFound, http.StatusNotFound, "not_found", "there is nothing here"),
		On(table.ErrWrongType, http.StatusNotFound, "not_found", "there is nothing here"),
		On(table.ErrExists, http.StatusConflict, "exists", "this exists already"),
		Later(context.DeadlineExceeded),
	}
}
