package conformance

import (
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

func copyTests() tests {
	return tests{
		"a copy that has drifted is brought back": driftedCopies,
		"an optional copy comes and goes":         optionalCopies,
	}
}

func driftedCopies(t *testing.T, h Harness) {
	update := func(r *repo.Repo[person1]) error {
		_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = "Eva"; return nil })
		return err
	}
	for name, drift := range map[string]func(tbl *table.Table){
		"missing": func(tbl *table.Table) { must(t, tbl.Do(t.Context(), table.Delete(mailKey("ana@x")))) },
		"expired": func(tbl *table.Table) {
			patched(t, tbl, mailKey("ana@x"), table.Item{"expiresAt": num("5")})
		},
		"stale": func(tbl *table.Table) {
			patched(t, tbl, mailKey("ana@x"), table.Item{"revision": str("older"), "name": str("Old"), "extra": str("x")})
		},
		"without a revision": func(tbl *table.Table) {
			patched(t, tbl, mailKey("ana@x"), table.Item{"extra": str("x")}, "revision")
		},
	} {
		for how, write := range map[string]func(r *repo.Repo[person1]) error{
			"Update": update,
			"Put": func(r *repo.Repo[person1]) error {
				p := expect.Value(r.Consistent().Get(t.Context(), accountKey("u-1")))(t)
				p.Name = "Eva"
				return r.Put(t.Context(), &p)
			},
			"a move": func(r *repo.Repo[person1]) error {
				_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name, p.Email = "Eva", "eva@x"; return nil })
				return err
			},
		} {
			what := name + ", " + how
			tbl := h.newTable(t, appCore())
			r := newRepo(t, tbl, person1Entity)
			must(t, r.Create(t.Context(), &person1{ID: "u-1", Email: "ana@x", Name: "Ana"}))
			drift(tbl)
			if err := write(r); err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			main := expect.Value(r.Consistent().Get(t.Context(), accountKey("u-1")))(t)
			mail := expect.Value(r.Consistent().Get(t.Context(), mailKey(main.Email)))(t)
			equal(t, what, mail, main)
			equal(t, what+": name", main.Name, "Eva")
			if item := raw(t, tbl, mailKey(main.Email)); item["extra"] != nil {
				t.Errorf("%s: the copy has what its main item has not", what)
			}
			must(t, r.Delete(t.Context(), accountKey("u-1")))
			if raw(t, tbl, mailKey(main.Email)) != nil {
				t.Errorf("%s: the copy outlives the entity", what)
			}
		}
	}

	// What is under the key is another entity's.
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, person1Entity)
	must(t, r.Create(t.Context(), &person1{ID: "u-1", Email: "ana@x", Name: "Ana"}))
	foreign := table.Item{"entityType": str(personType), "id": str("u-2"), "email": str("ana@x"), "revision": str("r")}
	must(t, tbl.Do(t.Context(), table.Put(mailKey("ana@x"), foreign)))
	wantErr(t, update(r), table.ErrExists)
	must(t, r.Delete(t.Context(), accountKey("u-1")))
	if item := raw(t, tbl, mailKey("ana@x")); item == nil {
		t.Error("Delete has removed the e-mail of another person")
	}
}

func optionalCopies(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, person2Entity)
	p := person2{person1Fields: person1Fields{ID: "u-1", Email: "ana@x"}}
	must(t, r.Create(t.Context(), &p))
	q := person2{person1Fields: person1Fields{ID: "u-2", Email: "eva@x"}, Phone: "1"}
	must(t, r.Create(t.Context(), &q))
	phone := func(phone string) error {
		_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person2) error { p.Phone = phone; return nil })
		return err
	}
	wantErr(t, phone("1"), table.ErrExists)
	for _, number := range []string{"2", "3", ""} {
		must(t, phone(number))
		for _, other := range []string{"2", "3"} {
			if item := raw(t, tbl, phoneKey(other)); (item != nil) != (other == number) {
				t.Errorf("with phone %q, item under %q: %v", number, other, item)
			}
		}
	}
	must(t, phone("4"))
	q = expect.Value(r.Consistent().Get(t.Context(), accountKey("u-1")))(t)
	q.Phone = ""
	wantErr(t, tbl.Transact(t.Context(), r.PutOps(&q)...), table.ErrInvalid)
	q = expect.Value(r.Consistent().Get(t.Context(), accountKey("u-1")))(t)
	must(t, tbl.Transact(t.Context(), r.PutOps(&q)...))
	must(t, phone(""))
	q = expect.Value(r.Consistent().Get(t.Context(), accountKey("u-1")))(t)
	must(t, tbl.Transact(t.Context(), r.UpdateOps(q, &q)...))
	must(t, phone("4"))
	must(t, r.Delete(t.Context(), phoneKey("4")))
	for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x"), phoneKey("4")} {
		if raw(t, tbl, key) != nil {
			t.Errorf("%v is left over", key)
		}
	}

	// A release that does not know phones cannot take them to another key.
	must(t, expect.ErrOf(newRepo(t, tbl, person1Entity).Update(t.Context(), accountKey("u-2"), func(p *person1) error { p.ID = "u-3"; return nil })))
	wantErr(t, expect.ErrOf(r.Update(t.Context(), accountKey("u-3"), func(p *person2) error { p.Name = "Eva"; return nil })), table.ErrExists)
	wantErr(t, expect.ErrOf(r.Update(t.Context(), phoneKey("1"), func(p *person2) error { return nil })), repo.ErrOrphan)
}
