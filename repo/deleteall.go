package repo

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// DeleteOptions adjust [Repo.DeleteAll]. Nil and every zero value mean the default.
type DeleteOptions struct {
	// DryRun deletes nothing and counts what would be deleted.
	DryRun bool
	// MaxUnits ends the call once it has consumed as many read and write units
	// together; by default it goes on to the end. It can be exceeded by what the
	// requests in flight consume.
	MaxUnits float64
}

// Deleted is what a call of [Repo.DeleteAll] has done.
type Deleted struct {
	// Items is how many items of the query were deleted, each with the other items of
	// its entity; in a dry run, how many there are.
	Items int
	// Done means that nothing is left.
	Done bool
	// Requests is how many requests were sent, and Units what they consumed in read
	// and write units.
	Requests int
	Units    float64
}

// deletesAtOnce is how many entities DeleteAll deletes at a time.
const deletesAtOnce = 8

// DeleteAll deletes all entities that a query gives, with their copies and unique
// values, as [Repo.Delete] does: all of a tenant, all of what a person has stored. The
// items must be of the repository's type; give a Range or an index that says so. An
// item that is a copy without an entity is deleted too.
//
// It stops after Query.Limit items of the query, unless that is 0, after
// DeleteOptions.MaxUnits, and at the first error. What was deleted is no longer there,
// so another call of the same query continues. Entities that are created or changed in
// the meantime are deleted if the walk still meets them: a Deleted that is Done, from a
// call that began after the last write, has left none.
//
// Items that have expired are not met: DynamoDB deletes them, within days. Backups,
// exports, streams (for 24 hours) and idempotency records hold data longer; see
// docs/delete-data.md for requests of people to be forgotten.
//
// Errors: those of [Repo.Query], of [Repo.Delete] and of [Repo.Refresh]. The Deleted is
// that of the work done until then. Query.Project has no meaning.
func (r *Repo[T]) DeleteAll(ctx context.Context, q table.Query, options *DeleteOptions) (Deleted, error) {
	var o DeleteOptions
	if options != nil {
		o = *options
	}
	d := deleting[T]{Repo: r, o: o}
	q.Project = nil
	if err := r.checkQuery(q); err != nil {
		return Deleted{}, r.fail("DeleteAll", keys.Key{PK: q.PK}, err)
	}
	err := d.run(table.WithObserver(ctx, d.observe), q)
	return d.deleted, r.deletionError(err)
}

func (r *Repo[T]) deletionError(err error) error {
	if err == nil {
		return nil
	}
	return r.named("DeleteAll", keys.Key{}, err)
}

// deleting is one call of DeleteAll.
type deleting[T any] struct {
	*Repo[T]
	o       DeleteOptions
	mu      sync.Mutex
	deleted Deleted
}

func (d *deleting[T]) observe(_ context.Context, e table.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deleted.Requests += e.Attempts
	d.deleted.Units += e.Capacity
}

func (d *deleting[T]) spent() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.o.MaxUnits > 0 && d.deleted.Units >= d.o.MaxUnits
}

func (d *deleting[T]) run(ctx context.Context, q table.Query) error {
	limit := q.Limit
	var start table.Item
	for {
		q.Limit = 100
		if limit > 0 {
			q.Limit = min(q.Limit, limit-d.deleted.Items)
		}
		page, err := table.QueryRows[T](ctx, d.reads, q, start)
		if err != nil {
			return err
		}
		if all, err := d.page(ctx, page.Rows); err != nil || !all {
			return err
		}
		if start = page.Next; start == nil {
			d.deleted.Done = true
			return nil
		}
		if limit > 0 && d.deleted.Items >= limit || d.spent() {
			return nil
		}
	}
}

// page deletes what a page holds. It returns false if units have run out before. After
// an error it finishes what is in flight.
func (d *deleting[T]) page(ctx context.Context, rows []table.Row[T]) (all bool, err error) {
	var group sync.WaitGroup
	slots := make(chan struct{}, deletesAtOnce)
	failed := func(cause error) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		err = cmp.Or(err, cause)
		return err != nil
	}
	all = true
	for _, row := range rows {
		slots <- struct{}{}
		if all = !d.spent(); !all || failed(row.Err) {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			if err := d.delete(ctx, row.Key); err != nil {
				failed(err)
				return
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			d.deleted.Items++
		})
	}
	group.Wait()
	return all, err
}

// delete deletes the entity that has an item under a key, or the item if it has none.
func (d *deleting[T]) delete(ctx context.Context, key keys.Key) error {
	if d.o.DryRun {
		return nil
	}
	err := d.Delete(ctx, key)
	if errors.Is(err, ErrOrphan) {
		_, err = d.Refresh(ctx, key)
	}
	return err
}
