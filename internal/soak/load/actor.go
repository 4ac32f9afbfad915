package load

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/soak/chaos"
	"github.com/singletable/singletable/internal/soak/check"
	"github.com/singletable/singletable/internal/soak/report"
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

// deleted reports whether the member is one that is created and deleted.
func (s *scene) deleted(i int) bool { return i == len(s.members)-1 }

// onMember reads or writes one of the members.
func (a *actor) onMember(ctx context.Context, i int) {
	m := member{
		ID: a.scene.memberID(i), Team: a.scene.name, By: a.by,
		Email: fmt.Sprintf("%d@%s", a.r.IntN(sceneEmails), a.scene.name),
	}
	if a.scene.deleted(i) {
		// It always has the same e-mail: a member that is created anew begins at
		// version 1 again, so that who has read the former one takes it for that,
		// and would leave a copy with another key behind.
		m.Email = fmt.Sprintf("%d@%s", i%sceneEmails, a.scene.name)
	}
	h, key, line := &a.scene.members[i], memberKey(m.ID), a.faults()
	switch a.r.IntN(6) {
	case 0, 1:
		a.recorded(ctx, h, "repo Get", check.Call{Verb: check.Get}, line, func(ctx context.Context) (check.Entity, error) {
			m, err := a.members.Get(ctx, key)
			return check.Entity{Exists: true, Version: m.Version, Value: m.By}, err
		})
	case 2:
		if a.scene.deleted(i) {
			a.recorded(ctx, h, "repo Delete", check.Call{Verb: check.Delete}, line, func(ctx context.Context) (check.Entity, error) {
				return check.Entity{}, a.members.Delete(ctx, key)
			})
			return
		}
		fallthrough
	case 3:
		a.recorded(ctx, h, "Transact of repo CreateOps", check.Call{Verb: check.Create, Value: a.by}, line, func(ctx context.Context) (check.Entity, error) {
			ops := a.members.CreateOps(new(m))
			if !a.scene.deleted(i) {
				ops = append(ops, a.changes.CreateOps(new(change{ID: m.ID, Of: 1, By: a.by}))...)
			}
			return check.Entity{}, taken(a.table.Transact(ctx, ops...), "MEMBER")
		})
	default:
		a.recorded(ctx, h, "repo UpdateWith", check.Call{Verb: check.Update, Value: a.by}, line, func(ctx context.Context) (check.Entity, error) {
			got, err := a.members.UpdateWith(ctx, key, func(v *member) ([]table.Op, error) {
				v.Email, v.By = m.Email, m.By
				if a.scene.deleted(i) {
					return nil, nil
				}
				return a.changes.CreateOps(new(change{ID: v.ID, Of: v.Version + 1, By: a.by})), nil
			})
			return check.Entity{Version: got.Version}, taken(err, "MEMBER")
		})
	}
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
