package migrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// The failures of records, in addition to those of package table.
var (
	// ErrNotCopied means that the write to the old table was executed, and its copy
	// was not. It must not be repeated: the copy is made later.
	ErrNotCopied = errors.New("written to the old table and not copied yet")
	// ErrDeleted means that the id was deleted before; ids are not used again.
	ErrDeleted = errors.New("the id was deleted before")
)

// attempts bounds how often a write begins again because of other writes.
const attempts = 32

// Kind describes one kind of entity and both of its places.
type Kind[T any] struct {
	// Name is what progress is stored under.
	Name string
	// Old is the table that the entities come from, and OldKey their key there.
	Old    *table.Table
	OldKey func(T) keys.Key
	// Entity is how they are stored in the single table. Its version attribute
	// counts in the old table too; where it is missing, the version is 0.
	Entity repo.Entity[T]
	// ID names an entity among those of its kind.
	ID func(T) string
	// Version points to the field of the version.
	Version func(*T) *int64
	// Segments is that of the backfill: see [backfill.Job].
	Segments int
}

// Records are the entities of one kind during a migration. All reads and writes
// of the application go through them. They are safe for concurrent use.
type Records[T any] struct {
	Kind[T]
	fences
	single   *table.Table
	entities *repo.Repo[T]
}

// NewRecords returns the records of a kind, on their way into the single table.
func NewRecords[T any](single *table.Table, kind Kind[T]) (*Records[T], error) {
	entities, err := repo.New(single.Consistent(), kind.Entity)
	return &Records[T]{kind, fences{kind.Old}, single, entities}, err
}

// Get reads an entity. The value at has the fields that its keys are made of.
func (r *Records[T]) Get(ctx context.Context, at T) (T, error) {
	phase, err := r.phase(ctx, r.ID(at))
	if err != nil {
		return at, err
	}
	if phase <= Dual {
		return r.old(ctx, at)
	}
	if phase == Switching {
		if _, err := r.catchUp(ctx, at); err != nil {
			return at, err
		}
	}
	return r.entities.Get(ctx, r.Entity.Key(at))
}

func (r *Records[T]) old(ctx context.Context, at T) (T, error) {
	return table.Get[T](ctx, r.Old.Consistent(), r.OldKey(at))
}

// Create stores a new entity.
func (r *Records[T]) Create(ctx context.Context, v T) error {
	*r.Version(&v) = 1
	return r.inPhase(ctx, v, func(phase Phase) error {
		if phase > Dual {
			err := r.single.Transact(ctx, append(r.entities.CreateOps(&v), r.notMarked(v))...)
			if failed(err, "mark") {
				return ErrDeleted
			}
			return err
		}
		if err := r.Old.Transact(ctx, table.Create(r.OldKey(v), v), r.holds(r.ID(v), phase)); err != nil {
			return err
		}
		return r.copyWritten(ctx, v, phase, ErrDeleted)
	})
}

// Update changes an entity and returns it as it was stored. Other writers cause
// change to be called again.
func (r *Records[T]) Update(ctx context.Context, at T, change func(*T) error) (v T, err error) {
	err = r.inPhase(ctx, at, func(phase Phase) error {
		if phase > Dual {
			v, err = r.entities.Update(ctx, r.Entity.Key(at), change)
			return err
		}
		if v, err = r.old(ctx, at); err != nil {
			return err
		}
		before := *r.Version(&v)
		if err := change(&v); err != nil {
			return err
		}
		*r.Version(&v) = before + 1
		// A version of 0 would match a missing item as well.
		put := table.Put(r.OldKey(at), v).IfVersion(r.Entity.Version, before).
			If(expression.Name(r.Old.Schema().PK).AttributeExists())
		if err := r.Old.Transact(ctx, put, r.holds(r.ID(at), phase)); err != nil {
			return err
		}
		return r.copyWritten(ctx, v, phase, table.ErrNotFound)
	})
	return v, err
}

// Delete removes an entity. A missing entity is no error.
func (r *Records[T]) Delete(ctx context.Context, at T) error {
	return r.inPhase(ctx, at, func(phase Phase) error {
		if phase == Old {
			return r.Old.Transact(ctx, table.Delete(r.OldKey(at)), r.holds(r.ID(at), phase))
		}
		read := r.old
		if phase > Dual {
			read = func(ctx context.Context, at T) (T, error) { return r.entities.Get(ctx, r.Entity.Key(at)) }
		}
		v, err := read(ctx, at)
		if errors.Is(err, table.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		// The mark comes first: from now on no copy can bring it back.
		if err := r.single.Transact(ctx, append(r.deleteOps(v), r.mark(v))...); err != nil {
			return err
		}
		if phase > Dual {
			return nil
		}
		return r.Old.Transact(ctx, table.Delete(r.OldKey(v)), r.holds(r.ID(v), phase))
	})
}

// inPhase runs a write in the phase that the entity is in, again if the phase
// or the entity has changed concurrently.
func (r *Records[T]) inPhase(ctx context.Context, at T, write func(Phase) error) error {
	var err error
	for range attempts {
		phase, failure := r.phase(ctx, r.ID(at))
		if failure != nil {
			return failure
		}
		if phase == Switching {
			if _, err := r.catchUp(ctx, at); err != nil {
				return err
			}
		}
		err = write(phase)
		if !failed(err, "fence") && !errors.Is(err, table.ErrConflict) || errors.Is(err, ErrNotCopied) {
			return err
		}
	}
	return err
}

// copyWritten copies what was just written to the old table. If it was deleted
// in between, that is the error.
func (r *Records[T]) copyWritten(ctx context.Context, v T, phase Phase, deleted error) error {
	if phase == Old {
		return nil
	}
	outcome, err := r.catchUp(ctx, v)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNotCopied, err)
	case outcome == marked:
		return deleted
	}
	return nil
}
