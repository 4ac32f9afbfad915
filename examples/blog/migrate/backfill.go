package migrate

import (
	"context"
	"fmt"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/table"
)

// Backfill copies everything in the old table that is not in the single table, or
// older there. It continues where an earlier one has stopped, in this process or
// another. After each page it calls report, whose error stops it.
//
// Before all writers write twice, it is [ErrPhase]: it could pass by an entity that a
// writer then changes in the old table only.
func (r *Records[T]) Backfill(ctx context.Context, report func(kind string, p backfill.Progress) error) (backfill.Report, error) {
	phase, err := r.least(ctx)
	if err != nil {
		return backfill.Report{}, err
	}
	if phase < Dual {
		return backfill.Report{}, fmt.Errorf("backfill of %s: %w: it is %v", r.Name, ErrPhase, phase)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	job := backfill.Job{
		Name: "migrate " + r.Name, Source: r.Old, Table: r.single, Segments: r.Segments,
		Map: func(_ context.Context, item table.Item) ([]table.Op, error) {
			if _, fence := item[phaseAttribute]; fence {
				return nil, nil
			}
			var v T
			if err := item.Decode(&v); err != nil {
				return nil, err
			}
			return r.copyOps(v)
		},
		Progress: func(p backfill.Progress) {
			if err := report(r.Name, p); err != nil {
				stop(err)
			}
		},
	}
	return job.Run(ctx)
}
