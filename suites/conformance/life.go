package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func lifeTests() tests {
	return tests{
		"a writer of a former life is stale":               formerLife,
		"no life leaves anything behind":                   manyLives,
		"a lost response is settled by the revision":       lostRevisions,
		"what no entity accounts for is not deleted":       orphans,
		"a copy does not outlive an expired main item":     expiredMain,
		"a write does not replace an item of another type": otherTypes,
		"a variable is created, put and updated":           oneVariable,
	}
}

// formerLife deletes and re-creates an entity between the read and the write of
// another writer.
func formerLife(t *testing.T, h Harness) {
	counted := accountEntity
	counted.VersionFromOne = false
	formerLifeOf(t, h, counted, func(a *account) { a.N++ })
	formerLifeOf(t, h, person1Entity, func(p *person1) { p.Name += "+" })
}

func formerLifeOf[T any](t *testing.T, h Harness, e repo.Entity[T], change func(*T)) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, e)
	for name, write := range map[string]func(read T) error{
		"Put": func(v T) error { change(&v); return r.Put(t.Context(), &v) },
		"PutOps": func(v T) error {
			change(&v)
			return tbl.Transact(t.Context(), r.PutOps(&v)...)
		},
		"UpdateOps": func(v T) error {
			old := v
			change(&v)
			return tbl.Transact(t.Context(), r.UpdateOps(old, &v)...)
		},
		"DeleteOps": func(v T) error { return tbl.Transact(t.Context(), r.DeleteOps(v)...) },
	} {
		var read T
		must(t, table.Item{"id": str("u-1"), "name": str("ana"), "email": str("ana@x")}.Decode(&read))
		must(t, r.Create(t.Context(), &read))
		must(t, r.Delete(t.Context(), e.Key(read)))
		var again T
		must(t, table.Item{"id": str("u-1"), "name": str("eva"), "email": str("eva@x")}.Decode(&again))
		must(t, r.Create(t.Context(), &again))
		if err := write(read); !errors.Is(err, table.ErrStale) || table.Classify(err) != table.Permanent {
			t.Errorf("%s of a former life of %T: %v", name, read, err)
		}
		must(t, r.Delete(t.Context(), e.Key(read)))
		if name == "DeleteOps" {
			wantErr(t, write(read), table.ErrStale)
		}
		page := expect.Value(table.ScanPage[table.Item](t.Context(), tbl, table.Scan{}))(t)
		if len(page.Items) != 0 {
			t.Fatalf("%s: left over: %v", name, page.Items)
		}
	}
}

// manyLives plays [Harness].Lives scenes on a few people, who take each other's
// e-mails, with eight writers. In each scene a writer reads a person, deletes it,
// re-creates it, and writes what it has read. Nothing may come of that: the life
// that it has read is over. After some scenes all stop and look: every person has
// its copy and every copy its person, with the same revision and e-mail.
func manyLives(t *testing.T, h Harness) {
	counted := accountEntity
	counted.VersionFromOne = false
	manyLivesOf(t, h, counted)
	manyLivesOf(t, h, person1Entity)
}

func manyLivesOf[T comparable](t *testing.T, h Harness, e repo.Entity[T]) {
	const writers, people, mails, each = 8, 3, 4, 4
	tbl := h.newTable(t, appCore())
	l := &lives[T]{table: tbl, repo: newRepo(t, tbl, e), entity: e}
	seed := rand.Uint64()
	for round := uint64(0); l.over.Load() < int64(cmp.Or(h.Lives, 250)); round++ {
		var group sync.WaitGroup
		for w := range uint64(writers) {
			r := rand.New(rand.NewPCG(seed, round*writers+w))
			group.Go(func() {
				for range each {
					id, mail := fmt.Sprintf("u-%d", r.IntN(people)), fmt.Sprintf("%d@x", r.IntN(mails))
					if err := l.scene(t, id, mail, r.IntN(4)); err != nil {
						t.Errorf("seed %d, round %d, %T: %v", seed, round, l.made(id, mail), err)
					}
				}
			})
		}
		group.Wait()
		mains, copies := map[T]bool{}, map[T]bool{}
		for i := range people {
			l.look(t, mains, e.Key(l.made(fmt.Sprintf("u-%d", i), "")))
		}
		for i := range mails {
			l.look(t, copies, e.Copies[0].Key(l.made("", fmt.Sprintf("%d@x", i))))
		}
		equal(t, fmt.Sprintf("seed %d, round %d: copies", seed, round), copies, mains)
		if t.Failed() {
			return
		}
	}
}

