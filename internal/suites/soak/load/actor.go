package load

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/suites/soak/chaos"
	"github.com/singletable/singletable/internal/suites/soak/check"
	"github.com/singletable/singletable/internal/suites/soak/report"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// account is an entity of a single item. Its handle is unique by an item that
// reserves it.
type account struct {
	ID      string `dynamodbav:"id"`
	Handle  string `dynamodbav:"handle,omitempty"`
	By      string `dynamodbav:"by"`
	Version int64  `dynamodbav:"version"`
}

const (
	accountPrefix keys.Prefix = "ACCOUNT"
	handlePrefix  keys.Prefix = "HANDLE"
	lockPrefix    keys.Prefix = "LOCK"
	countPrefix   keys.Prefix = "COUNT"
)

func accountKey(id string) keys.Key { return keys.Key{PK: accountPrefix.PK(id), SK: keys.Metadata} }
func handleKey(handle string) keys.Key {
	return keys.Key{PK: handlePrefix.PK(handle), SK: keys.Metadata}
}

var accountEntity = repo.Entity[account]{
	Type: "ACCOUNT", Key: func(a account) keys.Key { return accountKey(a.ID) }, Version: "version", VersionFromOne: true,
}

// reservation is the item that reserves a handle.
type reservation struct {
	Owner string `dynamodbav:"owner"`
}

func (s *scene) memberID(i int) string  { return fmt.Sprintf("%s-m%d", s.name, i) }
func (s *scene) nick(i int) string      { return fmt.Sprintf("%s-n%d", s.name, i) }
func (s *scene) accountID(i int) string { return fmt.Sprintf("%s-a%d", s.name, i) }
func (s *scene) lockKey() keys.Key {
	return keys.Key{PK: lockPrefix.PK(s.name), SK: keys.Metadata}
}

func (s *scene) counterKey(name string) keys.Key {
	return keys.Key{PK: countPrefix.PK(s.name, name), SK: keys.Metadata}
}

func (s *scene) receiptKey(name, id string) keys.Key {
	return keys.Key{PK: countPrefix.PK(s.name, name), SK: keys.Tx.SK(keys.Str(id))}
}

// deleted reports whether the member is one that is deleted and re-created.
func (s *scene) deleted(i int) bool { return i == len(s.members)-1 }

// onMember reads or writes one of the members.
func (a *actor) onMember(ctx context.Context, i int) {
	n := nicked{member: member{
		ID: a.scene.memberID(i), Team: a.scene.name, By: a.by,
		Email: fmt.Sprintf("%d@%s", a.r.IntN(sceneEmails), a.scene.name),
	}}
	h, key, line, members := &a.scene.members[i], memberKey(n.ID), a.faults(), a.members
	deleted := a.scene.deleted(i)
	if deleted {
		// No nick: the old release would leave the copy behind.
		members = a.lives
	} else if nick := a.r.IntN(sceneNicks + 1); nick < sceneNicks {
		n.Nick = a.scene.nick(nick)
	}
	verb := a.r.IntN(6)
	switch {
	case verb < 2:
		a.recorded(ctx, h, "repo Get", check.Call{Verb: check.Get}, line, func(ctx context.Context) (check.Entity, error) {
			got, err := members.get(ctx, key)
			if deleted && err == nil {
				a.held = &got
			}
			return check.Entity{Exists: true, Version: got.Version, Value: got.By}, err
		})
	case verb == 2 && deleted:
		a.recorded(ctx, h, "repo Delete", check.Call{Verb: check.Delete}, line, func(ctx context.Context) (check.Entity, error) {
			return check.Entity{}, members.delete(ctx, key)
		})
	case verb <= 3:
		ops, version := members.createOps(n)
		if !deleted {
			ops = append(ops, a.changes.CreateOps(a.change(n, 1))...)
		}
		call := check.Call{Verb: check.Create, Value: a.by, Version: version}
		a.recorded(ctx, h, "Transact of repo CreateOps", call, line, func(ctx context.Context) (check.Entity, error) {
			return check.Entity{}, taken(a.table.Transact(ctx, ops...), "MEMBER")
		})
	case verb == 4 && a.held != nil && deleted:
		a.putHeld(ctx, h, line)
	default:
		a.recorded(ctx, h, "repo UpdateWith", check.Call{Verb: check.Update, Value: a.by}, line, func(ctx context.Context) (check.Entity, error) {
			got, err := members.updateWith(ctx, key, func(v *nicked) ([]table.Op, error) {
				v.Email, v.By, v.Nick = n.Email, n.By, n.Nick
				if deleted {
					return nil, nil
				}
				return a.changes.CreateOps(a.change(n, v.Version+1)), nil
			})
			return check.Entity{Version: got.Version}, taken(err, "MEMBER")
		})
	}
}

