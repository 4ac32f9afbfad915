package conformance

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func olderShapeRefused(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	createOld(t, tbl)
	later := customerEntity
	later.OldestShape, later.Upgrades = 2, toShape5[2:]
	r := newRepo(t, tbl, later)
	wantErr(t, expect.ErrOf(r.Get(t.Context(), accountKey("u-1"))), repo.ErrUpgrade)
	wantErr(t, expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(*customer) error { return nil })), repo.ErrUpgrade)
	wantErr(t, r.Delete(t.Context(), accountKey("u-1")), repo.ErrUpgrade)
	must(t, expect.ErrOf(newRepo(t, tbl, customerEntity).Refresh(t.Context(), accountKey("u-1"))))
	later.OldestShape, later.Upgrades = 5, nil
	c := expect.Value(newRepo(t, tbl, later).Consistent().Get(t.Context(), mailKey("ana@x")))(t)
	equal(t, "read without upgrades", c.Last, "Lima")
}

func shapeFilters(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, customerEntity)
	var into []customer
	for _, name := range []string{"tier", "last", "months"} {
		q := table.Query{PK: "P", Filter: expression.Name(name).Equal(expression.Value("x"))}
		wantErr(t, expect.ErrOf(r.Query(t.Context(), q)), table.ErrInvalid)
		wantErr(t, expect.ErrOf(table.Collect(r.All(t.Context(), q))), table.ErrInvalid)
		wantErr(t, repo.Collect(t.Context(), tbl, q, r.AppendTo(&into)), table.ErrInvalid)
	}
	q := table.Query{PK: "P", Filter: expression.Name("email").Equal(expression.Value("x"))}
	must(t, expect.ErrOf(r.Query(t.Context(), q)))

	spec := appCore()
	spec.Indexes = append(spec.Indexes, schema.Index{Name: "KEYS", PK: "kpk", Projection: "INCLUDE", Include: []string{"entityType"}})
	partial := newRepo(t, h.newTable(t, spec), customerEntity)
	wantErr(t, expect.ErrOf(partial.Query(t.Context(), table.Query{Index: "KEYS", PK: "P"})), table.ErrInvalid)

	// Once the upgrades are gone, filters are as always.
	later := customerEntity
	later.OldestShape, later.Upgrades = 5, nil
	q.Filter = expression.Name("tier").Equal(expression.Value("x"))
	must(t, expect.ErrOf(newRepo(t, tbl, later).Query(t.Context(), q)))
}

func wrongUpgrades(t *testing.T, h Harness) {
	broken := errors.New("broken")
	for name, u := range map[string]repo.Upgrade{
		"writes what it does not list":  {Change: func(item table.Item) error { item["x"] = str("1"); return nil }},
		"removes what it does not list": {Change: func(item table.Item) error { delete(item, "fax"); return nil }},
		"fails":                         {Change: func(table.Item) error { return broken }},
		"panics":                        {Change: func(item table.Item) error { panic("over " + textOf(item["name"])) }},
		"sets nil": {Writes: []string{"fax"}, Change: func(item table.Item) error {
			item["fax"] = (*types.AttributeValueMemberS)(nil)
			return nil
		}},
	} {
		tbl := h.newTable(t, appCore())
		createOld(t, tbl)
		before := raw(t, tbl, accountKey("u-1"))
		e := customer0Entity
		e.Upgrades = []repo.Upgrade{u}
		r := newRepo(t, tbl, e)
		_, err := r.Get(t.Context(), accountKey("u-1"))
		if err == nil || strings.Contains(err.Error(), "Lima") {
			t.Errorf("an upgrade that %s: %v", name, err)
		}
		for _, err := range []error{
			expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(c *customer0) error { c.Name = "x"; return nil })),
			expect.ErrOf(r.Refresh(t.Context(), accountKey("u-1"))), r.Delete(t.Context(), accountKey("u-1")),
		} {
			if err == nil {
				t.Errorf("an upgrade that %s: a write succeeded", name)
			}
		}
		equal(t, name, diffItems(before, raw(t, tbl, accountKey("u-1"))), "")
	}
}

