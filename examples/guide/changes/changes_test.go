package changes

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// open returns a table with ten orders of the first release, and its repository.
func open(t *testing.T, spec schema.Table) (*table.Table, *repo.Repo[Order1]) {
	t.Helper()
	tbl := tabletest.New(t, spec, nil)
	orders := release(t, tbl, first)
	for i := range 10 {
		o := Order1{ID: id(i), Customer: fmt.Sprint("c-", i%3), Name: "order", Total: "12.50", Status: "open"}
		check.OK(t, orders.Create(t.Context(), &o))
	}
	return tbl, orders
}

func id(i int) string { return fmt.Sprint("o-", i) }

func release[T any](t *testing.T, tbl *table.Table, e repo.Entity[T]) *repo.Repo[T] {
	t.Helper()
	return check.Must(repo.New(tbl, e))(t)
}

// backfilled runs a backfill to the end and verifies it.
func backfilled(t *testing.T, tbl *table.Table, entity backfill.Entity) backfill.Report {
	t.Helper()
	job := backfill.Job{Name: t.Name(), Table: tbl, Entities: []backfill.Entity{entity}, Segments: 2}
	check.OK(t, backfill.Forget(t.Context(), tbl, job.Name))
	report := check.Must(job.Run(t.Context()))(t)
	if verified := check.Must(job.DryRun(t.Context()))(t); !verified.Complete() {
		t.Errorf("after the backfill (%v): %v", report, verified)
	}
	return report
}

func raw(t *testing.T, tbl *table.Table, i int) table.Item {
	t.Helper()
	return check.Must(table.Get[table.Item](t.Context(), tbl.Consistent(), Key(id(i))))(t)
}

func TestAttributeAdded(t *testing.T) {
	t.Parallel()
	tbl, old := open(t, Schema)
	orders := release(t, tbl, withChannel)
	// Both releases write, in any order.
	check.Must(orders.Update(t.Context(), Key("o-1"), func(o *OrderChannel) error { o.Channel = "app"; return nil }))(t)
	check.Must(old.Update(t.Context(), Key("o-1"), func(o *Order1) error { o.Status = "paid"; return nil }))(t)
	check.Must(old.Update(t.Context(), Key("o-2"), func(o *Order1) error { o.Status = "paid"; return nil }))(t)
	for i, want := range map[int]string{1: "app paid", 2: "web paid", 3: "web open"} {
		o := check.Must(orders.Consistent().Get(t.Context(), Key(id(i))))(t)
		check.Equal(t, "order", o.Channel+" "+o.Status, want)
	}
	check.Equal(t, "changed", backfilled(t, tbl, orders).Changed, 10) // o-1 was written by the first release since
	// Then the upgrade can go, and filters on the attribute work.
	later := withChannel
	later.OldestShape, later.Upgrades = 1, nil
	o := check.Must(release(t, tbl, later).Get(t.Context(), Key("o-3")))(t)
	check.Equal(t, "channel", o.Channel, "web")
}

func TestAttributeRenamed(t *testing.T) {
	t.Parallel()
	tbl, old := open(t, Schema)
	both := release(t, tbl, withBoth)
	call := func(name string) func(*OrderBoth) error {
		return func(o *OrderBoth) error { o.Call(name); return nil }
	}
	// The first release and the one with both.
	check.Must(both.Update(t.Context(), Key("o-1"), call("both")))(t)
	check.Must(old.Update(t.Context(), Key("o-1"), func(o *Order1) error { o.Name = "old"; return nil }))(t)
	check.Equal(t, "name", check.Must(both.Get(t.Context(), Key("o-1")))(t).Title, "old")

	// The one with both and the last one. The first one is gone: it could not read
	// what the last one writes.
	last := release(t, tbl, withTitle)
	check.Must(both.Update(t.Context(), Key("o-1"), call("both again")))(t)
	check.Equal(t, "title", check.Must(last.Get(t.Context(), Key("o-1")))(t).Title, "both again")
	check.Equal(t, "title of an old item", check.Must(last.Get(t.Context(), Key("o-2")))(t).Title, "order")
	for _, i := range []int{1, 2} {
		check.Must(last.Update(t.Context(), Key(id(i)), func(o *OrderTitle) error { o.Title = "last"; return nil }))(t)
		check.Equal(t, "name", check.Must(both.Get(t.Context(), Key(id(i))))(t).Title, "last")
		check.Must(both.Update(t.Context(), Key(id(i)), call("both")))(t)
		check.Equal(t, "title", check.Must(last.Get(t.Context(), Key(id(i))))(t).Title, "both")
		check.Must(last.Update(t.Context(), Key(id(i)), func(o *OrderTitle) error { o.Title = "end"; return nil }))(t)
		check.Equal(t, "name", check.Must(both.Get(t.Context(), Key(id(i))))(t).Title, "end")
	}
	if _, err := old.Get(t.Context(), Key("o-1")); !errors.Is(err, table.ErrNewerShape) {
		t.Errorf("the first release: %v", err)
	}
	backfilled(t, tbl, last)
	for i := range 10 {
		if item := raw(t, tbl, i); item["name"] != nil || item["title"] == nil {
			t.Errorf("order %d: %v", i, item)
		}
	}
	// The upgrades can go.
	later := withTitle
	later.OldestShape, later.Upgrades = 2, nil
	check.Equal(t, "title", check.Must(release(t, tbl, later).Get(t.Context(), Key("o-1")))(t).Title, "end")
}

