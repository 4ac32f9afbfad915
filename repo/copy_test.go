package repo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// person has a copy by an e-mail address, which is a unique value.
type person struct {
	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email"`
	Name  string `dynamodbav:"name"`
	Rev   string `dynamodbav:"rev"`
}

func personKey(id string) keys.Key { return keys.Key{PK: keys.Prefix("PERSON").PK(id), SK: "METADATA"} }

func emailKey(email string) keys.Key {
	return keys.Key{PK: keys.Prefix("EMAIL").PK(email), SK: "METADATA"}
}

func personEntity() repo.Entity[person] {
	return repo.Entity[person]{
		Type: "PERSON", Version: "rev",
		Key:    func(p person) keys.Key { return personKey(p.ID) },
		Copies: []repo.Copy[person]{{Name: "PERSON by email", Key: func(p person) keys.Key { return emailKey(p.Email) }}},
	}
}

// withoutCopies is the release before the copies came.
func withoutCopies() repo.Entity[person] {
	e := personEntity()
	e.Copies = nil
	return e
}

// A copy that does not decode, or whose revision is no text, does not say whose it is, or
// cannot be guarded. A write that meets it ends at once, and leaves everything as it is.
func TestCopiesThatCannotBeToldApart(t *testing.T) {
	t.Parallel()
	list := &types.AttributeValueMemberL{}
	for broken, c := range map[string]struct {
		patch  table.Item
		misfit bool
	}{
		"attribute": {table.Item{"name": list, "rev": &types.AttributeValueMemberS{Value: "own"}}, true},
		"number":    {table.Item{"rev": number(3)}, false},
		"boolean":   {table.Item{"rev": &types.AttributeValueMemberBOOL{}}, true},
	} {
		for op, write := range map[string]func(r *repo.Repo[person], p person) error{
			"Update": func(r *repo.Repo[person], p person) error {
				return expect.ErrOf(r.Update(t.Context(), personKey(p.ID), func(p *person) error { p.Name = "new"; return nil }))
			},
			"Update that moves the copy": func(r *repo.Repo[person], p person) error {
				return expect.ErrOf(r.Update(t.Context(), personKey(p.ID), func(p *person) error { p.Email = "new@x"; return nil }))
			},
			"Save": func(r *repo.Repo[person], p person) error { p.Name = "new"; return r.Save(t.Context(), &p) },
			"Refresh": func(r *repo.Repo[person], p person) error {
				return expect.ErrOf(r.Refresh(t.Context(), personKey(p.ID)))
			},
			"Delete": func(r *repo.Repo[person], p person) error { return r.Delete(t.Context(), personKey(p.ID)) },
			"DeleteAll": func(r *repo.Repo[person], p person) error {
				return expect.ErrOf(r.DeleteAll(t.Context(), table.Query{PK: personKey(p.ID).PK}, nil))
			},
		} {
			t.Run(broken+"/"+op, func(t *testing.T) {
				t.Parallel()
				var faults tabletest.Faults
				tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
				r, p := newRepo(t, tbl, personEntity()), person{ID: "1", Email: "ana@x"}
				expect.OK(t, r.Create(t.Context(), &p))
				expect.OK(t, tbl.Do(t.Context(), table.Patch(emailKey(p.Email), c.patch)))
				main, copied := storedItem(t, tbl, personKey(p.ID)), storedItem(t, tbl, emailKey(p.Email))
				sent := len(faults.Requests())
				err := write(r, p)
				if misfit, _ := errors.AsType[*item.Error](err); (misfit != nil) != c.misfit || !c.misfit && !errors.Is(err, table.ErrInvalid) {
					t.Errorf("error: %v", err)
				}
				if e, ok := errors.AsType[*table.Error](err); !ok || e.Key != emailKey(p.Email) || e.Op != strings.Fields(op)[0] {
					t.Errorf("the error does not name the operation and the copy: %v", err)
				}
				if n := len(faults.Requests()) - sent; n > 6 {
					t.Errorf("%d requests", n)
				}
				if !item.SameItem(main, storedItem(t, tbl, personKey(p.ID))) || !item.SameItem(copied, storedItem(t, tbl, emailKey(p.Email))) {
					t.Error("an item has changed")
				}
			})
		}
	}
}