// change returns what is kept of a version of a member.
func (a *actor) change(n nicked, version int64) *change {
	c := &change{ID: n.ID, Of: version, By: a.by, Release: a.members.number()}
	if c.Release > 1 {
		c.Nick = n.Nick
	}
	return c
}

// putHeld writes a member as it was read some time ago. It may have been deleted
// and re-created since.
func (a *actor) putHeld(ctx context.Context, h *check.History, line []chaos.Kind) {
	n := *a.held
	call := check.Call{Verb: check.Put, Value: a.by, Version: n.Version, Was: n.By}
	n.By = a.by
	name, put := "repo Put", func(ctx context.Context) error { return a.lives.put(ctx, n) }
	if a.r.IntN(2) == 0 {
		name, put = "Transact of repo UpdateOps", func(ctx context.Context) error {
			return a.table.Transact(ctx, a.lives.updateOps(*a.held, n)...)
		}
	}
	a.recorded(ctx, h, name, call, line, func(ctx context.Context) (check.Entity, error) {
		return check.Entity{}, put(ctx)
	})
}

// taken tells the refusal of a unique value from that of the entity itself,
// whose op has the name.
func taken(err error, name string) error {
	if !errors.Is(err, table.ErrExists) {
		return err
	}
	if _, own := table.FailedOp(err, name); own {
		return err
	}
	return fmt.Errorf("%w: %w", errTaken, err)
}

// onAccount reads or writes one of the accounts.
func (a *actor) onAccount(ctx context.Context, i int) {
	v := account{ID: a.scene.accountID(i), By: a.by}
	h, key, line := &a.scene.accounts[i], accountKey(v.ID), a.faults()
	handle := fmt.Sprintf("%s-%d", a.scene.name, a.r.IntN(sceneHandles))
	switch a.r.IntN(6) {
	case 0, 1:
		a.recorded(ctx, h, "repo Get", check.Call{Verb: check.Get}, line, func(ctx context.Context) (check.Entity, error) {
			got, err := a.accounts.Get(ctx, key)
			return check.Entity{Exists: true, Version: got.Version, Value: got.By}, err
		})
	case 2:
		a.recorded(ctx, h, "repo Create", check.Call{Verb: check.Create, Value: a.by}, line, func(ctx context.Context) (check.Entity, error) {
			return check.Entity{}, a.accounts.Create(ctx, new(v))
		})
	case 3:
		// Over no version but the first, or the put would let go of a handle
		// without its reservation.
		a.recorded(ctx, h, "repo Put", check.Call{Verb: check.Put, Value: a.by, Version: v.Version}, line, func(ctx context.Context) (check.Entity, error) {
			return check.Entity{}, a.accounts.Put(ctx, new(v))
		})
	case 4:
		a.recorded(ctx, h, "repo Update", check.Call{Verb: check.Update, Value: a.by}, line, func(ctx context.Context) (check.Entity, error) {
			got, err := a.accounts.Update(ctx, key, func(v *account) error { v.By = a.by; return nil })
			return check.Entity{Version: got.Version}, err
		})
	default:
		a.recorded(ctx, h, "repo UpdateWith", check.Call{Verb: check.Update, Value: a.by}, line, func(ctx context.Context) (check.Entity, error) {
			got, err := a.accounts.UpdateWith(ctx, key, func(v *account) ([]table.Op, error) {
				ops := reserve(v, handle)
				v.By = a.by
				return ops, nil
			})
			return check.Entity{Version: got.Version}, taken(err, "ACCOUNT")
		})
	}
}

// reserve gives an account a handle and returns the ops that reserve it, and let
// go of the old one.
func reserve(v *account, handle string) []table.Op {
	old := v.Handle
	v.Handle = handle
	if old == handle {
		return nil
	}
	ops := []table.Op{table.Create(handleKey(handle), reservation{v.ID})}
	if old != "" {
		ops = append(ops, table.Delete(handleKey(old)))
	}
	return ops
}

