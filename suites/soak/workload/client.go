package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// account is an entity of a single item, which is written without a transaction.
type account struct {
	ID      string `dynamodbav:"id"`
	By      string `dynamodbav:"by"`
	Version int64  `dynamodbav:"version"`
}

const (
	accountPrefix keys.Prefix = "ACCOUNT"
	lockPrefix    keys.Prefix = "LOCK"
	countPrefix   keys.Prefix = "COUNT"
)

func accountKey(id string) keys.Key { return keys.Key{PK: accountPrefix.PK(id), SK: keys.Metadata} }

var accountEntity = repo.Entity[account]{
	Type: "ACCOUNT", Key: func(a account) keys.Key { return accountKey(a.ID) }, Version: "version",
}

func (s *round) memberID(i int) string  { return fmt.Sprintf("%s-m%d", s.name, i) }
func (s *round) nick(i int) string      { return fmt.Sprintf("%s-n%d", s.name, i) }
func (s *round) accountID(i int) string { return fmt.Sprintf("%s-a%d", s.name, i) }
func (s *round) lockKey() keys.Key {
	return keys.Key{PK: lockPrefix.PK(s.name), SK: keys.Metadata}
}

func (s *round) counterKey(name string) keys.Key {
	return keys.Key{PK: countPrefix.PK(s.name, name), SK: keys.Metadata}
}

func (s *round) receiptKey(name, id string) keys.Key {
	return keys.Key{PK: countPrefix.PK(s.name, name), SK: keys.Tx.SK(keys.Str(id))}
}

// maxFirst bounds the number that the writes of a life are counted from.
const maxFirst = 1 << 52

// deleted reports whether the member is one that is deleted and re-created.
func (s *round) deleted(i int) bool { return i == len(s.members)-1 }

// onMember reads or writes one of the members.
func (a *client) onMember(ctx context.Context, i int) {
	n := nicked{member: member{
		ID: a.round.memberID(i), Team: a.round.name, By: a.by,
		Email: fmt.Sprintf("%d@%s", a.r.IntN(roundEmails), a.round.name),
	}}
	h, key, script, members := &a.round.members[i], memberKey(n.ID), a.faults(), a.members
	deleted := a.round.deleted(i)
	if deleted {
		// No nick: the old release would leave the copy behind.
		members = a.lives
	} else if nick := a.r.IntN(roundNicks + 1); nick < roundNicks {
		n.Nick = a.round.nick(nick)
	}
	verb := a.r.IntN(6)
	switch {
	case verb < 2:
		a.record(ctx, h, "repo Get", checker.Call{Verb: checker.Get}, script, func(ctx context.Context) (checker.Entity, error) {
			got, err := members.get(ctx, key)
			if deleted && err == nil {
				a.held = &got
			}
			return checker.Entity{Exists: true, Version: got.Version, Value: got.By}, err
		})
	case verb == 2 && deleted:
		a.record(ctx, h, "repo Delete", checker.Call{Verb: checker.Delete}, script, func(ctx context.Context) (checker.Entity, error) {
			return checker.Entity{}, members.delete(ctx, key)
		})
	case verb <= 3:
		if deleted {
			n.Version = 1 + a.r.Int64N(maxFirst)
		}
		ops := members.createOps(n)
		if !deleted {
			ops = append(ops, a.changes.CreateOps(a.change(n, 1))...)
		}
		call := checker.Call{Verb: checker.Create, Value: a.by, Version: n.Version} // or 1
		a.record(ctx, h, "Transact of repo CreateOps", call, script, func(ctx context.Context) (checker.Entity, error) {
			return checker.Entity{}, taken(a.table.Transact(ctx, ops...))
		})
	case verb == 4 && a.held != nil && deleted:
		a.putHeld(ctx, h, script)
	default:
		a.record(ctx, h, "repo UpdateWith", checker.Call{Verb: checker.Update, Value: a.by}, script, func(ctx context.Context) (checker.Entity, error) {
			got, err := members.updateWith(ctx, key, func(v *nicked) ([]table.Op, error) {
				v.Email, v.By, v.Nick = n.Email, n.By, n.Nick
				if deleted {
					v.Version++
					return nil, nil
				}
				return a.changes.CreateOps(a.change(n, v.Version+1)), nil
			})
			return checker.Entity{Version: got.Version}, taken(err)
		})
	}
}