func shapeUpserts(t *testing.T, h Harness) {
	type counter struct {
		ID       string `dynamodbav:"id"`
		Count    int    `dynamodbav:"count"`
		Revision string `dynamodbav:"revision"`
	}
	tbl := h.newTable(t, appCore())
	e := repo.Entity[counter]{Type: "COUNTER", Version: "revision", Key: func(c counter) keys.Key { return accountKey(c.ID) }}
	old := newRepo(t, tbl, e)
	add := repo.Patch{Add: map[string]any{"count": 1}}
	must(t, expect.ErrOf(old.Upsert(t.Context(), counter{ID: "c"}, add)))
	must(t, expect.ErrOf(old.Upsert(t.Context(), counter{ID: "c"}, add)))
	patched(t, tbl, accountKey("c"), table.Item{"legacy": str("x")})
	e.Upgrades = []repo.Upgrade{repo.Drop("legacy")}
	r := newRepo(t, tbl, e)
	c := expect.Value(r.Upsert(t.Context(), counter{ID: "c"}, add))(t)
	item := raw(t, tbl, accountKey("c"))
	got := table.Item{"legacy": item["legacy"], "entityShape": item["entityShape"], "count": item["count"]}
	equal(t, "upgraded", diffItems(table.Item{"legacy": nil, "entityShape": num("1"), "count": num(strconv.Itoa(c.Count))}, got), "")
	wantErr(t, expect.ErrOf(old.Upsert(t.Context(), counter{ID: "c"}, add)), table.ErrNewerShape)
	wantErr(t, expect.ErrOf(r.Upsert(t.Context(), counter{ID: "c"}, repo.Patch{Set: map[string]any{"legacy": "y"}})), table.ErrInvalid)

	// One that is admitted counts on.
	e.Upgrades[0].Compatible = true
	r = newRepo(t, tbl, e)
	must(t, expect.ErrOf(r.Upsert(t.Context(), counter{ID: "d"}, add)))
	c = expect.Value(old.Upsert(t.Context(), counter{ID: "d"}, add))(t)
	item = raw(t, tbl, accountKey("d"))
	equal(t, "shape", diffItems(table.Item{"s": num("1")}, table.Item{"s": item["entityShape"]}), "")
}

func shapeViews(t *testing.T, h Harness) {
	spec := appCore()
	spec.Indexes = append(spec.Indexes, schema.Index{Name: "KEYS", PK: "kpk", Projection: "INCLUDE", Include: []string{"entityType"}})
	tbl := h.newTable(t, spec)
	createOld(t, tbl)
	patched(t, tbl, accountKey("u-1"), table.Item{"kpk": str("K")})
	view := newRepo(t, tbl, customerEntity).View()
	filter := expression.Name("tier").Equal(expression.Value("basic"))
	for name, err := range map[string]error{
		"QueryRows": expect.ErrOf(table.QueryRows[customer](t.Context(), view, table.Query{PK: accountKey("u-1").PK, Filter: filter}, nil)),
		"ScanPage":  expect.ErrOf(table.ScanPage[customer](t.Context(), view, table.Scan{Filter: filter})),
		"index":     expect.ErrOf(table.QueryPage[customer](t.Context(), view, table.Query{Index: "KEYS", PK: "K"})),
	} {
		if !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Without upgrades, such an index does not tell shapes, and needs none.
	later := customerEntity
	must(t, expect.ErrOf(newRepo(t, tbl, later).Refresh(t.Context(), accountKey("u-1"))))
	later.OldestShape, later.Upgrades = 5, nil
	page := expect.Value(table.QueryPage[table.Item](t.Context(), newRepo(t, tbl, later).View(), table.Query{Index: "KEYS", PK: "K"}))(t)
	equal(t, "items", len(page.Items), 1)
}

func shapeOfAnotherType(t *testing.T, h Harness) {
	for name, value := range map[string]types.AttributeValue{
		"text": str("2"), "fraction": num("1.5"), "negative": num("-1"), "huge": num("1000000000000000000000000000000"),
		"bool": &types.AttributeValueMemberBOOL{Value: true},
	} {
		tbl := h.newTable(t, appCore())
		createOld(t, tbl)
		patched(t, tbl, accountKey("u-1"), table.Item{"entityShape": value})
		before := raw(t, tbl, accountKey("u-1"))
		r := newRepo(t, tbl, customerEntity)
		for _, err := range []error{
			expect.ErrOf(r.Get(t.Context(), accountKey("u-1"))), expect.ErrOf(r.Refresh(t.Context(), accountKey("u-1"))),
			expect.ErrOf(r.RefreshOps(t.Context(), before)), r.Delete(t.Context(), accountKey("u-1")),
			expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(c *customer) error { c.Last = "X"; return nil })),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		equal(t, name, diffItems(before, raw(t, tbl, accountKey("u-1"))), "")
	}
}

