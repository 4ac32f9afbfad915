package schedules_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/internal/warm"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var limit = flag.Int("limit", 6, "how many schedules to run in order, and how many drawn at random, of each protocol and number of faults")

var faults = flag.Int("faults", 2, "how many faults a schedule has at most")

// warmed are the tables of operations: their faults meet requests that are replayed.
var warmed = warm.Tables{Known: true}

func TestMain(m *testing.M) { warm.Main(m, &warmed) }

var spec = schema.Table{Name: "Schedules", TTLAttribute: "expiresAt"}

// person is an entity that has all kinds of guards. A repository uses one.
type person struct {
	ID       string `dynamodbav:"id"`
	Mail     string `dynamodbav:"mail"`
	Name     string `dynamodbav:"name"`
	N        int    `dynamodbav:"n"`
	Revision string `dynamodbav:"revision,omitempty"`
	Version  int64  `dynamodbav:"version,omitempty"`
}

func mainKey(id string) keys.Key { return keys.Key{PK: keys.PK("PERSON#" + id), SK: keys.Metadata} }

func mailKey(mail string) keys.Key { return keys.Key{PK: keys.PK("MAIL#" + mail), SK: keys.Metadata} }

// guards are the kinds of guards that the protocols run with. Copies are those of an entity
// with a revision. A counted entity has copies, too, and a version.
var guards = []string{"revision", "version", "copies", "counted"}

// guarded returns the entity with one kind of guard. Its keys are those of a run, which
// keeps IDs and mails out of the way of other runs.
func guarded(guard, run string) repo.Entity[person] {
	e := repo.Entity[person]{Type: "PERSON", Key: func(p person) keys.Key { return mainKey(run + p.ID) }, Version: guard}
	switch guard {
	case "copies":
		e.Version = "revision"
	case "counted":
		e.Version = "version"
	}
	if e.Version != guard {
		e.Copies = []repo.Copy[person]{{Name: "by mail", Key: func(p person) keys.Key { return mailKey(run + p.Mail) }}}
	}
	return e
}

// actor is one operation of a history. It knows what it has read last.
type actor struct {
	run  string
	repo *repo.Repo[person]
	tbl  *table.Table
	read person
}

// call is one call of a history: as it runs, and what it does to the model.
type call struct {
	run   func(ctx context.Context, a *actor) (person, error)
	model func(s *state, number int) (person, error)
	// repeats says that the call can take effect a second time, if it writes one
	// item: a delayed request of it, which was sent again, arrives when the item
	// was deleted. A transaction has a token, which prevents that.
	repeats bool
}

// returned is a call that has returned.
type returned struct {
	call
	value person
	err   error
}

// state is the model's: people by their id. Each write gives a person a new
// revision.
type state struct {
	people map[string]person
	unique bool // of mails
	writes int
	read   map[int]person // by the number of the operation
}

func (s *state) clone() *state {
	c := *s
	c.people, c.read = maps.Clone(s.people), maps.Clone(s.read)
	return &c
}

// store stores a person, or reports that it has another one's mail.
func (s *state) store(p person) (person, error) {
	for _, other := range s.people {
		if s.unique && other.ID != p.ID && other.Mail == p.Mail {
			return p, table.ErrExists
		}
	}
	s.writes++
	p.Revision = fmt.Sprint(s.writes)
	s.people[p.ID] = p
	return p, nil
}

func get(id string) call {
	return call{
		run: func(ctx context.Context, a *actor) (p person, err error) {
			a.read, err = a.repo.Consistent().Get(ctx, mainKey(a.run+id))
			return a.read, err
		},
		model: func(s *state, number int) (person, error) {
			p, ok := s.people[id]
			if !ok {
				return p, table.ErrNotFound
			}
			s.read[number] = p
			return p, nil
		},
	}
}

func create(p person) call {
	return call{
		run: func(ctx context.Context, a *actor) (person, error) {
			v := p
			err := a.repo.Create(ctx, &v)
			return v, err
		},
		model: func(s *state, _ int) (person, error) {
			if _, ok := s.people[p.ID]; ok {
				return p, table.ErrExists
			}
			return s.store(p)
		},
		repeats: true,
	}
}

