package migrate

import (
	"context"
	"fmt"

	"github.com/singletable/singletable/backfill"
)

// Job is the migration of one kind: its [Records].
type Job interface {
	// Prepare makes the fences, before the first writer goes through the records.
	Prepare(context.Context) error
	// Advance moves on to a phase, unless it is reached already.
	Advance(context.Context, Phase) error
	// Phase returns the phase that all of the kind have reached.
	Phase(context.Context) (Phase, error)
	Backfill(context.Context, func(kind string, p backfill.Progress) error) (backfill.Report, error)
	Verify(context.Context) (Verification, error)
}

// Prepare makes the fences that are missing.
func (r *Records[T]) Prepare(ctx context.Context) error { return r.prepare(ctx) }

// Advance moves on to a phase, unless it is reached already.
func (r *Records[T]) Advance(ctx context.Context, p Phase) error { return r.advance(ctx, p) }

// Phase returns the phase that all entities of the kind have reached.
func (r *Records[T]) Phase(ctx context.Context) (Phase, error) { return r.least(ctx) }

// Reporter is told how a migration goes on. An error of Page stops it; Run goes
// on later from there.
type Reporter interface {
	Page(kind string, p backfill.Progress) error
	Verified(Phase, Verification)
}

// Run carries a job from the phase that it is in to [New]. Readers and writers
// need not stop. It can be run again after it was interrupted, at any point.
func Run(ctx context.Context, job Job, to Reporter) error {
	if err := job.Prepare(ctx); err != nil {
		return err
	}
	phase, err := job.Phase(ctx)
	if err != nil || phase == New {
		return err
	}
	if err := job.Advance(ctx, Dual); err != nil {
		return err
	}
	if _, err := job.Backfill(ctx, to.Page); err != nil {
		return err
	}
	// The first verification makes the last ones short: there is little left to
	// catch up while the old table is frozen.
	if _, err := verify(ctx, job, Dual, to); err != nil {
		return err
	}
	if err := job.Advance(ctx, Switching); err != nil {
		return err
	}
	if _, err := verify(ctx, job, Switching, to); err != nil {
		return err
	}
	last, err := verify(ctx, job, Switching, to)
	if err != nil {
		return err
	}
	if !last.Clean() {
		return fmt.Errorf("%w: after the cut-over %d entities were missing", ErrDifferent, last.Copied+last.Deleted)
	}
	return job.Advance(ctx, New)
}

func verify(ctx context.Context, job Job, phase Phase, to Reporter) (Verification, error) {
	v, err := job.Verify(ctx)
	if err == nil {
		to.Verified(phase, v)
	}
	return v, err
}
