package core

import (
	"context"
	"errors"
	"iter"

	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// Handlers are what follows from a write. A change can be delivered more than once, and
// changes of different items in any order. So each handler compares the change with what
// is stored, and writes on the condition that it is still so. That makes every effect
// once, without a record for each change as package idempotency has it.
func (s *Service) Handlers() []stream.Handler {
	return []stream.Handler{
		s.OnVersion(func(ctx context.Context, h History) error {
			return s.as(Caller{Tenant: h.TenantCode}).sync(ctx, h.Record)
		}),
		stream.On(s.tasks, func(ctx context.Context, c stream.Change[Task]) error {
			if c.New == nil { // it has expired
				return s.as(c.Old.caller()).sweep(ctx, *c.Old)
			}
			return s.as(c.New.caller()).work(ctx, *c.New)
		}),
	}
}

// Router gives the changes of the table to handlers, by default to [Service.Handlers]. All
// other types of items are what handlers and commands leave behind.
func (s *Service) Router(handlers ...stream.Handler) (*stream.Router, error) {
	if len(handlers) == 0 {
		handlers = s.Handlers()
	}
	return stream.New(s.table, nil, append(handlers, stream.IgnoreOther())...)
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

// Repair brings the data and the listings of all tenants up to the history, for changes
// that were never handled. Commands can go on.
func (s *Service) Repair(ctx context.Context) error {
	for h, err := range s.Replay(ctx) {
		if err == nil {
			err = s.as(Caller{Tenant: h.TenantCode}).sync(ctx, h.Record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// OnVersion returns a handler that is given each version of each record, of all tenants,
// at least once and in any order. It is for other stores than the table.
func (s *Service) OnVersion(do func(context.Context, History) error) stream.Handler {
	return stream.On(s.history, func(ctx context.Context, c stream.Change[History]) error {
		if c.Kind != stream.Insert {
			return nil
		}
		return do(ctx, *c.New)
	})
}

// replayChunk is how many versions [Service.Replay] reads at once.
const replayChunk = 1000

// Replay reads all versions of all records, of all tenants, in any order. It is
// a Scan of the table, for stores that are rebuilt. The error is yielded once,
// last, and must be looked at.
func (s *Service) Replay(ctx context.Context) iter.Seq2[History, error] {
	return func(yield func(History, error) bool) {
		ofHistory := table.If("entityType = ?", historyEntity.Type)
		for scan := (table.Scan{Limit: replayChunk, Filter: ofHistory, Consistent: true}); ; {
			page, err := table.ScanPage[History](ctx, s.table, scan)
			if err != nil {
				yield(History{}, err)
				return
			}
			for _, h := range page.Items {
				if !yield(h, nil) {
					return
				}
			}
			if scan.After = page.Next; scan.After == "" {
				return
			}
		}
	}
}
