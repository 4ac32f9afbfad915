package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/table"
)

// page returns the page that a request asks for.
func page(c call) (httpapi.Page, error) {
	p, err := httpapi.PageOf(c.Request, httpapi.DefaultLimit)
	if err != nil {
		return p, err
	}
	if err := c.api.keys(c.Context()); err != nil {
		return p, fmt.Errorf("%w: %w", errNoKeys, err)
	}
	return p, nil
}

// query returns the parameters of a request. All but path are there once at most.
func query(c call) (url.Values, error) {
	q, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return nil, rest.BadRequest("invalid_query", "the query string is malformed")
	}
	for name, values := range q {
		if len(values) > 1 && name != "path" {
			return nil, rest.BadRequest("invalid_query", "a parameter is there twice")
		}
	}
	return q, nil
}

// refOf returns the record that the parameters type and path name: the codes of its
// parents and its own.
func refOf(c call) (core.Ref, error) {
	q, err := query(c)
	if err == nil && len(q["path"]) == 0 {
		err = rest.BadRequest("invalid_path", "at least one path is required")
	}
	return core.NewRef(q.Get("type"), q["path"]...), err
}

// record is a record as clients see it.
type record struct {
	ID         string         `json:"id"`
	Type       string         `json:"type"`
	Path       []string       `json:"path"`
	Name       string         `json:"name"`
	Version    int64          `json:"version"`
	Attributes map[string]any `json:"attributes"`
	CreatedBy  string         `json:"createdBy"`
	CreatedAt  string         `json:"createdAt"`
	UpdatedBy  string         `json:"updatedBy"`
	UpdatedAt  string         `json:"updatedAt"`
}

func recordOf(r core.Record) record {
	if r.Attributes == nil {
		r.Attributes = map[string]any{}
	}
	return record{
		ID: r.ID, Type: r.Type, Path: r.Ref().Path(), Name: r.Name, Version: r.Version, Attributes: r.Attributes,
		CreatedBy: r.CreatedBy, CreatedAt: httpapi.Clock(r.CreatedAt),
		UpdatedBy: r.UpdatedBy, UpdatedAt: httpapi.Clock(r.UpdatedAt),
	}
}

func (c call) record(r core.Record, err error) error {
	if err != nil {
		return err
	}
	return c.ok(recordOf(r))
}

// pageOf writes a page.
func pageOf[T, U any](c call, p table.Page[T], err error, of func(T) U) error {
	if err != nil {
		return err
	}
	return c.ok(httpapi.ListOf(p.Items, p.Next, of))
}

func publish(c call) error {
	var body core.Change
	if err := httpapi.ReadJSON(c.w, c.Request, body.Members()); err != nil {
		return err
	}
	return c.record(c.tenant.Publish(c.Context(), body))
}

func placeOrder(c call) error {
	var body core.Change
	members := body.Members()
	if err := httpapi.ReadJSON(c.w, c.Request, map[string]any{"name": members["name"], "attributes": members["attributes"]}); err != nil {
		return err
	}
	return c.record(c.tenant.PlaceOrder(c.Context(), body.Name, body.Attributes))
}

// list returns the records of a code, of one type or all, those below a path, or those of a
// type.
func list(c call) error {
	q, err := query(c)
	if err != nil {
		return err
	}
	p, err := page(c)
	if err != nil {
		return err
	}
	if q.Has("code") {
		found, err := c.tenant.ByCode(c.Context(), q.Get("type"), q.Get("code"), p.Limit, p.After)
		return pageOf(c, found, err, recordOf)
	}
	if q.Has("path") {
		found, err := c.tenant.Below(c.Context(), core.NewRef(q.Get("type"), q["path"]...), p.Limit, p.After)
		return pageOf(c, found, err, recordOf)
	}
	found, err := c.tenant.List(c.Context(), q.Get("type"), p.Limit, p.After)
	return pageOf(c, found, err, recordOf)
}

func get(c call) error {
	q, err := query(c)
	if err != nil {
		return err
	}
	if q.Has("id") {
		return c.record(c.tenant.ByID(c.Context(), q.Get("id")))
	}
	ref, err := refOf(c)
	if err != nil {
		return err
	}
	return c.record(c.tenant.Get(c.Context(), ref))
}

func version(c call) error {
	ref, err := refOf(c)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(c.URL.Query().Get("version"), 10, 64)
	if err != nil || n < 1 {
		return rest.BadRequest("invalid_version", "version must be a positive whole number")
	}
	found, err := c.tenant.Version(c.Context(), ref, n)
	return c.record(found.Record, err)
}

// refAndPage returns the record that a list is about, and the page to read of it.
func refAndPage(c call) (core.Ref, httpapi.Page, error) {
	ref, err := refOf(c)
	if err != nil {
		return ref, httpapi.Page{}, err
	}
	p, err := page(c)
	return ref, p, err
}

func versions(c call) error {
	ref, p, err := refAndPage(c)
	if err != nil {
		return err
	}
	found, err := c.tenant.Versions(c.Context(), ref, p.Limit, p.After)
	return pageOf(c, found, err, func(h core.History) record { return recordOf(h.Record) })
}

// command is a command as clients see it.
type command struct {
	record
	Expected  int64  `json:"expectedVersion"`
	Source    string `json:"source"`
	RequestID string `json:"requestId"`
}

func commands(c call) error {
	ref, p, err := refAndPage(c)
	if err != nil {
		return err
	}
	found, err := c.tenant.Commands(c.Context(), ref, p.Limit, p.After)
	return pageOf(c, found, err, func(m core.Command) command {
		return command{recordOf(m.Record), m.Expected, m.Source, m.RequestID}
	})
}

