package core

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Two processes stage the same import, and are both given the changes of its rows. Both
// may end in the middle of it. Another one completes it: each row was published once,
// and none was set aside.
func TestScheduleImport(t *testing.T) {
	t.Parallel()
	const none = -1
	for name, c := range map[string]struct{ rows, faults int }{
		"one transaction":    {2, 0},
		"three transactions": {2*importChunk + 1, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tabletest.Explore(t, tabletest.Case{
				Schema: Schema("Records"), Limit: *check.Limit, Faults: c.faults,
				Setup: func(ctx context.Context, r *tabletest.Run) error { return setUpImport(ctx, r, c.rows) },
			})
		})
	}
}

func setUpImport(ctx context.Context, r *tabletest.Run, rows int) error {
	source := make([]Change, rows)
	for i := range source {
		source[i] = Change{Ref: NewRef("PRODUCT", fmt.Sprintf("P-%d", i))}
	}
	who, err := opened(r.Client, r)
	if err != nil {
		return err
	}
	for range 2 {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			who, err := opened(client, r)
			if err != nil {
				return err
			}
			return importAll(ctx, who, source)
		})
	}
	r.Check(func(ctx context.Context, _ []error) error {
		if err := importAll(ctx, who, source); err != nil {
			return err
		}
		task, err := who.Task(ctx, importID)
		if err != nil {
			return err
		}
		if task.Status != Done || task.Done != len(source) || task.Rejected != 0 {
			return fmt.Errorf("%d rows: %d published, %d set aside", len(source), task.Done, task.Rejected)
		}
		for of, partition := range map[string]keys.PK{
			"commands": keys.Prefix("PRODUCT_CMD").PK(r.ID),
			"history":  keys.Prefix("PRODUCT_HIST").PK(r.ID),
		} {
			items, err := table.Collect(table.All[table.Item](ctx, who.table, table.Query{PK: partition}))
			if err != nil {
				return err
			}
			if len(items) != len(source) {
				return fmt.Errorf("%s: %d of %d rows", of, len(items), len(source))
			}
		}
		area := table.Query{PK: importPrefix.PK(r.ID, importID), Range: rowPrefix.All()}
		left, err := table.Collect(who.rows.All(ctx, area))
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d rows are left", len(left))
		}
		return err
	})
	return nil
}

// A command and its handler, and the handler of an earlier command or a step of a
// rebuild, are concurrent, and may end in the middle. Once what failed was delivered
// again, the read model is as the history says.
func TestScheduleCatalogue(t *testing.T) {
	t.Parallel()
	for name, afresh := range map[string]bool{"two handlers": false, "a handler and a rebuild": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tabletest.Explore(t, tabletest.Case{
				Schema: Schema("Catalogue"), Limit: *check.Limit,
				Setup: func(ctx context.Context, r *tabletest.Run) error { return setUpCatalogue(ctx, r, afresh) },
			})
		})
	}
}

func setUpCatalogue(ctx context.Context, r *tabletest.Run, afresh bool) error {
	who, err := opened(r.Client, r)
	if err != nil {
		return err
	}
	product := NewRef("PRODUCT", "P")
	first, err := who.Publish(ctx, Change{Ref: product, Attributes: map[string]any{"price": 5}})
	if err != nil {
		return err
	}
	second, err := who.Publish(ctx, Change{Ref: product, Attributes: map[string]any{"price": 7}, Version: 1})
	if err != nil {
		return err
	}
	if afresh {
		if err := who.sync(ctx, first); err != nil {
			return err
		}
	}
	third := Change{Ref: product, Attributes: map[string]any{"price": 3}, Version: 2}
	handlers := []func(context.Context, Tenant) error{
		func(ctx context.Context, who Tenant) error {
			if _, err := who.Publish(ctx, third); err != nil && !errors.Is(err, table.ErrStale) {
				return err
			}
			now, err := who.Version(ctx, product, 3)
			if err != nil {
				return err
			}
			return who.sync(ctx, now.Record)
		},
		func(ctx context.Context, who Tenant) error {
			if err := who.sync(ctx, second); err != nil || !afresh {
				return err
			}
			return who.project(ctx, product, true)
		},
	}
	for _, handle := range handlers {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			who, err := opened(client, r)
			if err != nil {
				return err
			}
			return handle(ctx, who)
		})
	}
	r.Check(func(ctx context.Context, errs []error) error {
		for i, err := range errs { // what succeeded is not delivered again
			if err == nil {
				continue
			}
			if err := handlers[i](ctx, who); err != nil {
				return err
			}
		}
		_, ok, err := who.Audit(ctx)
		if err == nil && !ok {
			err = errors.New("the read model is not as the history says")
		}
		return err
	})
	return nil
}

// opened returns the tenant of a run.
func opened(client *dynamodb.Client, r *tabletest.Run) (Tenant, error) {
	s, err := New(r.Table(client), nil)
	return s.as(Caller{Tenant: r.ID, User: "ana"}), err
}
