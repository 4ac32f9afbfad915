package migrate

import (
	"cmp"
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
	ErrDeleted = fmt.Errorf("the id was deleted before: %w", table.ErrNotFound)
)

// attempts bounds how often a write begins again because of other writes.
const attempts = 32

// Kind describes one kind of entity and both of its places.
type Kind[T any] struct {
	// Name is what progress is stored under.
	Name string
	// Old is the table that the entities come from, and OldKey their key there. The
	// last part of the key is the id.
	Old    *table.Table
	OldKey func(T) keys.Key
	// Entity is how they are stored in the single table. Its version attribute
	// counts in the old table too; where it is missing, the version is 0.
	Entity repo.Entity[T]
	// Version points to the field of the version.
	Version func(*T) *int64
	// Segments is that of the backfill: see [backfill.Job].
	Segments int
}

// id names an entity among those of its kind.
func (k Kind[T]) id(v T) string {
	key := k.OldKey(v)
	return cmp.Or(string(key.SK), string(key.PK))
}

func (k Kind[T]) old(ctx context.Context, at T) (T, error) {
	return table.Get[T](ctx, k.Old.Consistent(), k.OldKey(at))
}

// Records are the entities of one kind during a migration. All reads and writes
// of the application go through them. They are safe for concurrent use.
type Records[T any] struct {
	Kind[T]
	single   *table.Table
	entities *repo.Repo[T]
}

// NewRecords returns the records of a kind, on their way into the single table.
func NewRecords[T any](single *table.Table, kind Kind[T]) (*Records[T], error) {
	entities, err := repo.New(single.Consistent(), kind.Entity)
	return &Records[T]{kind, single, entities}, err
}

// Get reads an entity. The value at has the fields that its keys are made of.
func (r *Records[T]) Get(ctx context.Context, at T) (T, error) {
	phase, err := r.phase(ctx, at)
	if err != nil {
		return at, err
	}
	return r.get(ctx, at, phase)
}

// phase returns the phase that an entity is in. While the single table takes over, the
// entity is caught up first.
func (r *Records[T]) phase(ctx context.Context, at T) (Phase, error) {
	phase, err := r.read(ctx, fences.Shard(r.id(at)))
	if err == nil && phase == Switching {
		_, err = r.catchUp(ctx, at)
	}
	return phase, err
}

// get reads an entity where it is in a phase.
func (r *Records[T]) get(ctx context.Context, at T, phase Phase) (T, error) {
	if phase <= Dual {
		return r.old(ctx, at)
	}
	return r.entities.Get(ctx, r.Entity.Key(at))
}

// Create stores a new entity.
func (r *Records[T]) Create(ctx context.Context, v T) error {
	*r.Version(&v) = 1
	return r.inPhase(ctx, v, func(phase Phase) error {
		if phase <= Dual {
			return r.putOld(ctx, v, table.Create(r.OldKey(v), v), phase)
		}
		err := r.single.Transact(ctx, append(r.entities.CreateOps(&v), r.notMarked(v))...)
		if failed(err, "mark") {
			return ErrDeleted
		}
		return err
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
		return r.putOld(ctx, v, put, phase)
	})
	return v, err
}

// putOld writes to the old table, and copies what was written. If it was deleted in
// between, that is the error.
func (r *Records[T]) putOld(ctx context.Context, v T, put table.Op, phase Phase) error {
	err := r.Old.Transact(ctx, put, r.holds(v, phase))
	if err != nil || phase == Old {
		return err
	}
	_, err = r.catchUp(ctx, v)
	if err != nil && !errors.Is(err, ErrDeleted) {
		return fmt.Errorf("%w: %w", ErrNotCopied, err)
	}
	return err
}

// Delete removes an entity. A missing entity is no error.
func (r *Records[T]) Delete(ctx context.Context, at T) error {
	err := r.inPhase(ctx, at, func(phase Phase) error {
		if phase > Old {
			v, err := r.get(ctx, at, phase)
			if err != nil {
				return err
			}
			// The mark comes first: from now on no copy can bring it back.
			ops, err := r.deleteOps(v)
			if err == nil {
				err = r.single.Transact(ctx, ops...)
			}
			if err != nil || phase > Dual {
				return err
			}
		}
		return r.Old.Transact(ctx, table.Delete(r.OldKey(at)), r.holds(at, phase))
	})
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}

// inPhase runs a write in the phase that the entity is in, again if the phase
// or the entity has changed concurrently.
func (r *Records[T]) inPhase(ctx context.Context, at T, write func(Phase) error) (err error) {
	for range attempts {
		phase, failure := r.phase(ctx, at)
		if failure != nil {
			return failure
		}
		err = write(phase)
		if !failed(err, "fence") && !errors.Is(err, table.ErrConflict) || errors.Is(err, ErrNotCopied) {
			return err
		}
	}
	return err
}