func update(id string, change func(*person)) call {
	return call{
		run: func(ctx context.Context, a *actor) (person, error) {
			return a.repo.Update(ctx, mainKey(a.run+id), func(p *person) error { change(p); return nil })
		},
		model: func(s *state, _ int) (person, error) {
			p, ok := s.people[id]
			if !ok {
				return p, table.ErrNotFound
			}
			change(&p)
			if _, taken := s.people[p.ID]; taken && p.ID != id {
				return p, table.ErrExists
			}
			delete(s.people, id)
			return s.store(p)
		},
	}
}

// put stores what was read last, changed.
func put(change func(*person)) call {
	return call{
		run: func(ctx context.Context, a *actor) (person, error) {
			v := a.read
			change(&v)
			err := a.repo.Save(ctx, &v)
			return v, err
		},
		model: func(s *state, number int) (person, error) {
			p := s.read[number]
			if s.people[p.ID].Revision != p.Revision {
				return p, table.ErrStale
			}
			change(&p)
			return s.store(p)
		},
	}
}

func del(id string) call {
	return call{
		run: func(ctx context.Context, a *actor) (person, error) {
			return person{}, a.repo.Delete(ctx, mainKey(a.run+id))
		},
		model: func(s *state, _ int) (person, error) {
			delete(s.people, id)
			return person{}, nil
		},
	}
}

// delRead deletes what was read last.
func delRead() call {
	return call{
		run: func(ctx context.Context, a *actor) (person, error) {
			return person{}, a.tbl.Transact(ctx, a.repo.DeleteOps(a.read)...)
		},
		model: func(s *state, number int) (person, error) {
			p := s.read[number]
			if s.people[p.ID].Revision != p.Revision {
				return p, table.ErrStale
			}
			delete(s.people, p.ID)
			return person{}, nil
		},
	}
}

// history is a case: whether person 1 with the mail a is stored first, and the calls of
// each operation.
type history struct {
	guard   string
	options table.Options
	nobody  bool
	actors  [][]call
	replay  string
	// adopted says that what is stored first has no version.
	adopted bool
	// loses says that a write takes a re-created person for the former one, whose version is
	// the same, in some schedule. lost counts these.
	loses bool
	// rarely is loses for a history of which a sample may not show it.
	rarely bool
	lost   int
}

// explore runs a history under every schedule. Some order of the calls must
// explain what they have returned and what is stored. If the history loses, there must be a
// schedule in which none does.
func (h *history) explore(t *testing.T) {
	t.Helper()
	explore(t, tabletest.Case{Allow: semantic, Setup: h.setup, Replay: h.replay})
	if h.loses && h.lost == 0 {
		t.Error("no schedule takes a re-created person for the former one")
	}
}

// hasCopies reports whether a person has a copy, which makes the mail unique.
func (h *history) hasCopies() bool { return h.guard == "copies" || h.guard == "counted" }

// explore runs a case as often as the flags say.
func explore(t *testing.T, c tabletest.Case) {
	t.Helper()
	c.Schema, c.Faults, c.Limit = spec, *faults, *limit
	tabletest.Explore(t, c)
}

// openTable returns the table of a run for an operation. For Setup and the invariant, whose requests
// meet no faults, the SDK's client makes every call.
func openTable(client *dynamodb.Client, r *tabletest.Run, options table.Options) (*table.Table, error) {
	if client == r.Client {
		options.DisableReplay = true
		return table.New(client, r.Schema, &options)
	}
	return warmed.New(client, r.Schema, &options)
}

// open returns the repository of an entity on the table of a run.
func open[T any](client *dynamodb.Client, r *tabletest.Run, e repo.Entity[T]) (*repo.Repo[T], error) {
	tbl, err := openTable(client, r, table.Options{})
	if err != nil {
		return nil, err
	}
	return repo.New(tbl, e)
}

// semantic reports whether an error is a refusal that a sequential run can give.
func semantic(err error) bool {
	return errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrStale)
}

func (h *history) open(client *dynamodb.Client, r *tabletest.Run) (*actor, error) {
	tbl, err := openTable(client, r, h.options)
	if err != nil {
		return nil, err
	}
	people, err := repo.New(tbl, guarded(h.guard, r.ID))
	return &actor{run: r.ID, repo: people, tbl: tbl}, err
}

// act adds an operation to a run.
func (h *history) act(r *tabletest.Run, do func(context.Context, *actor) error) {
	r.Go(func(ctx context.Context, client *dynamodb.Client) error {
		a, err := h.open(client, r)
		if err != nil {
			return err
		}
		return do(ctx, a)
	})
}