// change returns what is kept of a version of a member.
func (a *client) change(n nicked, version int64) *change {
	c := &change{ID: n.ID, Of: version, By: a.by, Release: a.members.number()}
	if c.Release > 1 {
		c.Nick = n.Nick
	}
	return c
}

// putHeld writes a member as it was read some time ago. It may have been deleted
// and re-created since.
func (a *client) putHeld(ctx context.Context, h *checker.History, script []nemesis.Fault) {
	n := *a.held
	call := checker.Call{Verb: checker.Put, Value: a.by, Version: n.Version, Was: n.By}
	n.By, n.Version = a.by, n.Version+1
	name, put := "repo Save", func(ctx context.Context) error { return a.lives.put(ctx, n) }
	if a.r.IntN(2) == 0 {
		name, put = "Transact of repo UpdateOps", func(ctx context.Context) error {
			err := a.table.Transact(ctx, a.lives.updateOps(*a.held, n)...)
			if errors.Is(err, table.ErrNewerShape) && a.lives.number() < 3 { // n lacks what the item has
				return fmt.Errorf("%w: %w", errTaken, err)
			}
			return err
		}
	}
	a.record(ctx, h, name, call, script, func(ctx context.Context) (checker.Entity, error) {
		return checker.Entity{}, put(ctx)
	})
}

// taken tells the refusal of a member's unique value from that of the member itself.
func taken(err error) error {
	if !errors.Is(err, table.ErrExists) {
		return err
	}
	if _, own := table.FailedOp(err, memberType); own {
		return err
	}
	return fmt.Errorf("%w: %w", errTaken, err)
}

// onAccount reads or writes one of the accounts.
func (a *client) onAccount(ctx context.Context, i int) {
	v := account{ID: a.round.accountID(i), By: a.by}
	h, key, script := &a.round.accounts[i], accountKey(v.ID), a.faults()
	switch a.r.IntN(6) {
	case 0, 1:
		a.record(ctx, h, "repo Get", checker.Call{Verb: checker.Get}, script, func(ctx context.Context) (checker.Entity, error) {
			got, err := a.accounts.Get(ctx, key)
			if err == nil {
				a.seen[i] = got
			}
			return checker.Entity{Exists: true, Version: got.Version, Value: got.By}, err
		})
	case 2:
		a.record(ctx, h, "repo Create", checker.Call{Verb: checker.Create, Value: a.by}, script, func(ctx context.Context) (checker.Entity, error) {
			return checker.Entity{}, a.accounts.Create(ctx, new(v))
		})
	case 3:
		v.Version = a.seen[i].Version
		call := checker.Call{Verb: checker.Put, Value: a.by, Version: v.Version, Was: a.seen[i].By}
		a.record(ctx, h, "repo Save", call, script, func(ctx context.Context) (checker.Entity, error) {
			return checker.Entity{}, a.accounts.Save(ctx, new(v))
		})
	default:
		a.record(ctx, h, "repo Update", checker.Call{Verb: checker.Update, Value: a.by}, script, func(ctx context.Context) (checker.Entity, error) {
			got, err := a.accounts.Update(ctx, key, func(v *account) error { v.By = a.by; return nil })
			return checker.Entity{Version: got.Version}, err
		})
	}
}