// lives are those of entities with a copy under their name or e-mail.
type lives[T comparable] struct {
	table  *table.Table
	repo   *repo.Repo[T]
	entity repo.Entity[T]
	over   atomic.Int64 // scenes that were played to their end
}

// made returns an entity whose name and e-mail are mail.
func (l *lives[T]) made(id, mail string) (v T) {
	_ = table.Item{"id": str(id), "name": str(mail), "email": str(mail)}.Decode(&v)
	return v
}

// scene ends a life, and then a reader of that life writes.
func (l *lives[T]) scene(t *testing.T, id, mail string, how int) error {
	ctx, r, v := t.Context(), l.repo, l.made(id, mail)
	key := l.entity.Key(v)
	read, err := r.Consistent().Get(ctx, key)
	switch {
	case err == nil && how%2 == 0:
		// Others get a life that changes, too.
		_, err = r.Update(ctx, key, func(v *T) error { return table.Item{"name": str(mail), "email": str(mail)}.Decode(v) })
	case errors.Is(err, table.ErrNotFound):
		read, err = v, r.Create(ctx, &v)
		if err == nil {
			read = v
		}
	}
	if err == nil {
		err = r.Delete(ctx, key)
	}
	if err != nil {
		return unlessLost(err)
	}
	again := l.made(id, mail)
	if err := r.Create(ctx, &again); err != nil && !errors.Is(err, table.ErrExists) {
		return err
	}
	l.over.Add(1)
	old := read
	_ = table.Item{"n": num("7"), "address": mapOf(table.Item{"city": str("Lima")})}.Decode(&read)
	switch how {
	case 0:
		err = r.Put(ctx, &read)
	case 1:
		err = l.transact(ctx, r.PutOps(&read))
	case 2:
		err = l.transact(ctx, r.UpdateOps(old, &read))
	default:
		err = l.transact(ctx, r.DeleteOps(read))
	}
	if err == nil {
		return fmt.Errorf("a write of a former life has succeeded (%d)", how)
	}
	return unlessLost(err)
}

func (l *lives[T]) transact(ctx context.Context, ops []table.Op) error {
	return l.table.Transact(ctx, ops...)
}

// unlessLost returns an error, unless it says that another writer was faster.
func unlessLost(err error) error {
	for _, expected := range []error{table.ErrExists, table.ErrNotFound, table.ErrConflict} {
		if errors.Is(err, expected) {
			return nil
		}
	}
	return err
}

// look adds what is stored under a key.
func (l *lives[T]) look(t *testing.T, all map[T]bool, key keys.Key) {
	t.Helper()
	switch v, err := l.repo.Consistent().Get(t.Context(), key); {
	case err == nil:
		all[v] = true
	case !errors.Is(err, table.ErrNotFound):
		t.Error(err)
	}
}

func lostRevisions(t *testing.T, h Harness) {
	single := person1Entity
	single.Copies = nil
	for name, fault := range after() {
		tbl, faults := h.withFaults(t, appCore(), nil)
		r, others := newRepo(t, tbl, single), newRepo(t, h.sameTable(t, tbl), single)
		p := person1{ID: "u-1", Email: "ana@x", Name: "Ana"}
		must(t, r.Create(t.Context(), &p))
		rename := func(r *repo.Repo[person1], name string) error {
			_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = name; return nil })
			return err
		}
		faults.Next("UpdateItem", fault)
		if err := rename(r, "Eva"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// Another writer has changed it since.
		faults.Next("UpdateItem", func(q *http.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := fault(q, next)
			if otherErr := rename(others, "Ida"); otherErr != nil {
				t.Error(otherErr)
			}
			return response, err
		})
		if err := rename(r, "Eve"); !errors.Is(err, table.ErrOutcomeUnknown) {
			t.Errorf("%s, and another writer: %v", name, err)
		}
		// One that was not applied, and an equal write of another writer.
		faults.Next("UpdateItem", func(q *http.Request, next http.RoundTripper) (*http.Response, error) {
			if err := rename(others, "Zoe"); err != nil {
				t.Error(err)
			}
			return tabletest.DropRequest()(q, next)
		})
		if err := rename(r, "Zoe"); !errors.Is(err, table.ErrOutcomeUnknown) {
			t.Errorf("%s, not applied: %v", name, err)
		}
		faults.Next("DeleteItem", fault)
		if err := r.Delete(t.Context(), accountKey("u-1")); err != nil {
			t.Errorf("%s, Delete: %v", name, err)
		}
	}
}

