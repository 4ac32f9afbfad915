package repo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// DeleteOptions adjust [Repo.DeleteAll]. Nil and every zero value mean the default.
type DeleteOptions struct {
	// DryRun deletes nothing and counts what would be deleted.
	DryRun bool
	// MaxUnits ends the call once it has consumed as many read and write units
	// together; by default it goes on to the end. It can be exceeded by what the
	// requests in flight consume. Even if reading takes more, each call deletes an
	// item if there is one, so that repeated calls come to the end.
	MaxUnits float64
}

// Deleted is what a call of [Repo.DeleteAll] has done.
type Deleted struct {
	// Items is how many items of the query were deleted, each with the other items of
	// its entity; in a dry run, how many there are.
	Items int
	// Done means that the call came to the end of the query: nothing is left. In a dry
	// run, Items is then how many there are in all.
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
// items must be of the repository's type; give a Range or an index that says so. A copy
// that its entity does not have, or without an entity, is deleted alone. One under a key
// of [Entity].FormerCopies is deleted with its entity.
//
// It stops after Query.Limit items of the query, unless that is 0, after
// DeleteOptions.MaxUnits, and at the first error. What was deleted is no longer there,
// so another call of the same query continues. Entities that are created or changed in
// the meantime are deleted if the walk still meets them: a Deleted that is Done, from a
// call that began after the last write, has left none. Its reads of the table are
// consistent; an index may show a write only a moment later.
//
// Items that have expired are not met: DynamoDB deletes them, within days. Backups,
// exports, streams (for 24 hours) and idempotency records hold data longer; see
// docs/delete-data.md for requests of people to be forgotten.
//
// The query decides when it is read: an entity that leaves it before the entity is
// deleted, as by a change of what the Filter is about, is deleted all the same.
//
// Errors: those of [Repo.Query] and of [Repo.Delete], also for a cursor in Query.After;
// [ErrOrphan] for an item to which no key of its entity leads; [table.ErrWrongType] for
// one of another type, or without a type. Such items stay: delete them by their keys. The Deleted
// is that of the work done until then. The index must hold the type attribute, or the call is
// [table.ErrInvalid] and nothing is sent; of an entity without Upgrades it need hold no other.
// Query.Project has no meaning.
//
// AWS: "Change data capture for DynamoDB Streams", "Using Global Secondary Indexes in
// DynamoDB" and "Using time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide.
func (r *Repo[T]) DeleteAll(ctx context.Context, q table.Query, options *DeleteOptions) (Deleted, error) {
	return r.core.deleteAll(ctx, q, options)
}

func (c *core) deleteAll(ctx context.Context, q table.Query, options *DeleteOptions) (Deleted, error) {
	var o DeleteOptions
	if options != nil {
		o = *options
	}
	d := deleting{core: c, o: o}
	q.Project = nil
	err := c.checkFilter(q)
	switch {
	case err != nil:
	case q.Limit < 0:
		err = fmt.Errorf("%w: Limit: %d is negative", table.ErrInvalid, q.Limit)
	case !(o.MaxUnits >= 0): // or NaN
		err = fmt.Errorf("%w: MaxUnits: %v is negative or no number", table.ErrInvalid, o.MaxUnits)
	}
	if err != nil {
		return Deleted{}, c.fail("DeleteAll", keys.Key{PK: q.PK}, err)
	}
	err = d.run(table.WithObserver(ctx, d.observe), q)
	return d.deleted, c.named("DeleteAll", keys.Key{}, err)
}

// deleting is one call of DeleteAll.
type deleting struct {
	*core
	o       DeleteOptions
	mu      sync.Mutex
	deleted Deleted
	// begun means that there was an item, so that units can end the call.
	begun bool
}

func (d *deleting) observe(_ context.Context, e table.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deleted.Requests += e.Attempts
	d.deleted.Units += e.Capacity
}

func (d *deleting) spent() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun && d.o.MaxUnits > 0 && d.deleted.Units >= d.o.MaxUnits
}

func (d *deleting) run(ctx context.Context, q table.Query) error {
	limit, reads := q.Limit, d.reads
	if q.Index == "" {
		reads = d.consistent // or what was written just now could stay
	}
	var start table.Item
	for {
		q.Limit = 100
		if limit > 0 {
			q.Limit = min(q.Limit, limit-d.deleted.Items)
		}
		page, err := table.QueryRows[struct{}](ctx, reads, q, start)
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
func (d *deleting) page(ctx context.Context, rows []table.Row[struct{}]) (all bool, err error) {
	var deletions group.Group
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
		if all = !d.spent(); !all || failed(row.Err) || deletions.Unwound() {
			break
		}
		d.begun = true
		deletions.Go(func() {
			defer func() { <-slots }()
			if !d.o.DryRun {
				if err := d.delete(ctx, row.Key, true); err != nil {
					failed(err)
					return
				}
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			d.deleted.Items++
		})
	}
	deletions.Wait()
	return all, err
}

// deleteFound deletes the entity of an item that is a former copy. An item that its entity does
// not have, or without an entity, is deleted alone.
func (c *core) deleteFound(ctx context.Context, key keys.Key) error {
	return c.carryOut(ctx, "Delete", key, func(ctx context.Context, doubted doubts) (*snapshot, *plan, error) {
		f, err := c.find(ctx, key, nil)
		if err != nil || f == nil {
			return nil, nil, err
		}
		p, err := c.removeFound(ctx, f, doubted)
		return f.of, p, err
	})
}

// removeFound plans what deleteFound does.
func (c *core) removeFound(ctx context.Context, f *found, doubted doubts) (*plan, error) {
	of := f.of
	switch {
	case f.broken != nil:
		return nil, f.broken
	case of != nil && (slices.Contains(of.main.keys, f.key) || slices.Contains(c.formerCopies(of.main.v), f.key)):
		of.seen, of.doubts = map[keys.Key]table.Item{f.key: f.item.item}, doubted
		return c.decide(ctx, of, wish{})
	}
	f.kind = copyItem
	return c.planLoose(f, doubted)
}