// onLock takes a lock, looks at it or lets it go. Alone, not as a transaction, a
// write whose answer was lost is carried out again, after what others did
// meanwhile; there only faults before the engine are let in.
func (a *actor) onLock(ctx context.Context) {
	key, line := a.scene.lockKey(), a.faults()
	run := func(ctx context.Context, op table.Op) error { return a.table.Transact(ctx, op) }
	if a.r.IntN(3) == 0 {
		run, line = a.table.Do, harmless(line)
	}
	switch a.r.IntN(3) {
	case 0:
		a.recorded(ctx, &a.scene.lock, "Create", check.Call{Verb: check.Create, Value: a.by}, line, func(ctx context.Context) (check.Entity, error) {
			return check.Entity{}, run(ctx, table.Create(key, doc{By: a.by}))
		})
	case 1:
		a.recorded(ctx, &a.scene.lock, "Delete", check.Call{Verb: check.Delete}, line, func(ctx context.Context) (check.Entity, error) {
			return check.Entity{}, run(ctx, table.Delete(key))
		})
	default:
		a.recorded(ctx, &a.scene.lock, "Get", check.Call{Verb: check.Get}, line, func(ctx context.Context) (check.Entity, error) {
			d, err := table.Get[doc](ctx, a.table.Consistent(), key)
			return check.Entity{Exists: true, Version: 1, Value: d.By}, err
		})
	}
}

// harmless keeps the faults that befall a request before the engine has it.
func harmless(line []chaos.Kind) []chaos.Kind {
	var kept []chaos.Kind
	for _, k := range line {
		switch k {
		case chaos.Reset, chaos.ErrorBefore, chaos.Throttled, chaos.Conflict, chaos.Slow, chaos.Pass:
			kept = append(kept, k)
		}
	}
	return kept
}

// onCounter adds to the counter, with a receipt, or reads it.
func (a *actor) onCounter(ctx context.Context) {
	s, line, n := a.scene, a.faults(), 1+a.r.Int64N(3)
	key := s.counterKey("plain")
	if a.r.IntN(3) == 0 {
		a.recorded(ctx, &s.counter, "Get", check.Call{Verb: check.Get}, line, func(ctx context.Context) (check.Entity, error) {
			d, err := table.Get[doc](ctx, a.table.Consistent(), key)
			return check.Entity{Exists: true, N: d.N}, err
		})
		return
	}
	outcome := a.recorded(ctx, &s.counter, "Transact", check.Call{Verb: check.Add, N: n}, line, func(ctx context.Context) (check.Entity, error) {
		return check.Entity{}, a.table.Transact(ctx,
			table.Update(key, expression.Add(expression.Name("n"), expression.Value(n))),
			table.Create(s.receiptKey("plain", a.by), doc{N: n}))
	})
	if outcome != check.Unknown {
		s.told(note{Receipt: a.by, Written: outcome == check.Done})
	}
}

// onRequest asks for something that others ask for too.
func (a *actor) onRequest(ctx context.Context) {
	s := a.scene
	key := fmt.Sprintf("r%d", a.r.IntN(sceneRequests))
	var answer string
	met, err := a.try(ctx, "idempotency Do", a.faults(), func(ctx context.Context) (err error) {
		answer, err = s.request(ctx, a.store, key, a.by)
		return err
	})
	if err == nil {
		s.told(note{Request: key, Answer: answer})
	} else if len(met) == 0 {
		a.check(report.Explained, fmt.Errorf("idempotency Do: %w", err))
	}
}

// request carries out a request once: it counts it and writes a receipt that is
// named by the one who asks.
func (s *scene) request(ctx context.Context, store *idempotency.Store, key, by string) (string, error) {
	r := idempotency.Request{Scope: s.name, Key: key, Payload: key}
	result, err := idempotency.Do(ctx, store, r, func(context.Context) (idempotency.Plan[string], error) {
		return idempotency.Snapshot(strings.ToUpper(by),
			table.Update(s.counterKey(key), expression.Add(expression.Name("n"), expression.Value(1))),
			table.Create(s.receiptKey(key, by), doc{N: 1})), nil
	})
	return result.Value, err
}
