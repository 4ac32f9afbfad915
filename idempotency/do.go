package idempotency

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Result is the result of a request.
type Result[R any] struct {
	Value R
	// Replayed says that the request ran before, and that Value is the result of
	// that run.
	Replayed bool
}

// errMoving means that the transaction has to be sent again: its outcome is
// unknown, or its record has come and gone.
var errMoving = fmt.Errorf("%w: the idempotency record comes and goes", table.ErrConflict)

// Do runs a request once. plan returns the ops to write and the result; its ops
// and the record of the request are one transaction. plan is called before anything is
// written, and also for a repeated request. So it must only read and draw ids. A repeated
// request gets the result of the first.
//
// If an op is stale or in conflict, since another writer was faster, nothing is written, and
// plan is called again, within the budget: let it read what its ops expect, by consistent
// reads, and make all values again. A plan whose op expects the same again, such as a version
// that the request names, does not read it: that is the end, with [table.ErrStale].
//
// If the ops fail, no record is stored, and the key can be used again. A
// transaction with an unknown outcome is sent again, which the record makes safe,
// within the budget of [table.Table.Retry]: up to 10 requests in a row without a
// response. One that DynamoDB says is in progress is waited for as by
// [table.Table.Transact], and then sent again until [table.Options].MaxElapsed ends. If
// a transaction is cancelled and the response does not hold the record, Do reads the
// record: one more request, also after the tenth.
//
// Errors:
//   - The error of plan, as it is, unless the request was executed before.
//   - The error of [table.Table.Transact], if the ops fail. The record's op is
//     the one after the plan's.
//   - [ErrInvalidRequest], [ErrPayloadMismatch] and [ErrResultGone].
//   - [table.ErrOutcomeUnknown], if the context ends, or if it stays unknown
//     whether the record exists. Repeat the same request.
func Do[R any](ctx context.Context, s *Store, r Request, plan func(context.Context) (Plan[R], error)) (Result[R], error) {
	return do(ctx, s, opDo, r, plan)
}

// Exec runs ops once for a message that may be delivered several times, and
// reports whether this was the first time. Use the message's id as Key and the
// consumer's name as Scope. Payloads are compared if the message and the record have
// one: without, the message is a duplicate. Exec reads no result, so a record that [Do]
// has made tells a duplicate too, and so does one of another writer with
// [Options].Legacy. Exec keeps no result either: Do with the same key is
// [table.ErrInvalid].
func Exec(ctx context.Context, s *Store, r Request, plan func(context.Context) ([]table.Op, error)) (first bool, err error) {
	var planned func(context.Context) (Plan[struct{}], error)
	if plan != nil {
		planned = func(ctx context.Context) (Plan[struct{}], error) {
			ops, err := plan(ctx)
			return Plan[struct{}]{ops: ops, none: true}, err
		}
	}
	result, err := do(ctx, s, opExec, r, planned)
	return err == nil && !result.Replayed, err
}

const opDo, opExec = "Do", "Exec"

// call is one call of Do or Exec.
type call[R any] struct {
	*Store
	op string
	r  Request
	// make returns the plan of a run, and plan is that of the last one.
	make func(context.Context) (Plan[R], error)
	plan Plan[R]
	// marks tell this call's own record from that of a repeated request: one of each
	// run of the plan. result is that of the last one.
	marks  []string
	print  [sha256.Size]byte
	record table.Item
	result R
	// expected is what the op of the last run that was stale had expected, nil if none was.
	expected any
	// takeover is set once an expired record was met.
	takeover bool
	// unknown is the error of a transaction that may have been committed.
	unknown error
}

func do[R any](ctx context.Context, s *Store, op string, r Request, plan func(context.Context) (Plan[R], error)) (Result[R], error) {
	c := &call[R]{Store: s, op: op, r: r, make: plan}
	if s == nil || s.table == nil {
		return c.failed(fmt.Errorf("%w: the store was not made by New", errInvalidStore))
	}
	if err := r.validate(); err != nil {
		return c.failed(err)
	}
	//mutants:guard a request without a payload is no request | TestMissingPayload
	if op == opDo && r.Payload == (Payload{}) {
		return c.failed(errNoPayload)
	}
	if plan == nil {
		return c.failed(fmt.Errorf("%w: it is nil", errInvalidPlan))
	}
	var err error
	if c.print, err = r.Fingerprint(); err != nil {
		return c.failed(err)
	}
	if result, planned, err := c.run(ctx); !planned {
		return result, err
	}
	return c.submit(ctx)
}

