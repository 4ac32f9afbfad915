// Package lease gives a task to one process at a time, for effects outside of the table: a
// call of a payment provider, a mail, a nightly report. The lease is an item of the table, of
// the type "LEASE", which package stream passes over.
//
//	lock, err := lease.New(t, keys.Key{PK: "REPORT#nightly", SK: "LEASE"}, nil)
//	if err != nil {
//		return err
//	}
//	held, err := lock.Acquire(ctx)
//	if errors.Is(err, lease.ErrHeld) {
//		return nil // another process is at it
//	}
//
// # What it protects
//
// No lease keeps two processes from working at once. A process can be stopped for longer than
// the life of its lease, by a collection of garbage or a frozen function, and goes on before it
// finds out. So two things go with a lease:
//
//   - [Lease.Number] is a fencing number: each holder of a lease has a greater one than all
//     before. Give it to the service outside, which refuses a lower number than it has seen.
//   - [Lease.Check] is an op for transactions of the table: they fail once another process
//     holds the lease.
//
// Writes of the table alone need no lease: guard them by versions, see package repo.
//
// # Clocks
//
// A lease ends by the clock of the process that looks at it ([table.Options].Now). A clock that
// is ahead takes a lease too early, which number and op make harmless; one that is behind waits
// longer. A lease whose holder has died with a clock far ahead is free once the same [Lock] has
// seen it unchanged for a life.
//
// Martin Kleppmann: "How to do distributed locking", 2016, for fencing numbers.
package lease

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	stored "github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

var (
	// ErrHeld means that another holder has the lease.
	ErrHeld = stored.ErrHeld
	// ErrLost means that another holder has got the lease, or that it was released.
	ErrLost = errors.New("the lease was lost")
)

const (
	defaultLife = time.Minute
	minLife     = time.Second
)

// Options adjusts a [Lock]. Nil and every zero value mean the default.
type Options struct {
	// Life is how long a lease is held without [Lease.Renew], a second or more; a minute by
	// default. The lease of a process that has died is free after it.
	Life time.Duration
}

// Lock is what one process at a time can hold. It is safe for concurrent use. Get one from
// [New].
type Lock struct {
	lease stored.Lease
	seen  stored.Seen
}

// state is what the item of a lease holds.
type state struct {
	Number int64 `dynamodbav:"number"`
}

// New returns the lock under a key of a table. It sends nothing. The item under the key stays
// when the lease is released: without it, numbers would begin again. So it must not expire.
// What a view of t leaves out does not count.
//
// Errors: [table.ErrInvalid], also for a table whose key, type or expiry has the name of one
// of a lease's attributes: leaseOwner, leaseUntil, leaseRevision, state.
func New(t *table.Table, key keys.Key, options *Options) (*Lock, error) {
	life := cmp.Or(cmp.Or(options, &Options{}).Life, defaultLife)
	switch {
	case t == nil || t.Schema().Name == "":
		return nil, &table.Error{Op: "lease New", Err: fmt.Errorf("%w: the table was not made by table.New", table.ErrInvalid)}
	case life < minLife:
		return nil, &table.Error{Op: "lease New", Table: t.Schema().Name, Key: key, Err: fmt.Errorf("%w: Life %v is under a second", table.ErrInvalid, life)}
	}
	if err := stored.Check(t, key, false); err != nil {
		return nil, &table.Error{Op: "lease New", Table: t.Schema().Name, Key: key, Err: err}
	}
	return &Lock{lease: stored.Lease{Table: t, Key: key, Type: stored.Type, Life: life}}, nil
}