// listing is a listing of the catalogue as clients see it. A product without a price has no
// price, and one that had never one has no lowest either.
type listing struct {
	Code         string   `json:"code"`
	Name         string   `json:"name"`
	Price        *float64 `json:"price,omitempty"`
	Lowest       *float64 `json:"lowest,omitempty"`
	PriceChanges int      `json:"priceChanges"`
	Version      int64    `json:"version"`
}

func catalogue(c call) error {
	p, err := page(c)
	if err != nil {
		return err
	}
	found, err := c.tenant.Catalogue(c.Context(), p.Limit, p.After)
	return pageOf(c, found, err, func(l core.Listing) listing {
		seen := listing{Code: l.Code, Name: l.Name, PriceChanges: l.PriceChanges, Version: l.Version}
		if l.Priced() {
			seen.Price = &l.Price
		}
		if l.EverPriced() {
			seen.Lowest = &l.Lowest
		}
		return seen
	})
}

// idOf reads a body that has an id.
func idOf(c call) (id string, err error) {
	err = httpapi.ReadJSON(c.w, c.Request, map[string]any{"id": &id})
	return id, err
}

func rebuild(c call) error {
	id, err := idOf(c)
	if err == nil {
		err = c.tenant.RebuildCatalogue(c.Context(), id)
	}
	return c.accepted(id, err)
}

// accepted returns the task that does the rest.
func (c call) accepted(id string, err error) error {
	if err != nil {
		return err
	}
	t, err := c.tenant.Task(c.Context(), id)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(c.w, http.StatusAccepted, stateOf(t))
}

// importRows begins an import of the rows in the request, or of a file.
func importRows(c call) error {
	var id string
	var file *string
	var rows []core.Change
	if err := httpapi.ReadJSON(c.w, c.Request, map[string]any{"id": &id, "rows": &rows, "file": &file}); err != nil {
		return err
	}
	switch {
	case file == nil:
		return c.accepted(id, c.tenant.Import(c.Context(), id, rows))
	case rows != nil:
		return rest.BadRequest("invalid_rows", "an import has rows or a file, not both")
	}
	return c.accepted(id, c.tenant.ImportFile(c.Context(), id, *file))
}

// reject is a row that was set aside, as clients see it.
type reject struct {
	Number int      `json:"number"`
	Type   string   `json:"type"`
	Path   []string `json:"path"`
	Reason string   `json:"reason"`
}

func rejected(c call) error {
	q, err := query(c)
	if err != nil {
		return err
	}
	p, err := page(c)
	if err != nil {
		return err
	}
	found, err := c.tenant.Rejected(c.Context(), q.Get("id"), p.Limit, p.After)
	return pageOf(c, found, err, func(r core.Reject) reject {
		return reject{r.Number, r.Change.Type, r.Change.Path(), r.Reason}
	})
}

// state is a task as clients see it.
type state struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Status    core.Status `json:"status"`
	Percent   int         `json:"percent"`
	Total     int         `json:"total"`
	Done      int         `json:"done"`
	Rejected  int         `json:"rejected"`
	File      string      `json:"file,omitempty"`
	Reason    string      `json:"reason,omitempty"`
	UpdatedAt string      `json:"updatedAt"`
	ExpiresAt string      `json:"expiresAt,omitempty"`
}

func stateOf(t core.Task) state {
	expires := ""
	if t.ExpiresAt != 0 {
		expires = httpapi.Clock(time.Unix(t.ExpiresAt, 0))
	}
	return state{t.ID, t.Name, t.Status, t.Percent(), t.Total, t.Done, t.Rejected, t.File, t.Reason, httpapi.Clock(t.UpdatedAt), expires}
}

func tasks(c call) error {
	p, err := page(c)
	if err != nil {
		return err
	}
	found, err := c.tenant.Tasks(c.Context(), p.Limit, p.After)
	return pageOf(c, found, err, stateOf)
}

func task(c call) error {
	q, err := query(c)
	if err != nil {
		return err
	}
	t, err := c.tenant.Task(c.Context(), q.Get("id"))
	if err != nil {
		return err
	}
	return c.ok(stateOf(t))
}

func cancel(c call) error {
	id, err := idOf(c)
	if err == nil {
		err = c.tenant.Cancel(c.Context(), id, "cancelled at "+httpapi.Clock(time.Now()))
	}
	return c.accepted(id, err)
}

// found is a record of the read model as clients see it.
type found struct {
	ID         string         `json:"id"`
	Type       string         `json:"type"`
	Code       string         `json:"code"`
	Name       string         `json:"name"`
	Version    int64          `json:"version"`
	Attributes map[string]any `json:"attributes"`
}

func search(c call) error {
	q, err := query(c)
	if err != nil {
		return err
	}
	p, err := page(c)
	if err != nil {
		return err
	}
	records, err := c.api.model.Search(c.Context(), c.name, q.Get("name"), p.Limit, p.After)
	return pageOf(c, records, err, func(r readmodel.Record) found {
		return found{r.ID, r.Type, r.Code, r.Name, r.Version, r.Attributes}
	})
}

// count says how many records of a type there are, and how many versions.
type count struct {
	Type     string `json:"type"`
	Records  int64  `json:"records"`
	Versions int64  `json:"versions"`
}

func counts(c call) error {
	all, err := c.api.model.Counts(c.Context(), c.name)
	return pageOf(c, table.Page[readmodel.Count]{Items: all}, err, func(n readmodel.Count) count { return count(n) })
}
