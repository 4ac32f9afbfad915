package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// bulk is pattern 7: an import, of which the stream does the work.
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

	w.out.Title("7. An import whose process is killed, and another that goes on")
	head := Import{ID: id, TenantCode: "ACME"}
	w.out.Line("  temporary area: pk = %s, sk = METADATA, ROW#… and REJECT#…", importEntity.Key(head).PK)
	dying, err := w.mortal(2)
	if err != nil {
		return err
	}
	w.out.Line("  a process that dies after 2 requests")
	switch err := dying.as(w.acme.caller).importRows(ctx, id, source); {
	case ctx.Err() != nil:
		return err
	case err != nil:
		if head, err = w.quiet.imports.Consistent().Get(ctx, importEntity.Key(head)); err != nil {
			return err
		}
		w.out.Line("    killed: %d of %d rows are in the area, from where the handler publishes them", head.Staged, head.Total)
	}
	if err := w.acme.importRows(ctx, id, source); err != nil {
		return err
	}
	w.out.Line("  another one, with the same rows")
	w.out.Cost("write", len(source))
	task, err := w.ended(ctx, id)
	if err != nil {
		return err
	}
	w.out.Line("  the task: %s", progressText(task))
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
	w.out.Meter.Take()
	_, err = w.settled(ctx)
	return err
}

// ended waits for the end of a task.
func (w walk) ended(ctx context.Context, id string) (task Task, err error) {
	err = until(ctx, func() (bool, error) {
		task, err = w.quiet.as(w.acme.caller).task(ctx, id)
		return task.Status == Done, err
	})
	return task, err
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

// listed is pattern 10: the history in another shape.
func (w walk) listed(ctx context.Context) error {
	w.out.Title("10. The catalogue: products, and what they have cost")
	w.out.Line("  table, pk = %s and sk begins with CATALOGUE#, 3 at most", cataloguePrefix.PK("ACME"))
	page, err := w.acme.catalogue(ctx, 3, "")
	if err != nil {
		return err
	}
	report.Found(w.out, page.Items, listingRow)
	return nil
}

// rebuilt is pattern 11: the catalogue is made of the history while commands go on.
func (w walk) rebuilt(ctx context.Context) error {
	lamp := ref("PRODUCT", "LAMP")
	w.out.Title("11. The catalogue is lost, and rebuilt while commands go on")
	first, err := seen(ctx, w.acme, lamp)
	if err != nil {
		return err
	}
	lost, err := w.quiet.as(w.acme.caller).dropCatalogue(ctx)
	if err != nil {
		return err
	}
	w.out.Line("  %d listings were deleted", lost)
	id := fmt.Sprintf("rebuild-%d", first)
	if err := w.acme.rebuildCatalogue(ctx, id); err != nil {
		return err
	}
	for i, price := range []int{39, 41} {
		c := Change{Ref: lamp, Name: "Desk lamp", Attributes: map[string]any{"price": price}, Version: first + int64(i)}
		if _, err := w.acme.publish(ctx, c); err != nil {
			return err
		}
	}
	if _, err := w.ended(ctx, id); err != nil {
		return err
	}
	records, err := w.settled(ctx)
	if err != nil {
		return err
	}
	listing, err := w.quiet.listings.Get(ctx, listingKey("ACME", lamp.Code))
	if err != nil {
		return err
	}
	w.out.Rows(listingRow(listing))
	w.out.Line("  checked: all %d records and their listings are as the history says", records)
	w.out.Meter.Take()
	return nil
}

func listingRow(l Listing) string {
	return fmt.Sprintf("%s\t%s\tprice %g\tlowest %g\tchanges %d\tversion %d",
		listingEntity.Key(l).SK, l.Name, l.Price, l.Lowest, l.PriceChanges, l.Version)
}
