package backfill

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// walk is one call of Run or DryRun.
type walk struct {
	Job
	write         bool
	owner         string
	entities      map[string]Entity
	reads, writes *budget
	begun         time.Time

	mu sync.Mutex
	// checkpoints are those of the segments that this process has walked so far, and
	// scanned is how many items it has read itself.
	checkpoints map[int]checkpoint
	scanned     int64
}

func newWalk(j Job, write bool) (*walk, error) {
	j, entities, err := j.withDefaults()
	return &walk{
		Job: j, write: write, owner: rand.Text(), entities: entities,
		reads: newBudget(j.ReadUnits), writes: newBudget(j.WriteUnits),
		checkpoints: map[int]checkpoint{}, begun: time.Now(),
	}, err
}

// poll is how often a process looks whether a segment of another one is free.
const poll = time.Second

// held walks a segment under its lease, once it is free.
func (w *walk) held(ctx context.Context, n int) error {
	l := w.lease(n, w.owner)
	var seen lease.Seen
	for {
		at, found, err := lease.Read[checkpoint](ctx, l)
		if err != nil {
			return err
		}
		if found && at.Segments != w.Segments {
			return fmt.Errorf("%w backfill: Segments is %d, and the job was begun with %d", table.ErrInvalid, w.Segments, at.Segments)
		}
		if found && at.Done {
			return nil
		}
		h, err := lease.Take(ctx, l, checkpoint{Segments: w.Segments}, &seen)
		if err == nil {
			err = w.segment(ctx, n, &h.State, h.Save)
			switch {
			case err == nil:
				return nil
			case !errors.Is(err, lease.ErrHeld):
				// Another process can go on at once.
				_ = h.Release(context.WithoutCancel(ctx))
				return err
			}
		}
		if !errors.Is(err, lease.ErrHeld) {
			return err
		}
		if err := lease.Wait(ctx, poll); err != nil {
			return err
		}
	}
}

// spend charges the budgets with what was consumed.
func (w *walk) spend(m *meter, c *Counts) {
	read, written := m.take()
	w.reads.spend(read)
	w.writes.spend(written)
	c.ReadUnits += read
	c.WriteUnits += written
}

// maxTries is how often an item that others write concurrently is tried, with delays up to
// conflictDelay, twice as much, and so on.
const (
	maxTries      = 10
	conflictDelay = 20 * time.Millisecond
)

// item brings one item over.
func (w *walk) item(ctx context.Context, attributes table.Item, c *Counts) error {
	bring := w.Map
	if bring == nil {
		entity, ok := w.entities[w.Table.Schema().TypeOf(attributes)]
		if !ok {
			return nil
		}
		bring = entity.RefreshOps
	}
	c.Matched++
	var spent meter
	observed := table.WithObserver(ctx, spent.observe)
	defer w.spend(&spent, c)
	var reason error
	asked := false // whether the holder of a copy's key was brought over
	for n := range maxTries {
		var found outcome
		err := persist(ctx, func() (err error) {
			if err := errors.Join(w.reads.wait(ctx), w.writes.wait(ctx)); err != nil {
				return err
			}
			found, err = w.try(observed, attributes, bring, c)
			return err
		})
		switch {
		case err == nil && found != changedMeanwhile:
			c.count(found)
			return nil
		case err == nil:
			attributes, err = w.again(observed, attributes, time.Duration(1+n)*conflictDelay)
			if errors.Is(err, table.ErrNotFound) {
				c.Current++ // it was deleted
				return nil
			}
			if err != nil {
				return err
			}
			reason = errBusy
			continue
		case ctx.Err() != nil || !aboutItem(err):
			return err
		//mutants:guard a job brings over what holds the key of a copy | TestJobFreesTheKeyOfACopy
		case w.Map == nil && !asked && errors.Is(err, table.ErrExists):
			asked, reason = true, err
			if freed, failed := w.free(observed, takenKey(err), c); failed != nil || freed && !w.write {
				return failed
			}
			continue
		}
		reason = err
		break
	}
	c.SetAside++
	if !w.write {
		return nil
	}
	return persist(ctx, func() error { return w.setAside(observed, attributes, reason) })
}

// takenKey returns the key that an error is about: of a copy, that of the copy.
func takenKey(err error) (key keys.Key) {
	for {
		e, ok := errors.AsType[*table.Error](err)
		if !ok {
			return key
		}
		key, err = e.Key, e.Err
	}
}

