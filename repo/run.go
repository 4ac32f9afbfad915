package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// maxGuarded is how many attributes a condition compares at most: an expression has 300
// operators at most. AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
const maxGuarded = 140

// ops returns the ops of steps, one each.
func (c *core) ops(steps []step) ([]table.Op, error) {
	ops := make([]table.Op, len(steps))
	for i, s := range steps {
		if n := len(c.guarding(s)); n > maxGuarded {
			return nil, fmt.Errorf("%w: %d attributes, a condition compares %d", table.ErrTooLarge, n, maxGuarded)
		}
		ops[i] = c.op(s)
	}
	return ops, nil
}

// op returns the op of a step. Its guard is the stamp that the item has, or all that it has.
func (c *core) op(s step) (op table.Op) {
	switch s.verb {
	case create:
		//mutants:guard a key that moves is created, not put | TestRepo/copies/Update_that_moves,_Create ./suites/schedules | Create => Put
		//mutants:guard a main key that moves is created, not put | TestRepo/revision/Update_that_moves_the_main_key ./suites/schedules | Create => Put
		return table.Create(s.key, s.made).WithName(s.name)
	case none:
		//mutants:guard DeleteOps leave no former copy behind | TestOpsExpectWhatTheValueDoesNotShow | s.unread => false
		if s.unread {
			return table.Check(s.key, item.Name(c.schema.PK).AttributeNotExists()).Guarded(item.Guard{OrStale: true}).WithName(s.name)
		}
		//mutants:guard a copy does not outlive an expired main item | TestDefaultEngine/Life$ ./suites/conformance | CheckMissing(s.key) => Check(s.key, item.Name(c.schema.PK).AttributeNotExists())
		return table.CheckMissing(s.key).WithName(s.name)
	case overwrite:
		return table.Put(s.key, s.made).WithName(s.name)
	case erase:
		return table.Delete(s.key).WithName(s.name)
	case patch:
		op = table.Patch(s.key, s.diff.set, s.diff.remove...)
	case replace:
		op = table.Put(s.key, s.made)
	case remove:
		op = table.Delete(s.key)
	case check:
		op = table.Check(s.key, expression.ConditionBuilder{})
	}
	if s.owner != (keys.Key{}) {
		return c.guardClaim(op, s)
	}
	//mutants:guard the old copy is deleted under its revision | TestForeignCopy ./suites/schedules | => if s.verb != remove { op = c.guard(op, s.held) }
	//mutants:guard a change expects the revision | TestRepo/revision/Update,_Update$ ./suites/schedules | => if s.verb != patch { op = c.guard(op, s.held) }
	//mutants:guard an unchanged entity is checked in a transaction with others | TestDefaultEngine/^(Release|Life|Repo)$ ./suites/conformance | => if s.verb != check { op = c.guard(op, s.held) }
	//mutants:guard Delete expects the revision that it has read | TestRepo/copies/Update_that_moves,_Delete ./suites/schedules | => if s.verb != remove { op = c.guard(op, s.held) }
	//mutants:guard appcore: an approval is of the revision that was read | TestScheduleApproval ./examples/appcore/core | => if s.verb != patch { op = c.guard(op, s.held) }
	op = c.guard(op, s.held)
	switch {
	case s.unread && s.verb == remove:
		op = op.Guarded(item.Guard{ByShape: true, Shape: item.Shape{Most: c.shapes.current, Admits: true}})
	case s.unread: // what is written may lack what a newer shape has
		op = op.Guarded(item.Guard{ByShape: true, Shape: item.Shape{Most: c.shapes.current}})
	}
	//mutants:guard a change expects that the item exists | TestRepo/revision/adopted:_Update,_Delete$ ./suites/schedules | !s.gone => s.verb != patch && !s.gone
	if !s.gone {
		op = op.IfExists()
	}
	for _, name := range c.guarding(s) {
		same := item.Name(name).AttributeNotExists()
		if value, has := s.as[name]; has {
			same = item.Name(name).Equal(expression.Value(value))
		}
		op = op.If(same)
	}
	//mutants:guard ops of a version that two entities can have take no copy of the other | TestOpsOfCountedEntitiesLeaveOthersCopies
	if s.like != nil {
		op = op.If(*s.like).Guarded(item.Guard{OrStale: true})
	}
	return op.WithName(s.name)
}

// guarding returns the attributes that guard a step whose item has no stamp: all that it had
// when it was read, and those that T has.
func (c *core) guarding(s step) []string {
	if s.as == nil || s.held != (stamp{}) {
		return nil
	}
	names := map[string]bool{}
	for _, name := range c.attributes {
		names[name] = true
	}
	for name := range s.as {
		names[name] = true
	}
	for _, name := range []string{c.schema.PK, c.schema.SK, c.schema.TypeAttribute, c.entity.Version} {
		delete(names, name)
	}
	return slices.Sorted(maps.Keys(names))
}

// run makes a plan true, together with other ops. The outcome says whether the plan is to be
// made again: the entity, or an item that was not read, is not as it was planned. The latter are
// doubts then.
func (c *core) run(ctx context.Context, s *snapshot, p *plan, with ...table.Op) (outcome, error) {
	ops, err := c.ops(p.steps)
	if err != nil {
		return final, err
	}
	if ops = append(ops, with...); len(ops) == 0 {
		return final, nil
	}
	if err := c.send(ctx, ops); err != nil {
		return c.outcome(err, s, p), err
	}
	return final, nil
}