// Of the items that the next release has written, some have one of the two names only.
func TestReleaseWithBothNamesRefusesFilters(t *testing.T) {
	t.Parallel()
	both := release(t, tabletest.New(t, Schema, nil), withBoth)
	for _, name := range []string{"name", "title"} {
		q := table.Query{PK: Key("o-1").PK, Filter: expression.Name(name).Equal(expression.Value("order"))}
		check.Is(t, check.Err(both.Query(t.Context(), q)), table.ErrInvalid, name)
	}
}

func TestTypeChanged(t *testing.T) {
	t.Parallel()
	tbl, old := open(t, Schema)
	orders := release(t, tbl, withCents)
	check.Equal(t, "cents", check.Must(orders.Get(t.Context(), Key("o-1")))(t).Cents, 1250)
	check.Must(orders.Update(t.Context(), Key("o-1"), func(o *OrderCents) error { o.Cents += 5; return nil }))(t)
	// The first release fails on what the second one has written, and loses nothing.
	_, err := old.Update(t.Context(), Key("o-1"), func(o *Order1) error { o.Total = "1.00"; return nil })
	if !errors.Is(err, table.ErrNewerShape) {
		t.Errorf("the first release: %v", err)
	}
	// An item that does not convert is set aside.
	check.OK(t, tbl.Do(t.Context(), table.Patch(Key("o-9"), table.Item{"total": text("much")})))
	job := backfill.Job{Name: "cents", Table: tbl, Entities: []backfill.Entity{orders}}
	report := check.Must(job.Run(t.Context()))(t)
	if diff := cmp.Diff([2]int64{8, 1}, [2]int64{report.Changed, report.SetAside}); diff != "" {
		t.Error(diff)
	}
	check.OK(t, tbl.Do(t.Context(), table.Patch(Key("o-9"), table.Item{"total": text("9.99")})))
	backfilled(t, tbl, orders)
	check.Equal(t, "cents", check.Must(orders.Consistent().Get(t.Context(), Key("o-9")))(t).Cents, 999)
}

func TestIndexAdded(t *testing.T) {
	t.Parallel()
	tbl, old := open(t, Schema)
	spec := WithIndex
	spec.Name = tbl.Schema().Name
	client := tabletest.Client(t)
	plan := check.Must(spec.Plan(t.Context(), client))(t)
	check.Equal(t, "changes", len(plan.Changes), 1)
	check.OK(t, spec.Ensure(t.Context(), client))
	tbl = check.Must(table.New(client, spec, nil))(t)
	orders := release(t, tbl, withStatus)
	check.Must(old.Update(t.Context(), Key("o-1"), func(o *Order1) error { o.Status = "paid"; return nil }))(t)
	backfilled(t, tbl, orders)
	check.Equal(t, "open orders", len(check.Must(orders.Query(t.Context(), table.Query{Index: "GSI1", PK: "STATUS#open"}))(t).Items), 9)
	// The first release leaves the index stale, and the next backfill repairs it. So
	// queries wait until it is gone.
	check.Must(old.Update(t.Context(), Key("o-2"), func(o *Order1) error { o.Status = "paid"; return nil }))(t)
	check.Equal(t, "repaired", backfilled(t, tbl, orders).Changed, 1)
	check.Equal(t, "open orders", len(check.Must(orders.Query(t.Context(), table.Query{Index: "GSI1", PK: "STATUS#open"}))(t).Items), 8)
}

