package idempotency

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Result is the answer to a request.
type Result[R any] struct {
	Value R
	// Replayed says that the request was carried out before, and that Value is
	// the answer it got then.
	Replayed bool
}

// maxSubmits bounds how often a transaction is sent whose outcome stayed
// unknown, or whose record has come and gone meanwhile.
const maxSubmits = 4

// Do carries out a request once. plan says what to do and what to answer; its
// ops and the record of the request are one transaction. plan is called at most
// once, before anything is written and also for a request that turns out to be
// repeated, so it must do nothing but read and draw ids.
//
// A repeated request gets the answer of the first. If the ops fail, the error
// is that of [table.Table.Transact], there is no record, and the key can be used
// again; the record's op is the one after the plan's. An error of plan is
// returned as it is, unless the request was carried out before. A transaction
// whose outcome is unknown is sent again, which the record makes safe. If that
// does not settle it, if the context ends, or if nobody can tell whether there
// is a record, the error matches [table.ErrOutcomeUnknown], and the same request
// can be repeated.
func Do[R any](ctx context.Context, s *Store, r Request, plan func(context.Context) (Plan[R], error)) (Result[R], error) {
	return do(ctx, s, "Do", r, plan)
}

// Once carries out ops once for a message that may be delivered several times,
// and reports whether this was the first time. Payload is not compared unless
// it is set: use the message's id as Key and the consumer's name as Scope.
func Once(ctx context.Context, s *Store, r Request, plan func(context.Context) ([]table.Op, error)) (first bool, err error) {
	result, err := do(ctx, s, "Once", r, func(ctx context.Context) (Plan[struct{}], error) {
		ops, err := plan(ctx)
		return Snapshot(struct{}{}, ops...), err
	})
	return err == nil && !result.Replayed, err
}

// call is one call of Do or Once.
type call[R any] struct {
	*Store
	op   string
	r    Request
	plan Plan[R]
	// mark tells this call's own record from that of a repeated request.
	mark   string
	print  []byte
	record table.Item
	answer R
	// takeover is set once an expired record was met.
	takeover bool
	// lost is the error of a transaction that may have been carried out.
	lost error
}

func do[R any](ctx context.Context, s *Store, op string, r Request, plan func(context.Context) (Plan[R], error)) (Result[R], error) {
	c := &call[R]{Store: s, op: op, r: r, mark: rand.Text()}
	if err := r.validate(); err != nil {
		return c.fail(err)
	}
	print, err := r.Fingerprint()
	if err != nil {
		return c.fail(err)
	}
	c.print = print[:]
	if c.plan, err = plan(ctx); err != nil {
		// A plan that reads can fail on the very effect of the first request.
		if result, known, err := c.lookup(ctx); known {
			return result, err
		}
		return Result[R]{}, err
	}
	if n := len(c.plan.ops); n > maxOps {
		return c.fail(fmt.Errorf("%w: %w: the plan has %d ops, %d fit beside the record", ErrInvalidRequest, table.ErrTooLarge, n, maxOps))
	}
	// The time to keep the record begins now, however long the plan took.
	c.record = s.newRecord(r, c.mark, print)
	if c.answer, err = c.plan.fill(c.record, s.schema); err != nil {
		return c.fail(err)
	}
	return c.submit(ctx)
}

func (c *call[R]) fail(err error) (Result[R], error) {
	return Result[R]{}, &Error{Op: c.op, Scope: c.r.Scope, Key: c.r.key(), Err: err}
}

// submit sends the transaction and makes out what came of it.
func (c *call[R]) submit(ctx context.Context) (Result[R], error) {
	// That an expired record is taken over shows only if it is met first.
	op := table.Put(c.r.key(), c.record).If(expression.Name(c.schema.PK).AttributeNotExists())
	for attempt := 1; ; attempt++ {
		err := c.table.Transact(ctx, append(c.plan.ops[:len(c.plan.ops):len(c.plan.ops)], op.Named("idempotency record"))...)
		if err == nil {
			return c.done(ctx)
		}
		tx, cancelled := errors.AsType[*table.TxError](err)
		old, met := metRecord(tx, len(c.plan.ops))
		switch {
		case len(old) > 0 && (c.own(old) || c.live(old)):
			return c.replay(ctx, old)
		case len(old) == 0 && cancelled:
			// Not every engine says all that failed, or returns the record.
			if result, known, err := c.lookup(ctx); known {
				return result, err
			}
		}
		switch {
		case errors.Is(err, table.ErrOutcomeUnknown):
			c.lost = err
		case !met:
			// What was lost before can still be carried out, whatever became of
			// this one.
			return Result[R]{}, cmp.Or(c.lost, err)
		default:
			// There is none that is live. Its own may have expired meanwhile.
			op = table.Create(c.r.key(), c.record).If(c.notOwn())
			c.takeover = true
		}
		if attempt == maxSubmits && c.lost != nil {
			return Result[R]{}, c.lost
		} else if attempt == maxSubmits {
			return c.fail(fmt.Errorf("%w: the idempotency record comes and goes", table.ErrConflict))
		}
	}
}

