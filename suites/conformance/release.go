package conformance

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func releaseTests() tests {
	return tests{
		"a write keeps what its type does not know":     writesKeepTheUnknown,
		"a new copy has what its type does not know":    newCopiesAreWhole,
		"an update of one field names that field only":  updatesAreSmall,
		"a change that changes nothing sends nothing":   noChange,
		"a stale index key is healed":                   staleIndexKey,
		"releases side by side lose nothing":            releasesSideBySide,
		"no write revives an expired entity":            noRevival,
		"attributes of another spelling are taken over": respelled,
		"attributes beside a field's own stay":          besideOwn,
	}
}

// newCopiesAreWhole has a release create, restore and move copies of entities of a newer
// one, which reads and writes them by these copies.
func newCopiesAreWhole(t *testing.T, h Harness) {
	type older struct {
		ID       string
		Mail     string `dynamodbav:",omitempty"`
		Revision string
	}
	type newer struct {
		ID              string
		Mail            string `dynamodbav:",omitempty"`
		Color, Revision string
	}
	copyKey := func(mail string) keys.Key {
		if mail == "" {
			return keys.Key{}
		}
		return mailKey(mail)
	}
	tbl := h.newTable(t, appCore())
	before := newRepo(t, tbl, repo.Entity[older]{
		Type: "PERSON", Version: "Revision", Key: func(v older) keys.Key { return accountKey(v.ID) },
		Copies: []repo.Copy[older]{{Name: "mail", Key: func(v older) keys.Key { return copyKey(v.Mail) }}},
	})
	after := newRepo(t, tbl, repo.Entity[newer]{
		Type: "PERSON", Version: "Revision", Key: func(v newer) keys.Key { return accountKey(v.ID) },
		Copies:  []repo.Copy[newer]{{Name: "mail", Key: func(v newer) keys.Key { return copyKey(v.Mail) }}},
		Indexes: map[string]func(newer) keys.Key{"GSI1": func(v newer) keys.Key { return keys.Key{PK: "PEOPLE", SK: keys.SK(v.ID)} }},
	})
	moves := func(mail string) func() error {
		return func() error {
			return expect.ErrOf(before.Update(t.Context(), accountKey("u-1"), func(v *older) error { v.Mail = mail; return nil }))
		}
	}
	must(t, after.Create(t.Context(), &newer{ID: "u-1", Color: "blue"}))
	for _, step := range []struct {
		name, mail string
		write      func() error
	}{
		{"created", "a@x", moves("a@x")},
		{"moved", "b@x", moves("b@x")},
		{"restored by a move", "c@x", func() error {
			must(t, tbl.Do(t.Context(), table.Delete(mailKey("b@x"))))
			return moves("c@x")()
		}},
		{"restored by a refresh", "c@x", func() error {
			must(t, tbl.Do(t.Context(), table.Delete(mailKey("c@x"))))
			return expect.ErrOf(before.Refresh(t.Context(), accountKey("u-1")))
		}},
	} {
		must(t, step.write())
		got := expect.Value(after.Get(t.Context(), mailKey(step.mail)))(t)
		equal(t, step.name, got, newer{ID: "u-1", Mail: step.mail, Color: "blue", Revision: got.Revision})
		for _, attribute := range []string{"gsi1pk", "gsi1sk"} { // which are the main item's alone
			if _, there := raw(t, tbl, mailKey(step.mail))[attribute]; there {
				t.Errorf("%s: the copy has %s", step.name, attribute)
			}
		}
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
		"Put": func(r *repo.Repo[person1], _ *table.Table) error { return r.Put(t.Context(), new(read(r))) },
		"Update that moves a copy": func(r *repo.Repo[person1], tbl *table.Table) error {
			err := expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Email = "eva@x"; return moves(p) }))
			if err == nil && raw(t, tbl, mailKey("ana@x")) != nil {
				err = errors.New("the copy is still under its former key")
			}
			return err
		},
		"PutOps": func(r *repo.Repo[person1], tbl *table.Table) error {
			return tbl.Transact(t.Context(), r.PutOps(new(read(r)))...)
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
			if name == "PutOps" {
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

func updatesAreSmall(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	single := person1Entity
	single.Copies = nil
	r := newRepo(t, tbl, single)
	must(t, r.Create(t.Context(), &person1{ID: "u-1", Email: "ana@x", Name: "Ana"}))
	before := sent(faults)
	must(t, expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = "Eva"; return nil })))
	requests := faults.Requests(itemRequests...)[before:]
	if len(requests) != 2 || requests[0].Operation != "GetItem" || requests[1].Operation != "UpdateItem" {
		t.Fatalf("%d requests: %v", len(requests), requests)
	}
	equal(t, "update", bodyField(t, requests[1], "UpdateExpression"), "SET #s0 = :s0, #s1 = :s1")
	names := bodyField(t, requests[1], "ExpressionAttributeNames")
	for _, name := range []string{"email", "address", "id"} {
		if strings.Contains(names, ":"+name) {
			t.Errorf("the request names %q: %s", name, names)
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
	must(t, r.Put(t.Context(), &p))
	equal(t, "entity after Put", p, got)
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

// releasesSideBySide has three releases write the same people at random, under
// faults, and compares what is stored with a model after every step.
func releasesSideBySide(t *testing.T, h Harness) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	tbl, faults := h.withFaults(t, appCore(), nil)
	r1, r2, r3 := newRepo(t, tbl, person1Entity), newRepo(t, tbl, person2Entity), newRepo(t, tbl, person3Entity)
	model := map[string]table.Item{} // what each person has, by id
	set := func(item table.Item, name, value string) {
		if delete(item, name); value != "" {
			item[name] = str(value)
		}
	}
	for step := range 300 {
		id := fmt.Sprintf("u-%d", r.IntN(4))
		key, old := accountKey(id), model[id]
		name, city, currency := fmt.Sprintf("n%d", r.IntN(3)), fmt.Sprintf("c%d", r.IntN(3)), []string{"", "EUR", "USD"}[r.IntN(3)]
		email := fmt.Sprintf("%s@%d", id, r.IntN(3))
		want := maps.Clone(old)
		var err error
		if r.IntN(4) == 0 {
			fault := []tabletest.Fault{
				tabletest.DropResponse(), tabletest.DropRequest(), tabletest.Status(500, "InternalServerError", "Injected."),
				tabletest.After(tabletest.Status(500, "InternalServerError", "Injected.")),
			}[r.IntN(4)]
			faults.Next([]string{"TransactWriteItems", "GetItem"}[r.IntN(2)], fault)
		}
		verb := r.IntN(10)
		switch {
		case old == nil:
			want = table.Item{"id": str(id), "address": mapOf(table.Item{"city": str(city)})}
			set(want, "name", name)
			set(want, "email", email)
			p := person1{ID: id, Email: email, Name: name, Address: address{City: city}}
			err = r1.Create(t.Context(), &p)
		case verb == 0:
			want = nil
			err = []func() error{
				func() error { return r1.Delete(t.Context(), key) },
				func() error { return r3.Delete(t.Context(), key) },
			}[r.IntN(2)]()
		case verb < 4: // the first release
			set(want, "name", name)
			want["address"] = mapOf(table.Item{"city": str(city)})
			set(want, "email", email)
			_, err = r1.Update(t.Context(), key, func(p *person1) error {
				p.Name, p.Address.City, p.Email = name, city, email
				return nil
			})
		case verb < 7: // the second
			set(want, "currency", currency)
			_, err = r2.Update(t.Context(), key, func(p *person2) error { p.Currency = currency; return nil })
		case verb < 9: // the third
			want["tags"] = list(str(name))
			set(want, "currency", currency)
			var p person3
			if p, err = r3.Consistent().Get(t.Context(), key); err == nil {
				p.Tags, p.Currency = []string{name}, currency
				err = r3.Put(t.Context(), &p)
			}
		default: // the first, with ops
			set(want, "name", name)
			var p person1
			if p, err = r1.Consistent().Get(t.Context(), key); err == nil {
				p.Name = name
				err = tbl.Transact(t.Context(), r1.PutOps(&p)...)
			}
		}
		if err != nil && !errors.Is(err, table.ErrOutcomeUnknown) {
			t.Fatalf("seed %d, step %d: %v", seed, step, err)
		}
		model[id] = want
		if err != nil {
			// It was done or not, wholly.
			if item := raw(t, tbl, key); (item == nil) != (want == nil) || item != nil && diffItems(want, plain(item)) != "" {
				model[id] = old
			}
		}
		if problem := storedAs(t, tbl, id, model[id]); problem != "" {
			t.Fatalf("seed %d, step %d, verb %d: %s", seed, step, verb, problem)
		}
	}
	for id, item := range model {
		for i := range 3 {
			email := fmt.Sprintf("%s@%d", id, i)
			mail := raw(t, tbl, mailKey(email))
			if there, want := mail != nil, item != nil && diffItems(table.Item{"email": item["email"]}, table.Item{"email": str(email)}) == ""; there != want {
				t.Errorf("seed %d: copy under %q: %v, want %v", seed, email, there, want)
			}
		}
	}
}

// plain returns an item without what the library writes by itself.
func plain(item table.Item) table.Item {
	p := maps.Clone(item)
	for _, name := range []string{"pk", "sk", "entityType", "revision", "gsi1pk", "gsi1sk"} {
		delete(p, name)
	}
	return p
}

// storedAs compares both items of a person with what they are to be.
func storedAs(t *testing.T, tbl *table.Table, id string, want table.Item) string {
	t.Helper()
	main := raw(t, tbl, accountKey(id))
	if want == nil {
		if main != nil {
			return fmt.Sprintf("a deleted person: %v", main)
		}
		return ""
	}
	mail := raw(t, tbl, mailKey(want["email"].(*types.AttributeValueMemberS).Value))
	if diff := diffItems(want, plain(main)); diff != "" {
		return "main item (-want +got):\n" + diff
	}
	if diff := diffItems(plain(main), plain(mail)); diff != "" {
		return "copy (-main +copy):\n" + diff
	}
	if diff := diffItems(table.Item{"r": main["revision"]}, table.Item{"r": mail["revision"]}); diff != "" {
		return "revisions (-main +copy):\n" + diff
	}
	key := keys.Key{}
	if currency, ok := want["currency"].(*types.AttributeValueMemberS); ok {
		key = currencyKey(currency.Value, id)
	}
	indexed := table.Item{}
	if key != (keys.Key{}) {
		indexed = table.Item{"gsi1pk": str(string(key.PK)), "gsi1sk": str(string(key.SK))}
	}
	have := table.Item{}
	for _, name := range []string{"gsi1pk", "gsi1sk"} {
		if mail[name] != nil {
			return "the copy has an index key"
		}
		if main[name] != nil {
			have[name] = main[name]
		}
	}
	return diffItems(indexed, have)
}

func noRevival(t *testing.T, h Harness) {
	for name, write := range map[string]func(tbl *table.Table, r *repo.Repo[person1], p person1) error{
		"Update": func(_ *table.Table, r *repo.Repo[person1], _ person1) error {
			_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = "Eva"; return nil })
			return err
		},
		"Put": func(_ *table.Table, r *repo.Repo[person1], p person1) error { return r.Put(t.Context(), &p) },
		"PutOps": func(tbl *table.Table, r *repo.Repo[person1], p person1) error {
			return tbl.Transact(t.Context(), r.PutOps(&p)...)
		},
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
		if name == "Put" {
			must(t, r.Put(t.Context(), &again))
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
		keeps("a put", r.Put(t.Context(), &p))
	}
}