// run makes a plan, and with it a record. Otherwise the call ends, with a result or an error.
func (c *call[R]) run(ctx context.Context) (result Result[R], planned bool, err error) {
	mark := rand.Text()
	if c.plan, err = c.make(ctx); err != nil {
		// A plan that reads can fail on the very effect of the first request.
		record, known, lookupErr := c.lookup(ctx)
		switch {
		case lookupErr != nil:
			return result, false, lookupErr
		case known:
			result, err = c.replay(ctx, record)
		case c.unknown != nil:
			//mutants:guard a plan that refuses after a lost attempt settles nothing | TestPlanThatRefusesAfterALostAttempt
			err = fmt.Errorf("%w: %w", c.unknown, err)
		}
		return result, false, err
	}
	if n := len(c.plan.ops); n > maxOps {
		result, err = c.failed(fmt.Errorf("%w: %w: the plan has %d ops, %d fit in addition to the record", errInvalidPlan, table.ErrTooLarge, n, maxOps))
		return result, false, err
	}
	c.marks = append(c.marks, mark)
	// The time to keep the record begins now, however long the plan took.
	if c.record, err = c.newRecord(c.r, mark, c.print); err == nil {
		c.result, err = c.plan.fill(c.record, c.table, c.schema)
	}
	if err != nil {
		result, err = c.failed(err)
		return result, false, err
	}
	return result, true, nil
}

// mark returns that of the last run.
func (c *call[R]) mark() string { return c.marks[len(c.marks)-1] }

func (c *call[R]) failed(err error) (Result[R], error) {
	return Result[R]{}, c.fail(c.op, c.r, err)
}

// state is what is known of a request after an attempt.
type state int

const (
	// committed: the attempt has run the request.
	committed state = iota
	// recorded: a live record says that the request ran, or an earlier attempt of this call
	// has written it.
	recorded
	// expired: the record that refused the attempt does not count.
	expired
	// unsettled: the attempt, or one before, may have run the request. Another one will tell.
	unsettled
	// overtaken: the attempt has written nothing, since another writer was faster. Another plan
	// may succeed.
	overtaken
	// failed: the request has not run, or nothing can tell any more whether it has.
	failed
)

// submit sends the transaction until it is known what came of it.
func (c *call[R]) submit(ctx context.Context) (result Result[R], err error) {
	var final error // not to be retried
	var last error  // of an attempt that was overtaken, until there is another plan
	err = c.table.Retry(ctx, func(ctx context.Context) error {
		if last != nil {
			planned := false
			if result, planned, final = c.run(ctx); !planned {
				return nil
			}
			last = nil
		}
		now, record, err := c.attempt(ctx)
		if now == expired && !c.takeover {
			c.takeover = true
			//mutants:guard a write over an expired record needs one attempt | TestIdempotency/Do,_expired,_one_attempt$ ./suites/schedules
			now, record, err = c.attempt(ctx) // at once: this was no failure, so it needs no budget
		}
		switch now {
		case committed:
			result, final = c.done(ctx)
		case recorded:
			result, final = c.replay(ctx, record)
		case overtaken:
			last = err
			return err
		case failed:
			final = err
		case expired, unsettled:
			return errMoving
		}
		return nil
	})
	switch {
	case err == nil:
		return result, final
	case c.unknown == nil && last != nil:
		return Result[R]{}, err
	case c.unknown == nil:
		return c.failed(err)
	case ctx.Err() != nil:
		return Result[R]{}, fmt.Errorf("%w: %w", c.unknown, context.Cause(ctx))
	}
	return Result[R]{}, c.unknown
}