// onLock takes a lock, looks at it or lets it go. Alone, not as a transaction,
// a write whose response was lost is executed again, after concurrent writes of
// others; there only faults before the engine are let in.
func (a *client) onLock(ctx context.Context) {
	key, script := a.round.lockKey(), a.faults()
	run := func(ctx context.Context, op table.Op) error { return a.table.Transact(ctx, op) }
	if a.r.IntN(3) == 0 {
		run, script = a.table.Do, harmless(script)
	}
	switch a.r.IntN(3) {
	case 0:
		a.record(ctx, &a.round.lock, "Create", checker.Call{Verb: checker.Create, Value: a.by}, script, func(ctx context.Context) (checker.Entity, error) {
			return checker.Entity{}, run(ctx, table.Create(key, doc{By: a.by}))
		})
	case 1:
		a.record(ctx, &a.round.lock, "Delete", checker.Call{Verb: checker.Delete}, script, func(ctx context.Context) (checker.Entity, error) {
			return checker.Entity{}, run(ctx, table.Delete(key))
		})
	default:
		a.record(ctx, &a.round.lock, "Get", checker.Call{Verb: checker.Get}, script, func(ctx context.Context) (checker.Entity, error) {
			d, err := table.Get[doc](ctx, a.table.Consistent(), key)
			return checker.Entity{Exists: true, Version: 1, Value: d.By}, err
		})
	}
}

// harmless keeps the faults that befall a request before the engine has it.
func harmless(script []nemesis.Fault) []nemesis.Fault {
	var kept []nemesis.Fault
	for _, k := range script {
		switch k {
		case nemesis.Reset, nemesis.ErrorBefore, nemesis.Throttled, nemesis.Conflict, nemesis.Slow, nemesis.Pass:
			kept = append(kept, k)
		}
	}
	return kept
}

// onCounter adds to the counter, with a receipt, or reads it.
func (a *client) onCounter(ctx context.Context) {
	s, script, n := a.round, a.faults(), 1+a.r.Int64N(3)
	key := s.counterKey("plain")
	if a.r.IntN(3) == 0 {
		a.record(ctx, &s.counter, "Get", checker.Call{Verb: checker.Get}, script, func(ctx context.Context) (checker.Entity, error) {
			d, err := table.Get[doc](ctx, a.table.Consistent(), key)
			return checker.Entity{Exists: true, N: d.N}, err
		})
		return
	}
	outcome := a.record(ctx, &s.counter, "Transact", checker.Call{Verb: checker.Add, N: n}, script, func(ctx context.Context) (checker.Entity, error) {
		return checker.Entity{}, a.table.Transact(ctx,
			table.Update(key, expression.Add(expression.Name("n"), expression.Value(n))),
			table.Create(s.receiptKey("plain", a.by), doc{N: n}))
	})
	if outcome != checker.Unknown {
		s.told(note{Receipt: a.by, Written: outcome == checker.Done})
	}
}

// onRequest asks for something that others ask for too.
func (a *client) onRequest(ctx context.Context) {
	s := a.round
	key := fmt.Sprintf("r%d", a.r.IntN(roundRequests))
	var result string
	met, err := a.try(ctx, "idempotency Do", a.faults(), func(ctx context.Context) (err error) {
		result, err = s.request(ctx, a.store, key, a.by)
		return err
	})
	if err == nil {
		s.told(note{Request: key, Result: result})
	} else if len(met) == 0 {
		a.check(report.Explained, fmt.Errorf("idempotency Do: %w", err))
	}
}

// request executes a request once: it counts it and writes a receipt under the
// caller's name.
func (s *round) request(ctx context.Context, store *idempotency.Store, key, by string) (string, error) {
	r := idempotency.Request{Scope: s.name, Key: key, Payload: idempotency.JSON(key)}
	result, err := idempotency.Do(ctx, store, r, func(context.Context) (idempotency.Plan[string], error) {
		return idempotency.Snapshot(strings.ToUpper(by),
			table.Update(s.counterKey(key), expression.Add(expression.Name("n"), expression.Value(1))),
			table.Create(s.receiptKey(key, by), doc{N: 1})), nil
	})
	return result.Value, err
}
