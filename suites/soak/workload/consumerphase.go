package workload

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// consumerPhase has all workers write the same entities, while a consumer reads the
// stream of the table.
func (w *world) consumerPhase(ctx context.Context, b budget) error {
	c := &consumer{world: w}
	c.mortal.Store(true)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	errs := make(chan error, consumers)
	for range consumers {
		group.Go(func() { errs <- c.run(reading) })
	}
	var rounds []*round
	var err error
	for n := 0; b.left(n*perRound) && ctx.Err() == nil && err == nil; n++ {
		var s *round
		if s, err = w.sharedRound(ctx, fmt.Sprintf("c%d", n), n); err == nil {
			rounds = append(rounds, s)
		}
	}
	c.mortal.Store(false)
	if err == nil {
		err = c.inspect(ctx, rounds)
	}
	stop()
	group.Wait()
	for range consumers {
		if failed := <-errs; err == nil {
			err = failed
		}
	}
	return err
}

// inspect waits until the consumer has handled what was written, and checks what it has
// made of it.
func (c *consumer) inspect(ctx context.Context, rounds []*round) error {
	session, err := c.newSession(&clock{}, false, false)
	if err != nil {
		return err
	}
	t := session.calm.Consistent()
	histories, stored := map[string]*checker.History{}, map[string]string{}
	for _, s := range rounds {
		for i := range s.members {
			key := memberKey(s.memberID(i))
			histories[string(key.PK)] = &s.members[i]
			if stored[string(key.PK)], err = now[nicked](ctx, t, key); err != nil {
				return err
			}
		}
		for i := range s.accounts {
			key := accountKey(s.accountID(i))
			histories[string(key.PK)] = &s.accounts[i]
			if stored[string(key.PK)], err = now[account](ctx, t, key); err != nil {
				return err
			}
		}
	}
	made, projected, err := c.caughtUp(ctx, t, histories, stored)
	if err != nil {
		return err
	}
	c.mu.Lock()
	all := c.log
	c.mu.Unlock()
	of := map[string][]checker.Delivery{}
	for _, d := range all {
		of[d.Item] = append(of[d.Item], d)
	}
	for item, h := range histories {
		where := fmt.Sprintf("seed %d, consumers, %s", c.Seed, item)
		done, refused := h.Written()
		c.report.Check(report.Delivered, where, errors.Join(checker.Delivered(of[item], map[string]string{item: stored[item]}), checker.Told(of[item], writer, done, refused)))
		c.report.Check(report.Effected, where, checker.Equal(made[item], checker.Effects(of[item])[item]))
		c.report.Check(report.Projected, where, checker.Equal(projected[item], stored[item]))
	}
	return nil
}

// now returns the state of an item.
func now[T any](ctx context.Context, t *table.Table, key keys.Key) (string, error) {
	v, found, err := find[T](ctx, t, key)
	if err != nil || !found {
		return "", err
	}
	return stateOf(&v), nil
}

// caughtUp returns the effects and the projections when nothing is left to be done, or
// when there was time enough.
func (c *consumer) caughtUp(ctx context.Context, t *table.Table, items map[string]*checker.History, stored map[string]string) (made map[string][]string, projected map[string]string, err error) {
	for begun := time.Now(); ; {
		made, projected = map[string][]string{}, map[string]string{}
		for item := range items {
			e, _, err := find[effects](ctx, t, effectsKey(item))
			if err != nil {
				return nil, nil, err
			}
			if len(e.Sequences) > 0 {
				made[item] = e.Sequences
			}
			p, _, err := find[projection](ctx, t, projectionKey(item))
			if err != nil {
				return nil, nil, err
			}
			projected[item] = p.State
		}
		c.mu.Lock()
		done := checker.Equal(made, checker.Effects(c.log)) == nil && checker.Delivered(c.log, stored) == nil
		c.mu.Unlock()
		if done || ctx.Err() != nil || time.Since(begun) > c.Patience {
			return made, projected, ctx.Err()
		}
		time.Sleep(50 * time.Millisecond)
	}
}

var writerOf = regexp.MustCompile(`By:(\S+)`)

// writer returns the operation that has written a state.
func writer(state string) string {
	if m := writerOf.FindStringSubmatch(state); m != nil {
		return m[1]
	}
	return ""
}
