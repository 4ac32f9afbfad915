package repo_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestErrorsNameTheMethod lets reads fail that writes of an entity begin with.
func TestErrorsNameTheMethod(t *testing.T) {
	t.Parallel()
	faults := new(tabletest.Faults)
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	p := page{ID: "1", Tag: "new"}
	r := newPages(t, tbl, p)
	p = expect.Value(r.Get(t.Context(), pageKey(p)))(t)
	moved := func(p *page) error { p.Tag = "old"; return nil }
	denied := tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected.")
	for _, c := range []struct {
		op, request string
		before      int // requests that succeed first
		call        func() error
	}{
		{"Put", "GetItem", 0, func() error { return r.Put(t.Context(), &p) }},
		{"Delete", "GetItem", 0, func() error { return r.Delete(t.Context(), pageKey(p)) }},
		{"DeleteAll", "Query", 0, func() error { return expect.ErrOf(r.DeleteAll(t.Context(), table.Query{PK: "SITE"}, nil)) }},
		{"Update", "GetItem", 0, func() error { return expect.ErrOf(r.Update(t.Context(), pageKey(p), moved)) }},
		{"Update", "GetItem", 1, func() error { return expect.ErrOf(r.Update(t.Context(), pageKey(p), moved)) }},
		{"Refresh", "GetItem", 0, func() error { return expect.ErrOf(r.Refresh(t.Context(), pageKey(p))) }},
		{"Refresh", "", 0, func() error { return expect.ErrOf(r.Refresh(t.Context(), keys.Key{PK: "SITE"})) }},
	} {
		if c.request != "" {
			faults.Next(c.request, append(make([]tabletest.Fault, c.before), denied)...)
		}
		err := c.call()
		e, ok := errors.AsType[*table.Error](err)
		if !ok || e.Op != c.op || e.Name != "PAGE" || e.Table != tbl.Schema().Name {
			t.Errorf("%s, read %d: %v", c.op, c.before, err)
		}
	}
}
