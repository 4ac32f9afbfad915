package conformance

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

func shapeTests() tests {
	return tests{
		"every read gives the newest shape":                  shapeReads,
		"a write stores the upgrade in all items":            shapeWrites,
		"a program that is not admitted writes nothing":      newerShapeRefused,
		"a program that is admitted keeps the newer shape":   newerShapeKept,
		"an item older than the oldest shape is refused":     olderShapeRefused,
		"a filter on an upgraded attribute is refused":       shapeFilters,
		"an upgrade that is wrong fails, and writes nothing": wrongUpgrades,
		"an upsert upgrades first":                           shapeUpserts,
		"a refresh repairs every item":                       refreshes,
		"a refresh moves and removes former items":           refreshesFormer,
		"a refresh loses none of two former items":           refreshesFormerPairs,
		"a view refuses what would miss items":               shapeViews,
		"a shape attribute of another type is refused":       shapeOfAnotherType,
		"an upgrade can change the expiry":                   shapeExpiry,
		"an upgrade that changes values in place":            upgradeInPlace,
		"an import stores what a refresh does":               refreshItems,
		"a refresh of an unversioned item loses no write":    refreshesUnversioned,
		"programs of all shapes lose nothing":                shapesSideBySide,
	}
}

const customerType = "CUSTOMER"

// customer0 and its successors are one entity in four releases. The third one
// renames and converts, so it does not admit the ones before.
type customer0 struct {
	ID       string `dynamodbav:"id"`
	Email    string `dynamodbav:"email"`
	Name     string `dynamodbav:"name"`
	Months   string `dynamodbav:"months,omitempty"`
	Fax      string `dynamodbav:"fax,omitempty"`
	Revision string `dynamodbav:"revision"`
}

type customer1 struct {
	ID       string `dynamodbav:"id"`
	Email    string `dynamodbav:"email"`
	Name     string `dynamodbav:"name"`
	Months   string `dynamodbav:"months,omitempty"`
	Fax      string `dynamodbav:"fax,omitempty"`
	Tier     string `dynamodbav:"tier"`
	Revision string `dynamodbav:"revision"`
}

type customer struct {
	ID       string `dynamodbav:"id"`
	Email    string `dynamodbav:"email"`
	First    string `dynamodbav:"first"`
	Last     string `dynamodbav:"last"`
	Months   int    `dynamodbav:"months"`
	Tier     string `dynamodbav:"tier"`
	Revision string `dynamodbav:"revision"`
}

var (
	toShape1 = repo.Default("tier", "basic")
	toShape5 = []repo.Upgrade{
		toShape1,
		repo.Rename("name", "fullName"),
		{
			Writes: []string{"first", "last"}, Removes: []string{"fullName"},
			Change: func(item table.Item) error {
				first, last, _ := strings.Cut(textOf(item["fullName"]), " ")
				delete(item, "fullName")
				item["first"], item["last"] = str(first), str(last)
				return nil
			},
		},
		repo.Convert("months", "months", func(months string) (int, error) {
			n, _, _ := strings.Cut(months, " ")
			return strconv.Atoi(n)
		}),
		repo.Drop("fax"),
	}

	customer0Entity = repo.Entity[customer0]{
		Type: customerType, Version: "revision",
		Key:    func(c customer0) keys.Key { return accountKey(c.ID) },
		Copies: []repo.Copy[customer0]{{Name: "by email", Key: func(c customer0) keys.Key { return mailKey(c.Email) }}},
	}
	customer1Entity = repo.Entity[customer1]{
		Type: customerType, Version: "revision", Upgrades: []repo.Upgrade{toShape1},
		Key:    func(c customer1) keys.Key { return accountKey(c.ID) },
		Copies: []repo.Copy[customer1]{{Name: "by email", Key: func(c customer1) keys.Key { return mailKey(c.Email) }}},
	}
	customerEntity = repo.Entity[customer]{
		Type: customerType, Version: "revision", Upgrades: toShape5,
		Key:     func(c customer) keys.Key { return accountKey(c.ID) },
		Indexes: repo.Indexes[customer]{"GSI1": func(c customer) keys.Key { return customerIndex.Key(c.ID, keys.SK(c.Last)) }},
		Copies:  []repo.Copy[customer]{{Name: "by email", Key: func(c customer) keys.Key { return mailKey(c.Email) }}},
	}
	customerIndex = shard.Index{Index: "GSI1", Prefix: "CUSTOMERS", Shards: 2}
)