// upgradeInPlace has an upgrade that modifies a value, which it must not: it is
// applied once all the same.
func upgradeInPlace(t *testing.T, h Harness) {
	e := customer0Entity
	e.Copies = nil
	tbl := h.newTable(t, appCore())
	must(t, newRepo(t, tbl, e).Create(t.Context(), &customer0{ID: "u-1", Email: "ana@x", Name: "s"}))
	e.Upgrades = []repo.Upgrade{{Writes: []string{"name"}, Change: func(item table.Item) error {
		item["name"].(*types.AttributeValueMemberS).Value += "!"
		return nil
	}}}
	r := newRepo(t, tbl, e)
	equal(t, "read", expect.Value(r.Get(t.Context(), accountKey("u-1")))(t).Name, "s!")
	must(t, expect.ErrOf(r.Refresh(t.Context(), accountKey("u-1"))))
	equal(t, "stored", expect.Value(r.Consistent().Get(t.Context(), accountKey("u-1")))(t).Name, "s!")
}

func newerShapeRefused(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	c := customer{ID: "u-1", Email: "ana@x", First: "Ana", Last: "Lima", Months: 12, Tier: "gold"}
	must(t, newRepo(t, tbl, customerEntity).Create(t.Context(), &c))
	wantShape(t, "created", tbl, c)
	r0, r1 := newRepo(t, tbl, customer0Entity), newRepo(t, tbl, customer1Entity)
	key, mail, ctx := accountKey("u-1"), mailKey("ana@x"), t.Context()
	type mailed struct {
		Email string `dynamodbav:"email"`
	}
	projected := table.Query{PK: key.PK, Project: []string{"email"}}
	var into []customer0
	for name, call := range map[string]func() error{
		"Get":        func() error { return expect.ErrOf(r0.Get(ctx, key)) },
		"Get, 1":     func() error { return expect.ErrOf(r1.Get(ctx, mail)) },
		"BatchGet":   func() error { return expect.ErrOf(r0.BatchGet(ctx, []keys.Key{key})) },
		"Query":      func() error { return expect.ErrOf(r0.Query(ctx, table.Query{PK: key.PK})) },
		"projection": func() error { return expect.ErrOf(table.QueryPage[mailed](ctx, r0.View(), projected)) },
		"Collect":    func() error { return repo.Collect(ctx, tbl, table.Query{PK: key.PK}, r0.AppendTo(&into)) },
		"Update": func() error {
			return expect.ErrOf(r0.Update(ctx, key, func(c *customer0) error { c.Name = "x"; return nil }))
		},
		"Update mail": func() error {
			return expect.ErrOf(r1.Update(ctx, mail, func(c *customer1) error { c.Name = "x"; return nil }))
		},
		"Save":        func() error { return r0.Save(ctx, &customer0{ID: "u-1", Email: "ana@x", Revision: c.Revision}) },
		"Delete":      func() error { return r1.Delete(ctx, key) },
		"Delete mail": func() error { return r0.Delete(ctx, mail) },
		"Refresh":     func() error { return expect.ErrOf(r0.Refresh(ctx, key)) },
		"RefreshOps":  func() error { return expect.ErrOf(r1.RefreshOps(ctx, raw(t, tbl, key))) },
	} {
		before := len(faults.Requests("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"))
		if err := call(); !errors.Is(err, table.ErrNewerShape) {
			t.Errorf("%s: %v", name, err)
		}
		equal(t, name+": writes", len(faults.Requests("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")), before)
	}
	must(t, expect.ErrOf(r0.Query(ctx, table.Query{PK: keys.User.PK("nobody")})))
	equal(t, "collected", len(into), 0)
	wantShape(t, "at last", tbl, c)
}

