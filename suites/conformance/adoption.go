package conformance

import (
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

func adoptionTests() tests {
	return tests{
		"an item without a revision is adopted":      adoption,
		"an adopted entity takes no copy of another": adoptedCopies,
		"an adopted entity that is deleted stays so": adoptedDeleted,
	}
}

func adoption(t *testing.T, h Harness) {
	none := map[string]types.AttributeValue{"missing": nil, "null": &types.AttributeValueMemberNULL{Value: true}, "empty": str("")}
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
		p := expect.Value(r.Get(t.Context(), accountKey("u-1")))(t)
		p.Name = "Eva"
		if err := r.Save(t.Context(), &p); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantErr(t, r.Save(t.Context(), &person1{ID: "u-1", Email: "ana@x"}), table.ErrStale)
		for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
			got := raw(t, tbl, key)
			if p.Revision == "" || diffItems(table.Item{"r": str(p.Revision), "x": num("1")}, table.Item{"r": got["revision"], "x": got["x"]}) != "" {
				t.Errorf("%s: adopted as %v, revision %q", name, got, p.Revision)
			}
		}
		patched(t, tbl, accountKey("u-1"), table.Item{"revision": num("7")})
		wantErr(t, expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.Name = "Ida"; return nil })), table.ErrInvalid)
	}
	tbl := h.newTable(t, appCore())
	counted := accountEntity
	counted.Copies = nil
	must(t, tbl.Do(t.Context(), table.Put(accountKey("u-1"), table.Item{"id": str("u-1"), "entityType": str(counted.Type)})))
	got := expect.Value(newRepo(t, tbl, counted).Update(t.Context(), accountKey("u-1"), func(a *account) error { a.N = 7; return nil }))(t)
	equal(t, "adopted", got, account{ID: "u-1", N: 7, Version: 1})
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
			p := expect.Value(r.Get(t.Context(), accountKey("u-1")))(t)
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
	wantErr(t, expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(p *person1) error { p.ID = "u-2"; return nil })), table.ErrNotFound)
	if item := raw(t, tbl, accountKey("u-2")); item != nil {
		t.Errorf("the deleted entity is back: %v", item)
	}
}
