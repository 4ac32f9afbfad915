package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

func refreshes(t *testing.T, h Harness) {
	ctx := t.Context()
	for name, spoil := range map[string]func(tbl *table.Table){
		"old shape": func(*table.Table) {},
		"no copy":   func(tbl *table.Table) { must(t, tbl.Do(ctx, table.Delete(mailKey("ana@x")))) },
		"drifted copy": func(tbl *table.Table) {
			patched(t, tbl, mailKey("ana@x"), table.Item{"name": str("Eva Sosa"), "revision": str("r")})
		},
		"changed copy": func(tbl *table.Table) { patched(t, tbl, mailKey("ana@x"), table.Item{"name": str("Eva Sosa")}) },
		"no revision": func(tbl *table.Table) {
			patched(t, tbl, accountKey("u-1"), nil, "revision")
			patched(t, tbl, mailKey("ana@x"), nil, "revision")
		},
		"current": func(tbl *table.Table) {
			must(t, expect.ErrOf(newRepo(t, tbl, customerEntity).Update(ctx, accountKey("u-1"), func(c *customer) error { c.Months++; return nil })))
		},
		"current, stale index key": func(tbl *table.Table) {
			must(t, expect.ErrOf(newRepo(t, tbl, customerEntity).Refresh(ctx, accountKey("u-1"))))
			patched(t, tbl, accountKey("u-1"), table.Item{"gsi1sk": str("X")})
		},
		"current, drifted copy": func(tbl *table.Table) {
			must(t, expect.ErrOf(newRepo(t, tbl, customerEntity).Refresh(ctx, accountKey("u-1"))))
			patched(t, tbl, mailKey("ana@x"), table.Item{"last": str("X")})
		},
	} {
		for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
			tbl := h.newTable(t, appCore())
			createOld(t, tbl)
			spoil(tbl)
			if key == mailKey("ana@x") && name == "no copy" {
				continue
			}
			r := newRepo(t, tbl, customerEntity)
			changed, err := r.Refresh(ctx, key)
			if err != nil || changed != (name != "current") {
				t.Errorf("%s: changed %v, %v", name, changed, err)
				continue
			}
			c := expect.Value(r.Consistent().Get(ctx, accountKey("u-1")))(t)
			wantShape(t, name, tbl, c)
			equal(t, name+": the name", c.First+" "+c.Last, "Ana Lima")
			if changed := expect.Value(r.Refresh(ctx, key))(t); changed {
				t.Errorf("%s: the second refresh writes again", name)
			}
			for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
				equal(t, name+": ops", len(expect.Value(r.RefreshOps(ctx, raw(t, tbl, key)))(t)), 0)
			}
		}
	}
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, customerEntity)
	wantErr(t, expect.ErrOf(r.Refresh(ctx, accountKey("u-1"))), table.ErrNotFound)
	must(t, tbl.Do(ctx, table.Put(accountKey("u-1"), note{Type: "OTHER"})))
	wantErr(t, expect.ErrOf(r.Refresh(ctx, accountKey("u-1"))), table.ErrWrongType)
	wantErr(t, expect.ErrOf(r.RefreshOps(ctx, raw(t, tbl, accountKey("u-1")))), table.ErrWrongType)

	// A copy without a main item is deleted, unless that appears.
	createOld(t, h.newTable(t, appCore()))
	tbl = h.newTable(t, appCore())
	r = newRepo(t, tbl, customerEntity)
	createOld(t, tbl)
	main := raw(t, tbl, accountKey("u-1"))
	must(t, tbl.Do(ctx, table.Delete(accountKey("u-1"))))
	ops := expect.Value(r.RefreshOps(ctx, raw(t, tbl, mailKey("ana@x"))))(t)
	must(t, tbl.Do(ctx, table.Put(accountKey("u-1"), main)))
	wantErr(t, tbl.Transact(ctx, ops...), table.ErrExists)
	must(t, tbl.Do(ctx, table.Delete(accountKey("u-1"))))
	must(t, tbl.Transact(ctx, ops...))
	absent(t, tbl, mailKey("ana@x"))

	// Refresh does not change the key of a copy that is another entity's. A copy that its
	// entity does not have is deleted.
	createOld(t, tbl)
	stray := raw(t, tbl, mailKey("ana@x"))
	patched(t, tbl, accountKey("u-1"), table.Item{"email": str("eva@x")})
	ops = expect.Value(r.RefreshOps(ctx, stray))(t)
	must(t, tbl.Do(ctx, table.Put(mailKey("eva@x"), note{Type: "OTHER"})))
	wantErr(t, expect.ErrOf(r.Refresh(ctx, accountKey("u-1"))), table.ErrExists)
	equal(t, "copy", diffItems(stray, raw(t, tbl, mailKey("ana@x"))), "")
	must(t, tbl.Transact(ctx, ops...))
	absent(t, tbl, mailKey("ana@x"))
}