func orphans(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, person1Entity)
	p := person1{ID: "u-1", Email: "ana@x"}
	must(t, r.Create(t.Context(), &p))
	left := table.Item{"id": str("u-1"), "email": str("old@x"), "entityType": str(personType), "revision": str("r")}
	lost := table.Item{"id": str("u-9"), "email": str("lost@x"), "entityType": str(personType), "revision": str("r")}
	must(t, tbl.Do(t.Context(), table.Put(mailKey("old@x"), left)))
	must(t, tbl.Do(t.Context(), table.Put(mailKey("lost@x"), lost)))
	must(t, tbl.Do(t.Context(), table.Put(other, note{Type: "OTHER"})))
	for key, want := range map[keys.Key]error{
		mailKey("old@x"): repo.ErrOrphan, mailKey("lost@x"): repo.ErrOrphan, other: table.ErrWrongType,
	} {
		wantErr(t, r.Delete(t.Context(), key), want)
		wantErr(t, expect.ErrOf(r.Update(t.Context(), key, func(*person1) error { return nil })), want)
		if raw(t, tbl, key) == nil {
			t.Errorf("%v is gone", key)
		}
	}
	must(t, r.Delete(t.Context(), mailKey("nobody@x")))
}

// expiredMain has a copy whose main item a program that does not know it lets expire.
func expiredMain(t *testing.T, h Harness) {
	for name, remove := range map[string]func(*repo.Repo[person1]) error{
		"DeleteAll": func(r *repo.Repo[person1]) error {
			return expect.ErrOf(r.DeleteAll(t.Context(), table.Query{PK: mailKey("ana@x").PK}, nil))
		},
		"Refresh": func(r *repo.Repo[person1]) error {
			return expect.ErrOf(r.Refresh(t.Context(), mailKey("ana@x")))
		},
	} {
		tbl := h.newTable(t, appCore())
		r := newRepo(t, tbl, person1Entity)
		must(t, r.Create(t.Context(), &person1{ID: "u-1", Email: "ana@x"}))
		// While the main item is live, the copy stays.
		missing := table.CheckMissing(accountKey("u-1"))
		wantErr(t, tbl.Transact(t.Context(), missing, table.Delete(mailKey("ana@x"))), table.ErrExists)
		patched(t, tbl, accountKey("u-1"), table.Item{"expiresAt": num("5")})
		must(t, tbl.Do(t.Context(), missing))
		if err := remove(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		absent(t, tbl, mailKey("ana@x"))
		must(t, r.Create(t.Context(), &person1{ID: "u-1", Email: "ana@x"}))
	}
}

func otherTypes(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	plain := newRepo(t, tbl, entryEntity("TX", keys.Tx))
	e := entry{ID: "tx-1", At: now}
	key := keys.Key{PK: user.PK, SK: keys.Tx.SK(keys.Time(now), keys.Str("tx-1"))}
	single := person1Entity
	single.Copies, single.Key = nil, func(person1) keys.Key { return key }
	revised := newRepo(t, tbl, single)
	must(t, tbl.Do(t.Context(), table.Put(key, note{Type: "OTHER", N: 7})))
	for name, err := range map[string]error{
		"Put":                    plain.Put(t.Context(), &e),
		"Delete":                 plain.Delete(t.Context(), key),
		"Put with a revision":    revised.Put(t.Context(), &person1{ID: "u-1"}),
		"Delete with a revision": revised.Delete(t.Context(), key),
	} {
		if !errors.Is(err, table.ErrWrongType) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stored(t, tbl, key, note{Type: "OTHER", N: 7})
	patched(t, tbl, key, table.Item{"expiresAt": num("5")})
	must(t, plain.Put(t.Context(), &e))
	must(t, plain.Put(t.Context(), &e))
	must(t, plain.Delete(t.Context(), key))
	must(t, plain.Delete(t.Context(), key))
}

func oneVariable(t *testing.T, h Harness) {
	r := newRepo(t, h.newTable(t, appCore()), person1Entity)
	p := person1{ID: "u-1", Email: "ana@x"}
	must(t, r.Create(t.Context(), &p))
	p.Name = "Ana"
	must(t, r.Put(t.Context(), &p))
	p.Name = "Eva"
	must(t, r.Put(t.Context(), &p))
	updated, err := r.Update(t.Context(), accountKey("u-1"), func(stored *person1) error {
		equal(t, "stored", *stored, p)
		stored.Name = "Ida"
		return nil
	})
	must(t, err)
	got := expect.Value(r.Consistent().Get(t.Context(), mailKey("ana@x")))(t)
	equal(t, "updated", updated, got)
	wantErr(t, r.Create(t.Context(), &p), table.ErrExists)
}
