package workload

import (
	"context"
	"fmt"

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
	writer, err := w.newSession(&clock{}, false, false)
	if err != nil {
		return err
	}
	if err := writer.calm.BatchWrite(ctx, puts(archive.docs)...); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return w.parallel(w.Workers, func(id int) error {
		worker := w.newWorker(id)
		read := []func(context.Context) error{
			func(ctx context.Context) error { return worker.readSparse(ctx, archive) },
			func(ctx context.Context) error { return worker.readSlowly(ctx, archive) },
			worker.grow, worker.copies, worker.copies, worker.undeclaredTies,
		}
		return worker.operations(ctx, 0, b, func() (func(context.Context) error, error) {
			return func(ctx context.Context) error { return read[worker.r.IntN(len(read))](ctx) }, nil
		})
	})
}

// puts returns the writes of some items.
func puts(docs []doc) []table.Op {
	ops := make([]table.Op, len(docs))
	for i, d := range docs {
		ops[i] = table.Put(d.key(), d)
	}
	return ops
}