func newerShapeKept(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r0, r1 := newRepo(t, tbl, customer0Entity), newRepo(t, tbl, customer1Entity)
	c := customer1{ID: "u-1", Email: "ana@x", Name: "Ana", Tier: "gold"}
	must(t, r1.Create(t.Context(), &c))
	shaped := func(what string, shape, from string) {
		t.Helper()
		for _, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
			item := raw(t, tbl, key)
			got := table.Item{"tier": item["tier"], "entityShape": item["entityShape"], "entityShapeFrom": item["entityShapeFrom"]}
			if diff := diffItems(table.Item{"tier": str("gold"), "entityShape": num(shape), "entityShapeFrom": num(from)}, got); diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", what, key, diff)
			}
		}
	}
	shaped("created", "1", "0")
	must(t, expect.ErrOf(r0.Update(t.Context(), accountKey("u-1"), func(c *customer0) error { c.Name = "Eva"; return nil })))
	shaped("updated by an older program", "1", "0")
	old := expect.Value(r0.Consistent().Get(t.Context(), accountKey("u-1")))(t)
	old.Name = "Ida"
	must(t, r0.Save(t.Context(), &old))
	shaped("put by an older program", "1", "0")
	old.Name = "Leo"
	must(t, r0.Save(t.Context(), &old))
	equal(t, "read by the newer program", expect.Value(r1.Consistent().Get(t.Context(), mailKey("ana@x")))(t),
		customer1{ID: "u-1", Email: "ana@x", Name: "Leo", Tier: "gold", Revision: old.Revision})

	// Ops of a program with a shape of its own cannot tell the newer one.
	mid := customer1Entity
	mid.Upgrades = []repo.Upgrade{{Compatible: true}, {Compatible: true}}
	newer := newRepo(t, tbl, mid)
	must(t, expect.ErrOf(newer.Update(t.Context(), accountKey("u-1"), func(c *customer1) error { c.Name = "Uma"; return nil })))
	shaped("updated by a newer program", "2", "0")
	c = expect.Value(r1.Consistent().Get(t.Context(), accountKey("u-1")))(t)
	wantErr(t, tbl.Transact(t.Context(), r1.UpdateOps(c, new(c))...), table.ErrNewerShape)
	old = expect.Value(r0.Consistent().Get(t.Context(), accountKey("u-1")))(t)
	wantErr(t, tbl.Transact(t.Context(), r0.UpdateOps(old, new(old))...), table.ErrNewerShape)
	c.Name = "Ana"
	must(t, r1.Save(t.Context(), &c))
	shaped("put by a program with an older shape", "2", "0")
	if changed := expect.Value(r1.Refresh(t.Context(), accountKey("u-1")))(t); changed {
		t.Error("an item of a newer shape was refreshed")
	}
	must(t, r0.Delete(t.Context(), mailKey("ana@x")))
}
