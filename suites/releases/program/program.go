// Package program does what a test asks for with the entities of package released. It compiles
// with 0.1.0-rc.1 and with this release; what these name differently comes from the caller.
package program

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/released"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/lease"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// Value is an entity of any type.
type Value = released.Boxed

// Call is an operation on an entity.
type Call struct {
	Verb string
	// Of is the type of the entity, with " before" behind it for the program before the upgrade.
	Of string
	// ID is its id; of a claim, the alias; of once, the idempotency key; and the name of a lease.
	ID string
	// Old is the value as it was read, and New the one to write.
	Old, New Value
	Work     Work
}

// Response is what came of it.
type Response struct {
	Value Value
	// Err is the class of the error, or its text.
	Err string
	// Again is set if once has found the record of an earlier request.
	Again bool
	Work  Outcomes
}

// Repo is what both releases' repositories can do.
type Repo[T any] interface {
	Get(ctx context.Context, key keys.Key) (T, error)
	GetByClaim(ctx context.Context, key keys.Key) (T, error)
	Create(ctx context.Context, v *T) error
	CreateOps(v *T) []table.Op
	Update(ctx context.Context, key keys.Key, change func(*T) error) (T, error)
	UpdateOps(old T, v *T) []table.Op
	Delete(ctx context.Context, key keys.Key) error
	DeleteOps(v T) []table.Op
	Refresh(ctx context.Context, key keys.Key) (bool, error)
	// Save is Put in 0.1.0-rc.1.
	Save(ctx context.Context, v *T) error
	// Count is an Upsert that adds 1 to n.
	Count(ctx context.Context, v T) (T, error)
}

// Program is one release.
type Program struct {
	table    *table.Table
	entities map[string]entities
	leases   map[string]*lease.Lease // that are held, by name
	// Once runs a plan once for a key and a payload.
	Once func(ctx context.Context, key, payload string, plan func(context.Context) (idempotency.Plan[Value], error)) (idempotency.Result[Value], error)
}

// entities does calls on entities of one type.
type entities interface {
	do(ctx context.Context, t *table.Table, c Call) (Value, error)
	createOps(v *Value) []table.Op
}

// New returns the program of a release, whose repositories are made by docs and boxes. It has
// those of all types, and further ones for what it alone can describe.
func New(
	t *table.Table,
	docs func(repo.Entity[released.Doc]) (Repo[released.Doc], error),
	boxes func(repo.Entity[Value]) (Repo[Value], error),
) (*Program, error) {
	p := &Program{table: t, entities: map[string]entities{}, leases: map[string]*lease.Lease{}}
	for _, of := range []string{released.Plain, released.Tally, released.Counted, released.Revised, released.Moving} {
		r, err := docs(released.Docs(of))
		if err != nil {
			return nil, err
		}
		p.Add(of, of, r)
	}
	moved, err := docs(released.Moved())
	if err != nil {
		return nil, err
	}
	p.Add(released.Moving+" moved", released.Moving, moved)
	for _, of := range []string{released.Grown, released.Shaped, released.Sealed} {
		before, err := docs(released.Docs(of))
		if err != nil {
			return nil, err
		}
		p.Add(of+" before", of, before)
		after, err := boxes(released.Upgraded(of))
		if err != nil {
			return nil, err
		}
		p.entities[of] = entitiesOf[Value]{of, after, func(v Value) Value { return v }, func(v Value) Value { return v }}
	}
	return p, nil
}

// Add gives the program a repository of a type, under a name that calls use.
func (p *Program) Add(name, of string, r Repo[released.Doc]) {
	p.entities[name] = entitiesOf[released.Doc]{of, r, func(v Value) released.Doc { return v.Doc }, func(d released.Doc) Value { return Value{Doc: d} }}
}

// Do does a call.
func (p *Program) Do(ctx context.Context, c Call) (r Response) {
	var err error
	switch c.Verb {
	case "once":
		r.Value, r.Again, err = p.once(ctx, c)
	case "acquire":
		err = p.acquire(ctx, c.ID)
	case "release":
		err = p.leases[c.ID].Release(ctx)
	case "work":
		r.Work, err = p.work(ctx, c.Work)
	default:
		r.Value, err = p.entities[c.Of].do(ctx, p.table, c)
	}
	r.Err = class(err)
	return r
}

// once creates an entity of a drawn id, once for the call's ID. The payload is New.Email.
func (p *Program) once(ctx context.Context, c Call) (Value, bool, error) {
	result, err := p.Once(ctx, c.ID, c.New.Email, func(context.Context) (idempotency.Plan[Value], error) {
		v := Value{Doc: released.Doc{ID: c.ID + "-" + rand.Text()}}
		return idempotency.Snapshot(v, p.entities[c.Of].createOps(&v)...), nil
	})
	return result.Value, result.Replayed, err
}

func (p *Program) acquire(ctx context.Context, name string) error {
	lock, err := lease.New(p.table, keys.Key{PK: "LEASE", SK: keys.SK(name)}, nil)
	if err != nil {
		return err
	}
	p.leases[name], err = lock.Acquire(ctx)
	return err
}

type entitiesOf[T any] struct {
	of   string
	repo Repo[T]
	to   func(Value) T
	from func(T) Value
}

func (e entitiesOf[T]) createOps(v *Value) []table.Op {
	of := e.to(*v)
	ops := e.repo.CreateOps(&of)
	*v = e.from(of)
	return ops
}

func (e entitiesOf[T]) do(ctx context.Context, t *table.Table, c Call) (Value, error) {
	v, key := e.to(c.New), released.Key(e.of, c.ID)
	var err error
	switch c.Verb {
	case "get":
		v, err = e.repo.Get(ctx, key)
	case "claimed":
		v, err = e.repo.GetByClaim(ctx, released.AliasKey(e.of, c.ID))
	case "create":
		err = e.repo.Create(ctx, &v)
	case "save":
		err = e.repo.Save(ctx, &v)
	case "update": // to all that New has, but for the version
		v, err = e.repo.Update(ctx, key, func(v *T) error {
			is, n := e.from(*v), c.New
			n.Version, n.Revision = is.Version, is.Revision
			*v = e.to(n)
			return nil
		})
	case "add":
		v, err = e.repo.Update(ctx, key, func(v *T) error {
			is := e.from(*v)
			is.N++
			*v = e.to(is)
			return nil
		})
	case "count":
		v, err = e.repo.Count(ctx, v)
	case "updateOps":
		err = t.Transact(ctx, e.repo.UpdateOps(e.to(c.Old), &v)...)
	case "deleteOps":
		err = t.Transact(ctx, e.repo.DeleteOps(e.to(c.Old))...)
	case "delete":
		err = e.repo.Delete(ctx, key)
	case "refresh":
		_, err = e.repo.Refresh(ctx, key)
	default:
		err = fmt.Errorf("no verb %q", c.Verb)
	}
	if err != nil {
		return Value{}, err
	}
	return e.from(v), nil
}

// class names the kind of an error.
func class(err error) string {
	for _, kind := range []struct {
		name string
		err  error
	}{
		{"orphan", repo.ErrOrphan},
		{"newer shape", table.ErrNewerShape},
		{"stale", table.ErrStale},
		{"exists", table.ErrExists},
		{"missing", table.ErrNotFound},
		{"unknown", table.ErrOutcomeUnknown},
		{"conflict", table.ErrConflict},
		{"held", lease.ErrHeld},
		{"another payload", idempotency.ErrPayloadMismatch},
	} {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
