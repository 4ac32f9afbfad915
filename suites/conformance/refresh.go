package conformance

import (
	"fmt"
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

// refreshesFormer moves a main key by copies, over releases, and gives up the former one.
func refreshesFormer(t *testing.T, h Harness) {
	ctx := t.Context()
	former := func(c customer) keys.Key { return accountKey(c.ID) }
	present := func(c customer) keys.Key { return keys.Key{PK: keys.Prefix("CUSTOMER").PK(c.ID), SK: "A"} }
	copied, moved, last := customerEntity, customerEntity, customerEntity
	copied.Copies = append([]repo.Copy[customer]{{Name: "moved", Key: present}}, customerEntity.Copies...)
	moved.Key, moved.Copies = present, append([]repo.Copy[customer]{{Name: "by id", Key: former}}, customerEntity.Copies...)
	last.Key, last.FormerCopies = present, []func(customer) keys.Key{former}
	tbl := h.newTable(t, appCore())
	createOld(t, tbl)
	must(t, tbl.Transact(ctx, expect.Value(newRepo(t, tbl, copied).RefreshOps(ctx, raw(t, tbl, accountKey("u-1"))))(t)...))

	// The index keys move with the main item.
	r := newRepo(t, tbl, moved)
	must(t, tbl.Transact(ctx, expect.Value(r.RefreshOps(ctx, raw(t, tbl, present(ana))))(t)...))
	index := table.Query{Index: "GSI1", PK: customerIndex.Key(ana.ID, "").PK}
	if found := expect.Value(table.QueryRows[struct{}](ctx, tbl, index, nil))(t).Rows; len(found) != 1 || found[0].Key != present(ana) {
		t.Errorf("in the index: %v", found)
	}
	c := expect.Value(r.Consistent().Get(ctx, present(ana)))(t)
	for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
		equal(t, "copy", expect.Value(r.Consistent().Get(ctx, key))(t), c)
		equal(t, "ops of a copy", len(expect.Value(r.RefreshOps(ctx, raw(t, tbl, key)))(t)), 0)
	}

	// The former item is deleted while there is a main item, and no later.
	r = newRepo(t, tbl, last)
	left := raw(t, tbl, accountKey("u-1"))
	ops := expect.Value(r.RefreshOps(ctx, left))(t)
	must(t, tbl.Transact(ctx, ops...))
	absent(t, tbl, accountKey("u-1"))
	equal(t, "the main item", expect.Value(r.Consistent().Get(ctx, present(ana)))(t), c)
	must(t, tbl.Do(ctx, table.Put(accountKey("u-1"), left)))
	must(t, tbl.Do(ctx, table.Delete(present(ana))))
	if tbl.Transact(ctx, ops...) == nil {
		t.Error("the former item is deleted without a main item")
	}
	wantErr(t, expect.ErrOf(r.RefreshOps(ctx, left)), repo.ErrOrphan)
	equal(t, "the former item", diffItems(left, raw(t, tbl, accountKey("u-1"))), "")
}

func refreshesUnversioned(t *testing.T, h Harness) {
	ctx := t.Context()
	type plain struct {
		ID string `dynamodbav:"id"`
		N  int    `dynamodbav:"n"`
	}
	tbl := h.newTable(t, appCore())
	e := repo.Entity[plain]{Type: "PLAIN", Key: func(p plain) keys.Key { return accountKey(p.ID) }}
	must(t, newRepo(t, tbl, e).Save(ctx, &plain{ID: "p", N: 1}))
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