// Acquire takes the lease if it is free: never held, released, or not renewed for its life.
// It takes a read and a write. Each call is a holder of its own, also in one process, and
// waits for no other. When the context ends, it returns within a second: a write that was
// begun has that time to become known.
//
// Errors:
//   - [ErrHeld]: another holder has it. Wait for about a life before you ask again.
//   - [table.ErrOutcomeUnknown], and those of a read or write: the lease may be held, by
//     nobody who knows, until its life ends.
func (l *Lock) Acquire(ctx context.Context) (*Lease, error) {
	mine := l.lease
	mine.Owner = rand.Text()
	//mutants:guard each holder of a lease has a greater number | TestNumbersGrow | s.Number + 1 => max(1, s.Number)
	held, err := stored.TakeNext(ctx, mine, state{Number: 1}, func(s state) state { return state{Number: s.Number + 1} }, &l.seen)
	if errors.Is(err, ErrHeld) {
		err = ErrHeld // whatever write found out
	}
	if err != nil {
		return nil, l.fail("Acquire", err)
	}
	return &Lease{lock: l, owner: mine.Owner, turn: make(chan struct{}, 1), held: held, number: held.State.Number, until: l.end()}, nil
}

func (l *Lock) end() time.Time { return l.lease.Table.Now().Add(l.lease.Life) }

func (l *Lock) fail(op string, err error) error {
	return &table.Error{Op: "lease " + op, Table: l.lease.Table.Schema().Name, Key: l.lease.Key, Err: err}
}

// Lease is a lock that is held. It is safe for concurrent use. Get one from [Lock.Acquire].
type Lease struct {
	lock   *Lock
	owner  string
	number int64
	// turn is full while a call uses held. Its requests can take long, so a call waits
	// for it no longer than its context lasts.
	turn chan struct{}
	held *stored.Held[state]
	// mu is of the rest, and never held during a request.
	mu    sync.Mutex
	until time.Time
	// released means that Release was called.
	released bool
}

// take waits for the turn to use held. The caller gives it back if there is no error.
func (l *Lease) take(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Lease) giveBack() { <-l.turn }

// Number returns the fencing number of the holder: greater than that of every holder before,
// from 1 on. It does not change while the lease is held.
func (l *Lease) Number() int64 { return l.number }

// Until returns when the lease ends without another [Lease.Renew], by the clock of the table.
// It waits for no request: while Renew runs it returns the end from before.
func (l *Lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Check returns an op that makes a transaction depend on the lease: it fails, with
// [table.ErrConditionFailed], once another holder has the lease or it was released. It holds
// after the lease's end if nobody has taken it. [table.FailedOp] finds it by the name "lease".
// It costs two write units. AWS: "Amazon DynamoDB Transactions: How it works", Amazon
// DynamoDB Developer Guide.
func (l *Lease) Check() table.Op {
	//mutants:guard a transaction of a former holder fails | TestOneHolderAtATime | Equal(expression.Value(l.owner)) => AttributeExists()
	return table.Check(l.lock.lease.Key, expression.Name(stored.Owner).Equal(expression.Value(l.owner))).IfType(stored.Type).WithName("lease")
}

// Renew holds the lease for another life. A lease that has ended is renewed, too, if nobody has
// taken it. Call it several times in a life, such as after each step.
//
// Errors: [ErrLost]. After another error the lease may have been renewed, and is held until its
// end at least.
func (l *Lease) Renew(ctx context.Context) error {
	if err := l.take(ctx); err != nil {
		return l.lock.fail("Renew", err)
	}
	defer l.giveBack()
	if l.isReleased() {
		return l.lock.fail("Renew", fmt.Errorf("%w: it was released", ErrLost))
	}
	until := l.lock.end()
	err := l.held.Save(ctx)
	if errors.Is(err, ErrHeld) {
		err = ErrLost
	}
	if err != nil {
		return l.lock.fail("Renew", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.released {
		l.until = until
	}
	return nil
}

func (l *Lease) isReleased() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released
}

// Release frees the lease for others at once. A lease that was lost or released is no error:
// this holder does not have it. It waits for a Renew that runs, and no Renew begins after it.
// After an error the lease may be held until its end.
func (l *Lease) Release(ctx context.Context) error {
	l.mu.Lock()
	l.until, l.released = time.Time{}, true
	l.mu.Unlock()
	if err := l.take(ctx); err != nil {
		return l.lock.fail("Release", err)
	}
	defer l.giveBack()
	if err := l.held.Release(ctx); err != nil && !errors.Is(err, ErrHeld) {
		return l.lock.fail("Release", err)
	}
	return nil
}
