package conformance

import (
	"errors"
	"maps"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

func releaseTests() tests {
	return tests{
		"a write keeps what its type does not know":     writesKeepTheUnknown,
		"a change that changes nothing sends nothing":   noChange,
		"a stale index key is healed":                   staleIndexKey,
		"no write revives an expired entity":            noRevival,
		"attributes of another spelling are taken over": respelled,
		"attributes beside a field's own stay":          besideOwn,
	}
}

func writesKeepTheUnknown(t *testing.T, h Harness) {
	unknown := table.Item{
		"currency": str("EUR"), "tags": set("a", "b"), "expiresAt": num("99999999999"),
		"gsi1pk": str("OTHER"), "gsi1sk": str("1"), "lsi1sk": str("x"),
	}
	moves := func(p *person1) error { p.Name, p.Address.City = "", "Lima"; return nil }
	read := func(r *repo.Repo[person1]) person1 {
		p := expect.Value(r.Consistent().Get(t.Context(), accountKey("u-1")))(t)
		must(t, moves(&p))
		return p
	}
	for name, write := range map[string]func(r *repo.Repo[person1], tbl *table.Table) error{
		"Update": func(r *repo.Repo[person1], _ *table.Table) error {
			return expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), moves))
		},
		"Update by a copy's key": func(r *repo.Repo[person1], _ *table.Table) error {
			return expect.ErrOf(r.Update(t.Context(), mailKey("ana@x"), moves))
		},
		"UpdateWith": func(r *repo.Repo[person1], _ *table.Table) error {
			return expect.ErrOf(r.UpdateWith(t.Context(), accountKey("u-1"), func(p *person1) ([]table.Op, error) {
				return []table.Op{table.Put(other, note{})}, moves(p)
			}))
		},
		"Save": func(r *repo.Repo[person1], _ *table.Table) error { return r.Save(t.Context(), new(read(r))) },
		"Update that moves a copy": func(r *repo.Repo[person1], tbl *table.Table) error {
			err := expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Email = "eva@x"; return moves(p) }))
			if err == nil && raw(t, tbl, mailKey("ana@x")) != nil {
				err = errors.New("the copy is still under its former key")
			}
			return err
		},
		"UpdateOps": func(r *repo.Repo[person1], tbl *table.Table) error {
			p := read(r)
			return tbl.Transact(t.Context(), r.UpdateOps(p, &p)...)
		},
	} {
		tbl := h.newTable(t, appCore())
		r := newRepo(t, tbl, person1Entity)
		must(t, r.Create(t.Context(), &person1{ID: "u-1", Email: "ana@x", Name: "Ana", Address: address{Zip: "1"}}))
		for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
			patched(t, tbl, key, unknown)
			patched(t, tbl, key, table.Item{"address": mapOf(table.Item{"zip": str("1"), "floor": num("3")})})
		}
		// Index keys are on one item.
		patched(t, tbl, mailKey("ana@x"), table.Item{"n": num("1")}, "gsi1pk", "gsi1sk")
		if err := write(r, tbl); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := expect.Value(r.Consistent().Get(t.Context(), accountKey("u-1")))(t)
		for _, key := range []keys.Key{accountKey("u-1"), mailKey(p.Email)} {
			item := raw(t, tbl, key)
			want := maps.Clone(unknown)
			if key != accountKey("u-1") {
				delete(want, "gsi1pk")
				delete(want, "gsi1sk")
				want["n"] = num("1")
			}
			floor := table.Item{"zip": str("1"), "floor": num("3"), "city": str("Lima")}
			if name == "UpdateOps" {
				delete(floor, "floor") // there is no stored item to take it from
			}
			want["pk"], want["sk"] = str(string(key.PK)), str(string(key.SK))
			want["id"], want["email"], want["entityType"] = str("u-1"), str(p.Email), str(personType)
			want["address"], want["revision"] = mapOf(floor), str(p.Revision)
			if diff := diffItems(want, item); diff != "" {
				t.Errorf("%s: item under %v (-want +got):\n%s", name, key, diff)
			}
		}
	}
}

func noChange(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	r := newRepo(t, tbl, person1Entity)
	p := person1{ID: "u-1", Email: "ana@x", Name: "Ana"}
	must(t, r.Create(t.Context(), &p))
	before := sent(faults)
	got := expect.Value(r.Update(t.Context(), accountKey("u-1"), func(*person1) error { return nil }))(t)
	equal(t, "entity", got, p)
	must(t, r.Save(t.Context(), &p))
	equal(t, "entity after Save", p, got)
	equal(t, "requests, both of them reads", sent(faults)-before, 2)

	// Other ops of the transaction depend on the entity all the same.
	calls := 0
	_, err := r.UpdateWith(t.Context(), accountKey("u-1"), func(p *person1) ([]table.Op, error) {
		if calls++; calls == 1 {
			must(t, expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = "Eva"; return nil })))
		}
		return []table.Op{table.Put(other, note{ID: p.Name})}, nil
	})
	must(t, err)
	equal(t, "calls", calls, 2)
	stored(t, tbl, other, note{ID: "Eva"})
}

