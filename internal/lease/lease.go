// Package lease gives an item of a table to one process at a time, with a state
// that the process stores in it as it goes on: a checkpoint.
//
// A lease does not keep two processes from working at once: a process that was
// stopped for longer than the lease's life goes on with its last step before it
// finds out that the lease is another's. It only cannot store its state any more.
// So steps must be guarded by themselves.
package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// ErrHeld means that another process holds the lease.
var ErrHeld = errors.New("the lease is held by another process")

// Type is the type of the items of leases that users hold, see package lease.
const Type = "LEASE"

// Owner is the attribute that says who holds a lease.
const Owner = "leaseOwner"

// Further attributes of a lease's item, see [Record].
const (
	until    = "leaseUntil"
	revision = "leaseRevision"
)

// Lease is an item that is given to one process at a time.
type Lease struct {
	// Table is where the item is, whatever a view of it reads.
	Table *table.Table
	Key   keys.Key
	// Type is the type attribute of the item.
	Type string
	// Owner is the process: any text that no other process has.
	Owner string
	// Life is how long the lease is held without [Held.Save]. A dead process's
	// lease is free after it, by the clock of the table.
	Life time.Duration
}

// Held is a lease that the process holds. It is used by one goroutine.
type Held[S any] struct {
	// State is what was stored last.
	State    S
	lease    Lease
	revision string
}

// Record is a lease as it is stored.
type Record[S any] struct {
	Owner    string `dynamodbav:"leaseOwner"`
	Until    int64  `dynamodbav:"leaseUntil"` // UTC milliseconds, by the clock of its owner
	Revision string `dynamodbav:"leaseRevision"`
	State    S      `dynamodbav:"state"`
}

// Read returns the state that is stored, and whether there is one.
func Read[S any](ctx context.Context, l Lease) (s S, found bool, err error) {
	r, err := read[S](ctx, l)
	if errors.Is(err, table.ErrNotFound) {
		return s, false, nil
	}
	return r.State, err == nil, err
}

func read[S any](ctx context.Context, l Lease) (Record[S], error) {
	r, err := table.Get[Record[S]](ctx, reads(l.Table, l.Type), l.Key)
	if err == nil && r.Revision == "" { // the program has an entity of that type
		err = fmt.Errorf("%w: the item is of type %q and no lease", table.ErrWrongType, l.Type)
	}
	return r, err
}

// reads returns how the items of a type are read. Views are dropped: leases and what was
// set aside have attributes that no view of the caller's items names.
func reads(t *table.Table, itemType string) *table.Table {
	//mutants:guard a lease is read whole, whatever a view of its table reads | TestViewsOfATable/lease.New . | Whole: true => Whole: false
	return t.Reading(item.Reading{Type: itemType, Whole: true}).Consistent()
}

// Seen is what a process has seen of a lease that another one holds. The zero value
// is nothing yet. It is safe for concurrent use: what an earlier read has seen only makes
// the life begin again.
type Seen struct {
	mu       sync.Mutex
	revision string
	at       time.Time
}

// Take takes a lease that is free, or that the owner holds. It is free when its life
// has ended by the clock of the table, or when seen, which is of earlier calls, has
// not changed for a life: the clock of a dead process may have been ahead. first is
// the state of a lease that nobody has had. Errors: [ErrHeld].
func Take[S any](ctx context.Context, l Lease, first S, seen *Seen) (*Held[S], error) {
	return TakeNext(ctx, l, first, func(s S) S { return s }, seen)
}

// TakeNext is [Take] that stores another state, which next makes of the stored one.
func TakeNext[S any](ctx context.Context, l Lease, first S, next func(S) S, seen *Seen) (*Held[S], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, cancel := Outlasting(ctx, grace)
	defer cancel()
	for {
		h := &Held[S]{lease: l, State: first}
		r, err := read[S](ctx, l)
		switch {
		case errors.Is(err, table.ErrNotFound):
			err = h.write(ctx, func(set table.Item) table.Op {
				set[l.Table.Schema().TypeAttribute] = &types.AttributeValueMemberS{Value: l.Type}
				return table.Create(l.Key, set)
			})
			if errors.Is(err, table.ErrExists) {
				continue // another process was faster, and is read now
			}
			return h, err
		case err != nil:
			return nil, err
		case r.Owner != l.Owner && r.Until > l.Table.Now().UnixMilli() && !seen.same(r.Revision, l):
			return nil, ErrHeld
		}
		h.State, h.revision = next(r.State), r.Revision
		err = h.save(ctx, l.Owner)
		if errors.Is(err, ErrHeld) {
			return nil, err
		}
		return h, err
	}
}