func (h *history) setup(ctx context.Context, r *tabletest.Run) error {
	a, err := h.open(r.Client, r)
	if err != nil {
		return err
	}
	start := &state{people: map[string]person{}, read: map[int]person{}, unique: h.hasCopies()}
	if !h.nobody {
		p := person{ID: "1", Mail: "a", Name: "ana"}
		if err := a.repo.Create(ctx, &p); err != nil {
			return err
		}
		if _, err := start.store(p); err != nil {
			return err
		}
		if err := h.strip(ctx, a, p); err != nil {
			return err
		}
	}
	done := make([][]returned, len(h.actors))
	for i, calls := range h.actors {
		h.act(r, func(ctx context.Context, a *actor) error {
			for _, c := range calls {
				v, err := c.run(ctx, a)
				done[i] = append(done[i], returned{c, v, err})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	r.Check(func(ctx context.Context, _ []error) error {
		stored, err := h.look(ctx, a)
		if err == nil && !explained(start, done, stored) {
			err = fmt.Errorf("no order of the calls explains that %v is stored and that they return %v", stored, describe(done))
		}
		if err != nil && (h.loses || h.rarely) {
			h.lost++
			return nil
		}
		return err
	})
	return nil
}

// strip removes the version of a person who is to be adopted.
func (h *history) strip(ctx context.Context, a *actor, p person) error {
	if !h.adopted {
		return nil
	}
	e := guarded(h.guard, a.run)
	all := []keys.Key{e.Key(p)}
	for _, c := range e.Copies {
		all = append(all, c.Key(p))
	}
	for _, key := range all {
		if err := a.tbl.Do(ctx, table.Update(key, expression.Remove(expression.Name(e.Version)))); err != nil {
			return err
		}
	}
	return nil
}

// look returns who is stored, and reports items that do not belong together.
func (h *history) look(ctx context.Context, a *actor) (map[string]person, error) {
	stored, err := a.find(ctx, mainKey(a.run+"1"), mainKey(a.run+"2"))
	if err != nil || !h.hasCopies() {
		return stored, err
	}
	copies, err := a.find(ctx, mailKey(a.run+"a"), mailKey(a.run+"b"))
	if diff := cmp.Diff(stored, copies); err == nil && diff != "" {
		return nil, fmt.Errorf("main items and copies (-main +copies):\n%s", diff)
	}
	return stored, err
}

// find returns the people under some keys.
func (a *actor) find(ctx context.Context, all ...keys.Key) (map[string]person, error) {
	found := map[string]person{}
	for _, key := range all {
		p, err := a.repo.Consistent().Get(ctx, key)
		if err == nil {
			found[p.ID] = p
		} else if !errors.Is(err, table.ErrNotFound) {
			return nil, err
		}
	}
	return found, nil
}

// explained reports whether some order of the calls that are left leads from the
// state to what is stored.
func explained(s *state, left [][]returned, stored map[string]person) bool {
	last := true
	for i, calls := range left {
		if len(calls) == 0 {
			continue
		}
		last = false
		c := calls[0]
		rest := slices.Clone(left)
		rest[i] = calls[1:]
		with := s.clone()
		v, err := c.model(with, i)
		unknown, refused := errors.Is(c.err, table.ErrOutcomeUnknown), c.err != nil && semantic(c.err)
		if err == nil && (unknown || c.err == nil && (v.ID == "" || same(v, c.value))) {
			if c.repeats && !s.unique && !unknown {
				again := c
				again.err, again.repeats = table.ErrOutcomeUnknown, false
				rest = append(rest, []returned{again})
			}
			if explained(with, rest, stored) {
				return true
			}
			rest = rest[:len(left)]
		}
		// Without an effect. A refusal must have its reason, unless it is a stale
		// write that has given up.
		if unknown || c.err != nil && (!refused || err != nil && errors.Is(c.err, err) || errors.Is(c.err, table.ErrStale)) {
			if explained(s.clone(), rest, stored) {
				return true
			}
		}
	}
	return last && maps.EqualFunc(s.people, stored, same)
}

// same compares people without their guards.
func same(a, b person) bool {
	a.Revision, b.Revision, a.Version, b.Version = "", "", 0, 0
	return a == b
}

func describe(done [][]returned) string {
	var b strings.Builder
	for i, calls := range done {
		fmt.Fprintf(&b, "\n%c:", 'A'+i)
		for _, c := range calls {
			fmt.Fprintf(&b, " (%v, %v)", c.value, c.err)
		}
	}
	return b.String()
}
