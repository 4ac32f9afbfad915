package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/suites/soak/chaos"
	"github.com/singletable/singletable/internal/suites/soak/check"
	"github.com/singletable/singletable/internal/suites/soak/report"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// scene is a few entities that all workers write at the same time, for a while.
// Then everybody stops and the scene is looked at.
type scene struct {
	*world
	name string

	// members keep a change for each version, and are never deleted; the last of
	// them is deleted and re-created, and keeps none.
	members [3]check.History
	// accounts are single items under a version.
	accounts [2]check.History
	lock     check.History
	counter  check.History

	// told is called for each [note].
	told func(note)

	mu           sync.Mutex
	acknowledged []string // receipts
	refused      []string
	answers      map[string][]string // of requests
}

// note is something that a client of the scene was told, and may rely on: that a
// receipt was written or refused, or what the answer to a request is.
type note struct {
	Receipt string
	Written bool
	Request string
	Answer  string
}

// keep keeps a note for the inspection.
func (s *scene) keep(n note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n.Request != "":
		s.answers[n.Request] = append(s.answers[n.Request], n.Answer)
	case n.Written:
		s.acknowledged = append(s.acknowledged, n.Receipt)
	default:
		s.refused = append(s.refused, n.Receipt)
	}
}

func (w *world) newScene(name string) *scene {
	s := &scene{world: w, name: name, answers: map[string][]string{}}
	s.told = s.keep
	return s
}

const (
	perScene      = 30 // operations of a worker
	sceneEmails   = 3
	sceneHandles  = 3
	sceneNicks    = 3
	sceneRequests = 2
)

// sharedPhase has all workers write the same entities.
func (w *world) sharedPhase(ctx context.Context, b budget) error {
	for n := 0; b.left(n*perScene) && ctx.Err() == nil; n++ {
		s := w.newScene(fmt.Sprintf("s%d", n))
		err := w.parallel(w.Workers, func(id int) error {
			a, err := s.newActor(n, id)
			if err != nil {
				return err
			}
			for op := range perScene {
				a.act(ctx, op)
			}
			return nil
		})
		if err == nil {
			err = s.inspect(ctx)
			s.linearizable()
		}
		if err != nil {
			return fmt.Errorf("seed %d, scene %d: %w", w.Seed, n, err)
		}
	}
	return nil
}

// actor is a worker in a scene.
type actor struct {
	*worker
	scene *scene
	// members and lives are written by one release of two: those that are never
	// deleted, and those that are. held is one of the latter, as it was read.
	members, lives release
	held           *nicked
	changes        *repo.Repo[change]
	accounts       *repo.Repo[account]
	store          *idempotency.Store
}

func (s *scene) newActor(n, id int) (*actor, error) {
	worker := s.newWorker(id)
	session, err := s.newSession(worker.clock, id%2 == 0)
	if err != nil {
		return nil, err
	}
	worker.session = session
	a := &actor{worker: worker, scene: s}
	e, err := newEntities(session.table.Consistent())
	if err != nil {
		return nil, err
	}
	a.changes = e.changes
	for _, into := range []*release{&a.members, &a.lives} {
		both, err := newReleases(session.table.Consistent(), into == &a.lives)
		if err != nil {
			return nil, err
		}
		*into = both[id%2]
	}
	if a.accounts, err = repo.New(session.table.Consistent(), accountEntity); err != nil {
		return nil, err
	}
	a.store, err = idempotency.New(session.table, nil)
	// Operations are numbered over all scenes.
	a.op = n * perScene
	return a, err
}

// act does one operation.
func (a *actor) act(ctx context.Context, n int) {
	op := a.op - a.op%perScene + n
	a.op, a.by = op, fmt.Sprintf("w%d-%d", a.id, op)
	a.r = rand.New(rand.NewPCG(a.Seed, 1<<63|uint64(a.id)<<32|uint64(op)))
	switch a.r.IntN(14) {
	case 0, 1, 2:
		a.onMember(ctx, a.r.IntN(len(a.scene.members)))
	case 12, 13:
		a.onMember(ctx, len(a.scene.members)-1)
	case 3, 4, 5:
		a.onAccount(ctx, a.r.IntN(len(a.scene.accounts)))
	case 6, 7:
		a.onLock(ctx)
	case 8, 9:
		a.onCounter(ctx)
	default:
		a.onRequest(ctx)
	}
}

// recorded runs an operation under faults and notes it in a history.
func (a *actor) recorded(ctx context.Context, h *check.History, name string, c check.Call, line []chaos.Kind, run func(context.Context) (check.Entity, error)) check.Outcome {
	end := h.Begin(a.id, c)
	var seen check.Entity
	met, err := a.try(ctx, name, line, func(ctx context.Context) (err error) {
		seen, err = run(ctx)
		return err
	})
	outcome := outcomeOf(err)
	if c.Verb == check.Get && outcome != check.Done && outcome != check.Absent {
		outcome = check.Refused
	} else {
		end(check.Answer{Outcome: outcome, Entity: seen})
	}
	if outcome == check.Refused && len(met) == 0 && !errors.Is(err, table.ErrConflict) && !errors.Is(err, errTaken) {
		a.check(report.Explained, fmt.Errorf("%s: %w", name, err))
	}
	return outcome
}

// outcomeOf says what an error tells of an operation.
func outcomeOf(err error) check.Outcome {
	switch {
	case err == nil:
		return check.Done
	case errors.Is(err, table.ErrOutcomeUnknown):
		return check.Unknown
	case errors.Is(err, errTaken):
		return check.Refused
	case errors.Is(err, table.ErrExists):
		return check.Exists
	case errors.Is(err, table.ErrNotFound):
		return check.Absent
	}
	return check.Refused
}

// errTaken means that a unique value is another entity's.
var errTaken = errors.New("the value is taken")

// linearizable checks all histories of the scene.
func (s *scene) linearizable() {
	const timeout = 20 * time.Second
	histories := map[string]*check.History{"lock": &s.lock, "counter": &s.counter}
	for i := range s.members {
		histories[fmt.Sprintf("member %d", i)] = &s.members[i]
	}
	for i := range s.accounts {
		histories[fmt.Sprintf("account %d", i)] = &s.accounts[i]
	}
	for name, h := range histories {
		if h.Len() < 2 {
			continue
		}
		where, err := fmt.Sprintf("seed %d, %s, %s", s.Seed, s.name, name), h.Linearizable(timeout)
		s.report.Check(report.Linearizable, where, err)
		if h == &s.members[len(s.members)-1] && h.Has(check.Delete) && h.Has(check.Put) {
			s.report.Check(report.Lives, where, err)
		}
	}
}
