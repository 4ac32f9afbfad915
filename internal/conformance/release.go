package conformance

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func releaseTests() tests {
	return tests{
		"a write keeps what its type does not know":           writesKeepTheUnknown,
		"an update of one field names that field only":        updatesAreSmall,
		"a change that changes nothing sends nothing":         noChange,
		"a stale index key is healed":                         staleIndexKey,
		"a copy that has drifted is brought back":             driftedCopies,
		"an optional copy comes and goes":                     optionalCopies,
		"releases side by side lose nothing":                  releasesSideBySide,
		"an item without a revision is adopted":               adoption,
		"an adopted entity takes no copy of another":          adoptedCopies,
		"an adopted entity that is deleted stays so":          adoptedDeleted,
		"a type that makes its attributes itself is kept":     selfMade,
		"no write revives an expired entity":                  noRevival,
		"attributes of another spelling are taken over":       respelled,
		"a large change is written as a whole, and keeps all": largeChange,
	}
}

// person1 is an entity as the first release knows it, stored under its id and
// under its e-mail.
type person1 struct {
	ID       string  `dynamodbav:"id"`
	Email    string  `dynamodbav:"email"`
	Name     string  `dynamodbav:"name,omitempty"`
	Address  address `dynamodbav:"address"`
	Revision string  `dynamodbav:"revision"`
}

type address struct {
	City string `dynamodbav:"city,omitempty"`
	Zip  string `dynamodbav:"zip,omitempty"`
}

// person2 is the same entity in the second release, which has a currency, lists
// people by it in an index, and stores them under their phone as well, if they
// have one.
type person2 struct {
	person1Fields
	Currency string `dynamodbav:"currency,omitempty"`
	Phone    string `dynamodbav:"phone,omitempty"`
}

// person1Fields are the fields of person1, for embedding.
type person1Fields struct {
	ID       string  `dynamodbav:"id"`
	Email    string  `dynamodbav:"email"`
	Name     string  `dynamodbav:"name,omitempty"`
	Address  address `dynamodbav:"address"`
	Revision string  `dynamodbav:"revision"`
}

// person3 is that of the third release, which no longer knows names.
type person3 struct {
	ID       string   `dynamodbav:"id"`
	Email    string   `dynamodbav:"email"`
	Currency string   `dynamodbav:"currency,omitempty"`
	Tags     []string `dynamodbav:"tags,omitempty"`
	Revision string   `dynamodbav:"revision"`
}

const personType = "PERSON"

func mailKey(email string) keys.Key {
	return keys.Key{PK: keys.Prefix("EMAIL").PK(email), SK: keys.Metadata}
}

func phoneKey(phone string) keys.Key {
	if phone == "" {
		return keys.Key{}
	}
	return keys.Key{PK: keys.Prefix("PHONE").PK(phone), SK: keys.Metadata}
}

func currencyKey(currency, id string) keys.Key {
	if currency == "" {
		return keys.Key{}
	}
	return keys.Key{PK: keys.Prefix("CURRENCY").PK(currency), SK: keys.User.SK(keys.Str(id))}
}

var (
	person1Entity = repo.Entity[person1]{
		Type:    personType,
		Key:     func(p person1) keys.Key { return accountKey(p.ID) },
		Copies:  []repo.Copy[person1]{{Name: "by email", Key: func(p person1) keys.Key { return mailKey(p.Email) }}},
		Version: "revision",
	}
	person2Entity = repo.Entity[person2]{
		Type:    personType,
		Key:     func(p person2) keys.Key { return accountKey(p.ID) },
		Indexes: repo.Indexes[person2]{"GSI1": func(p person2) keys.Key { return currencyKey(p.Currency, p.ID) }},
		Copies: []repo.Copy[person2]{
			{Name: "by email", Key: func(p person2) keys.Key { return mailKey(p.Email) }},
			{Name: "by phone", Key: func(p person2) keys.Key { return phoneKey(p.Phone) }},
		},
		Version: "revision",
	}
	person3Entity = repo.Entity[person3]{
		Type:    personType,
		Key:     func(p person3) keys.Key { return accountKey(p.ID) },
		Indexes: repo.Indexes[person3]{"GSI1": func(p person3) keys.Key { return currencyKey(p.Currency, p.ID) }},
		Copies:  []repo.Copy[person3]{{Name: "by email", Key: func(p person3) keys.Key { return mailKey(p.Email) }}},
		Version: "revision",
	}
)