// Two entities have the same version, since both began with 1 or with what another program
// gave them. A release without copies gives one the e-mail address of the other.
func TestVersionsThatTwoEntitiesHave(t *testing.T) {
	t.Parallel()
	type person = versionedPerson
	for op, write := range map[string]func(r *repo.Repo[person], p person) error{
		"Update": func(r *repo.Repo[person], p person) error {
			return expect.ErrOf(r.Update(t.Context(), personKey(p.ID), func(p *person) error { p.Name = "new"; return nil }))
		},
		"Save":   func(r *repo.Repo[person], p person) error { p.Name = "new"; return r.Save(t.Context(), &p) },
		"Delete": func(r *repo.Repo[person], p person) error { return r.Delete(t.Context(), personKey(p.ID)) },
	} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			tbl := tabletest.New(t, schema.Table{}, nil)
			entity := versionedPeople()
			r := newRepo(t, tbl, entity)
			entity.Copies = nil
			former := newRepo(t, tbl, entity)
			for _, id := range []string{"a", "b"} { // as another program left them
				p := map[string]any{"entityType": "PERSON", "id": id, "email": id + "@x", "version": 7}
				expect.OK(t, tbl.Do(t.Context(), table.Put(personKey(id), p)))
				expect.OK(t, tbl.Do(t.Context(), table.Put(emailKey(id+"@x"), p)))
			}
			for id, name := range map[string]string{"a": "", "b": "Ben"} {
				expect.Value(former.Update(t.Context(), personKey(id), func(p *person) error { p.Email, p.Name = "b@x", name+"!"; return nil }))(t)
			}
			expect.OK(t, tbl.Do(t.Context(), table.Patch(emailKey("b@x"), table.Item{"version": number(8)})))
			copied := storedItem(t, tbl, emailKey("b@x"))
			err := write(r, expect.Value(r.Get(t.Context(), personKey("a")))(t))
			if op != "Delete" {
				expect.Err(t, err, table.ErrExists)
			} else {
				expect.OK(t, err)
			}
			if !item.SameItem(copied, storedItem(t, tbl, emailKey("b@x"))) {
				t.Error("the copy of another entity has changed")
			}
		})
	}
}

type versionedPerson struct {
	ID      string `dynamodbav:"id"`
	Email   string `dynamodbav:"email"`
	Name    string `dynamodbav:"name"`
	Version int64  `dynamodbav:"version"`
}

func versionedPeople() repo.Entity[versionedPerson] {
	type person = versionedPerson
	return repo.Entity[person]{
		Type: "PERSON", Version: "version",
		Key:    func(p person) keys.Key { return personKey(p.ID) },
		Copies: []repo.Copy[person]{{Key: func(p person) keys.Key { return emailKey(p.Email) }}},
	}
}

// A release that does not know an index gives a copy its keys, which belong to the main item.
func TestWritesTakeIndexKeysFromCopies(t *testing.T) {
	t.Parallel()
	for op, write := range map[string]func(tbl *table.Table, r *repo.Repo[person], p person) error{
		"Update": func(_ *table.Table, r *repo.Repo[person], p person) error {
			return expect.ErrOf(r.Update(t.Context(), personKey(p.ID), func(p *person) error { p.Name = "new"; return nil }))
		},
		"Save": func(_ *table.Table, r *repo.Repo[person], p person) error {
			p.Name = "new"
			return r.Save(t.Context(), &p)
		},
		"UpdateOps": func(tbl *table.Table, r *repo.Repo[person], p person) error {
			old := p
			p.Name = "new"
			return tbl.Transact(t.Context(), r.UpdateOps(old, &p)...)
		},
	} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			tbl := tabletest.New(t, schema.Table{Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}, nil)
			e, p := personEntity(), person{ID: "1", Email: "ana@x"}
			e.Indexes = repo.Indexes[person]{"GSI1": func(p person) keys.Key { return keys.Key{PK: "ALL", SK: keys.SK(p.Name + "#")} }}
			r := newRepo(t, tbl, e)
			expect.OK(t, r.Create(t.Context(), &p))
			key := expect.Value(tbl.IndexKey("GSI1", keys.Key{PK: "ALL", SK: "#"}))(t)
			expect.OK(t, tbl.Do(t.Context(), table.Patch(emailKey(p.Email), key)))
			expect.OK(t, write(tbl, r, p))
			page := expect.Value(r.Query(t.Context(), table.Query{Index: "GSI1", PK: "ALL"}))(t)
			expect.Equal(t, "items in the index", len(page.Items), 1)
		})
	}
}

