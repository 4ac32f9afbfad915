package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// bulk is pattern 7: an import, of which the stream does the work.
func (w walk) bulk(ctx context.Context) error {
	const id = "catalogue-2025"
	source := make([]core.Change, 50)
	for i := range source {
		source[i] = core.Change{
			Ref:  core.NewRef("PRODUCT", fmt.Sprintf("TOOL-%03d", i+1)),
			Name: fmt.Sprintf("Tool %d", i+1), Attributes: map[string]any{"price": 10 + i},
		}
	}
	source[20] = source[7] // a mistake in the list

	w.out.Title("7. An import whose process is killed, and another that goes on")
	head := core.Import{ID: id, TenantCode: "ACME"}
	w.out.Line("  temporary area: pk = %s, sk = METADATA, ROW#… and REJECT#…", head.Key().PK)
	dying, err := w.mortal(2)
	if err != nil {
		return err
	}
	w.out.Line("  a process that dies after 2 requests")
	switch err := dying.As(ana).Import(ctx, id, source); {
	case ctx.Err() != nil:
		return err
	case err != nil:
		if head, err = table.Get[core.Import](ctx, w.table.Consistent(), head.Key()); err != nil {
			return err
		}
		w.out.Line("    killed: %d of %d rows are in the area, and none is published", head.Staged, head.Total)
	}
	if err := w.acme.Import(ctx, id, source); err != nil {
		return err
	}
	w.out.Line("  another one, with the same rows")
	w.out.Cost("write", len(source))
	task, err := w.ended(ctx, id)
	if err != nil {
		return err
	}
	w.out.Line("  the task: %s", task.String())
	rejects, err := w.acme.Rejected(ctx, id, 0, "")
	if err != nil {
		return err
	}
	var rows []string
	for _, r := range rejects.Items {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", r.Key().SK, r.Change.Code, r.Reason))
	}
	w.out.Line("  set aside")
	w.out.Rows(rows...)
	w.out.Meter.Take()
	_, err = w.settled(ctx)
	return err
}

// ended waits for the end of a task.
func (w walk) ended(ctx context.Context, id string) (task core.Task, err error) {
	err = program.Until(ctx, func() (bool, error) {
		task, err = w.quiet.As(ana).Task(ctx, id)
		return task.Status == core.Done, err
	})
	return task, err
}

// isolation is pattern 9: what another tenant gets who tries.
func (w walk) isolation(ctx context.Context) error {
	w.out.Title("9. Another tenant tries")
	lamp := core.NewRef("PRODUCT", "LAMP")
	mine, err := w.acme.Get(ctx, lamp)
	if err != nil {
		return err
	}
	_, err = w.other.ByID(ctx, mine.ID)
	if !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("the id of another tenant was accepted: %w", err)
	}
	w.out.Line("  the id %s: %v", mine.ID, err)
	page, err := w.acme.List(ctx, "PRODUCT", 1, "")
	if err != nil {
		return err
	}
	w.out.Meter.Take()
	_, err = w.other.List(ctx, "PRODUCT", 1, page.Next)
	if !errors.Is(err, paginate.ErrInvalidCursor) {
		return fmt.Errorf("the token of another tenant was accepted: %w", err)
	}
	requests, _ := w.out.Meter.Take()
	w.out.Line("  the token of a page: %v (requests %d)", paginate.ErrInvalidCursor, requests)
	const name = "ACME#LAMP"
	hostile, key := w.service.As(core.Caller{Tenant: name}), core.Data{Record: lampOf(name)}.Key()
	if _, err := hostile.Get(ctx, lamp); !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("a hostile tenant was accepted: %w", err)
	}
	w.out.Line("  a tenant by the name of %s: asks for %s / %s, which is nobody's", name, key.PK, key.SK)
	w.out.Meter.Take()
	return nil
}

// listed is pattern 10: the history in another shape.
func (w walk) listed(ctx context.Context) error {
	w.out.Title("10. The catalogue: products, and what they have cost")
	w.out.Line("  table, pk = CATALOGUE#ACME and sk begins with CATALOGUE#, 3 at most")
	page, err := w.acme.Catalogue(ctx, 3, "")
	if err != nil {
		return err
	}
	report.Found(w.out, page.Items, listingRow)
	return nil
}

// rebuilt is pattern 11: the catalogue is made of the history while commands go on.
func (w walk) rebuilt(ctx context.Context) error {
	lamp := core.NewRef("PRODUCT", "LAMP")
	w.out.Title("11. The catalogue is lost, and rebuilt while commands go on")
	first, err := seen(ctx, w.acme, lamp)
	if err != nil {
		return err
	}
	lost, err := w.quiet.As(ana).DropCatalogue(ctx)
	if err != nil {
		return err
	}
	w.out.Line("  %d listings were deleted", lost)
	id := fmt.Sprintf("rebuild-%d", first)
	if err := w.acme.RebuildCatalogue(ctx, id); err != nil {
		return err
	}
	for i, price := range []int{39, 41} {
		c := core.Change{Ref: lamp, Name: "Desk lamp", Attributes: map[string]any{"price": price}, Version: first + int64(i)}
		if _, err := w.acme.Publish(ctx, c); err != nil {
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
	listing, err := table.Get[core.Listing](ctx, w.table, core.Listing{TenantCode: "ACME", Code: lamp.Code}.Key())
	if err != nil {
		return err
	}
	w.out.Rows(listingRow(listing))
	w.out.Line("  checked: all %d records and their listings are as the history says", records)
	w.out.Meter.Take()
	return nil
}

func listingRow(l core.Listing) string {
	return fmt.Sprintf("%s\t%s\tprice %g\tlowest %g\tchanges %d\tversion %d",
		l.Key().SK, l.Name, l.Price, l.Lowest, l.PriceChanges, l.Version)
}