// raw returns an item as it is stored, nil if there is none.
func raw(t *testing.T, tbl *table.Table, key keys.Key) table.Item {
	t.Helper()
	item, err := table.Get[table.Item](t.Context(), tbl.Consistent(), key)
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	must(t, err)
	return item
}

// patched changes attributes of an item behind the back of its entity.
func patched(t *testing.T, tbl *table.Table, key keys.Key, set table.Item, remove ...string) {
	t.Helper()
	must(t, tbl.Do(t.Context(), table.Patch(key, set, remove...).IfExists()))
}

func mapOf(members table.Item) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: members}
}

func writesKeepTheUnknown(t *testing.T, h Harness) {
	unknown := table.Item{
		"currency": str("EUR"), "tags": ssOf("a", "b"), "expiresAt": num("99999999999"),
		"gsi1pk": str("OTHER"), "gsi1sk": str("1"), "lsi1sk": str("x"),
	}
	for name, write := range map[string]func(r *repo.Repo[person1], tbl *table.Table) error{
		"Update": func(r *repo.Repo[person1], _ *table.Table) error {
			_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name, p.Address.City = "", "Lima"; return nil })
			return err
		},
		"Update by a copy's key": func(r *repo.Repo[person1], _ *table.Table) error {
			_, err := r.Update(t.Context(), mailKey("ana@x"), func(p *person1) error { p.Name, p.Address.City = "", "Lima"; return nil })
			return err
		},
		"UpdateWith": func(r *repo.Repo[person1], _ *table.Table) error {
			_, err := r.UpdateWith(t.Context(), accountKey("u-1"), func(p *person1) ([]table.Op, error) {
				p.Name, p.Address.City = "", "Lima"
				return []table.Op{table.Put(other, note{})}, nil
			})
			return err
		},
		"Put": func(r *repo.Repo[person1], _ *table.Table) error {
			p, err := r.Consistent().Get(t.Context(), accountKey("u-1"))
			if err != nil {
				return err
			}
			p.Name, p.Address.City = "", "Lima"
			return r.Put(t.Context(), &p)
		},
		"Update that moves a copy": func(r *repo.Repo[person1], tbl *table.Table) error {
			_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error {
				p.Name, p.Address.City, p.Email = "", "Lima", "eva@x"
				return nil
			})
			if err == nil && raw(t, tbl, mailKey("ana@x")) != nil {
				err = errors.New("the copy is still under its former key")
			}
			return err
		},
		"PutOps": func(r *repo.Repo[person1], tbl *table.Table) error {
			p, err := r.Consistent().Get(t.Context(), accountKey("u-1"))
			if err != nil {
				return err
			}
			p.Name, p.Address.City = "", "Lima"
			return tbl.Transact(t.Context(), r.PutOps(&p)...)
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
		p, err := r.Consistent().Get(t.Context(), accountKey("u-1"))
		must(t, err)
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
	_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = "Eva"; return nil })
	must(t, err)
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
	got, err := r.Update(t.Context(), accountKey("u-1"), func(*person1) error { return nil })
	must(t, err)
	equal(t, "entity", got, p)
	must(t, r.Put(t.Context(), &p))
	equal(t, "entity after Put", p, got)
	equal(t, "requests, both of them reads", sent(faults)-before, 2)

	// Ops beside it depend on the entity all the same.
	calls := 0
	_, err = r.UpdateWith(t.Context(), accountKey("u-1"), func(p *person1) ([]table.Op, error) {
		if calls++; calls == 1 {
			_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = "Eva"; return nil })
			must(t, err)
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
	_, err := r2.Update(t.Context(), accountKey("u-1"), func(p *person2) error { p.Name = "Ana"; return nil })
	must(t, err)
	page, err := r2.Query(t.Context(), table.Query{Index: "GSI1", PK: currencyKey("USD", "u-1").PK})
	must(t, err)
	equal(t, "people in the index", len(page.Items), 1)
	// One that leaves the index.
	_, err = r2.Update(t.Context(), accountKey("u-1"), func(p *person2) error { p.Currency = ""; return nil })
	must(t, err)
	item := raw(t, tbl, accountKey("u-1"))
	if item["gsi1pk"] != nil || item["gsi1sk"] != nil || item["currency"] != nil {
		t.Errorf("item without a currency: %v", item)
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
				p, err := r.Consistent().Get(t.Context(), accountKey("u-1"))
				must(t, err)
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
			main, err := r.Consistent().Get(t.Context(), accountKey("u-1"))
			must(t, err)
			mail, err := r.Consistent().Get(t.Context(), mailKey(main.Email))
			must(t, err)
			equal(t, what, mail, main)
			equal(t, what+": name", main.Name, "Eva")
			if item := raw(t, tbl, mailKey(main.Email)); (name == "stale" || name == "without a revision") && item["extra"] == nil {
				t.Errorf("%s: the copy has lost an attribute", what)
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
	q, err := r.Consistent().Get(t.Context(), accountKey("u-1"))
	must(t, err)
	q.Phone = ""
	wantErr(t, tbl.Transact(t.Context(), r.PutOps(&q)...), table.ErrInvalid)
	q, err = r.Consistent().Get(t.Context(), accountKey("u-1"))
	must(t, err)
	must(t, tbl.Transact(t.Context(), r.PutOps(&q)...))
	must(t, phone(""))
	q, err = r.Consistent().Get(t.Context(), accountKey("u-1"))
	must(t, err)
	must(t, tbl.Transact(t.Context(), r.UpdateOps(q, &q)...))
	must(t, phone("4"))
	must(t, r.Delete(t.Context(), phoneKey("4")))
	for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x"), phoneKey("4")} {
		if raw(t, tbl, key) != nil {
			t.Errorf("%v is left over", key)
		}
	}

	// A release that does not know phones cannot take them to another key.
	_, err = newRepo(t, tbl, person1Entity).Update(t.Context(), accountKey("u-2"), func(p *person1) error { p.ID = "u-3"; return nil })
	must(t, err)
	_, err = r.Update(t.Context(), accountKey("u-3"), func(p *person2) error { p.Name = "Eva"; return nil })
	wantErr(t, err, table.ErrExists)
	_, err = r.Update(t.Context(), phoneKey("1"), func(p *person2) error { return nil })
	wantErr(t, err, repo.ErrOrphan)
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
			want["tags"] = listOf(str(name))
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

func adoption(t *testing.T, h Harness) {
	none := map[string]types.AttributeValue{"missing": nil, "null": &types.AttributeValueMemberNULL{Value: true}, "empty": str("")}
	if h.Capabilities.NoEmptyStrings {
		delete(none, "empty")
	}
	for name, revision := range none {
		tbl := h.newTable(t, appCore())
		r := newRepo(t, tbl, person1Entity)
		item := table.Item{"id": str("u-1"), "email": str("ana@x"), "name": str("Ana"), "entityType": str(personType), "x": num("1")}
		if revision != nil {
			item["revision"] = revision
		}
		for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
			must(t, tbl.Do(t.Context(), table.Put(key, item)))
		}
		p, err := r.Get(t.Context(), accountKey("u-1"))
		must(t, err)
		p.Name = "Eva"
		if err := r.Put(t.Context(), &p); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantErr(t, r.Put(t.Context(), &person1{ID: "u-1", Email: "ana@x"}), table.ErrStale)
		for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
			got := raw(t, tbl, key)
			if p.Revision == "" || diffItems(table.Item{"r": str(p.Revision), "x": num("1")}, table.Item{"r": got["revision"], "x": got["x"]}) != "" {
				t.Errorf("%s: adopted as %v, revision %q", name, got, p.Revision)
			}
		}
		patched(t, tbl, accountKey("u-1"), table.Item{"revision": num("7")})
		_, err = r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = "Ida"; return nil })
		wantErr(t, err, table.ErrInvalid)
	}
}

