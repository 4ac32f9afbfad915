package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// clock is a time that stands still until it is set, so that the walk can live
// through a new year.
type clock struct{ now atomic.Pointer[time.Time] }

func (c *clock) set(t time.Time) { c.now.Store(&t) }

func (c *clock) read() time.Time { return *c.now.Load() }

var (
	ana = core.Caller{Tenant: "ACME", User: "ana", IP: "192.0.2.7"}
	bob = core.Caller{Tenant: "GLOBEX", User: "bob", IP: "198.51.100.9"}
)

// walk goes through the access patterns. It holds the caller, and where the
// results are printed.
type walk struct {
	service     *core.Service
	acme, other core.Tenant
	// quiet is the service without the meter, for waiting.
	quiet *core.Service
	// table is theirs, to look at.
	table *table.Table
	clock *clock
	out   report.Report
	// mortal returns the service as a process sees it that dies after so many requests.
	mortal func(requests int) (*core.Service, error)
}

// show makes the table and walks through the access patterns, next to the reader of the
// stream.
func show(ctx context.Context, engine *tabletest.Engine, name string, out report.Report) error {
	w, reader, err := newWalk(ctx, engine, name, out)
	if err != nil {
		return err
	}
	return program.WithReader(ctx, reader.Run, w.all)
}

func newWalk(ctx context.Context, engine *tabletest.Engine, name string, out report.Report) (walk, stream.Reader, error) {
	client, spec := engine.Client(), core.Schema(name)
	if err := spec.Ensure(ctx, client); err != nil {
		return walk{}, stream.Reader{}, err
	}
	w := walk{clock: &clock{}, out: out}
	w.clock.set(time.Date(2024, 12, 31, 23, 59, 0, 0, time.UTC))
	// The tokens of pages are sealed. A service reads its keys from a secret.
	cursors, err := paginate.New([]paginate.Key{paginate.NewKey()}, nil)
	if err != nil {
		return w, stream.Reader{}, err
	}
	open := func(client table.Client, options table.Options) (*core.Service, error) {
		options.Now, options.Cursors = w.clock.read, cursors
		t, err := table.NewWithClient(client, spec, &options)
		if err != nil {
			return nil, err
		}
		return core.New(t, nil)
	}
	metered := table.Options{Observe: out.Meter.Observe}
	if w.service, err = open(client, metered); err != nil {
		return w, stream.Reader{}, err
	}
	if w.quiet, err = open(client, table.Options{}); err != nil {
		return w, stream.Reader{}, err
	}
	if w.table, err = table.New(client, spec, nil); err != nil {
		return w, stream.Reader{}, err
	}
	w.acme, w.other = w.service.As(ana), w.service.As(bob)
	w.mortal = func(requests int) (*core.Service, error) {
		faults := &tabletest.Faults{}
		faults.Next("", make([]tabletest.Fault, requests)...)
		faults.Always("", tabletest.DropRequest())
		return open(engine.Client(faults.Install), metered)
	}
	router, err := w.quiet.Router()
	if err != nil {
		return w, stream.Reader{}, err
	}
	reader := program.Reader("cqrs", router, client, slog.Default())
	reader.Table = w.table
	return w, reader, nil
}

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
	for _, caller := range []core.Caller{ana, bob} {
		t := w.quiet.As(caller)
		found := 0
		err = errors.Join(err, program.Until(ctx, func() (ok bool, err error) {
			found, ok, err = t.Audit(ctx)
			return ok, err
		}))
		records += found
	}
	return records, err
}

// lampOf returns what the keys of a tenant's lamp are made of.
func lampOf(tenant string) core.Record {
	return core.Record{TenantCode: tenant, Type: "PRODUCT", Code: "LAMP"}
}

// seen returns the current version of a record, 0 if it is missing. The table
// may hold the records of an earlier run.
func seen(ctx context.Context, t core.Tenant, r core.Ref) (int64, error) {
	now, err := t.Get(ctx, r)
	if errors.Is(err, table.ErrNotFound) {
		return 0, nil
	}
	return now.Version, err
}

