package core

import (
	"context"
	"errors"

	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// Handlers are what follows from a write. A change can be delivered more than once, and
// changes of different items in any order. So each handler compares the change with what
// is stored, and writes on the condition that it is still so. That makes every effect
// once, without a record for each change as package idempotency has it.
func (s *Service) Handlers() []stream.Handler {
	return []stream.Handler{
		stream.On(s.history, func(ctx context.Context, c stream.Change[History]) error {
			if c.Kind != stream.Insert {
				return nil
			}
			return s.as(Caller{Tenant: c.New.TenantCode}).sync(ctx, c.New.Record)
		}),
		stream.On(s.tasks, func(ctx context.Context, c stream.Change[Task]) error {
			if c.New == nil {
				return nil
			}
			return s.as(c.New.caller()).work(ctx, *c.New)
		}),
	}
}

// Router gives the changes of the table to the handlers. All other types of items are
// what handlers and commands leave behind.
func (s *Service) Router() (*stream.Router, error) {
	return stream.New(s.table, nil, append(s.Handlers(), stream.IgnoreOther())...)
}

// sync brings the read model up to a version of a record.
func (t Tenant) sync(ctx context.Context, r Record) error {
	err := t.table.Do(ctx, t.dataOp(r))
	if err != nil && !errors.Is(err, table.ErrConditionFailed) {
		return err
	}
	if r.Type != listedType {
		return nil
	}
	return t.project(ctx, r.Ref(), false)
}
