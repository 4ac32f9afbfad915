package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Create stores a new entity with all its items, and sets its version or revision in v. If there
// is a live item under one of their keys, nothing is written, v is as it was, and the error is
// [table.ErrExists].
func (r *Repo[T]) Create(ctx context.Context, v *T) error {
	if v == nil {
		return r.core.fail("Create", keys.Key{}, fmt.Errorf("%w: %w", table.ErrInvalid, errNilValue))
	}
	return r.core.create(ctx, v)
}

// create is [Repo.Create] of a value that is not nil.
func (c *core) create(ctx context.Context, v any) error {
	made := c.entity.zero()
	var former map[keys.Key]over
	var doubted doubts
	for attempt := 1; ; attempt++ {
		err := c.commit(ctx, c.createOver(v, made, former))
		if err == nil {
			c.adopt(v, made)
			return nil
		}
		if doubted == nil {
			doubted = doubts{}
		}
		if attempt == maxPatches || !c.doubt(failedOps(err), doubted) {
			return err
		}
		if former, err = c.overs(ctx, v, doubted); err != nil {
			return c.named("Create", c.entity.Key(v), err)
		}
	}
}

// Save stores v, a new value or a changed one of the stored entity, and sets its version or
// revision. It reads the stored entity and writes what differs, in all items: attributes that T
// does not have stay, and copies move. The stored version must be the one that v was read with,
// and a new entity has none. The key of the entity itself cannot change: [Repo.Update] can.
//
// Without a Version, Save reads nothing: it sets what T has, maps as a whole, sets as in
// [Repo.PutOps], and keeps the other attributes of a stored item. The last write wins. A value of more than some 270 attributes is
// [table.ErrInvalid], and an item of a newer shape [table.ErrNewerShape]. [Repo.PutOps] replaces
// an item as a whole.
//
// Errors:
//   - [table.ErrStale]: the stored version is another one, or nothing is stored under v's key.
//   - [table.ErrExists]: another item is stored under the new key of a copy, or a claim.
//   - [table.ErrWrongType]: the item under the key is of another type.
//
// A lost response, and a change by a program that does not write the version, are as in
// [Repo.Update].
func (r *Repo[T]) Save(ctx context.Context, v *T) error {
	switch {
	case v == nil:
		return r.core.fail("Save", keys.Key{}, fmt.Errorf("%w: %w", table.ErrInvalid, errNilValue))
	case r.core.counter == unversioned:
		return r.core.set(ctx, v)
	}
	return r.core.putAll(ctx, "Save", []any{v})
}

// set stores v, which has no version, and reads nothing. An expired item is replaced: what T
// does not have expires with it.
func (c *core) set(ctx context.Context, v any) error {
	key := c.entity.Key(v)
	for attempt := 1; ; attempt++ {
		op, err := c.setOp(v, key)
		if err != nil {
			return c.fail("Save", key, err)
		}
		err = c.table.Do(ctx, op)
		if c.schema.TTLAttribute == "" || !errors.Is(err, table.ErrConditionFailed) {
			return err
		}
		//mutants:guard Save of an entity without a version replaces what has expired | TestSaveWithoutVersion | c.createOps(v, c.entity.zero()) => nil
		if err = c.commit(ctx, c.createOps(v, c.entity.zero())); !errors.Is(err, table.ErrExists) || attempt == maxPatches {
			return err
		}
	}
}

// setOp returns the op that sets what T has in an item that has not expired, or makes it.
func (c *core) setOp(v any, key keys.Key) (op table.Op, err error) {
	set, err := c.encodeToStore(v)
	if err == nil {
		err = c.checkValue(v, nil, key, set, func(name string) bool { return set[name] != nil })
	}
	made := c.made(0, key, v, set, stamp{}, err)
	if made.Err != nil {
		return op, made.Err
	}
	set = maps.Clone(made.Item)
	remove := slices.DeleteFunc(slices.Concat(c.attributes, c.indexAttributes), func(name string) bool { return set[name] != nil })
	slices.Sort(remove)
	remove = slices.Compact(remove)
	delete(set, c.schema.PK)
	delete(set, c.schema.SK)
	op = table.Patch(key, set, remove...).IfType(c.entity.Type).Guarded(item.Guard{ByShape: true}).WithName(c.entity.Type)
	if c.schema.TTLAttribute != "" {
		op = op.If(item.Name(c.schema.TTLAttribute).Between(expression.Value(1), expression.Value(c.table.Now().Unix())).Not())
	}
	return op, nil
}