func TestCopyAdded(t *testing.T) {
	t.Parallel()
	tbl, old := open(t, Schema)
	orders := release(t, tbl, withCustomer)
	o := Order1{ID: "o-new", Customer: "c-0", Status: "open"}
	check.OK(t, orders.Create(t.Context(), &o))
	backfilled(t, tbl, orders)
	// What the first release changes and deletes drifts, until it is gone and the
	// backfill is run again.
	check.Must(old.Update(t.Context(), Key("o-0"), func(o *Order1) error { o.Status = "paid"; return nil }))(t)
	check.OK(t, old.Delete(t.Context(), Key("o-3")))
	check.Equal(t, "repaired", backfilled(t, tbl, orders).Changed, 2)
	mine := check.Must(orders.Query(t.Context(), table.Query{PK: "USER#c-0"}))(t).Items
	status := map[string]string{}
	for _, o := range mine {
		status[o.ID] = o.Status
	}
	if diff := cmp.Diff(map[string]string{"o-0": "paid", "o-6": "open", "o-9": "open", "o-new": "open"}, status); diff != "" {
		t.Error(diff)
	}
}

func TestKeyChanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tbl, _ := open(t, Schema)
	paid := func(o *Order1) error { o.Status = "paid"; return nil }
	same := func(what string, i int) {
		t.Helper()
		o := check.Must(release(t, tbl, withCustomer).Consistent().Get(ctx, Key(id(i))))(t)
		moved := check.Must(release(t, tbl, movedFirst).Consistent().Get(ctx, CustomerKey(o)))(t)
		check.Equal(t, what, moved, o)
	}
	// A copy under the new key, everywhere.
	copied := release(t, tbl, withCustomer)
	backfilled(t, tbl, copied)
	same("copied", 1)
	// The copy and the main item change places: nothing is written for that.
	moved := release(t, tbl, movedFirst)
	check.Equal(t, "changed", backfilled(t, tbl, moved).Changed, 0)
	o := check.Must(copied.Update(ctx, Key("o-1"), paid))(t)
	same("updated by the one", 1)
	check.Must(moved.Update(ctx, CustomerKey(o), func(o *Order1) error { o.Status = "sent"; return nil }))(t)
	same("updated by the other", 1)
	check.OK(t, copied.Delete(ctx, Key("o-2")))
	check.OK(t, moved.Delete(ctx, Key("o-3")))
	// The former key is given up.
	last := release(t, tbl, movedLast)
	backfilled(t, tbl, last)
	for i := range 10 {
		if _, err := table.Get[table.Item](ctx, tbl.Consistent(), Key(id(i))); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("order %d under its former key: %v", i, err)
		}
	}
	o = check.Must(last.Consistent().Get(ctx, CustomerKey(o)))(t)
	check.Equal(t, "status", o.Status, "sent")
	check.Equal(t, "orders of c-0", len(check.Must(last.Query(ctx, table.Query{PK: "USER#c-0"}))(t).Items), 3)
}

func TestKeyChangedByAField(t *testing.T) {
	t.Parallel()
	tbl, old := open(t, Schema)
	orders := release(t, tbl, movedByField)
	for i := range 10 {
		o := check.Must(orders.Get(t.Context(), Key(id(i))))(t)
		check.OK(t, move(t.Context(), orders, id(i)))
		if err := move(t.Context(), orders, id(i)); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("order %d has moved: %v", i, err)
		}
		moved := check.Must(orders.Get(t.Context(), CustomerKey(o.Order1)))(t)
		check.Equal(t, "order", moved.ID+" "+moved.Status, o.ID+" "+o.Status)
		// A release that does not know the field does not change it.
		_, err := old.Update(t.Context(), CustomerKey(o.Order1), func(o *Order1) error { o.Status = "paid"; return nil })
		if !errors.Is(err, repo.ErrOrphan) {
			t.Errorf("the first release, of order %d: %v", i, err)
		}
	}
	check.Equal(t, "changed", backfilled(t, tbl, orders).Changed, 0)
	check.Equal(t, "orders of c-0", len(check.Must(orders.Query(t.Context(), table.Query{PK: "USER#c-0"}))(t).Items), 4)
}

func TestIndexDropped(t *testing.T) {
	t.Parallel()
	tbl, _ := open(t, WithIndex)
	backfilled(t, tbl, release(t, tbl, withStatus))
	// No release queries the index any more.
	spec := Schema
	spec.Name = tbl.Schema().Name
	tbl = check.Must(table.New(tabletest.Client(t), spec, nil))(t)
	orders := release(t, tbl, withoutStatus)
	check.Equal(t, "changed", backfilled(t, tbl, orders).Changed, 10)
	for i := range 10 {
		if item := raw(t, tbl, i); item["gsi1pk"] != nil || item["gsi1sk"] != nil {
			t.Errorf("order %d: %v", i, item)
		}
	}
	// The index can be deleted by hand now; Verify does not mind it.
	check.OK(t, spec.Verify(t.Context(), tabletest.Client(t)))
}
