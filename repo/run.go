package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

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
	if err := c.commit(ctx, ops); err != nil {
		return c.outcome(err, s, p), err
	}
	return final, nil
}

// commit writes ops, as a transaction if there are several.
func (c *core) commit(ctx context.Context, ops []table.Op) error {
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
		if len(p.steps) > 0 && p.steps[0].same != nil && errors.Is(err, table.ErrConditionFailed) {
			return doubtful
		}
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
		case p.steps[i].main && p.steps[i].verb == create && !errors.Is(f, table.ErrConflict): // the key is taken
		//mutants:guard a copy or claim over an expired entity that still counts is no conflict | TestChangesOverExpired
		case p.steps[i].verb == create && errors.Is(f, table.ErrConditionFailed):
		//mutants:guard a save of an owner does not fail since others count in it | TestReplacedOwners
		case p.steps[i].main && p.steps[i].same != nil && errors.Is(f, table.ErrConditionFailed):
			worst = max(worst, doubtful)
		case p.steps[i].main:
			worst = overtaken
		case errors.Is(f, table.ErrUncounted) && p.steps[i].adds != nil && p.steps[i].adds.Creates:
			return final // another item has the key
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
	//mutants:guard an owner that cannot count is no conflict | TestOwnersWithoutANumber
	if errors.Is(failed, item.ErrNoNumber) {
		return false
	}
	return slices.ContainsFunc([]error{
		table.ErrConditionFailed, table.ErrExists, table.ErrNotFound, table.ErrWrongType, table.ErrNewerShape, table.ErrConflict, table.ErrUncounted,
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

// carryOut makes true what plan returns, and asks it again as long as what is stored is not as it
// was planned. Without a plan there is nothing to do.
func (c *core) carryOut(ctx context.Context, op string, key keys.Key, plan func(context.Context, doubts) (*snapshot, *plan, error)) error {
	return c.retry(ctx, func(ctx context.Context, doubted doubts) (error, bool) {
		s, p, err := plan(ctx, doubted)
		if err != nil || p == nil {
			return c.named(op, key, err), false
		}
		again, err := c.run(ctx, s, p)
		return err, again != final
	})
}
