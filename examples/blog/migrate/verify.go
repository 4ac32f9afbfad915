package migrate

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// ErrDifferent means that an entity has the same version and another content in
// the two places, or that its items differ.
var ErrDifferent = errors.New("the copy differs")

// Verification is what a verification has found.
type Verification struct {
	Checked int // entities in the old table
	Copied  int // missing or older in the single table, and copied now
	Deleted int // deletions that were half done, and completed now
}

// Clean reports whether the single table has had everything.
func (v Verification) Clean() bool { return v.Copied+v.Deleted == 0 }

const pageSize = 100

// Verify compares every entity in the old table with all of its items in
// the single table, and makes good what is missing. What writers are about to
// copy is missing too, for a moment, so a verification in the phase [Dual] need
// not be clean; a second one in the phase [Switching] must be.
//
// Nothing can be in the single table only: deletions begin there.
func (r *Records[T]) Verify(ctx context.Context) (Verification, error) {
	var sum Verification
	for after, more := "", true; more; {
		page, err := table.ScanPage[T](ctx, r.Old, table.Scan{Limit: pageSize, After: after, Filter: notFence(), Consistent: true})
		if err != nil {
			return sum, err
		}
		for _, v := range page.Items {
			if err := r.verify(ctx, v, &sum); err != nil {
				return sum, err
			}
		}
		after, more = page.Next, page.Next != ""
	}
	return sum, nil
}

func (r *Records[T]) verify(ctx context.Context, v T, sum *Verification) error {
	sum.Checked++
	ok, err := r.matches(ctx, v)
	if err != nil || ok {
		return err
	}
	outcome, err := r.catchUp(ctx, v)
	if err != nil {
		return err
	}
	switch outcome {
	case copied:
		sum.Copied++
	case marked:
		return r.completeDelete(ctx, v, sum)
	case newer: // copied by its writer just now
	case absent: // deleted just now
	}
	return nil
}

// matches reports whether every item holds v or a newer version. They are
// read as they were at one moment.
func (r *Records[T]) matches(ctx context.Context, v T) (bool, error) {
	var places []keys.Key
	for _, c := range r.items(v) {
		places = append(places, c.Key(v))
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

// completeDelete removes from the old table what is marked as deleted, as long
// as it is not frozen.
func (r *Records[T]) completeDelete(ctx context.Context, v T, sum *Verification) error {
	err := r.Old.Transact(ctx, table.Delete(r.OldKey(v)), r.holds(r.ID(v), Dual))
	if failed(err, "fence") {
		return nil
	}
	if err == nil {
		sum.Deleted++
	}
	return err
}
