package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/singletable/singletable/examples/appcore/core"
)

// timeFormat is how times are written, always with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

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
	return transaction{t.ID, t.UserID, t.Amount, t.Currency, t.Status, t.Note, clock(t.CreatedAt)}
}

type notification struct {
	ID        string `json:"notifId"`
	User      string `json:"userId"`
	TxID      string `json:"txId"`
	Text      string `json:"text"`
	CreatedAt string `json:"createdAt"`
}

func notificationOf(n core.Notification) notification {
	return notification{n.ID, n.UserID, n.TxID, n.Text, clock(n.CreatedAt)}
}

func clock(t time.Time) string { return t.UTC().Format(timeFormat) }

// page is one page of a list; LastKey is left out on the last one.
type page[T any] struct {
	Items   []T    `json:"items"`
	LastKey string `json:"lastKey,omitempty"`
}

func pageOf[T, U any](p core.Page[T], of func(T) U) page[U] {
	items := make([]U, len(p.Items)) // [] in JSON if there are none, not null
	for i, v := range p.Items {
		items[i] = of(v)
	}
	return page[U]{items, p.Next}
}

// listing returns the endpoint of a list that read reads, of items that of
// converts.
func listing[T, U any](
	limit int, read func(*core.Service, context.Context, core.List) (core.Page[T], error), of func(T) U,
) endpoint {
	return func(a *API, w http.ResponseWriter, r *http.Request, user string) error {
		l, err := list(r, user, limit)
		if err != nil {
			return err
		}
		service, err := a.lists(r.Context())
		if err != nil {
			return err
		}
		p, err := read(service, r.Context(), l)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, pageOf(p, of))
	}
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
	revision, err := ifMatch(r.Header)
	if err != nil {
		return err
	}
	var note *string
	if err := readJSON(w, r, map[string]any{"note": &note}); err != nil {
		return err
	}
	if note == nil {
		return badRequest("invalid_note", "the field note is required; the empty string removes it")
	}
	t, err := a.service.Annotate(r.Context(), core.NewNote{User: user, ID: r.PathValue("id"), Note: *note, Revision: revision})
	if err != nil {
		return err
	}
	return writeTransaction(w, t)
}

// writeTransaction writes a transaction with its ETag.
func writeTransaction(w http.ResponseWriter, t core.Transaction) error {
	w.Header().Set("ETag", etag(t.Revision))
	return writeJSON(w, http.StatusOK, transactionOf(t))
}

// created is the response to a POST as it is kept for a retry: byte for byte,
// whatever a later version of this program would write.
type created struct {
	Status   int    `dynamodbav:"status"`
	Location string `dynamodbav:"location"`
	Body     []byte `dynamodbav:"body"`
}

func (a *API) createTransaction(w http.ResponseWriter, r *http.Request, user string) error {
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return err
	}
	n := core.NewTransaction{User: user, Key: key}
	if err := readJSON(w, r, map[string]any{"amount": &n.Amount, "currency": &n.Currency}); err != nil {
		return err
	}
	response, replayed, err := core.CreateTransaction(r.Context(), a.service, n, func(t core.Transaction) (created, error) {
		body, err := encode(transactionOf(t))
		return created{http.StatusCreated, "/transactions/" + t.ID, body}, err
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", response.Location)
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	write(w, response.Status, response.Body)
	return nil
}

// encode returns v as a line of JSON.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return b.Bytes(), err
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	write(w, status, body)
	return nil
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone gets nothing
}
