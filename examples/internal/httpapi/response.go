package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/table"
)

var (
	errNoPath   = &rest.Failure{Status: http.StatusNotFound, Code: "not_found", Message: "there is nothing here"}
	errTooLarge = &rest.Failure{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Message: "the body may have 64 KB at most"}
	errSlow     = &rest.Failure{Status: http.StatusRequestTimeout, Code: "body_too_slow", Message: "the body must arrive within 5 seconds"}
	errTooMany  = &rest.Failure{Status: http.StatusTooManyRequests, Code: "too_many_requests", Message: "you are sending too many requests; wait as Retry-After says"}
	// gone is for the log: the client went away before it got a response, which
	// canceled the request.
	gone = &rest.Failure{Status: 499, Code: "client_gone", Message: "the client went away"}
)

// List is one page of a list. LastKey is left out on the last one, and PrevKey on the
// first one and where there is no way back.
type List[T any] struct {
	Items   []T    `json:"items"`
	LastKey string `json:"lastKey,omitempty"`
	PrevKey string `json:"prevKey,omitempty"`
}

// ListOf returns a page of items that of converts.
func ListOf[T, U any](stored []T, next string, of func(T) U) List[U] {
	items := make([]U, len(stored)) // [] in JSON if there are none, not null
	for i, v := range stored {
		items[i] = of(v)
	}
	return List[U]{Items: items, LastKey: next}
}

// WriteList writes the page of a list that a request asks for. Read reads it, and of
// converts its items.
func WriteList[T, U any](
	w http.ResponseWriter, r *http.Request, read func(ctx context.Context, limit int, after string) (table.Page[T], error), of func(T) U,
) error {
	asked, err := PageOf(r, DefaultLimit)
	if err != nil {
		return err
	}
	p, err := read(r.Context(), asked.Limit, asked.After)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, ListOf(p.Items, p.Next, of))
}

// Clock returns a time in UTC as responses have it, always with milliseconds.
func Clock(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Encode returns v as a line of JSON.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return b.Bytes(), err
}

// WriteJSON writes a response. It returns an error if v cannot be encoded, and writes nothing.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	body, err := Encode(v)
	if err != nil {
		return err
	}
	Write(w, status, body)
	return nil
}

// Created is the response to a request that has created something, as it is kept for a
// retry: byte for byte, whatever a later version of the program would write.
type Created struct {
	Location string `dynamodbav:"location"`
	Body     []byte `dynamodbav:"body"`
}

// NewCreated returns the response with v, which is at location.
func NewCreated(location string, v any) (Created, error) {
	body, err := Encode(v)
	return Created{location, body}, err
}

// Write writes the response. Replayed says that it is that of an earlier request.
func (c Created) Write(w http.ResponseWriter, replayed bool) {
	w.Header().Set("Location", c.Location)
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	Write(w, http.StatusCreated, c.Body)
}

// Write writes a response whose body is JSON.
func Write(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	if header.Get("Cache-Control") == "" {
		header.Set("Cache-Control", "no-store")
	}
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone gets nothing
}