// adoptedCopies has two people without a revision of whom one holds the e-mail
// that both have.
func adoptedCopies(t *testing.T, h Harness) {
	update := func(change func(p *person1)) func(*table.Table, *repo.Repo[person1]) error {
		return func(_ *table.Table, r *repo.Repo[person1]) error {
			_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { change(p); return nil })
			return err
		}
	}
	for name, test := range map[string]struct {
		write func(*table.Table, *repo.Repo[person1]) error
		want  error
	}{
		"Update": {update(func(p *person1) { p.Name = "Eva" }), table.ErrExists},
		"a move": {update(func(p *person1) { p.Email = "eva@x" }), nil},
		"Delete": {func(_ *table.Table, r *repo.Repo[person1]) error { return r.Delete(t.Context(), accountKey("u-1")) }, nil},
		"DeleteOps": {func(tbl *table.Table, r *repo.Repo[person1]) error {
			p, err := r.Get(t.Context(), accountKey("u-1"))
			must(t, err)
			return tbl.Transact(t.Context(), r.DeleteOps(p)...)
		}, table.ErrInvalid},
	} {
		tbl := h.newTable(t, appCore())
		r := newRepo(t, tbl, person1Entity)
		theirs := table.Item{"id": str("u-2"), "email": str("ana@x"), "entityType": str(personType)}
		must(t, tbl.Do(t.Context(), table.Put(accountKey("u-1"), table.Item{"id": str("u-1"), "email": str("ana@x"), "entityType": str(personType)})))
		must(t, tbl.Do(t.Context(), table.Put(accountKey("u-2"), theirs)))
		must(t, tbl.Do(t.Context(), table.Put(mailKey("ana@x"), theirs)))
		if err := test.write(tbl, r); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		item := raw(t, tbl, mailKey("ana@x"))
		delete(item, "pk")
		delete(item, "sk")
		if diff := diffItems(theirs, item); diff != "" {
			t.Errorf("%s: the other's copy (-want +got):\n%s", name, diff)
		}
	}
}

