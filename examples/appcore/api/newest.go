package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/httpapi"
)

// newestFor is how old the page of the newest transactions may become here, and then as
// much again at the client: two seconds together.
const newestFor = time.Second

// newestTransactions lists the transactions of all users. The page without parameters is
// the same for all roles that may read the list, and they all ask for it. So it is read
// once in [newestFor]. The role is checked before.
func (a *API) newestTransactions(w http.ResponseWriter, r *http.Request, _ string) error {
	asked, err := httpapi.PageOf(r, core.DefaultNewest)
	if err != nil {
		return err
	}
	if asked != (httpapi.Page{Limit: core.DefaultNewest}) {
		body, err := a.pageOfNewest(r.Context(), core.List{Limit: asked.Limit, After: asked.After})
		if err != nil {
			return err
		}
		httpapi.Write(w, http.StatusOK, body)
		return nil
	}
	body, err := a.newest.Get(r.Context())
	if err != nil && r.Context().Err() != nil {
		err = fmt.Errorf("%w: %w", core.ErrUnavailable, err)
	}
	if err != nil {
		return err
	}
	// A browser must not show the page to whoever signs in next.
	w.Header().Set("Cache-Control", fmt.Sprintf("private, max-age=%d", newestFor/time.Second))
	w.Header().Set("Vary", "Authorization")
	httpapi.Write(w, http.StatusOK, body)
	return nil
}

// readNewest reads the page that is kept.
func (a *API) readNewest(ctx context.Context) ([]byte, error) {
	return a.pageOfNewest(ctx, core.List{Limit: core.DefaultNewest})
}

// pageOfNewest reads a page, as the body of a response.
func (a *API) pageOfNewest(ctx context.Context, list core.List) ([]byte, error) {
	if err := a.keys(ctx); err != nil {
		return nil, err
	}
	p, err := a.service.Newest(ctx, list)
	if err != nil {
		return nil, err
	}
	return httpapi.Encode(listOf(p, transactionOf))
}