func staleIndexKey(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r2 := newRepo(t, tbl, person2Entity)
	p := person2{person1Fields: person1Fields{ID: "u-1", Email: "ana@x"}, Currency: "EUR"}
	must(t, r2.Create(t.Context(), &p))
	// Another program changes the currency and forgets the index.
	patched(t, tbl, accountKey("u-1"), table.Item{"currency": str("USD")})
	must(t, expect.ErrOf(r2.Update(t.Context(), accountKey("u-1"), func(p *person2) error { p.Name = "Ana"; return nil })))
	page := expect.Value(r2.Query(t.Context(), table.Query{Index: "GSI1", PK: currencyKey("USD", "u-1").PK}))(t)
	equal(t, "people in the index", len(page.Items), 1)
	// One that leaves the index.
	must(t, expect.ErrOf(r2.Update(t.Context(), accountKey("u-1"), func(p *person2) error { p.Currency = ""; return nil })))
	item := raw(t, tbl, accountKey("u-1"))
	if item["gsi1pk"] != nil || item["gsi1sk"] != nil || item["currency"] != nil {
		t.Errorf("item without a currency: %v", item)
	}
}

func noRevival(t *testing.T, h Harness) {
	for name, write := range map[string]func(tbl *table.Table, r *repo.Repo[person1], p person1) error{
		"Update": func(_ *table.Table, r *repo.Repo[person1], _ person1) error {
			_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = "Eva"; return nil })
			return err
		},
		"Save": func(_ *table.Table, r *repo.Repo[person1], p person1) error { return r.Save(t.Context(), &p) },
		"UpdateOps": func(tbl *table.Table, r *repo.Repo[person1], p person1) error {
			return tbl.Transact(t.Context(), r.UpdateOps(p, &p)...)
		},
	} {
		tbl := h.newTable(t, appCore())
		r := newRepo(t, tbl, person1Entity)
		p := person1{ID: "u-1", Email: "ana@x", Name: "Ana"}
		must(t, r.Create(t.Context(), &p))
		for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
			patched(t, tbl, key, table.Item{"expiresAt": num("5")})
		}
		p.Name = "Eva"
		if err := write(tbl, r, p); !errors.Is(err, table.ErrNotFound) && !errors.Is(err, table.ErrStale) {
			t.Errorf("%s of an expired entity: %v", name, err)
		}
		wantErr(t, expect.ErrOf(r.Get(t.Context(), accountKey("u-1"))), table.ErrNotFound)
		again := person1{ID: "u-1", Email: "ana@x"}
		if name == "Save" {
			must(t, r.Save(t.Context(), &again))
		} else {
			must(t, r.Create(t.Context(), &again))
		}
		wantErr(t, r.Create(t.Context(), &again), table.ErrExists)
	}
}

func respelled(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, person1Entity)
	must(t, r.Create(t.Context(), &person1{ID: "u-1", Email: "ana@x", Name: "Ana"}))
	patched(t, tbl, accountKey("u-1"), table.Item{"Name": str("Eva")}, "name")
	got := expect.Value(r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Address.City = "Lima"; return nil }))(t)
	equal(t, "name", got.Name, "Eva")
	item := raw(t, tbl, accountKey("u-1"))
	if item["Name"] != nil || diffItems(table.Item{"n": item["name"]}, table.Item{"n": str("Eva")}) != "" {
		t.Errorf("stored as %v", item)
	}
	// The guard is the attribute with the exact name, here none.
	for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
		patched(t, tbl, key, table.Item{"Revision": str("other")}, "revision")
	}
	got = expect.Value(r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = "Ida"; return nil }))(t)
	item = raw(t, tbl, accountKey("u-1"))
	if diff := diffItems(table.Item{"r": item["revision"]}, table.Item{"r": str(got.Revision)}); diff != "" || item["Revision"] != nil {
		t.Errorf("stored as %v, revision %q", item, got.Revision)
	}
}

// besideOwn has another program keep attributes whose names differ from those of fields,
// and of a key's field, in case only, one of a type that the field does not take.
func besideOwn(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, person1Entity)
	p := person1{ID: "u-1", Email: "ana@x", Name: "Ana"}
	must(t, r.Create(t.Context(), &p))
	theirs := table.Item{"Name": str("another's"), "NAME": num("7"), "Id": str("another's")}
	patched(t, tbl, accountKey("u-1"), theirs)
	keeps := func(write string, err error) {
		t.Helper()
		must(t, err)
		item := raw(t, tbl, accountKey("u-1"))
		for name, want := range theirs {
			if diff := diffItems(table.Item{"a": item[name]}, table.Item{"a": want}); diff != "" {
				t.Errorf("%s changed %s (-got +want):\n%s", write, name, diff)
			}
		}
	}
	for range 20 { // the order of a map does not matter
		got := expect.Value(r.Get(t.Context(), accountKey("u-1")))(t)
		equal(t, "read", got.ID+" "+got.Name, "u-1 "+p.Name)
		before := raw(t, tbl, accountKey("u-1"))
		_, err := r.Update(t.Context(), accountKey("u-1"), func(*person1) error { return nil })
		keeps("an update of nothing", err)
		if diff := diffItems(raw(t, tbl, accountKey("u-1")), before); diff != "" {
			t.Errorf("an update of nothing wrote (-got +want):\n%s", diff)
		}
		p = expect.Value(r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name += "!"; return nil }))(t)
		equal(t, "updated", p.Name, got.Name+"!")
		keeps("an update of the field", nil)
		p.Address.City += "a"
		keeps("a put", r.Save(t.Context(), &p))
	}
}