// If T is a map, nothing tells its attributes from the index keys of another release.
func TestMapsKeepIndexKeysOfOtherReleases(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK"}, {Name: "GSI2", PK: "GSI2PK"}}}, nil)
	type doc = map[string]string
	r := newRepo(t, tbl, repo.Entity[doc]{
		Type: "DOC", Version: "rev",
		Key:    func(d doc) keys.Key { return personKey(d["id"]) },
		Copies: []repo.Copy[doc]{{Key: func(d doc) keys.Key { return emailKey(d["email"]) }}},
	})
	expect.OK(t, r.Create(t.Context(), &doc{"id": "1", "email": "ana@x"}))
	for key, index := range map[keys.Key]string{personKey("1"): "GSI1PK", emailKey("ana@x"): "GSI2PK"} {
		expect.OK(t, tbl.Do(t.Context(), table.Patch(key, table.Item{index: &types.AttributeValueMemberS{Value: "ALL"}})))
	}
	expect.Equal(t, "changed", expect.Value(r.Refresh(t.Context(), personKey("1")))(t), false)
	expect.OK(t, tbl.Do(t.Context(), table.Patch(emailKey("ana@x"), table.Item{"rev": &types.AttributeValueMemberS{Value: "drifted"}})))
	expect.Equal(t, "changed", expect.Value(r.Refresh(t.Context(), personKey("1")))(t), true)
	for _, index := range []string{"GSI1", "GSI2"} {
		page := expect.Value(table.QueryPage[table.Item](t.Context(), tbl, table.Query{Index: index, PK: "ALL"}))(t)
		expect.Equal(t, "items in "+index, len(page.Items), 1)
	}
}

// An update would make items too large that another program has enlarged. It will not pass.
func TestAPermanentRefusalIsNoConflict(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	r, p := newRepo(t, tbl, personEntity()), person{ID: "1", Email: "ana@x"}
	expect.OK(t, r.Create(t.Context(), &p))
	for _, key := range []keys.Key{personKey("1"), emailKey("ana@x")} {
		expect.OK(t, tbl.Do(t.Context(), table.Patch(key, table.Item{"large": &types.AttributeValueMemberS{Value: strings.Repeat("x", 390_000)}})))
	}
	sent := len(faults.Requests())
	_, err := r.Update(t.Context(), personKey("1"), func(p *person) error { p.Name = strings.Repeat("x", 30_000); return nil })
	expect.Err(t, err, table.ErrTooLarge)
	expect.NotErr(t, err, table.ErrConflict)
	expect.Equal(t, "class", table.Classify(err), table.Permanent)
	expect.Equal(t, "requests", len(faults.Requests())-sent, 2)
}

// Whether a main item that does not decode still has its former copy is not known. A former
// main item may be all that is left of the entity, so it stays, and the error says why.
func TestFormerCopyOfABrokenMainItem(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	last := personEntity()
	last.Copies, last.FormerCopies = nil, []func(person) keys.Key{func(p person) keys.Key { return emailKey(p.Email) }}
	r, p := newRepo(t, tbl, last), person{ID: "1", Email: "ana@x"}
	expect.OK(t, newRepo(t, tbl, personEntity()).Create(t.Context(), &p))
	expect.OK(t, tbl.Do(t.Context(), table.Patch(personKey(p.ID), table.Item{"name": &types.AttributeValueMemberL{}})))
	copied := storedItem(t, tbl, emailKey(p.Email))
	for op, err := range map[string]error{
		"Refresh":    expect.ErrOf(r.Refresh(t.Context(), emailKey(p.Email))),
		"RefreshOps": expect.ErrOf(r.RefreshOps(t.Context(), copied)),
		"DeleteAll":  expect.ErrOf(r.DeleteAll(t.Context(), table.Query{PK: emailKey(p.Email).PK}, nil)),
	} {
		if misfit, _ := errors.AsType[*item.Error](err); misfit == nil {
			t.Errorf("%s: %v", op, err)
		}
	}
	expect.Equal(t, "items left", itemsLeft(t, tbl), 2)
}

