package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// The access patterns, one function each: the keys it asks for, and what is
// found there.

func (w walk) all(ctx context.Context) error {
	for _, pattern := range []func(context.Context) error{
		w.commands, w.list, w.past, w.numbers, w.codes, w.tree, w.bulk, w.tasks, w.isolation, w.listed, w.rebuilt,
	} {
		if err := pattern(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settled waits until the read model is as the history says, and returns the number of
// records.
func (w walk) settled(ctx context.Context) (records int, err error) {
	for _, t := range []tenant{w.acme, w.other} {
		t = w.quiet.as(t.caller)
		found := 0
		err = errors.Join(err, until(ctx, func() (ok bool, err error) {
			found, ok, err = t.audit(ctx)
			return ok, err
		}))
		records += found
	}
	return records, err
}

// seen returns the version at which a record stands, 0 if there is none: the
// table may hold the records of an earlier run.
func seen(ctx context.Context, t tenant, r Ref) (int64, error) {
	now, err := t.get(ctx, r)
	if errors.Is(err, table.ErrNotFound) {
		return 0, nil
	}
	return now.Version, err
}

// commands is pattern 1: commands change data, unless they are stale.
func (w walk) commands(ctx context.Context) error {
	lamp := ref("PRODUCT", "LAMP")
	w.out.Title("1. Commands: each is made for a version, and makes the next")
	first, err := seen(ctx, w.acme, lamp)
	if err != nil {
		return err
	}
	w.out.Meter.Take()
	for i, price := range []int{40, 45, 42} {
		c := Change{Ref: lamp, Name: "Desk lamp", Attributes: map[string]any{"price": price}, Version: first + int64(i)}
		now, err := w.acme.publish(ctx, c)
		if err != nil {
			return err
		}
		w.out.Line("  expects version %d, writes in one transaction", c.Version)
		w.out.Rows(
			keyRow("command", commands.key("ACME", lamp, now.Version)),
			keyRow("history", histories.key("ACME", lamp, now.Version)),
		)
	}
	w.out.Line("  the handler of the history puts, a moment later")
	w.out.Rows(keyRow("data", dataKey("ACME", lamp)), keyRow("listing", listingKey("ACME", lamp.Code)))
	w.out.Cost("read and write", 3)
	_, err = w.acme.publish(ctx, Change{Ref: lamp, Name: "Late lamp", Version: first + 1})
	if !errors.Is(err, table.ErrConflict) {
		return fmt.Errorf("a stale command was not a conflict: %w", err)
	}
	w.out.Line("  one more that expects version %d: %v", first+1, err)
	w.out.Meter.Take()
	_, err = w.settled(ctx)
	return err
}

// list is pattern 2: the records of a type, page by page.
func (w walk) list(ctx context.Context) error {
	for _, code := range []string{"CHAIR", "DESK", "SHELF"} {
		c := Change{Ref: ref("PRODUCT", code), Name: code, Attributes: map[string]any{"price": 100}}
		if _, err := w.acme.publish(ctx, c); err != nil && !errors.Is(err, table.ErrStale) {
			return err
		}
	}
	if _, err := w.settled(ctx); err != nil {
		return err
	}
	w.out.Meter.Take()
	w.out.Title("2. A tenant's products, in the order of their codes, page by page")
	w.out.Line("  table, pk = PRODUCT#ACME and sk begins with PRODUCT#, pages of 3")
	found, after := 0, ""
	for number := 1; number <= 2; number++ {
		page, err := w.acme.list(ctx, "PRODUCT", 3, after)
		if err != nil {
			return err
		}
		w.out.Line("  page %d", number)
		for _, r := range page.Items {
			w.out.Rows(dataRow(r))
		}
		found += len(page.Items)
		if after = page.Next; after == "" {
			break
		}
	}
	w.out.Cost("read", found)
	return nil
}

// past is pattern 3: a record as it stood, and who has made it so.
func (w walk) past(ctx context.Context) error {
	lamp := ref("PRODUCT", "LAMP")
	w.out.Title("3. Any past version, and the history newest first")
	key := histories.key("ACME", lamp, 1)
	w.out.Line("  table, pk = %s and sk = %s", key.PK, key.SK)
	old, err := w.acme.version(ctx, lamp, 1)
	if err != nil {
		return err
	}
	w.out.Rows(fmt.Sprintf("version %d\tprice %v\t%s from %s", old.Version, old.Attributes["price"], old.UpdatedBy, old.UpdatedIP))
	q := histories.query("ACME", lamp)
	w.out.Line("  table, pk = %s and sk begins with %s, backwards, 2 at most", q.PK, q.Range.Prefix)
	page, err := w.acme.versions(ctx, lamp, 2, "")
	if err != nil {
		return err
	}
	var rows []string
	for _, h := range page.Items {
		rows = append(rows, fmt.Sprintf("%s\tseq %d\tprice %v", historyEntity.Key(h).SK, h.Seq, h.Attributes["price"]))
	}
	w.out.Rows(rows...)
	w.out.Cost("read", 1+len(rows))
	return nil
}

// numbers is pattern 4: orders are numbered for each tenant and year.
func (w walk) numbers(ctx context.Context) error {
	w.out.Title("4. Numbered orders, for each tenant, anew each year")
	var rows []string
	order := func(t tenant, name string) error {
		r, err := t.placeOrder(ctx, name, map[string]any{"product": "LAMP"})
		if err != nil {
			return err
		}
		key := dataKey(r.TenantCode, r.Ref())
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s", r.CreatedAt.Format(time.DateOnly), r.Code, key.PK, key.SK))
		return nil
	}
	err := errors.Join(order(w.acme, "Ana's lamp"), order(w.acme, "Ana's other lamp"), order(w.other, "Bob's lamp"))
	w.clock.set(time.Date(2025, 1, 1, 0, 1, 0, 0, time.UTC))
	if err = errors.Join(err, order(w.acme, "Ana's new lamp")); err != nil {
		return err
	}
	w.out.Line("  the counter: %s", counterRow("ACME", orderNumbers.Prefix, 2024))
	w.out.Rows(rows...)
	w.out.Cost("read and write", len(rows))
	_, err = w.settled(ctx)
	return err
}

// codes is pattern 5: records by their business code.
func (w walk) codes(ctx context.Context) error {
	w.out.Title("5. Records by business code, whatever their type and year")
	w.out.Line("  index %s, codePK = %s", codeIndex, codePartition("ACME", "ORD-000001"))
	found, err := w.acme.byCode(ctx, "ORD-000001")
	if err != nil {
		return err
	}
	report.Found(w.out, found, dataRow)
	return nil
}

// tree is pattern 6: departments below departments.
func (w walk) tree(ctx context.Context) error {
	for _, path := range [][]string{{"ENG"}, {"ENG", "BACKEND"}, {"ENG", "BACKEND", "STORAGE"}, {"ENG", "WEB"}, {"SALES"}} {
		r := ref("DEPT", path...)
		if _, err := w.acme.publish(ctx, Change{Ref: r, Name: r.Code}); err != nil && !errors.Is(err, table.ErrStale) {
			return err
		}
	}
	if _, err := w.settled(ctx); err != nil {
		return err
	}
	w.out.Meter.Take()
	w.out.Title("6. Everything below a department")
	q := keys.Prefix("DEPT").All(keys.Str("ENG"))
	w.out.Query(schema(""), table.Query{PK: "DEPT#ACME", Range: q})
	page, err := w.acme.below(ctx, ref("DEPT", "ENG"), 0, "")
	if err != nil {
		return err
	}
	report.Found(w.out, page.Items, dataRow)
	_, err = w.acme.publish(ctx, Change{Ref: ref("DEPT", "NOWHERE", "TEAM"), Name: "Team"})
	if !errors.Is(err, ErrNoParent) {
		return fmt.Errorf("a department below nothing was published: %w", err)
	}
	w.out.Line("  DEPT#NOWHERE#TEAM is refused: %v", ErrNoParent)
	w.out.Meter.Take()
	return nil
}

// tasks is pattern 8: the long-running tasks of a tenant.
func (w walk) tasks(ctx context.Context) error {
	w.out.Title("8. A tenant's tasks and their progress")
	w.out.Query(schema(""), table.Query{PK: taskPrefix.PK("ACME"), Range: taskPrefix.All()})
	found, err := w.acme.taskList(ctx)
	if err != nil {
		return err
	}
	report.Found(w.out, found, func(t Task) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", taskEntity.Key(t).SK, t.Name, t.Status, progressText(t))
	})
	return nil
}

func keyRow(what string, k keys.Key) string { return fmt.Sprintf("%s\t%s\t%s", what, k.PK, k.SK) }

func counterRow(tenant, prefix string, year int) string {
	k := counterEntity.Key(counter{TenantCode: tenant, Prefix: prefix, Year: year})
	return fmt.Sprintf("pk = %s and sk = %s", k.PK, k.SK)
}

func dataRow(r Record) string {
	k := dataKey(r.TenantCode, r.Ref())
	return fmt.Sprintf("%s\t%s\t%s\tversion %d", k.PK, k.SK, r.Name, r.Version)
}

func progressText(t Task) string {
	return fmt.Sprintf("%d %%: %d of %d done, %d rejected", t.Percent(), t.Done, t.Total, t.Rejected)
}