// commands is pattern 1: commands change data, unless they are stale.
func (w walk) commands(ctx context.Context) error {
	lamp := core.NewRef("PRODUCT", "LAMP")
	w.out.Title("1. Commands: each is made for a version, and makes the next")
	first, err := seen(ctx, w.acme, lamp)
	if err != nil {
		return err
	}
	w.out.Meter.Take()
	for i, price := range []int{40, 45, 42} {
		c := core.Change{Ref: lamp, Name: "Desk lamp", Attributes: map[string]any{"price": price}, Version: first + int64(i)}
		caller := ana
		caller.RequestID = fmt.Sprint("lamp-", c.Version)
		now, err := w.service.As(caller).Publish(ctx, c)
		if err != nil {
			return err
		}
		w.out.Line("  expects version %d, writes in one transaction", c.Version)
		w.out.Rows(
			keyRow("command", core.Command{Record: now}.Key()),
			keyRow("history", core.History{Record: now, Seq: now.Version}.Key()),
		)
	}
	w.out.Line("  the handler of the history puts, a moment later")
	w.out.Rows(keyRow("data", core.Data{Record: lampOf("ACME")}.Key()), keyRow("listing", core.Listing{TenantCode: "ACME", Code: lamp.Code}.Key()))
	w.out.Cost("read and write", 3)
	caller := ana
	caller.RequestID = fmt.Sprint("lamp-", first)
	again, err := w.service.As(caller).Publish(ctx, core.Change{Ref: lamp, Name: "Desk lamp", Attributes: map[string]any{"price": 40}, Version: first})
	if err != nil {
		return err
	}
	w.out.Line("  the first one again, with its request id: version %d at price %v", again.Version, again.Attributes["price"])
	_, err = w.acme.Publish(ctx, core.Change{Ref: lamp, Name: "Late lamp", Version: first + 1})
	if !errors.Is(err, table.ErrStale) {
		return fmt.Errorf("a stale command was not refused: %w", err)
	}
	w.out.Line("  one more that expects version %d: %v", first+1, table.ErrStale)
	w.out.Meter.Take()
	_, err = w.settled(ctx)
	return err
}

