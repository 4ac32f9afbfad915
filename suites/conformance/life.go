package conformance

import (
	"errors"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

func lifeTests() tests {
	return tests{
		"what no entity accounts for is not deleted":       orphans,
		"a copy does not outlive an expired main item":     expiredMain,
		"a write does not replace an item of another type": otherTypes,
		"a variable is created, put and updated":           oneVariable,
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
