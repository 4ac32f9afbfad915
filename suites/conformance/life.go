package conformance

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
		"a type that makes its attributes itself is kept":  selfMade,
		"a put brings a missing copy back":                 missingCopy,
		"an optional copy comes and goes":                  optionalCopies,
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
		"Save":                   plain.Save(t.Context(), &e),
		"Delete":                 plain.Delete(t.Context(), key),
		"Save with a revision":   revised.Save(t.Context(), &person1{ID: "u-1"}),
		"Delete with a revision": revised.Delete(t.Context(), key),
	} {
		if !errors.Is(err, table.ErrWrongType) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stored(t, tbl, key, note{Type: "OTHER", N: 7})
	patched(t, tbl, key, table.Item{"expiresAt": num("5")})
	must(t, plain.Save(t.Context(), &e))
	must(t, plain.Save(t.Context(), &e))
	must(t, plain.Delete(t.Context(), key))
	must(t, plain.Delete(t.Context(), key))
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
	must(t, r.Save(t.Context(), &v))
	is("two")
	var err error
	v, err = r.Update(t.Context(), key, func(v *ticket) error { v.text = "three"; return nil })
	must(t, err)
	is("three")
	old := v
	v.text = "four"
	must(t, tbl.Transact(t.Context(), r.UpdateOps(old, &v)...))
	is("four")

	// A map is the caller's until it is stored.
	dictionaries := newRepo(t, tbl, repo.Entity[map[string]string]{
		Type: "MAP", Key: func(m map[string]string) keys.Key { return accountKey(m["id"]) }, Version: "revision",
	})
	m := map[string]string{"id": "t-1"}
	wantErr(t, dictionaries.Create(t.Context(), &m), table.ErrExists)
	equal(t, "a map that was not stored", m, map[string]string{"id": "t-1"})
}

func missingCopy(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, person1Entity)
	p := person1{ID: "u-1", Email: "ana@x", Name: "Ana"}
	must(t, r.Create(t.Context(), &p))
	must(t, tbl.Do(t.Context(), table.Delete(mailKey("ana@x"))))
	p.Name = "Eva"
	must(t, r.Save(t.Context(), &p))
	equal(t, "copy", expect.Value(r.Consistent().Get(t.Context(), mailKey("ana@x")))(t), p)
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
	moved, gone := q, q
	moved.Phone, gone.Phone = "5", ""
	wantErr(t, tbl.Transact(t.Context(), r.UpdateOps(q, &moved)...), table.ErrInvalid)
	must(t, tbl.Transact(t.Context(), r.UpdateOps(q, &gone)...))
	if raw(t, tbl, phoneKey("4")) != nil {
		t.Error("UpdateOps leave behind a copy that is left out")
	}
	wantErr(t, tbl.Transact(t.Context(), r.UpdateOps(gone, &moved)...), table.ErrInvalid)
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