// attempt sends the transaction once. record is what makes the request recorded; err is why
// it has failed.
func (c *call[R]) attempt(ctx context.Context) (now state, record table.Item, err error) {
	ops := slices.Concat(c.plan.ops, []table.Op{c.recordOp().WithName("idempotency record")})
	err = c.table.Transact(ctx, ops...)
	if err == nil {
		return committed, nil, nil
	}
	tx, cancelled := errors.AsType[*table.TxError](err)
	record, refused := metRecord(tx, len(c.plan.ops))
	switch {
	//mutants:guard an expired record does not count | TestIdempotency/Do,_expired$ ./suites/schedules | c.live(record) => true
	case len(record) > 0 && (c.own(record) || c.live(record)):
		return recorded, record, nil
	//mutants:guard the record of the request is looked up where the engine does not return it | .
	case len(record) == 0 && cancelled:
		// Not every engine says all that failed, or returns the record.
		found, known, lookupErr := c.lookup(ctx)
		switch {
		case lookupErr != nil:
			return failed, nil, lookupErr
		case known:
			return recorded, found, nil
		}
	}
	switch {
	case errors.Is(err, table.ErrOutcomeUnknown):
		//mutants:guard a lost attempt is remembered | TestIdempotency/Do,_(fresh|the_last) ./suites/schedules
		c.unknown = err
		return unsettled, nil, nil
	case refused:
		return expired, nil, nil
	//mutants:guard a plan whose op is stale is made again | TestPlansThatRead | cancelled && => false &&
	case cancelled && errors.Is(err, table.ErrConflict) && !c.expectsTheSame(err):
		return overtaken, nil, err
	case c.unknown != nil && table.Classify(err) == table.Transient:
		return unsettled, nil, nil
	}
	// A lost attempt can still take effect, whatever became of this one.
	//mutants:guard a refusal after a lost attempt is unknown | TestKnownRefusal ./suites/schedules | c.unknown, err => err, c.unknown
	return failed, nil, cmp.Or(c.unknown, err)
}

// expectsTheSame reports whether a stale op has expected what that of the run before has. Then
// the plan does not read it.
func (c *call[R]) expectsTheSame(err error) bool {
	var stale interface{ Expected() any }
	before := c.expected
	if c.expected = nil; errors.As(err, &stale) {
		c.expected = stale.Expected()
	}
	return c.expected != nil && c.expected == before
}

// recordOp writes the record if there is none, expired or not. An expired one must be met
// first, or nobody could tell a takeover. The takeover must not meet a record of the call's own,
// of an attempt whose response was lost.
func (c *call[R]) recordOp() table.Op {
	if c.takeover {
		mark := expression.Name(attemptMark)
		own := make([]expression.OperandBuilder, len(c.marks))
		for i, m := range c.marks {
			own[i] = expression.Value(m)
		}
		notOwn := mark.AttributeNotExists().Or(mark.In(own[0], own[1:]...).Not())
		//mutants:guard a takeover expects an expired record | TestIdempotency/Do,_expired$ ./suites/schedules | Create => Put
		//mutants:guard a takeover does not meet its own record | . | If(notOwn) => If(notOwn.Or(notOwn.Not()))
		return table.Create(c.r.key(), c.record).If(notOwn)
	}
	none := item.Name(c.schema.PK).AttributeNotExists()
	//mutants:guard a request expects no record | TestIdempotency/Do,_fresh$ ./suites/schedules | If(none) => If(none.Or(none.Not()))
	return table.Put(c.r.key(), c.record).If(none)
}

// metRecord reports whether the record's op is among those that failed, and returns the
// item that it met, where the engine did.
func metRecord(tx *table.TxError, index int) (record table.Item, refused bool) {
	if tx == nil {
		return nil, false
	}
	for _, f := range tx.Failed {
		if f.OpNumber == index+1 && (errors.Is(f, table.ErrConditionFailed) || errors.Is(f, table.ErrExists)) {
			return f.Stored, true
		}
	}
	return nil, false
}

// own reports whether a record is this call's, of an attempt whose response was
// lost.
func (c *call[R]) own(attributes table.Item) bool {
	//mutants:guard a request tells its own record from another's | TestIdempotency/Do,_fresh$ ./suites/schedules | return => return false &&
	return slices.Contains(c.marks, item.Text(attributes[attemptMark]))
}

