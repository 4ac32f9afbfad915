package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// round is a few entities that all workers write at the same time, for a while.
// Then everybody stops and the round is looked at.
type round struct {
	*world
	name string

	// members keep a change for each version, and are never deleted; the last of
	// them is deleted and re-created, and keeps none.
	members [3]checker.History
	// accounts are single items under a version.
	accounts [2]checker.History
	lock     checker.History
	counter  checker.History

	// told is called for each [note].
	told func(note)

	mu           sync.Mutex
	acknowledged []string // receipts
	refused      []string
	results      map[string][]string // of requests
}

// note is something that a client of the round was told, and may rely on: that a
// receipt was written or refused, or what the result to a request is.
type note struct {
	Receipt string
	Written bool
	Request string
	Result  string
}

// keep keeps a note for the inspection.
func (s *round) keep(n note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n.Request != "":
		s.results[n.Request] = append(s.results[n.Request], n.Result)
	case n.Written:
		s.acknowledged = append(s.acknowledged, n.Receipt)
	default:
		s.refused = append(s.refused, n.Receipt)
	}
}

func (w *world) newRound(name string) *round {
	s := &round{world: w, name: name, results: map[string][]string{}}
	s.told = s.keep
	return s
}

const (
	perRound      = 30 // operations of a worker
	roundEmails   = 3
	roundNicks    = 3
	roundRequests = 2
)

// sharedPhase has all workers write the same entities.
func (w *world) sharedPhase(ctx context.Context, b budget) error {
	for n := 0; b.left(n*perRound) && ctx.Err() == nil; n++ {
		if _, err := w.sharedRound(ctx, fmt.Sprintf("s%d", n), n); err != nil {
			return err
		}
	}
	return nil
}

// sharedRound has all workers write one round, and checks it.
func (w *world) sharedRound(ctx context.Context, name string, n int) (*round, error) {
	s := w.newRound(name)
	err := w.parallel(w.Workers, func(id int) error {
		a, err := s.newClient(n, id)
		if err != nil {
			return err
		}
		for op := range perRound {
			a.act(ctx, op)
		}
		return nil
	})
	if err == nil {
		err = s.inspect(ctx)
		s.linearizable()
	}
	if err != nil {
		return nil, fmt.Errorf("seed %d, round %d: %w", w.Seed, n, err)
	}
	return s, nil
}

// client is a worker in a round.
type client struct {
	*worker
	round *round
	first int // operation
	// members and lives are written by one release of three: those that are never
	// deleted, and those that are. held is one of the latter, as it was read.
	members, lives release
	held           *nicked
	changes        *repo.Repo[change]
	accounts       *repo.Repo[account]
	halls          *repo.Repo[hall]
	seats          *repo.Repo[seat]
	seen           [2]account // as they were read last
	store          *idempotency.Store
}

func (s *round) newClient(n, id int) (*client, error) {
	// Operations are numbered over all rounds.
	a := &client{worker: s.newWorker(id), round: s, first: n * perRound}
	a.lot = 1 << 63
	if err := a.renew(id); err != nil {
		return nil, err
	}
	t := a.table.Consistent()
	for _, into := range []*release{&a.members, &a.lives} {
		all, err := newReleases(t, into == &a.lives)
		if err != nil {
			return nil, err
		}
		*into = all[id%len(all)]
	}
	var errs [5]error
	a.changes, errs[0] = repo.New(t, changeEntity)
	a.accounts, errs[1] = repo.New(t, accountEntity)
	a.store, errs[2] = idempotency.New(a.table, nil)
	a.halls, errs[3] = repo.New(t, hallEntity)
	a.seats, errs[4] = repo.New(t, seatEntity)
	return a, errors.Join(errs[:]...)
}

// act does one operation.
func (a *client) act(ctx context.Context, n int) {
	a.draw(a.first + n)
	switch a.r.IntN(14) {
	case 0, 1, 2:
		a.onMember(ctx, a.r.IntN(len(a.round.members)))
	case 12, 13:
		a.onMember(ctx, len(a.round.members)-1)
	case 3, 4, 5:
		a.onAccount(ctx, a.r.IntN(len(a.round.accounts)))
	case 6, 7:
		a.onLock(ctx)
	case 8, 9:
		a.onCounter(ctx)
	default:
		a.onRequest(ctx)
	}
	if n%3 == 0 {
		a.onSeat(ctx)
	}
}

// record runs an operation under faults and notes it in a history.
func (a *client) record(ctx context.Context, h *checker.History, name string, c checker.Call, script []nemesis.Fault, run func(context.Context) (checker.Entity, error)) checker.Outcome {
	end := h.Begin(a.id, c)
	var seen checker.Entity
	met, err := a.try(ctx, name, script, func(ctx context.Context) (err error) {
		seen, err = run(ctx)
		return err
	})
	outcome := outcomeOf(err)
	if c.Verb == checker.Get && outcome != checker.Done && outcome != checker.Missing {
		outcome = checker.Refused
	} else {
		end(checker.Response{Outcome: outcome, Entity: seen})
	}
	if outcome == checker.Refused && len(met) == 0 && !errors.Is(err, table.ErrConflict) && !errors.Is(err, errTaken) {
		a.check(report.Explained, fmt.Errorf("%s: %w", name, err))
	}
	return outcome
}

// outcomeOf says what an error tells of an operation.
func outcomeOf(err error) checker.Outcome {
	switch {
	case err == nil:
		return checker.Done
	case errors.Is(err, table.ErrOutcomeUnknown):
		return checker.Unknown
	case errors.Is(err, errTaken):
		return checker.Refused
	case errors.Is(err, table.ErrExists):
		return checker.Exists
	case errors.Is(err, table.ErrNotFound):
		return checker.Missing
	}
	return checker.Refused
}

// errTaken means that a unique value is another entity's.
var errTaken = errors.New("the value is taken")

// linearizable checks all histories of the round.
func (s *round) linearizable() {
	const timeout = 20 * time.Second
	histories := map[string]*checker.History{"lock": &s.lock, "counter": &s.counter}
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
		if h == &s.members[len(s.members)-1] && h.Has(checker.Delete) && h.Has(checker.Put) {
			s.report.Check(report.Lives, where, err)
		}
	}
}
