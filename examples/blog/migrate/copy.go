package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

const (
	markPrefix keys.Prefix = "DELETED"
	markLife               = 30 * 24 * time.Hour // longer than any backfill
	opMark                 = "mark"
)

// catchUp copies an entity as the old table has it now, and returns the ops that did so: none
// if the single table has a version as new. Errors: [ErrDeleted] if there is a mark.
func (r *Records[T]) catchUp(ctx context.Context, at T) ([]table.Op, error) {
	v, err := r.old(ctx, at)
	switch {
	case errors.Is(err, table.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	ops, _ := r.copyOps(ctx, v) // which never fails
	switch err := r.single.Transact(ctx, ops...); {
	case failed(err, opMark):
		return nil, ErrDeleted
	case errors.Is(err, table.ErrConditionFailed):
		return nil, nil
	default:
		return ops, err
	}
}

// copyOps returns the ops that store v in all of its items in the single table, unless
// there is a version as new or newer, or the entity was deleted.
func (r *Records[T]) copyOps(_ context.Context, v T) ([]table.Op, error) {
	ops := r.puts(v)
	stored, missing := expression.Name(r.Entity.Version), r.missing()
	//mutants:guard blog: a copy replaces no newer one | TestScheduleMigration | ops[0] = => _ =
	ops[0] = ops[0].If(missing.Or(stored.LessThan(expression.Value(*r.Version(&v)))))
	//mutants:guard blog: a deleted post is not copied | TestScheduleMigration | append(ops, r.notMarked(v)) => ops
	return append(ops, r.notMarked(v)), nil
}

// puts returns an op for each item that v has in the single table, the main item first,
// with the version that v has in the old one. A copy without a key is left out.
func (r *Records[T]) puts(v T) (ops []table.Op) {
	for _, place := range r.places {
		if op := place.PutOps(&v)[0]; op.Key() != (keys.Key{}) {
			ops = append(ops, op)
		}
	}
	return ops
}

// deleteCopy removes an entity from the single table, at whatever version, and leaves the
// mark that keeps copies from bringing it back.
func (r *Records[T]) deleteCopy(ctx context.Context, at T) error {
	v, err := r.Get(ctx, at)
	if err != nil {
		return err
	}
	mark := map[string]any{"entityType": "DELETED", r.single.Schema().TTLAttribute: r.single.Now().Add(markLife).Unix()}
	ops := []table.Op{table.Put(r.markKey(v), mark)}
	for _, put := range r.puts(v) {
		ops = append(ops, table.Delete(put.Key()))
	}
	return r.single.Transact(ctx, ops...)
}

func (r *Records[T]) missing() expression.ConditionBuilder {
	return expression.Name(r.single.Schema().PK).AttributeNotExists()
}

// markKey is apart from the entity's items, so that no access pattern meets the mark.
func (r *Records[T]) markKey(v T) keys.Key {
	return keys.Key{PK: markPrefix.PK(r.Name, r.id(v)), SK: keys.Metadata}
}

func (r *Records[T]) notMarked(v T) table.Op {
	return table.Check(r.markKey(v), r.missing()).WithName(opMark)
}

func failed(err error, name string) bool {
	op, ok := table.FailedOp(err, name)
	return ok && errors.Is(op, table.ErrConditionFailed)
}

// Reporter is told how a migration goes on. An error of Page stops it.
type Reporter interface {
	Page(kind string, p backfill.Progress) error
	Verified(Phase, backfill.Report)
}

// Run carries the entities to [New]. It can be run again after any interruption.
func (r *Records[T]) Run(ctx context.Context, to Reporter) error {
	err := r.Advance(ctx, Dual)
	if err != nil {
		return err
	}
	if phase, err := r.Phase(ctx); err != nil || phase == New {
		return err
	}
	if _, err := r.Backfill(ctx, to.Page); err != nil {
		return err
	}
	// The first verification makes those short that run while the old table is frozen.
	var last backfill.Report
	for _, p := range []Phase{Dual, Switching, Switching} {
		if err = r.Advance(ctx, p); err == nil {
			last, err = r.Verify(ctx)
		}
		if err != nil {
			return err
		}
		to.Verified(p, last)
	}
	if last.Changed > 0 {
		return fmt.Errorf("%w: after the cut-over %d entities were missing", ErrDifferent, last.Changed)
	}
	return r.Advance(ctx, New)
}

// Backfill copies what the single table does not have, or has older. It continues where an
// earlier one has stopped. An error of report, which is called after each page, stops it.
// Before [Dual] it is [ErrPhase]: a writer could change a copied entity in the old table only.
func (r *Records[T]) Backfill(ctx context.Context, report func(kind string, p backfill.Progress) error) (backfill.Report, error) {
	if phase, err := r.Phase(ctx); err != nil || phase < Dual {
		return backfill.Report{}, fmt.Errorf("backfill of %s in phase %v: %w", r.Name, phase, cmp.Or(err, ErrPhase))
	}
	return r.walk(ctx, backfill.Job.Run, r.copyOps, report)
}

// walk runs a job that brings each entity of the old table over, until an error.
func (r *Records[T]) walk(
	ctx context.Context, run func(backfill.Job, context.Context) (backfill.Report, error),
	bring func(context.Context, T) ([]table.Op, error), report func(kind string, p backfill.Progress) error,
) (backfill.Report, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	return run(backfill.Job{
		Name: "migrate " + r.Name, Source: r.Old, Table: r.single, Segments: r.Segments,
		Map: func(ctx context.Context, item table.Item) (ops []table.Op, err error) {
			if _, fence := item[phaseAttribute]; fence {
				return nil, nil
			}
			var v T
			if err = item.Decode(&v); err == nil {
				ops, err = bring(ctx, v)
			}
			if err != nil {
				stop(err) // a job would set the entity aside, and go on
			}
			return ops, err
		},
		Progress: func(p backfill.Progress) {
			if err := report(r.Name, p); err != nil {
				stop(err)
			}
		},
	}, ctx)
}

// Verify compares every entity in the old table with all of its items in the single table,
// and copies what is missing there: Changed of the report. In the phase [Dual] that includes
// what writers are about to copy; a second one in the phase [Switching] has to be without.
func (r *Records[T]) Verify(ctx context.Context) (backfill.Report, error) {
	return r.walk(ctx, backfill.Job.DryRun, r.copyMissing, func(string, backfill.Progress) error { return nil })
}

// copyMissing copies v if the single table does not have it, and returns the ops.
func (r *Records[T]) copyMissing(ctx context.Context, v T) ([]table.Op, error) {
	if ok, err := r.matches(ctx, v); err != nil || ok {
		return nil, err
	}
	ops, err := r.catchUp(ctx, v)
	if !errors.Is(err, ErrDeleted) {
		return ops, err
	}
	// A deletion was half done. It is completed unless the old table is frozen.
	if err = r.Old.Transact(ctx, table.Delete(r.OldKey(v)), r.holds(v, Dual)); failed(err, opFence) {
		return nil, nil
	}
	return nil, err
}

// matches reports whether every item holds v or a newer version, at one moment.
func (r *Records[T]) matches(ctx context.Context, v T) (bool, error) {
	var places []keys.Key
	for _, put := range r.puts(v) {
		places = append(places, put.Key())
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