// textOf returns what a string holds.
func textOf(value types.AttributeValue) string {
	if s, ok := value.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// ana0 is a customer as the first release stores it, and ana as the present one
// reads it.
var (
	ana0 = customer0{ID: "u-1", Email: "ana@x", Name: "Ana Lima", Months: "12 months", Fax: "1"}
	ana  = customer{ID: "u-1", Email: "ana@x", First: "Ana", Last: "Lima", Months: 12, Tier: "basic"}
)

// createOld stores ana0 and returns ana with its revision.
func createOld(t *testing.T, tbl *table.Table) customer {
	t.Helper()
	old := ana0
	must(t, newRepo(t, tbl, customer0Entity).Create(t.Context(), &old))
	want := ana
	want.Revision = old.Revision
	return want
}

func shapeReads(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	want := createOld(t, tbl)
	// As if another program had made the index key.
	patched(t, tbl, accountKey("u-1"), table.Item{"gsi1pk": str(string(customerIndex.Key("u-1", "").PK)), "gsi1sk": str("Lima")})
	r := newRepo(t, tbl, customerEntity)
	mail, partition := mailKey("ana@x"), table.Query{PK: accountKey("u-1").PK}
	reader := expect.Value(shard.New[customer](r.View(), customerIndex, nil))(t)
	var collected []customer
	must(t, repo.Collect(t.Context(), tbl, partition, r.AppendTo(&collected)))
	for name, got := range map[string][]customer{
		"Get":           {expect.Value(r.Get(t.Context(), accountKey("u-1")))(t)},
		"Get of a copy": {expect.Value(r.Consistent().Get(t.Context(), mail))(t)},
		"GetMany":       {expect.Value(r.GetMany(t.Context(), []keys.Key{mail}))(t)[mail]},
		"TransactGet":   {expect.Value(table.TransactGet[customer](t.Context(), r.View(), []keys.Key{mail}))(t)[mail]},
		"Query":         expect.Value(r.Query(t.Context(), partition))(t).Items,
		"All":           expect.Value(table.Collect(r.All(t.Context(), partition)))(t),
		"Scan":          expect.Value(table.ScanPage[customer](t.Context(), r.View(), table.Scan{Limit: 1}))(t).Items,
		"Collect":       collected,
		"shard":         expect.Value(reader.Latest(t.Context(), 1))(t),
	} {
		equal(t, name, got, []customer{want})
	}
	items := expect.Value(table.Get[table.Item](t.Context(), r.View(), mail))(t)
	equal(t, "Item", diffItems(table.Item{"first": str("Ana"), "fullName": nil}, table.Item{"first": items["first"], "fullName": items["fullName"]}), "")

	// A projection is of the new shape, and its values have no version.
	partition.Project = []string{"last", "tier"}
	part := []customer{{Last: "Lima", Tier: "basic"}}
	equal(t, "Query of a part", expect.Value(r.Query(t.Context(), partition))(t).Items, part)
	equal(t, "All of a part", expect.Value(table.Collect(r.All(t.Context(), partition)))(t), part)
	collected = nil
	must(t, repo.Collect(t.Context(), tbl, partition, r.AppendTo(&collected)))
	equal(t, "Collect of a part", collected, part)
}

// wantShape checks that all items of the customer are as the present release
// stores them.
func wantShape(t *testing.T, what string, tbl *table.Table, c customer) {
	t.Helper()
	for _, key := range []keys.Key{accountKey(c.ID), mailKey(c.Email)} {
		item := raw(t, tbl, key)
		want := table.Item{
			"pk": str(string(key.PK)), "sk": str(string(key.SK)), "entityType": str(customerType), "id": str(c.ID), "email": str(c.Email),
			"first": str(c.First), "last": str(c.Last), "months": num(strconv.Itoa(c.Months)), "tier": str(c.Tier), "revision": str(c.Revision),
			"entityShape": num("5"),
		}
		if key == accountKey(c.ID) {
			index := customerIndex.Key(c.ID, keys.SK(c.Last))
			want["gsi1pk"], want["gsi1sk"] = str(string(index.PK)), str(string(index.SK))
		}
		if diff := diffItems(want, item); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", what, key, diff)
		}
	}
}