// adoptedDeleted deletes an entity without a revision before a write that gives
// it another key.
func adoptedDeleted(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	single := person1Entity
	single.Copies = nil
	r := newRepo(t, tbl, single)
	must(t, tbl.Do(t.Context(), table.Put(accountKey("u-1"), table.Item{"id": str("u-1"), "entityType": str(personType)})))
	faults.Next("TransactWriteItems", func(q *http.Request, next http.RoundTripper) (*http.Response, error) {
		if err := tbl.Do(t.Context(), table.Delete(accountKey("u-1"))); err != nil {
			t.Error(err)
		}
		return next.RoundTrip(q)
	})
	_, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.ID = "u-2"; return nil })
	wantErr(t, err, table.ErrNotFound)
	if item := raw(t, tbl, accountKey("u-2")); item != nil {
		t.Errorf("the deleted entity is back: %v", item)
	}
}

// ticket makes its attributes itself, and takes those that it is given for all
// that it has.
type ticket struct{ id, text, revision string }

func (t *ticket) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return mapOf(table.Item{"id": str(t.id), "text": str(t.text), "revision": str(t.revision)}), nil
}

func (t *ticket) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	m, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return fmt.Errorf("a %T is no ticket", value)
	}
	text := func(name string) string {
		s, _ := m.Value[name].(*types.AttributeValueMemberS)
		if s == nil {
			return ""
		}
		return s.Value
	}
	*t = ticket{text("id"), text("text"), text("revision")}
	return nil
}