// metRecord tells the failure of the record's op from those of the plan's, and
// returns the item that it met, where the engine did.
func metRecord(tx *table.TxError, index int) (old table.Item, met bool) {
	if tx == nil {
		return nil, false
	}
	for _, f := range tx.Failed {
		if f.Index == index && (errors.Is(f, table.ErrConditionFailed) || errors.Is(f, table.ErrExists)) {
			return f.Old, true
		}
	}
	return nil, false
}

// own reports whether a record is this call's, of an attempt whose answer was
// lost.
func (c *call[R]) own(item table.Item) bool { return stringOf(item[attemptMark]) == c.mark }

func (c *call[R]) notOwn() expression.ConditionBuilder {
	mark := expression.Name(attemptMark)
	return mark.AttributeNotExists().Or(mark.NotEqual(expression.Value(c.mark)))
}

// live reports whether a record counts.
func (c *call[R]) live(item table.Item) bool {
	expires := c.Store.record(item).ExpiresAt
	return expires.IsZero() || expires.Unix() > c.table.Now().Unix()
}

// lookup looks for the record of the request. known is false if there is none.
// As long as nobody can tell, no other error is the right answer.
func (c *call[R]) lookup(ctx context.Context) (result Result[R], known bool, err error) {
	record, err := c.Lookup(ctx, c.r)
	switch {
	case err == nil:
		result, err = c.replay(ctx, record.Item)
		return result, true, err
	case errors.Is(err, table.ErrNotFound):
		return result, false, nil
	}
	_, err = c.fail(fmt.Errorf("%w: %w", table.ErrOutcomeUnknown, err))
	return result, true, err
}

// done returns the answer of a request that was carried out by this call.
func (c *call[R]) done(ctx context.Context) (Result[R], error) {
	if c.takeover {
		c.observe(ctx, Takeover, c.r)
	}
	return Result[R]{Value: c.answer}, nil
}

// replay returns the answer that a record holds.
func (c *call[R]) replay(ctx context.Context, item table.Item) (Result[R], error) {
	if c.own(item) {
		return c.done(ctx)
	}
	record := c.Store.record(item)
	if len(record.Fingerprint) > 0 && !bytes.Equal(record.Fingerprint, c.print) {
		c.observe(ctx, Reused, c.r)
		return c.fail(ErrKeyReused)
	}
	v, err := c.stored(ctx, record)
	if err != nil {
		return Result[R]{}, err
	}
	c.observe(ctx, Replayed, c.r)
	return Result[R]{Value: v, Replayed: true}, nil
}

// stored returns the result that a record holds or refers to.
func (c *call[R]) stored(ctx context.Context, record Record) (v R, err error) {
	value, snapshot := record.Item[resultValue]
	if snapshot && len(record.Fingerprint) > 0 {
		if v, err = decode[R](value); err != nil {
			_, err = c.fail(fmt.Errorf("stored result: %w", err))
		}
		return v, err
	}
	key, err := c.reference(record)
	if err == nil {
		v, err = table.Get[R](ctx, c.table.Consistent(), key)
		if errors.Is(err, table.ErrNotFound) {
			err = ErrResultGone
		}
	}
	if err != nil {
		_, err = c.fail(err)
	}
	return v, err
}

// reference returns the key of the item that a record refers to.
func (c *call[R]) reference(record Record) (keys.Key, error) {
	if len(record.Fingerprint) > 0 {
		pk, sk := stringOf(record.Item[resultPK]), stringOf(record.Item[resultSK])
		return keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}, nil
	}
	if c.o.Foreign == nil {
		return keys.Key{}, fmt.Errorf("%w: the record is another writer's, and Options.Foreign is not set", ErrInvalidRequest)
	}
	return c.o.Foreign(record.Item)
}
