package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// bulk is pattern 7: an import whose process dies, and another that goes on.
func (w walk) bulk(ctx context.Context) error {
	const id = "catalogue-2025"
	source := make([]Change, 50)
	for i := range source {
		source[i] = Change{
			Ref:  ref("PRODUCT", fmt.Sprintf("TOOL-%03d", i+1)),
			Name: fmt.Sprintf("Tool %d", i+1), Attributes: map[string]any{"price": 10 + i},
		}
	}
	source[20] = source[7] // a mistake in the list

	w.out.Title("7. An import that is killed and goes on")
	head := Import{ID: id, TenantCode: "ACME"}
	w.out.Line("  temporary area: pk = %s, sk = METADATA, ROW#… and REJECT#…", importEntity.Key(head).PK)
	watch := func(t Task) { w.out.Line("    %s", progressText(t)) }
	dying, err := w.mortal(10)
	if err != nil {
		return err
	}
	w.out.Line("  a process that dies after 10 requests")
	switch _, err := dying.as(w.acme.caller).importRows(ctx, id, source, watch); {
	case ctx.Err() != nil:
		return err
	case err != nil:
		w.out.Line("    killed")
	}
	w.out.Line("  another one, with the same rows")
	task, err := w.acme.importRows(ctx, id, source, watch)
	if err != nil {
		return err
	}
	rejects, err := w.acme.rejected(ctx, id)
	if err != nil {
		return err
	}
	var rows []string
	for _, r := range rejects {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", rejectEntity.Key(r).SK, r.Change.Code, r.Reason))
	}
	w.out.Line("  set aside")
	w.out.Rows(rows...)
	w.out.Cost("read and write", task.Done)
	return nil
}

// isolation is pattern 9: what another tenant gets who tries.
func (w walk) isolation(ctx context.Context) error {
	w.out.Title("9. Another tenant tries")
	lamp := ref("PRODUCT", "LAMP")
	_, err := w.other.byID(ctx, recordID("ACME", lamp))
	if !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("the id of another tenant was answered: %w", err)
	}
	w.out.Line("  the id %s: %v", recordID("ACME", lamp), err)
	page, err := w.acme.list(ctx, "PRODUCT", 1, "")
	if err != nil {
		return err
	}
	w.out.Meter.Take()
	_, err = w.other.list(ctx, "PRODUCT", 1, page.Next)
	if !errors.Is(err, paginate.ErrInvalidCursor) {
		return fmt.Errorf("the token of another tenant was answered: %w", err)
	}
	requests, _ := w.out.Meter.Take()
	w.out.Line("  the token of a page: %v (requests %d)", paginate.ErrInvalidCursor, requests)
	hostile := w.service.as(Caller{Tenant: "ACME#LAMP"})
	key := dataKey(hostile.caller.Tenant, lamp)
	if _, err := hostile.get(ctx, lamp); !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("a hostile tenant was answered: %w", err)
	}
	w.out.Line("  a tenant by the name of %s: asks for %s / %s, which is nobody's", hostile.caller.Tenant, key.PK, key.SK)
	w.out.Meter.Take()
	return nil
}