func selfMade(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	key := accountKey("t-1")
	r := newRepo(t, tbl, repo.Entity[ticket]{
		Type: "TICKET", Key: func(v ticket) keys.Key { return accountKey(v.id) }, Version: "revision",
	})
	v := ticket{id: "t-1", text: "one"}
	must(t, r.Create(t.Context(), &v))
	patched(t, tbl, key, table.Item{"extra": num("1")})
	is := func(text string) {
		t.Helper()
		item := raw(t, tbl, key)
		want := table.Item{"id": str("t-1"), "text": str(text), "extra": num("1"), "revision": str(v.revision), "entityType": str("TICKET")}
		delete(item, "pk")
		delete(item, "sk")
		if diff := diffItems(want, item); v.revision == "" || diff != "" {
			t.Errorf("stored, with revision %q (-want +got):\n%s", v.revision, diff)
		}
		if v.id != "t-1" || v.text != text {
			t.Errorf("the value is %+v", v)
		}
	}
	is("one")
	v.text = "two"
	must(t, r.Put(t.Context(), &v))
	is("two")
	var err error
	v, err = r.Update(t.Context(), key, func(v *ticket) error { v.text = "three"; return nil })
	must(t, err)
	is("three")
	again := v
	wantErr(t, tbl.Transact(t.Context(), r.PutOps(&again)...), table.ErrInvalid)
	is("three")

	// A map is the caller's until it is stored.
	dictionaries := newRepo(t, tbl, repo.Entity[map[string]string]{
		Type: "MAP", Key: func(m map[string]string) keys.Key { return accountKey(m["id"]) }, Version: "revision",
	})
	m := map[string]string{"id": "t-1"}
	wantErr(t, dictionaries.Create(t.Context(), &m), table.ErrExists)
	equal(t, "a map that was not stored", m, map[string]string{"id": "t-1"})
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
		must(t, r.Create(t.Context(), &person1{ID: "u-1", Email: "ana@x"}))
	}
}

func respelled(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, person1Entity)
	must(t, r.Create(t.Context(), &person1{ID: "u-1", Email: "ana@x", Name: "Ana"}))
	patched(t, tbl, accountKey("u-1"), table.Item{"Name": str("Eva")}, "name")
	got, err := r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Address.City = "Lima"; return nil })
	must(t, err)
	equal(t, "name", got.Name, "Eva")
	item := raw(t, tbl, accountKey("u-1"))
	if item["Name"] != nil || diffItems(table.Item{"n": item["name"]}, table.Item{"n": str("Eva")}) != "" {
		t.Errorf("stored as %v", item)
	}
	// The guard is the attribute with the exact name, here none.
	for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
		patched(t, tbl, key, table.Item{"Revision": str("other")}, "revision")
	}
	got, err = r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = "Ida"; return nil })
	must(t, err)
	item = raw(t, tbl, accountKey("u-1"))
	if diff := diffItems(table.Item{"r": item["revision"]}, table.Item{"r": str(got.Revision)}); diff != "" || item["Revision"] != nil {
		t.Errorf("stored as %v, revision %q", item, got.Revision)
	}
}

// largeChange writes maps as entities: their attributes are not known before.
func largeChange(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	r := newRepo(t, tbl, repo.Entity[map[string]string]{
		Type:    "BROAD",
		Key:     func(m map[string]string) keys.Key { return accountKey(m["id"]) },
		Version: "revision",
	})
	m := map[string]string{"id": "u-1"}
	for i := range 400 {
		m[fmt.Sprintf("a%03d", i)] = "x"
	}
	must(t, r.Create(t.Context(), &m))
	patched(t, tbl, accountKey("u-1"), table.Item{"a000": str("x")})
	got, err := r.Update(t.Context(), accountKey("u-1"), func(m *map[string]string) error {
		for name := range *m {
			if strings.HasPrefix(name, "a") {
				(*m)[name] = "y"
			}
		}
		delete(*m, "a000")
		return nil
	})
	must(t, err)
	names := slices.Sorted(maps.Keys(got))
	if len(names) != 404 || got["a001"] != "y" || got["a399"] != "y" {
		t.Errorf("%d attributes: %q", len(names), names)
	}
	last := faults.Requests(itemRequests...)
	equal(t, "operation", last[len(last)-1].Operation, "PutItem")
}