func shapeWrites(t *testing.T, h Harness) {
	rename := func(c *customer) error { c.Last = "Sosa"; return nil }
	for name, write := range map[string]func(tbl *table.Table, r *repo.Repo[customer], c customer) error{
		"Update": func(_ *table.Table, r *repo.Repo[customer], _ customer) error {
			return expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), rename))
		},
		"Update by a copy's key": func(_ *table.Table, r *repo.Repo[customer], _ customer) error {
			return expect.ErrOf(r.Update(t.Context(), mailKey("ana@x"), rename))
		},
		"Update that moves a copy": func(_ *table.Table, r *repo.Repo[customer], _ customer) error {
			return expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(c *customer) error { c.Email = "eva@x"; return rename(c) }))
		},
		"Update that moves the entity": func(_ *table.Table, r *repo.Repo[customer], _ customer) error {
			return expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(c *customer) error { c.ID = "u-2"; return rename(c) }))
		},
		"Put": func(_ *table.Table, r *repo.Repo[customer], c customer) error {
			must(t, rename(&c))
			return r.Put(t.Context(), &c)
		},
		"PutOps": func(tbl *table.Table, r *repo.Repo[customer], c customer) error {
			must(t, rename(&c))
			return tbl.Transact(t.Context(), r.PutOps(&c)...)
		},
		"UpdateOps": func(tbl *table.Table, r *repo.Repo[customer], c customer) error {
			old := c
			must(t, rename(&c))
			return tbl.Transact(t.Context(), r.UpdateOps(old, &c)...)
		},
	} {
		tbl := h.newTable(t, appCore())
		r := newRepo(t, tbl, customerEntity)
		c := createOld(t, tbl)
		same := expect.Value(r.Update(t.Context(), accountKey("u-1"), func(*customer) error { return nil }))(t)
		equal(t, name+": without a change", same.Last, c.Last)
		c = same
		if err := write(tbl, r, c); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		id, email := "u-1", "ana@x"
		if name == "Update that moves the entity" {
			id = "u-2"
		}
		if name == "Update that moves a copy" {
			email = "eva@x"
		}
		want := customer{ID: id, Email: email, First: "Ana", Last: "Sosa", Months: 12, Tier: "basic"}
		got := expect.Value(r.Consistent().Get(t.Context(), accountKey(id)))(t)
		want.Revision = got.Revision
		equal(t, name, got, want)
		wantShape(t, name, tbl, want)
	}
}