// free brings over the item under the key of another entity's copy, and reports whether it has
// changed: it can be a copy that is left of an entity that has no such copy any more, and that
// the walk would meet later. A dry run counts the item that waits for it as changed, since
// it cannot try that again.
func (w *walk) free(ctx context.Context, key keys.Key, c *Counts) (bool, error) {
	var found outcome
	err := persist(ctx, func() error {
		holder, err := table.Get[table.Item](ctx, w.Source.Consistent(), key)
		if errors.Is(err, table.ErrNotFound) {
			found = changedMeanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if entity, ok := w.entities[w.Table.Schema().TypeOf(holder)]; ok {
			found, err = w.try(ctx, holder, entity.RefreshOps, c)
		}
		return err
	})
	if err != nil && ctx.Err() == nil && aboutItem(err) {
		return false, nil // its own visit says why
	}
	freed := err == nil && (found == changed || found == changedMeanwhile)
	if freed && !w.write {
		c.count(changed)
	}
	return freed, err
}

var errBusy = errors.New("other programs write it all the time")

// again reads an item once more, after a random time of at most most.
func (w *walk) again(ctx context.Context, item table.Item, most time.Duration) (table.Item, error) {
	if err := lease.Wait(ctx, mathrand.N(most)); err != nil {
		return nil, err
	}
	var read table.Item
	err := persist(ctx, func() (err error) {
		read, err = table.Get[table.Item](ctx, w.Source.Consistent(), w.Source.KeyOf("", item))
		return err
	})
	return read, err
}

// try makes one attempt to bring an item over.
func (w *walk) try(ctx context.Context, item table.Item, bring func(context.Context, table.Item) ([]table.Op, error), c *Counts) (outcome, error) {
	ops, err := w.recovered(ctx, item, bring)
	switch {
	case errors.Is(err, table.ErrNewerShape):
		return newer, nil
	//mutants:guard a backfill passes over items with other constants | TestConstantsOfOthers ./repo
	case w.Map == nil && errors.Is(err, table.ErrWrongType) && !errors.Is(err, repo.ErrOrphan):
		return another, nil
	case err != nil:
		return 0, err
	case len(ops) == 0:
		return current, nil
	case !w.write:
		c.WriteUnits += estimate(item, ops)
		return changed, nil
	}
	if len(ops) == 1 {
		err = w.Table.Do(ctx, ops[0])
	} else {
		err = w.Table.Transact(ctx, ops...)
	}
	failed := isOvertaken(err)
	switch {
	case err == nil:
		return changed, nil
	case w.Map != nil && failed && !errors.Is(err, table.ErrConflict):
		if hasNewer(err) {
			return current, nil
		}
		return 0, err
	case failed || errors.Is(err, table.ErrOutcomeUnknown):
		return changedMeanwhile, nil
	}
	return 0, err
}

// isOvertaken reports whether ops have failed for what another program has written. Where nothing
// can be counted in an item, none did: another attempt fails, too.
func isOvertaken(err error) bool {
	//mutants:guard an entity whose owner cannot count is set aside | TestOwnersThatCannotCount
	if errors.Is(err, item.ErrNoNumber) {
		return false
	}
	return slices.ContainsFunc([]error{
		table.ErrConflict, table.ErrConditionFailed, table.ErrNotFound, table.ErrExists, table.ErrWrongType, table.ErrUncounted,
	}, func(target error) bool { return errors.Is(err, target) })
}

// hasNewer reports whether the ops of a Map have failed since the target has the
// entity already: a condition of If did not hold, or the first op met its item.
func hasNewer(err error) bool {
	tx, ok := errors.AsType[*table.TxError](err)
	if !ok {
		return true
	}
	return slices.ContainsFunc(tx.Failed, func(op *table.Error) bool {
		return op.OpNumber == 1 || errors.Is(op, table.ErrConditionFailed)
	})
}

// mapError is the error of a Map, whose text may quote what the item holds.
type mapError struct{ err error }

func (e *mapError) Error() string { return fmt.Sprintf("Map has failed with a %T", e.err) }

func (e *mapError) Unwrap() error { return e.err }

// recovered runs bring, and makes an error of a panic.
func (w *walk) recovered(ctx context.Context, item table.Item, bring func(context.Context, table.Item) ([]table.Op, error)) (ops []table.Op, err error) {
	defer func() {
		if p := recover(); p != nil {
			ops, err = nil, fmt.Errorf("panic with a %T", p) // whose text may quote the item
		}
	}()
	ops, err = bring(ctx, maps.Clone(item))
	if err != nil && w.Map != nil {
		err = &mapError{err}
	}
	return ops, err
}

// aboutItem reports whether an error is about the item, so that it stays whenever it
// is tried. Refusals of the service, such as a missing permission, are not.
func aboutItem(err error) bool {
	api, refused := errors.AsType[smithy.APIError](err)
	switch {
	case errors.Is(err, repo.ErrUpgrade):
		return true
	case table.Classify(err) == table.Transient:
		return false
	case table.Classify(err) == table.Permanent, !refused:
		return true
	}
	return api.ErrorCode() == "ValidationException"
}

// persist runs do until it fails for another reason than the time.
func persist(ctx context.Context, do func() error) error {
	return lease.Retry(ctx, func(err error) bool { return table.Classify(err) == table.Transient && !aboutItem(err) }, do)
}