// send writes ops, as a transaction if there are several.
func (c *core) send(ctx context.Context, ops []table.Op) error {
	if len(ops) == 1 {
		return c.table.Do(ctx, ops[0])
	}
	return c.table.Transact(ctx, ops...)
}

// outcome is what a failed write says about its plan.
type outcome int

const (
	final     outcome = iota // the plan is not to be made again
	doubtful                 // an item was not as it was presumed
	overtaken                // the entity is no longer as it was read, or a conflict may pass
)

func (c *core) outcome(err error, s *snapshot, p *plan) outcome {
	if errors.Is(err, table.ErrOutcomeUnknown) {
		return final
	}
	tx, several := errors.AsType[*table.TxError](err)
	if !several {
		bare := s.main.item != nil && errors.Is(err, table.ErrConditionFailed)
		if bare || errors.Is(err, table.ErrConflict) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrWrongType) {
			return overtaken
		}
		return final
	}
	return c.judge(tx.Failed, 0, s, p)
}

// judge is outcome for the failed ops of a transaction, whose steps begin after some others.
func (c *core) judge(failed []*table.Error, from int, s *snapshot, p *plan) outcome {
	worst, taken := final, false
	owner := planner{core: c, old: s, was: s.main, plan: *p}
	for _, f := range failed {
		i := f.OpNumber - 1 - from
		switch {
		//mutants:guard a permanent refusal in a transaction is no conflict | TestAPermanentRefusalIsNoConflict
		case !mayHold(f):
			return final
		case i >= len(p.steps): // the caller's
			if errors.Is(f, table.ErrConflict) {
				worst = overtaken
			}
		case p.steps[i].main:
			if p.steps[i].verb != create || !errors.Is(f, table.ErrExists) {
				worst = overtaken
			}
		case errors.Is(f, table.ErrExists) && f.Stored != nil && owner.isAnothers(f, p.steps[i]):
			taken = true
		default:
			s.doubts[f.Key] = true
			worst = max(worst, doubtful)
		}
	}
	if taken && worst != overtaken { // it is so at the moment at which the main item is as it was read
		return final
	}
	return worst
}

// mayHold reports whether an op of a transaction failed for what is stored, or for a
// conflict: a plan of what is stored then may succeed.
func mayHold(failed error) bool {
	return slices.ContainsFunc([]error{
		table.ErrConditionFailed, table.ErrExists, table.ErrNotFound, table.ErrWrongType, table.ErrNewerShape, table.ErrConflict,
	}, func(target error) bool { return errors.Is(failed, target) })
}

// isAnothers reports whether a step met the item of another entity.
func (p *planner) isAnothers(failed *table.Error, s step) bool {
	if s.owner != (keys.Key{}) {
		_, ours := p.owner(failed.Stored)
		return !ours
	}
	ours, err := p.isOurs(failed.Key, failed.Name, failed.Stored)
	return !ours && err == nil
}

// retry makes an attempt to write, and another as long as it asks for that, within
// the budget of [table.Table.Retry]. doubts are kept from one attempt to the next.
func (c *core) retry(ctx context.Context, attempt func(ctx context.Context, doubted doubts) (err error, again bool)) error {
	doubted := doubts{}
	var last error // not to be retried
	err := c.table.Retry(ctx, func(ctx context.Context) error {
		err, again := attempt(ctx, doubted)
		switch {
		case err == nil || !again && !errors.Is(err, errMoved):
			last = err
			return nil
		case !errors.Is(err, table.ErrConflict):
			return fmt.Errorf("%w: %w", table.ErrConflict, err) // the entity was re-created, or a copy has drifted
		}
		return err
	})
	if err != nil {
		return err
	}
	return last
}

// write makes true what plan returns, and asks it again as long as what is stored is not as it
// was planned. Without a plan there is nothing to write.
func (c *core) write(ctx context.Context, op string, key keys.Key, plan func(context.Context, doubts) (*snapshot, *plan, error)) error {
	return c.retry(ctx, func(ctx context.Context, doubted doubts) (error, bool) {
		s, p, err := plan(ctx, doubted)
		if err != nil || p == nil {
			return c.named(op, key, err), false
		}
		again, err := c.run(ctx, s, p)
		return err, again != final
	})
}

// valueAfter returns the entity as it is stored once a plan was run. It is called before
// that, so that nothing can fail after the write, and it changes old.v.
func (c *core) valueAfter(old *stored, p *plan) (any, error) {
	for _, s := range p.steps {
		switch {
		case !s.main || s.verb == remove:
		case s.made.Item != nil:
			return c.entity.decode(item.RawOf(s.made.Item))
		case !c.assign(old.v, s.diff):
			return c.entity.decode(item.RawOf(s.diff.apply(old.raw)))
		}
	}
	return old.v, nil
}

// assign makes a value as if it was decoded after a change. It returns false if it
// cannot.
func (c *core) assign(v any, d diff) bool {
	if !c.known {
		return false
	}
	for name, value := range d.set {
		if !item.Assign(v, name, value) {
			return false
		}
	}
	for _, name := range d.remove {
		if _, respelled := c.respelled(name); respelled || !item.Assign(v, name, nil) {
			return false
		}
	}
	return true
}
