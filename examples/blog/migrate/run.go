package migrate

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Reporter is told how a migration goes on. An error of Page stops it; Run goes
// on later from there.
type Reporter interface {
	Page(kind string, p backfill.Progress) error
	Verified(Phase, backfill.Report)
}

// Run carries the entities from the phase that they are in to [New]. Readers and
// writers need not stop. It can be run again after it was interrupted, at any point.
func (r *Records[T]) Run(ctx context.Context, to Reporter) error {
	if err := r.Prepare(ctx); err != nil {
		return err
	}
	phase, err := r.Phase(ctx)
	if err != nil || phase == New {
		return err
	}
	if err := r.Advance(ctx, Dual); err != nil {
		return err
	}
	if _, err := r.Backfill(ctx, to.Page); err != nil {
		return err
	}
	// The first verification makes the last ones short: there is little left to
	// catch up while the old table is frozen.
	var last backfill.Report
	for _, p := range []Phase{Dual, Switching, Switching} {
		if err := r.Advance(ctx, p); err != nil {
			return err
		}
		if last, err = r.Verify(ctx); err != nil {
			return err
		}
		to.Verified(p, last)
	}
	if last.Changed > 0 {
		return fmt.Errorf("%w: after the cut-over %d entities were missing", ErrDifferent, last.Changed)
	}
	return r.Advance(ctx, New)
}

// Backfill copies everything in the old table that is not in the single table, or
// older there. It continues where an earlier one has stopped, in this process or
// another. After each page it calls report, whose error stops it.
//
// Before all writers write twice, it is [ErrPhase]: it could pass by an entity that a
// writer then changes in the old table only.
func (r *Records[T]) Backfill(ctx context.Context, report func(kind string, p backfill.Progress) error) (backfill.Report, error) {
	phase, err := r.Phase(ctx)
	if err != nil {
		return backfill.Report{}, err
	}
	if phase < Dual {
		return backfill.Report{}, fmt.Errorf("backfill of %s: %w: it is %v", r.Name, ErrPhase, phase)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	job := r.job(func(_ context.Context, v T) ([]table.Op, error) { return r.copyOps(v) })
	job.Progress = func(p backfill.Progress) {
		if err := report(r.Name, p); err != nil {
			stop(err)
		}
	}
	return job.Run(ctx)
}

// job is a walk through the old table.
func (r *Records[T]) job(bring func(context.Context, T) ([]table.Op, error)) backfill.Job {
	return backfill.Job{
		Name: "migrate " + r.Name, Source: r.Old, Table: r.single, Segments: r.Segments,
		Map: func(ctx context.Context, item table.Item) ([]table.Op, error) {
			if _, fence := item[phaseAttribute]; fence {
				return nil, nil
			}
			var v T
			if err := item.Decode(&v); err != nil {
				return nil, err
			}
			return bring(ctx, v)
		},
	}
}

// ErrDifferent means that an entity has the same version and another content in
// the two places, or that its items differ.
var ErrDifferent = errors.New("the copy differs")

// Verify compares every entity in the old table with all of its items in
// the single table, and makes good what is missing: Changed of the report are the
// entities that were copied. What writers are about to copy is missing too, for a
// moment, so a verification in the phase [Dual] need not be without them; a second one
// in the phase [Switching] must be.
//
// Nothing can be in the single table only: deletions begin there.
func (r *Records[T]) Verify(ctx context.Context) (backfill.Report, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// A dry run has no progress to store: it starts from the beginning each time. It counts the ops
	// that mend returns, and mend has run them.
	return r.job(func(ctx context.Context, v T) ([]table.Op, error) {
		ops, err := r.mend(ctx, v)
		if err != nil {
			stop(err) // a job would set the entity aside, and go on
		}
		return ops, err
	}).DryRun(ctx)
}

// mend stores v if the single table does not have it, and returns the ops that did so.
func (r *Records[T]) mend(ctx context.Context, v T) ([]table.Op, error) {
	ok, err := r.matches(ctx, v)
	if err != nil || ok {
		return nil, err
	}
	copied, err := r.catchUp(ctx, v)
	if errors.Is(err, ErrDeleted) {
		// A deletion was half done. It is completed unless the old table is frozen.
		err = r.Old.Transact(ctx, table.Delete(r.OldKey(v)), r.holds(v, Dual))
		if failed(err, "fence") {
			err = nil
		}
	}
	if err != nil || !copied {
		return nil, err
	}
	return r.copyOps(v)
}

// matches reports whether every item holds v or a newer version. They are
// read as they were at one moment.
func (r *Records[T]) matches(ctx context.Context, v T) (bool, error) {
	items, err := r.items(v)
	if err != nil {
		return false, err
	}
	places := make([]keys.Key, len(items))
	for i, item := range items {
		places[i] = r.single.KeyOf("", item)
	}
	found, err := table.TransactGet[T](ctx, r.single.OfType(r.Entity.Type), places)
	if err != nil || len(found) == 0 {
		return false, err
	}
	version, first := *r.Version(&v), found[places[0]]
	for _, have := range found {
		switch at := *r.Version(&have); {
		case len(found) < len(places) || !reflect.DeepEqual(have, first):
			return false, fmt.Errorf("%s: items: %w", r.Name, ErrDifferent)
		case at < version:
			return false, nil
		case at == version && !reflect.DeepEqual(have, v):
			return false, fmt.Errorf("%s: %w", r.Name, ErrDifferent)
		}
	}
	return true, nil
}
