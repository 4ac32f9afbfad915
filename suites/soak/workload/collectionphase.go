package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// collectionPhase has each worker read large collections that all workers share,
// and small sharded indexes that it writes for one operation.
func (w *world) collectionPhase(ctx context.Context, b budget) error {
	b.enough = func() bool {
		return w.report.Complete([]report.Promise{report.Sparse, report.Slow, report.Growth, report.Copies, report.Ties}, nil)
	}
	archive := newArchive(w.Seed)
	writer, err := w.newSession(&clock{}, false)
	if err != nil {
		return err
	}
	if err := writer.calm.BatchWrite(ctx, puts(archive.docs)...); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return w.parallel(w.Workers, func(id int) error {
		worker := w.newWorker(id)
		for op := 0; b.left(op) && ctx.Err() == nil; op += perSession {
			if err := worker.collect(ctx, archive, op, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// collect does the operations of one session.
func (w *worker) collect(ctx context.Context, a *archive, from int, b budget) error {
	session, err := w.newSession(w.clock, from/perSession%2 == 0)
	if err != nil {
		return err
	}
	w.session = session
	for op := from; op < from+perSession && b.left(op); op++ {
		w.draw(op)
		if w.r.IntN(8) == 0 {
			w.jump(time.Duration(w.r.IntN(13)-6) * leap)
		}
		run := []func(context.Context, *archive) error{
			w.readSparse, w.readSlowly, w.grow, w.copies, w.copies, w.undeclaredTies,
		}[w.r.IntN(6)]
		if err := run(ctx, a); err != nil {
			return fmt.Errorf("%s: %w", w.where(), err)
		}
	}
	return nil
}

// puts returns the writes of some items.
func puts(docs []doc) []table.Op {
	ops := make([]table.Op, len(docs))
	for i, d := range docs {
		ops[i] = table.Put(d.key(), d)
	}
	return ops
}
