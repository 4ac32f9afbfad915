package conformance

import (
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
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
		"a main key moves by copies, over releases":          refreshesFormer,
		"a view refuses what would miss items":               shapeViews,
		"a shape attribute of another type is refused":       shapeOfAnotherType,
		"an upgrade that changes values in place":            upgradeInPlace,
		"an import stores what a refresh does":               refreshItems,
		"a refresh of an unversioned item loses no write":    refreshesUnversioned,
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
		"BatchGet":      {expect.Value(r.BatchGet(t.Context(), []keys.Key{mail}))(t)[mail]},
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

	// A projection is of the new shape.
	type listed struct {
		Last string `dynamodbav:"last"`
		Tier string `dynamodbav:"tier"`
	}
	partition.Project = []string{"last", "tier"}
	equal(t, "projection", expect.Value(table.QueryPage[listed](t.Context(), r.View(), partition))(t).Items, []listed{{"Lima", "basic"}})
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
		"Save": func(_ *table.Table, r *repo.Repo[customer], c customer) error {
			must(t, rename(&c))
			return r.Save(t.Context(), &c)
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
