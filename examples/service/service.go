package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// service serves the projects of tenants over HTTP.
type service struct {
	projects *repo.Repo[Project]
	requests *idempotency.Store
}

func newService(t *table.Table) (*service, error) {
	projects, err := repo.New(t, projectEntity)
	if err != nil {
		return nil, err
	}
	requests, err := idempotency.New(t, nil)
	return &service{projects, requests}, err
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, endpoint := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /tenants/{tenant}/projects":        s.list,
		"POST /tenants/{tenant}/projects":       s.create,
		"GET /tenants/{tenant}/projects/{id}":   s.get,
		"PATCH /tenants/{tenant}/projects/{id}": s.patch,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
			defer cancel()
			if err := endpoint(w, r.WithContext(ctx)); err != nil {
				if rest.FailureOf(err).Status >= http.StatusInternalServerError {
					slog.ErrorContext(ctx, "request failed", "route", pattern, "error", err)
				}
				rest.Fail(w, err)
			}
		})
	}
	return mux
}

// list writes a page of a tenant's projects, the newest first.
func (s *service) list(w http.ResponseWriter, r *http.Request) error {
	page, err := s.projects.Query(r.Context(), table.Query{
		PK: tenant.PK(r.PathValue("tenant")), Range: project.All(), Descending: true, Limit: 20, After: r.FormValue("cursor"),
	})
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, map[string]any{"items": page.Items, "next": page.Next})
}

// create stores a project once for each Idempotency-Key of the tenant.
func (s *service) create(w http.ResponseWriter, r *http.Request) error {
	key, err := rest.IdempotencyKey(r.Header)
	if err != nil {
		return err
	}
	var in struct{ Slug, Name string }
	body, err := read(w, r, &in)
	if err != nil {
		return err
	}
	asked := Project{Tenant: r.PathValue("tenant"), Slug: in.Slug, Name: in.Name}
	if err := asked.check(); err != nil {
		return err
	}
	request := idempotency.Request{Scope: asked.Tenant + ":CreateProject", Key: key, Payload: idempotency.Text(body)}
	result, err := idempotency.Do(r.Context(), s.requests, request, func(context.Context) (idempotency.Plan[Project], error) {
		p := asked // Do can ask for another plan
		p.ID = newID()
		ops := s.projects.CreateOps(&p) // which set the revision
		return idempotency.Snapshot(p, ops...), nil
	})
	if err != nil {
		return taken(err)
	}
	w.Header().Set("Location", r.URL.JoinPath(result.Value.ID).EscapedPath())
	return writeProject(w, http.StatusCreated, result.Value) // also for a repeated request
}

func (s *service) get(w http.ResponseWriter, r *http.Request) error {
	p, err := s.projects.Consistent().Get(r.Context(), keyOf(r.PathValue("tenant"), r.PathValue("id")))
	if err != nil {
		return err
	}
	return writeProject(w, http.StatusOK, p)
}

// patch changes a project if its ETag is the one that the client has seen.
func (s *service) patch(w http.ResponseWriter, r *http.Request) error {
	expected, err := rest.IfMatch(r.Header)
	if err != nil {
		return err
	}
	in := struct{ Slug, Name *string }{} // what is missing stays
	if _, err := read(w, r, &in); err != nil {
		return err
	}
	p, err := s.projects.Update(r.Context(), keyOf(r.PathValue("tenant"), r.PathValue("id")), func(p *Project) error {
		if expected != "" && expected != p.etag() {
			return table.ErrStale // 412
		}
		if in.Slug != nil {
			p.Slug = *in.Slug
		}
		if in.Name != nil {
			p.Name = *in.Name
		}
		return p.check()
	})
	if err != nil {
		return taken(err)
	}
	return writeProject(w, http.StatusOK, p)
}

// taken returns the failure of a slug that another project has, or the error as it is.
func taken(err error) error {
	if op, failed := table.FailedOp(err, "PROJECT claim"); failed && errors.Is(op, table.ErrExists) {
		return &rest.Failure{Status: http.StatusConflict, Code: "slug_taken", Message: "another project has this slug"}
	}
	return err
}

// read decodes the JSON of a request strictly, and returns its text.
func read(w http.ResponseWriter, r *http.Request, into any) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err != nil || decoder.Decode(into) != nil || decoder.More() {
		return nil, rest.BadRequest("invalid_body", "the body must be a JSON object of 64 KB at most, with slug and name")
	}
	return body, nil
}

// writeProject writes a project with its ETag.
func writeProject(w http.ResponseWriter, status int, p Project) error {
	rest.SetETag(w.Header(), p.etag())
	return write(w, status, p)
}

func write(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone gets nothing
	return nil
}