// same reports whether a revision was seen for a life, and takes note of it.
func (s *Seen) same(revision string, l Lease) bool {
	now := l.Table.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision != revision {
		s.revision, s.at = revision, now
	}
	return now.Sub(s.at) > l.Life
}

// Save stores State and holds the lease for another life. [ErrHeld] means that it
// was lost, and that nothing was stored. An owner has a lease once at a time: a Held
// of the same owner is taken for this one.
func (h *Held[S]) Save(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := Outlasting(ctx, grace)
	defer cancel()
	return h.save(ctx, h.lease.Owner)
}

// Release stores State and frees the lease, as long as the context lasts.
func (h *Held[S]) Release(ctx context.Context) error { return h.save(ctx, "") }

func (h *Held[S]) save(ctx context.Context, by string) error {
	err := h.saveOver(ctx, h.revision, by)
	if !errors.Is(err, ErrHeld) {
		return err
	}
	// A save whose response was lost has stored a revision that h does not know.
	r, failed := read[S](ctx, h.lease)
	if failed != nil || r.Owner != h.lease.Owner {
		return err
	}
	return h.saveOver(ctx, r.Revision, by)
}

// saveOver stores State over a revision. The owner is then by.
func (h *Held[S]) saveOver(ctx context.Context, held, by string) error {
	err := h.write(ctx, func(set table.Item) table.Op {
		var remove []string
		if by == "" { // not every engine stores an empty text
			delete(set, Owner)
			remove, set[until] = []string{Owner}, &types.AttributeValueMemberN{Value: "0"}
		}
		return table.Patch(h.lease.Key, set, remove...).IfRevision(revision, held).IfExists()
	})
	if errors.Is(err, table.ErrStale) || errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrHeld, err)
	}
	return err
}

// write runs the op for the attributes of the lease's next record.
func (h *Held[S]) write(ctx context.Context, op func(table.Item) table.Op) error {
	next := Record[S]{
		Owner: h.lease.Owner, Until: h.lease.Table.Now().Add(h.lease.Life).UnixMilli(), Revision: rand.Text(), State: h.State,
	}
	value, err := item.Encode(&next)
	if err != nil {
		return err
	}
	set := value.(*types.AttributeValueMemberM).Value // of a struct, and its own
	if err := h.lease.Table.Do(ctx, op(set)); err != nil {
		return err
	}
	h.revision = next.Revision
	return nil
}

// grace is how long a write that was begun may take after the end of its context.
const grace = time.Second

// Outlasting returns a context that ends a while after another one. A process that is
// stopped in the middle of a write would not know whether it holds the lease, and could not
// free it.
func Outlasting(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(by, func() { cancel(context.Cause(ctx)) })
	})
	return lasting, func() {
		stop()
		cancel(nil)
	}
}

// List returns the leases of a type in a partition.
func List[S any](ctx context.Context, t *table.Table, itemType string, q table.Query) ([]Record[S], error) {
	return table.Collect(table.All[Record[S]](ctx, reads(t, itemType), q))
}

// Wait waits, as between two looks at a lease. If the context ends first, it returns the
// cause.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Retry runs do until it succeeds, up to eight times, with pauses that grow to about ten
// seconds. passes reports whether an error can go away by itself.
func Retry(ctx context.Context, passes func(error) bool, do func() error) error {
	const attempts, longest = 8, 10 * time.Second
	delay := 100 * time.Millisecond
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || attempt == attempts || !passes(err) || ctx.Err() != nil {
			return err
		}
		if ended := Wait(ctx, delay/2+mathrand.N(delay)); ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
		delay = min(2*delay, longest)
	}
}
