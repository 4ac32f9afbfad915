package repo_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestErrorsNameTheMethod lets reads fail that writes of an entity begin with. The error is
// that of the read.
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
		{"Save", "GetItem", 0, func() error { return r.Save(t.Context(), &p) }},
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
		if _, refused := errors.AsType[smithy.APIError](err); refused != (c.request != "") {
			t.Errorf("%s, read %d: %v does not say what the read did", c.op, c.before, err)
		}
	}
}

// TestErrorsOfMisfits writes an entity by the key of a copy. Its main item, which is read
// directly or by the SDK, does not decode.
func TestErrorsOfMisfits(t *testing.T) {
	t.Parallel()
	for _, directly := range []bool{true, false} {
		client := tabletest.Client(t, func(o *dynamodb.Options) {
			if !directly {
				o.APIOptions = append(o.APIOptions, func(*middleware.Stack) error { return nil })
			}
		})
		tbl := tabletest.NewWith(t, client, schema.Table{}, nil)
		p := page{ID: "1", Tag: "new"}
		r := newPages(t, tbl, p)
		for _, m := range []struct {
			attribute string
			named     keys.Key
			kind      error
		}{
			{"tag", pageKey(p), nil},
			{"rev", tagKey(p), table.ErrInvalid},
		} {
			stored := expect.Value(table.Get[table.Item](t.Context(), tbl, pageKey(p)))(t)
			list := table.Item{m.attribute: &types.AttributeValueMemberSS{Value: []string{"x"}}}
			expect.OK(t, tbl.Do(t.Context(), table.Patch(pageKey(p), list)))
			for op, call := range map[string]func() error{
				"Update": func() error { return expect.ErrOf(r.Update(t.Context(), tagKey(p), nop)) },
				"Delete": func() error { return r.Delete(t.Context(), tagKey(p)) },
			} {
				err := call()
				e, ok := errors.AsType[*table.Error](err)
				misfit, _ := errors.AsType[*item.Error](err)
				if !ok || e.Op != op || e.Name != "PAGE" || e.Table != tbl.Schema().Name || e.Key != m.named ||
					misfit == nil || misfit.Path != m.attribute || m.kind != nil && !errors.Is(err, m.kind) {
					t.Errorf("%s with %q, directly: %v: %v", op, m.attribute, directly, err)
				}
			}
			expect.OK(t, tbl.Do(t.Context(), table.Put(pageKey(p), stored)))
		}
	}
}

func nop(*page) error { return nil }