func newerShapeRefused(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	c := customer{ID: "u-1", Email: "ana@x", First: "Ana", Last: "Lima", Months: 12, Tier: "gold"}
	must(t, newRepo(t, tbl, customerEntity).Create(t.Context(), &c))
	wantShape(t, "created", tbl, c)
	r0, r1 := newRepo(t, tbl, customer0Entity), newRepo(t, tbl, customer1Entity)
	key, mail, ctx := accountKey("u-1"), mailKey("ana@x"), t.Context()
	partition := table.Query{PK: key.PK, Project: []string{"email"}}
	var into []customer0
	for name, call := range map[string]func() error{
		"Get":        func() error { return expect.ErrOf(r0.Get(ctx, key)) },
		"Get, 1":     func() error { return expect.ErrOf(r1.Get(ctx, mail)) },
		"GetMany":    func() error { return expect.ErrOf(r0.GetMany(ctx, []keys.Key{key})) },
		"Query":      func() error { return expect.ErrOf(r0.Query(ctx, table.Query{PK: key.PK})) },
		"part":       func() error { return expect.ErrOf(r0.Query(ctx, partition)) },
		"Collect":    func() error { return repo.Collect(ctx, tbl, table.Query{PK: key.PK}, r0.AppendTo(&into)) },
		"Collect, 2": func() error { return repo.Collect(ctx, tbl, partition, r0.AppendTo(&into)) },
		"Update": func() error {
			return expect.ErrOf(r0.Update(ctx, key, func(c *customer0) error { c.Name = "x"; return nil }))
		},
		"Update mail": func() error {
			return expect.ErrOf(r1.Update(ctx, mail, func(c *customer1) error { c.Name = "x"; return nil }))
		},
		"Put":         func() error { return r0.Put(ctx, &customer0{ID: "u-1", Email: "ana@x", Revision: c.Revision}) },
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
	must(t, r0.Put(t.Context(), &old))
	shaped("put by an older program", "1", "0")
	old.Name = "Leo"
	must(t, r0.Put(t.Context(), &old))
	equal(t, "read by the newer program", expect.Value(r1.Consistent().Get(t.Context(), mailKey("ana@x")))(t),
		customer1{ID: "u-1", Email: "ana@x", Name: "Leo", Tier: "gold", Revision: old.Revision})

	// Ops of a program with a shape of its own cannot tell the newer one.
	mid := customer1Entity
	mid.Upgrades = []repo.Upgrade{{Compatible: true}, {Compatible: true}}
	newer := newRepo(t, tbl, mid)
	must(t, expect.ErrOf(newer.Update(t.Context(), accountKey("u-1"), func(c *customer1) error { c.Name = "Uma"; return nil })))
	shaped("updated by a newer program", "2", "0")
	c = expect.Value(r1.Consistent().Get(t.Context(), accountKey("u-1")))(t)
	wantErr(t, tbl.Transact(t.Context(), r1.PutOps(new(c))...), table.ErrNewerShape)
	old = expect.Value(r0.Consistent().Get(t.Context(), accountKey("u-1")))(t)
	wantErr(t, tbl.Transact(t.Context(), r0.UpdateOps(old, new(old))...), table.ErrNewerShape)
	wantErr(t, r0.TransactPut(t.Context(), new(old)), table.ErrNewerShape)
	c.Name = "Ana"
	must(t, r1.Put(t.Context(), &c))
	shaped("put by a program with an older shape", "2", "0")
	if changed := expect.Value(r1.Refresh(t.Context(), accountKey("u-1")))(t); changed {
		t.Error("an item of a newer shape was refreshed")
	}
	must(t, r0.Delete(t.Context(), mailKey("ana@x")))
}

func olderShapeRefused(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	createOld(t, tbl)
	later := customerEntity
	later.OldestShape, later.Upgrades = 2, toShape5[2:]
	r := newRepo(t, tbl, later)
	wantErr(t, expect.ErrOf(r.Get(t.Context(), accountKey("u-1"))), repo.ErrOlderShape)
	wantErr(t, expect.ErrOf(r.Update(t.Context(), accountKey("u-1"), func(*customer) error { return nil })), repo.ErrOlderShape)
	wantErr(t, r.Delete(t.Context(), accountKey("u-1")), repo.ErrOlderShape)
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

	schema := appCore()
	schema.Indexes = append(schema.Indexes, table.Index{Name: "KEYS", PK: "kpk", Projection: "KEYS_ONLY"})
	partial := newRepo(t, h.newTable(t, schema), customerEntity)
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
	add := expression.Add(expression.Name("count"), expression.Value(1))
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
	wantErr(t, expect.ErrOf(r.Upsert(t.Context(), counter{ID: "c"}, expression.Set(expression.Name("legacy"), expression.Value("y")))), table.ErrInvalid)

	// One that is admitted counts on.
	e.Upgrades[0].Compatible = true
	r = newRepo(t, tbl, e)
	must(t, expect.ErrOf(r.Upsert(t.Context(), counter{ID: "d"}, add)))
	c = expect.Value(old.Upsert(t.Context(), counter{ID: "d"}, add))(t)
	item = raw(t, tbl, accountKey("d"))
	equal(t, "shape", diffItems(table.Item{"s": num("1")}, table.Item{"s": item["entityShape"]}), "")
}

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
	wantErr(t, tbl.Transact(ctx, ops...), table.ErrConditionFailed)
	must(t, tbl.Do(ctx, table.Delete(accountKey("u-1"))))
	must(t, tbl.Transact(ctx, ops...))
	absent(t, tbl, mailKey("ana@x"))

	// The key of a copy that is another entity's, and a copy that its entity does
	// not have, are left alone.
	createOld(t, tbl)
	stray := raw(t, tbl, mailKey("ana@x"))
	patched(t, tbl, accountKey("u-1"), table.Item{"email": str("eva@x")})
	wantErr(t, expect.ErrOf(r.RefreshOps(ctx, stray)), repo.ErrOrphan)
	must(t, tbl.Do(ctx, table.Put(mailKey("eva@x"), note{Type: "OTHER"})))
	wantErr(t, expect.ErrOf(r.Refresh(ctx, accountKey("u-1"))), table.ErrExists)
	equal(t, "copy", diffItems(stray, raw(t, tbl, mailKey("ana@x"))), "")
}

