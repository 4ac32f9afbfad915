package api

import (
	"context"
	"net/http"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
)

type transaction struct {
	ID        string      `json:"txId"`
	User      string      `json:"userId"`
	Amount    int64       `json:"amount"`
	Currency  string      `json:"currency"`
	Status    core.Status `json:"status"`
	Note      string      `json:"note,omitempty"`
	CreatedAt string      `json:"createdAt"`
}

func transactionOf(t core.Transaction) transaction {
	return transaction{t.ID, t.UserID, t.Amount, t.Currency, t.Status, t.Note, httpapi.Clock(t.CreatedAt)}
}

type notification struct {
	ID        string `json:"notifId"`
	User      string `json:"userId"`
	TxID      string `json:"txId,omitempty"`
	Message   string `json:"message"`
	Read      bool   `json:"read"`
	CreatedAt string `json:"createdAt"`
}

func notificationOf(n core.Notification) notification {
	return notification{n.PublicID(), n.UserID, n.TxID, n.Message, n.Read, httpapi.Clock(n.CreatedAt)}
}

// listing returns the endpoint of a list that read reads, of items that of
// converts.
func listing[T, U any](
	limit int, read func(*core.Service, context.Context, core.List) (core.Page[T], error), of func(T) U,
) endpoint {
	return func(a *API, w http.ResponseWriter, r *http.Request, user string) error {
		asked, err := httpapi.PageOf(r, limit)
		if err != nil {
			return err
		}
		if err := a.keys(r.Context()); err != nil {
			return err
		}
		p, err := read(a.service, r.Context(), core.List{User: user, Limit: asked.Limit, After: asked.After})
		if err != nil {
			return err
		}
		return httpapi.WriteJSON(w, http.StatusOK, listOf(p, of))
	}
}

func listOf[T, U any](p core.Page[T], of func(T) U) httpapi.List[U] {
	list := httpapi.ListOf(p.Items, p.Next, of)
	list.PrevKey = p.Prev
	return list
}

func (a *API) getTransaction(w http.ResponseWriter, r *http.Request, user string) error {
	t, err := a.service.Transaction(r.Context(), user, r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeTransaction(w, t)
}

// patchTransaction sets the note of a transaction if the transaction is still
// the one whose ETag the client sends along.
func (a *API) patchTransaction(w http.ResponseWriter, r *http.Request, user string) error {
	revision, err := rest.IfMatch(r.Header)
	if err != nil {
		return err
	}
	var note *string
	if err := httpapi.ReadJSON(w, r, map[string]any{"note": &note}); err != nil {
		return err
	}
	if note == nil {
		return rest.BadRequest("invalid_note", "the field note is required; the empty string removes it")
	}
	t, err := a.service.Annotate(r.Context(), core.NewNote{User: user, ID: r.PathValue("id"), Note: *note, Revision: revision})
	if err != nil {
		return err
	}
	return writeTransaction(w, t)
}

// writeTransaction writes a transaction with its ETag. One that another program has
// created has none until it is changed.
func writeTransaction(w http.ResponseWriter, t core.Transaction) error {
	rest.SetETag(w.Header(), t.Revision)
	return httpapi.WriteJSON(w, http.StatusOK, transactionOf(t))
}

func (a *API) createTransaction(w http.ResponseWriter, r *http.Request, user string) error {
	key, err := rest.IdempotencyKey(r.Header)
	if err != nil {
		return err
	}
	n := core.NewTransaction{User: user, Key: key}
	if err := httpapi.ReadJSON(w, r, map[string]any{"amount": &n.Amount, "currency": &n.Currency}); err != nil {
		return err
	}
	t, replayed, err := a.service.Create(r.Context(), n)
	if err != nil {
		return err
	}
	response, err := httpapi.NewCreated("/transactions/"+t.ID, transactionOf(t))
	if err != nil {
		return err
	}
	response.Write(w, replayed)
	return nil
}

// patchNotification marks one of the user's notifications as read or unread.
func (a *API) patchNotification(w http.ResponseWriter, r *http.Request, user string) error {
	var read *bool
	if err := httpapi.ReadJSON(w, r, map[string]any{"read": &read}); err != nil {
		return err
	}
	if read == nil {
		return rest.BadRequest("invalid_read", "the field read is required: true or false")
	}
	n, err := a.service.MarkNotification(r.Context(), user, r.PathValue("id"), *read)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, notificationOf(n))
}