// live reports whether a record counts.
func (c *call[R]) live(item table.Item) bool {
	expires := c.recordOf(item).ExpiresAt
	return expires.IsZero() || expires.Unix() > c.table.Now().Unix()
}

// lookup reads the live record of the request; known is false if there is none. If the read
// fails, the outcome of the request is unknown.
func (c *call[R]) lookup(ctx context.Context) (record table.Item, known bool, err error) {
	found, err := c.Lookup(ctx, c.r)
	switch {
	case err == nil:
		return found.Item, true, nil
	case errors.Is(err, table.ErrNotFound):
		return nil, false, nil
	}
	_, err = c.failed(fmt.Errorf("%w: %w", table.ErrOutcomeUnknown, err))
	return nil, false, err
}

// done returns the result of a request that this call has run.
func (c *call[R]) done(ctx context.Context) (Result[R], error) {
	if c.takeover {
		c.observe(ctx, Replaced, c.r)
	}
	return Result[R]{Value: c.result}, nil
}

// replay returns the result that a record holds.
func (c *call[R]) replay(ctx context.Context, found table.Item) (Result[R], error) {
	record := c.recordOf(found)
	if c.own(found) {
		result, err := c.done(ctx)
		//mutants:guard an earlier run of the call has its own result | TestRecordOfAnEarlierRun | item.Text(found[attemptMark]) != c.mark() => false
		if item.Text(found[attemptMark]) != c.mark() {
			result.Value, err = c.stored(ctx, record)
		}
		return result, err
	}
	if !c.samePayload(record) {
		c.observe(ctx, PayloadMismatch, c.r)
		return c.failed(ErrPayloadMismatch)
	}
	v, err := c.stored(ctx, record)
	if err != nil {
		return Result[R]{}, err
	}
	c.observe(ctx, Replayed, c.r)
	return Result[R]{Value: v, Replayed: true}, nil
}

// samePayload reports whether a record was made with the payload of this call. That of
// another writer is not known, and [Exec] compares only what both have.
func (c *call[R]) samePayload(record Record) bool {
	//mutants:guard a payload is compared | TestIdempotency/Do,_two_payloads$ ./suites/schedules | if => if true ||
	if len(record.Fingerprint) == 0 || bytes.Equal(record.Fingerprint, c.print[:]) {
		return true
	}
	return c.op == opExec && (c.r.Payload == Payload{} || bytes.Equal(record.Fingerprint, withoutPayload[:]))
}

// stored returns the result that a record holds or refers to.
func (c *call[R]) stored(ctx context.Context, record Record) (v R, err error) {
	if c.op == opExec && (len(record.Fingerprint) > 0 || c.o.Legacy != nil) {
		return v, nil // it wants no result, of whatever type or gone
	}
	value, snapshot := record.Item[resultValue]
	if !snapshot || len(record.Fingerprint) == 0 {
		value, err = c.referred(ctx, record)
	}
	if err == nil {
		v, err = decode[R](value)
	}
	if err != nil {
		_, err = c.failed(err)
	}
	return v, err
}

// referred returns the item that a record refers to.
func (c *call[R]) referred(ctx context.Context, record Record) (types.AttributeValue, error) {
	key, err := c.reference(record)
	if err != nil {
		return nil, err
	}
	stored, err := table.Get[table.Item](ctx, c.table.Consistent(), key)
	if errors.Is(err, table.ErrNotFound) {
		return nil, ErrResultGone
	}
	value, _ := itemOf(stored)
	return value, err
}

// reference returns the key of the item that a record refers to.
func (c *call[R]) reference(record Record) (keys.Key, error) {
	if len(record.Fingerprint) > 0 {
		pk, sk := item.Text(record.Item[resultPK]), item.Text(record.Item[resultSK])
		if pk == "" && sk == "" {
			return keys.Key{}, fmt.Errorf("%w: the record has no result, as one that Exec made", errInvalidStore)
		}
		return keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}, nil
	}
	if c.o.Legacy == nil {
		return keys.Key{}, fmt.Errorf("%w: the record is another writer's, and Options.Legacy is not set", errInvalidStore)
	}
	return c.o.Legacy(record.Item)
}