func refreshesFormer(t *testing.T, h Harness) {
	ctx := t.Context()
	next := customerEntity
	next.Key = func(c customer) keys.Key { return keys.Key{PK: keys.Prefix("CUSTOMER").PK(c.ID), SK: "A"} }
	next.FormerKeys = []func(customer) keys.Key{func(c customer) keys.Key { return accountKey(c.ID) }}
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, next)
	createOld(t, tbl)
	left := raw(t, tbl, accountKey("u-1"))
	must(t, tbl.Transact(ctx, expect.Value(r.RefreshOps(ctx, left))(t)...))
	absent(t, tbl, accountKey("u-1"))
	c := expect.Value(r.Consistent().Get(ctx, next.Key(ana)))(t)
	equal(t, "copy", expect.Value(r.Consistent().Get(ctx, mailKey("ana@x")))(t), c)

	// An item that an old program has left is removed, not moved.
	must(t, tbl.Do(ctx, table.Put(accountKey("u-1"), left)))
	must(t, tbl.Transact(ctx, expect.Value(r.RefreshOps(ctx, left))(t)...))
	absent(t, tbl, accountKey("u-1"))
	equal(t, "the new item", expect.Value(r.Consistent().Get(ctx, next.Key(ana)))(t), c)
}

// refreshesFormerPairs has former items that the present description cannot tell
// apart, or that are missing their main item. None is deleted.
func refreshesFormerPairs(t *testing.T, h Harness) {
	ctx := t.Context()
	upper := customerEntity
	upper.FormerKeys = []func(customer) keys.Key{func(c customer) keys.Key { return accountKey(c.ID) }}
	upper.Key = func(c customer) keys.Key {
		return keys.Key{PK: keys.Prefix("CUSTOMER").PK(strings.ToUpper(c.ID)), SK: "A"}
	}
	upper.Copies = nil
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, upper)
	old := customer0Entity
	old.Copies = nil
	for _, id := range []string{"ana", "Ana"} {
		must(t, newRepo(t, tbl, old).Create(ctx, &customer0{ID: id, Email: "x@x", Name: "A B", Months: "1 month"}))
	}
	must(t, tbl.Transact(ctx, expect.Value(r.RefreshOps(ctx, raw(t, tbl, accountKey("ana"))))(t)...))
	wantErr(t, expect.ErrOf(r.RefreshOps(ctx, raw(t, tbl, accountKey("Ana")))), table.ErrExists)

	// The former key is that of a copy now.
	swapped := customerEntity
	swapped.Key, swapped.FormerKeys = upper.Key, upper.FormerKeys
	swapped.Copies = []repo.Copy[customer]{{Key: func(c customer) keys.Key { return accountKey(c.ID) }}}
	wantErr(t, expect.ErrOf(newRepo(t, tbl, swapped).RefreshOps(ctx, raw(t, tbl, accountKey("Ana")))), repo.ErrOrphan)

	// A copy whose main item is still under its former key.
	tbl = h.newTable(t, appCore())
	createOld(t, tbl)
	swapped.Copies = customerEntity.Copies
	r = newRepo(t, tbl, swapped)
	equal(t, "ops of the copy", len(expect.Value(r.RefreshOps(ctx, raw(t, tbl, mailKey("ana@x"))))(t)), 0)
	must(t, tbl.Transact(ctx, expect.Value(r.RefreshOps(ctx, raw(t, tbl, accountKey("u-1"))))(t)...))
	equal(t, "copy", expect.Value(r.Consistent().Get(ctx, mailKey("ana@x")))(t).Last, "Lima")

	// A former copy without a main item.
	swapped.Copies, swapped.FormerCopies = nil, []func(customer) keys.Key{func(c customer) keys.Key { return mailKey(c.Email) }}
	must(t, tbl.Do(ctx, table.Delete(swapped.Key(ana))))
	wantErr(t, expect.ErrOf(newRepo(t, tbl, swapped).RefreshOps(ctx, raw(t, tbl, mailKey("ana@x")))), repo.ErrOrphan)
}

func refreshesUnversioned(t *testing.T, h Harness) {
	ctx := t.Context()
	type plain struct {
		ID string `dynamodbav:"id"`
		N  int    `dynamodbav:"n"`
	}
	tbl := h.newTable(t, appCore())
	e := repo.Entity[plain]{Type: "PLAIN", Key: func(p plain) keys.Key { return accountKey(p.ID) }}
	must(t, newRepo(t, tbl, e).Put(ctx, &plain{ID: "p", N: 1}))
	e.Indexes = repo.Indexes[plain]{"GSI1": func(p plain) keys.Key { return keys.Key{PK: "N", SK: keys.SK(fmt.Sprintf("%03d", p.N))} }}
	r := newRepo(t, tbl, e)
	ops := expect.Value(r.RefreshOps(ctx, raw(t, tbl, accountKey("p"))))(t)
	patched(t, tbl, accountKey("p"), table.Item{"n": num("2")})
	wantErr(t, tbl.Transact(ctx, ops...), table.ErrConditionFailed)
	if changed := expect.Value(r.Refresh(ctx, accountKey("p")))(t); !changed {
		t.Error("nothing was refreshed")
	}
	equal(t, "in the index", expect.Value(r.Query(ctx, table.Query{Index: "GSI1", PK: "N"}))(t).Items, []plain{{ID: "p", N: 2}})
}