// list is pattern 2: the records of a type, page by page.
func (w walk) list(ctx context.Context) error {
	for _, code := range []string{"CHAIR", "DESK", "SHELF"} {
		c := core.Change{Ref: core.NewRef("PRODUCT", code), Name: code, Attributes: map[string]any{"price": 100}}
		if _, err := w.acme.Publish(ctx, c); err != nil && !errors.Is(err, table.ErrStale) {
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
		page, err := w.acme.List(ctx, "PRODUCT", 3, after)
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

// past is pattern 3: an earlier version of a record, and its author.
func (w walk) past(ctx context.Context) error {
	lamp := core.NewRef("PRODUCT", "LAMP")
	w.out.Title("3. Any past version, and the history newest first")
	key := core.History{Record: lampOf("ACME"), Seq: 1}.Key()
	w.out.Line("  table, pk = %s and sk = %s", key.PK, key.SK)
	old, err := w.acme.Version(ctx, lamp, 1)
	if err != nil {
		return err
	}
	w.out.Rows(fmt.Sprintf("version %d\tprice %v\t%s from %s", old.Version, old.Attributes["price"], old.UpdatedBy, old.UpdatedIP))
	w.out.Line("  table, pk = %s and sk begins with PRODUCT_HIST#LAMP#, backwards, 2 at most", key.PK)
	page, err := w.acme.Versions(ctx, lamp, 2, "")
	if err != nil {
		return err
	}
	var rows []string
	for _, h := range page.Items {
		rows = append(rows, fmt.Sprintf("%s\tseq %d\tprice %v", h.Key().SK, h.Seq, h.Attributes["price"]))
	}
	w.out.Rows(rows...)
	w.out.Cost("read", 1+len(rows))
	return nil
}

// numbers is pattern 4: orders are numbered for each tenant and year.
func (w walk) numbers(ctx context.Context) error {
	w.out.Title("4. Numbered orders, for each tenant, anew each year")
	var rows []string
	order := func(t core.Tenant, name string) error {
		r, err := t.PlaceOrder(ctx, name, map[string]any{"product": "LAMP"})
		if err != nil {
			return err
		}
		key := core.Data{Record: r}.Key()
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s", r.CreatedAt.Format(time.DateOnly), r.Code, key.PK, key.SK))
		return nil
	}
	err := errors.Join(order(w.acme, "Ana's lamp"), order(w.acme, "Ana's other lamp"), order(w.other, "Bob's lamp"))
	w.clock.set(time.Date(2025, 1, 1, 0, 1, 0, 0, time.UTC))
	if err = errors.Join(err, order(w.acme, "Ana's new lamp")); err != nil {
		return err
	}
	w.out.Line("  the counter: pk = SEQ#ACME and sk = SEQ#ORD#2024")
	w.out.Rows(rows...)
	w.out.Cost("read and write", len(rows))
	_, err = w.settled(ctx)
	return err
}

// codes is pattern 5: records by their business code.
func (w walk) codes(ctx context.Context) error {
	w.out.Title("5. Records by business code, whatever their type and year")
	w.out.Line("  index code-index, codePK = CODE#ACME#ORD-000001")
	found, err := w.acme.ByCode(ctx, "", "ORD-000001", 0, "")
	if err != nil {
		return err
	}
	report.Found(w.out, found.Items, dataRow)
	return nil
}

// tree is pattern 6: departments below departments.
func (w walk) tree(ctx context.Context) error {
	for _, path := range [][]string{{"ENG"}, {"ENG", "BACKEND"}, {"ENG", "BACKEND", "STORAGE"}, {"ENG", "WEB"}, {"SALES"}} {
		r := core.NewRef("DEPT", path...)
		if _, err := w.acme.Publish(ctx, core.Change{Ref: r, Name: r.Code}); err != nil && !errors.Is(err, table.ErrStale) {
			return err
		}
	}
	if _, err := w.settled(ctx); err != nil {
		return err
	}
	w.out.Meter.Take()
	w.out.Title("6. Everything below a department")
	q := keys.Prefix("DEPT").All(keys.Str("ENG"))
	w.out.Query(core.Schema(""), table.Query{PK: "DEPT#ACME", Range: q})
	page, err := w.acme.Below(ctx, core.NewRef("DEPT", "ENG"), 0, "")
	if err != nil {
		return err
	}
	report.Found(w.out, page.Items, dataRow)
	_, err = w.acme.Publish(ctx, core.Change{Ref: core.NewRef("DEPT", "NOWHERE", "TEAM"), Name: "Team"})
	if !errors.Is(err, core.ErrNoParent) {
		return fmt.Errorf("a department below nothing was published: %w", err)
	}
	w.out.Line("  DEPT#NOWHERE#TEAM is refused: %v", core.ErrNoParent)
	w.out.Meter.Take()
	return nil
}

// tasks is pattern 8: the long-running tasks of a tenant.
func (w walk) tasks(ctx context.Context) error {
	w.out.Title("8. A tenant's tasks and their progress")
	w.out.Query(core.Schema(""), table.Query{PK: "TASK#ACME", Range: keys.Prefix("TASK").All()})
	found, err := w.acme.Tasks(ctx, 0, "")
	if err != nil {
		return err
	}
	report.Found(w.out, found.Items, func(t core.Task) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", t.Key().SK, t.Name, t.Status, t)
	})
	return nil
}

func keyRow(what string, k keys.Key) string { return fmt.Sprintf("%s\t%s\t%s", what, k.PK, k.SK) }

func dataRow(r core.Record) string {
	k := core.Data{Record: r}.Key()
	return fmt.Sprintf("%s\t%s\t%s\tversion %d", k.PK, k.SK, r.Name, r.Version)
}