// No item can be under the key that a copy would have, so there is no copy.
func TestEntitiesWhoseCopyCannotBeStored(t *testing.T) {
	t.Parallel()
	for name, email := range map[string]string{"empty": "", "too long": strings.Repeat("x", keys.MaxPK)} {
		tbl := tabletest.New(t, schema.Table{}, nil)
		before, r := newRepo(t, tbl, withoutCopies()), newRepo(t, tbl, personEntity())
		for _, id := range []string{"1", "2"} {
			expect.OK(t, before.Create(t.Context(), &person{ID: id, Email: email}))
		}
		expect.OK(t, r.Delete(t.Context(), personKey("1")))
		_, err := r.Update(t.Context(), personKey("2"), func(p *person) error { p.Name = "new"; return nil })
		expect.Err(t, err, keys.ErrInvalid)
		repaired := expect.Value(r.Update(t.Context(), personKey("2"), func(p *person) error { p.Email = "ana@x"; return nil }))(t)
		expect.Equal(t, name, expect.Value(r.Get(t.Context(), emailKey("ana@x")))(t), repaired)
	}
}

// A binary key need not be text.
func TestCopiesUnderBinaryKeys(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{PKType: types.ScalarAttributeTypeB, SKType: types.ScalarAttributeTypeB}, nil)
	key := func(kind, id string) keys.Key { return keys.Key{PK: keys.PK(kind + "\xff" + id), SK: "\xfe"} }
	r := newRepo(t, tbl, repo.Entity[person]{
		Type: "PERSON", Version: "rev",
		Key:    func(p person) keys.Key { return key("P", p.ID) },
		Copies: []repo.Copy[person]{{Key: func(p person) keys.Key { return key("E", p.Email) }}},
	})
	expect.OK(t, r.Create(t.Context(), &person{ID: "1", Email: "ana@x"}))
	updated := expect.Value(r.Update(t.Context(), key("P", "1"), func(p *person) error { p.Name = "Ana"; return nil }))(t)
	expect.Equal(t, "copy", expect.Value(r.Get(t.Context(), key("E", "ana@x")))(t), updated)
	expect.OK(t, r.Delete(t.Context(), key("E", "ana@x")))
	expect.Equal(t, "items left", itemsLeft(t, tbl), 0)
}

// By the key of a copy, a refresh repairs the entity, and that copy.
func TestRefreshByTheKeyOfACopy(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, personEntity())
	p := person{ID: "1", Email: "ana@x", Name: "Ana"}
	expect.OK(t, r.Create(t.Context(), &p))
	expect.OK(t, tbl.Do(t.Context(), table.Patch(emailKey("ana@x"), table.Item{"name": &types.AttributeValueMemberS{Value: "Bob"}, "rev": &types.AttributeValueMemberS{Value: "other"}})))
	expect.Equal(t, "changed", expect.Value(r.Refresh(t.Context(), emailKey("ana@x")))(t), true)
	copied := expect.Value(r.Get(t.Context(), emailKey("ana@x")))(t)
	expect.Equal(t, "copy", copied, expect.Value(r.Get(t.Context(), personKey("1")))(t))
	expect.Equal(t, "name", copied.Name, "Ana")
}

// A copy whose main item is missing is deleted by a refresh, alone or as ops.
func TestRefreshOfACopyWithoutMainItem(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, personEntity())
	orphan := table.Put(emailKey("ana@x"), map[string]any{"entityType": "PERSON", "id": "1", "email": "ana@x", "rev": "r"})
	expect.OK(t, tbl.Do(t.Context(), orphan))
	expect.Equal(t, "changed", expect.Value(r.Refresh(t.Context(), emailKey("ana@x")))(t), true)
	expect.OK(t, tbl.Do(t.Context(), orphan))
	expect.OK(t, tbl.Transact(t.Context(), expect.Value(r.RefreshOps(t.Context(), storedItem(t, tbl, emailKey("ana@x"))))(t)...))
	expect.Equal(t, "items left", itemsLeft(t, tbl), 0)
}