// TransactPut stores several values as [Repo.Save] does, all or none, in one transaction, which
// has 100 items at most. It costs a consistent read of each entity, one after the other, before
// the writes. A value that has not changed is not written, but the transaction checks that it is
// as it was read, which costs as much; if none has changed, nothing is sent. Without a Version,
// the ops are those of [Repo.PutOps], and nothing is read.
func (r *Repo[T]) TransactPut(ctx context.Context, vs ...*T) error {
	all := make([]any, len(vs))
	for i, v := range vs {
		if v == nil {
			return r.core.fail("TransactPut", keys.Key{}, fmt.Errorf("%w: value %d is nil", table.ErrInvalid, i))
		}
		all[i] = v
	}
	if r.core.counter == unversioned || len(vs) == 0 {
		ops := make([]table.Op, 0, len(vs))
		for _, v := range all {
			ops = append(ops, r.core.putOps(v)...)
		}
		return r.core.commit(ctx, ops)
	}
	return r.core.putAll(ctx, "TransactPut", all)
}

// put is how a value is stored.
type put struct {
	v any
	// next is v with its next stamp, nil if it does not change.
	next any
	// of and plan are what is stored and what changes. A value that is new has none, and ops
	// alone.
	of   *snapshot
	plan *plan
	ops  []table.Op
}

// putAll stores values in one transaction.
func (c *core) putAll(ctx context.Context, op string, vs []any) error {
	return c.retry(ctx, func(ctx context.Context, doubted doubts) (error, bool) {
		var ops []table.Op
		puts, changed := make([]put, len(vs)), false
		for i, v := range vs {
			if err := c.putPlan(ctx, &puts[i], v, doubted); err != nil {
				return c.named(op, c.entity.Key(v), err), false
			}
			changed = changed || puts[i].next != nil
		}
		if !changed {
			return nil, false
		}
		for i := range puts {
			ops = append(ops, puts[i].ops...)
		}
		if err := c.commit(ctx, ops); err != nil {
			return err, c.putOutcome(err, puts, doubted) == doubtful
		}
		for _, p := range puts {
			if p.next != nil {
				c.adopt(p.v, p.next)
			}
		}
		return nil, false
	})
}

// putPlan makes p the ops that store v: those of a check if it does not change.
func (c *core) putPlan(ctx context.Context, p *put, v any, doubted doubts) error {
	p.v = v
	key, read := c.entity.Key(v), c.stampIn(v)
	old, err := c.loadMain(ctx, key)
	switch {
	case errors.Is(err, table.ErrNotFound) && read == stamp{}:
		former, err := c.overs(ctx, v, doubted)
		if err != nil {
			return err
		}
		p.next = c.entity.zero()
		p.ops = c.createOver(v, p.next, former)
		return nil
	case errors.Is(err, table.ErrNotFound):
		return fmt.Errorf("%w: nothing is stored under its key; it was deleted, or its key has changed", table.ErrStale)
	case err != nil:
		return err
	//mutants:guard Save refuses a stale value | TestRepo/revision/Save,_Save ./suites/schedules
	case old.stamp != read:
		return fmt.Errorf("%w: another one is stored", table.ErrStale)
	}
	next := c.next(read)
	p.of = &snapshot{main: old, at: key, doubts: doubted}
	if p.plan, err = c.decide(ctx, p.of, wish{v: v, becomes: next}); err != nil {
		return err
	}
	if len(p.plan.steps) == 0 {
		p.plan.steps = []step{c.stays(p.of)}
	} else {
		p.next = c.entity.zero()
		if err := c.withStamp(p.next, v, next); err != nil {
			return err
		}
	}
	p.ops, err = c.ops(p.plan.steps)
	return err
}

// putOutcome is [core.outcome] of a transaction that stores several values.
func (c *core) putOutcome(err error, puts []put, doubted doubts) outcome {
	tx, several := errors.AsType[*table.TxError](err)
	switch p := puts[0]; {
	case errors.Is(err, table.ErrOutcomeUnknown), !several && len(puts) > 1:
		return final
	case !several && p.plan != nil:
		return c.again(c.outcome(err, p.of, p.plan))
	case !several && c.doubt(failedOps(err), doubted):
		return doubtful
	case !several:
		return final
	}
	worst, from := final, 0
	for _, p := range puts {
		to := from + len(p.ops)
		var own []*table.Error
		for _, f := range tx.Failed {
			if f.OpNumber > from && f.OpNumber <= to {
				own = append(own, f)
			}
		}
		switch {
		case len(own) == 0:
		case p.plan == nil && c.doubt(own, doubted):
			worst = doubtful
		case p.plan == nil || c.again(c.judge(own, from, p.of, p.plan)) != doubtful:
			return final
		default:
			worst = doubtful
		}
		from = to
	}
	return worst
}

// again is an outcome for a Save: the value is stale if the entity is no longer as it was read. A
// shared entity is read again, since only its time can tell.
func (c *core) again(o outcome) outcome {
	//mutants:guard a Save of a shared entity reads again what has changed | TestSharedLosesNothing | c.entity.shared.is => false
	if c.entity.shared.is && o == overtaken {
		return doubtful
	}
	return o
}

func isNil(v any) bool { return reflect.ValueOf(v).IsNil() }

// assign sets what v points to.
func assign(v, to any) { reflect.ValueOf(v).Elem().Set(reflect.ValueOf(to).Elem()) }