func refreshesFormer(t *testing.T, h Harness) {
	ctx := t.Context()
	former := func(c customer) keys.Key { return accountKey(c.ID) }
	newKey := keys.Key{PK: "CUSTOMER#u-1", SK: "A"}
	next := customerEntity
	next.Key = func(c customer) keys.Key { return keys.Key{PK: keys.Prefix("CUSTOMER").PK(c.ID), SK: "A"} }
	tbl := h.newTable(t, appCore())
	createOld(t, tbl)
	r := newRepo(t, tbl, next)
	wantErr(t, expect.ErrOf(r.RefreshOps(ctx, raw(t, tbl, accountKey("u-1")))), repo.ErrOrphan)

	next.FormerKeys = []func(customer) keys.Key{former}
	r = newRepo(t, tbl, next)
	left := raw(t, tbl, accountKey("u-1"))
	must(t, tbl.Transact(ctx, expect.Value(r.RefreshOps(ctx, left))(t)...))
	absent(t, tbl, accountKey("u-1"))
	c := expect.Value(r.Consistent().Get(ctx, newKey))(t)
	equal(t, "moved", c.Last, "Lima")
	equal(t, "copy", expect.Value(r.Consistent().Get(ctx, mailKey("ana@x")))(t), c)
	equal(t, "ops of the new item", len(expect.Value(r.RefreshOps(ctx, raw(t, tbl, newKey)))(t)), 0)

	// An item that an old program has left is removed, not moved.
	must(t, tbl.Do(ctx, table.Put(accountKey("u-1"), left)))
	must(t, tbl.Transact(ctx, expect.Value(r.RefreshOps(ctx, left))(t)...))
	absent(t, tbl, accountKey("u-1"))
	equal(t, "the new item", expect.Value(r.Consistent().Get(ctx, newKey))(t), c)

	// A write of the former item in between wins.
	unversioned := maps.Clone(left)
	delete(unversioned, "revision")
	must(t, tbl.Do(ctx, table.Put(accountKey("u-1"), unversioned)))
	ops := expect.Value(r.RefreshOps(ctx, raw(t, tbl, accountKey("u-1"))))(t)
	patched(t, tbl, accountKey("u-1"), table.Item{"name": str("Eva Sosa")})
	wantErr(t, tbl.Transact(ctx, ops...), table.ErrConditionFailed)
	must(t, tbl.Do(ctx, table.Delete(accountKey("u-1"))))

	// A copy is dropped.
	next.Copies, next.FormerCopies = nil, []func(customer) keys.Key{func(c customer) keys.Key { return mailKey(c.Email) }}
	r = newRepo(t, tbl, next)
	must(t, tbl.Transact(ctx, expect.Value(r.RefreshOps(ctx, raw(t, tbl, mailKey("ana@x"))))(t)...))
	absent(t, tbl, mailKey("ana@x"))
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

func shapeViews(t *testing.T, h Harness) {
	schema := appCore()
	schema.Indexes = append(schema.Indexes, table.Index{Name: "KEYS", PK: "kpk", Projection: "KEYS_ONLY"})
	tbl := h.newTable(t, schema)
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
	page := expect.Value(table.QueryPage[table.Item](t.Context(), newRepo(t, tbl, later).View().OfType("").WithUpgrade(table.Upgrade{Shape: 5}), table.Query{Index: "KEYS", PK: "K"}))(t)
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

func shapeExpiry(t *testing.T, h Harness) {
	type session struct {
		ID        string `dynamodbav:"id"`
		ExpiresAt int64  `dynamodbav:"expiresAt"`
		Revision  string `dynamodbav:"revision"`
	}
	e := repo.Entity[session]{
		Type: "SESSION", Version: "revision", Key: func(s session) keys.Key { return accountKey(s.ID) },
		Upgrades: []repo.Upgrade{repo.Convert("until", "expiresAt", func(until string) (int64, error) { return strconv.ParseInt(until, 10, 64) })},
	}
	tbl := h.newTable(t, appCore())
	for id, until := range map[string]int64{"past": now.Unix() - 1, "future": now.Unix() + 100} {
		item := table.Item{"id": str(id), "until": str(strconv.FormatInt(until, 10)), "revision": str("r"), "entityType": str("SESSION")}
		must(t, tbl.Do(t.Context(), table.Put(accountKey(id), item)))
	}
	r := newRepo(t, tbl, e)
	wantErr(t, expect.ErrOf(r.Get(t.Context(), accountKey("past"))), table.ErrNotFound)
	s := expect.Value(r.Get(t.Context(), accountKey("future")))(t)
	must(t, tbl.Transact(t.Context(), r.PutOps(&s)...))
	equal(t, "expiry", diffItems(table.Item{"e": num(strconv.FormatInt(now.Unix()+100, 10))}, table.Item{"e": raw(t, tbl, accountKey("future"))["expiresAt"]}), "")

	type noExpiry struct {
		ID       string `dynamodbav:"id"`
		Revision string `dynamodbav:"revision"`
	}
	_, err := repo.New(tbl, repo.Entity[noExpiry]{
		Type: "SESSION", Version: "revision", Key: func(s noExpiry) keys.Key { return accountKey(s.ID) }, Upgrades: e.Upgrades,
	})
	wantErr(t, err, table.ErrInvalid) // a put would lose the expiry
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

// shapesSideBySide has programs of three shapes write the same customers at random,
// and compares what each reads with a model.
func shapesSideBySide(t *testing.T, h Harness) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	tbl := h.newTable(t, appCore())
	r0, r1, r5 := newRepo(t, tbl, customer0Entity), newRepo(t, tbl, customer1Entity), newRepo(t, tbl, customerEntity)
	model, shapes := map[string]customer{}, map[string]int{}
	ctx := t.Context()
	for step := range 150 {
		id := fmt.Sprintf("u-%d", random.IntN(4))
		key, name, tier := accountKey(id), fmt.Sprintf("F%d L%d", random.IntN(9), random.IntN(9)), fmt.Sprintf("t%d", random.IntN(9))
		first, last, _ := strings.Cut(name, " ")
		want, exists := model[id]
		program := []int{0, 1, 5}[random.IntN(3)]
		refused := exists && shapes[id] == 5 && program < 5
		want.First, want.Last = first, last
		var err error
		switch {
		case exists && random.IntN(8) == 0:
			err = map[int]func() error{
				0: func() error { return r0.Delete(ctx, key) },
				1: func() error { return r1.Delete(ctx, key) },
				5: func() error { return r5.Delete(ctx, key) },
			}[program]()
			if !refused {
				delete(model, id)
				delete(shapes, id)
			}
		case !exists:
			want = customer{ID: id, Email: id + "@x", First: first, Last: last, Tier: "basic", Months: 7}
			switch program {
			case 0:
				err = r0.Create(ctx, &customer0{ID: id, Email: want.Email, Name: name, Months: "7 months"})
			case 1:
				want.Tier = tier
				err = r1.Create(ctx, &customer1{ID: id, Email: want.Email, Name: name, Months: "7 months", Tier: tier})
			case 5:
				want.Tier = tier
				made := want
				err = r5.Create(ctx, &made)
			}
			model[id], shapes[id] = want, program
		default:
			switch program {
			case 0:
				err = expect.ErrOf(r0.Update(ctx, key, func(c *customer0) error { c.Name = name; return nil }))
			case 1:
				want.Tier = tier
				err = expect.ErrOf(r1.Update(ctx, key, func(c *customer1) error { c.Name, c.Tier = name, tier; return nil }))
			case 5:
				want.Tier = tier
				err = expect.ErrOf(r5.Update(ctx, key, func(c *customer) error { c.First, c.Last, c.Tier = first, last, tier; return nil }))
			}
			if !refused {
				model[id], shapes[id] = want, max(shapes[id], program)
			}
		}
		if refused != errors.Is(err, table.ErrNewerShape) || !refused && err != nil {
			t.Fatalf("step %d, program %d: %v", step, program, err)
		}
		for id, want := range model {
			for _, key := range []keys.Key{accountKey(id), mailKey(id + "@x")} {
				got := expect.Value(r5.Consistent().Get(ctx, key))(t)
				got.Revision = ""
				equal(t, fmt.Sprintf("step %d, program %d", step, program), got, want)
				if shape := raw(t, tbl, key)["entityShape"]; shapes[id] > 0 && diffItems(table.Item{"s": num(strconv.Itoa(shapes[id]))}, table.Item{"s": shape}) != "" {
					t.Fatalf("step %d, program %d: shape %v, want %d", step, program, shape, shapes[id])
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	ids := slices.Sorted(maps.Keys(model))
	for _, id := range ids {
		must(t, expect.ErrOf(r5.Refresh(ctx, accountKey(id))))
		wantShape(t, "refreshed", tbl, expect.Value(r5.Consistent().Get(ctx, accountKey(id)))(t))
	}
}
