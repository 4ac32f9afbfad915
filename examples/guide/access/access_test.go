// Package access_test finds the IAM actions that each operation of the library needs,
// for testdata/actions.txt.
package access_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/samtest"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheFile -update

var spec = schema.Table{
	Name: "Access", TTLAttribute: "expiresAt",
	Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
	Vectors: []schema.VectorIndex{{Name: "similar", Attribute: "vector", Dimensions: 2}},
}

type user struct {
	ID       string `dynamodbav:"id"`
	Email    string `dynamodbav:"email"`
	Logins   int    `dynamodbav:"logins"`
	Revision string `dynamodbav:"revision"`
}

type product struct {
	ID     string    `dynamodbav:"id"`
	Vector []float32 `dynamodbav:"vector"`
}

func userKey(id string) keys.Key { return keys.Key{PK: keys.User.PK(id), SK: keys.Profile} }

func emailKey(u user) keys.Key {
	return keys.Key{PK: keys.Prefix("EMAIL").PK(u.Email), SK: keys.Metadata}
}

var (
	plain  = repo.Entity[user]{Type: "USER", Version: "revision", Key: func(u user) keys.Key { return userKey(u.ID) }}
	copied = repo.Entity[user]{
		Type: "USER", Version: "revision", Key: plain.Key,
		Copies: []repo.Copy[user]{{Name: "by e-mail", Key: emailKey}},
	}
	counted  = repo.Entity[user]{Type: "USER", Key: plain.Key}
	products = repo.Entity[product]{Type: "PRODUCT", Key: func(p product) keys.Key { return keys.Key{PK: "PRODUCTS", SK: keys.SK(p.ID)} }}
)

// env is a table with the user u-1 and the product p-1.
type env struct {
	ctx   context.Context
	table *table.Table
	users *repo.Repo[user]
}

var shards = shard.Index{Index: "GSI1", Prefix: "ALL", Shards: 2}

func update(change func(*user)) func(env) error {
	return func(e env) error {
		return check.Err(e.users.Update(e.ctx, userKey("u-1"), func(u *user) error { change(u); return nil }))
	}
}

func count(u *user) { u.Logins++ }

// save stores a new user, and then another value of it.
func save(e env) error {
	u := user{ID: "u-2", Email: "two"}
	if err := e.users.Save(e.ctx, &u); err != nil {
		return err
	}
	u.Email += ".example"
	return e.users.Save(e.ctx, &u)
}

func move(u *user) { u.Email += ".example" }

func once(e env) error {
	store, err := idempotency.New(e.table, nil)
	if err != nil {
		return err
	}
	u := user{ID: "u-2", Email: "two"}
	return check.Err(idempotency.Do(e.ctx, store, idempotency.Request{Scope: "s", Key: "k", Payload: idempotency.Text("")},
		func(context.Context) (idempotency.Plan[string], error) {
			return idempotency.Snapshot(u.ID, e.users.CreateOps(&u)...), nil
		}))
}

func collect(e env) error {
	var users []user
	return repo.Collect(e.ctx, e.table, table.Query{PK: userKey("u-1").PK}, e.users.AppendTo(&users))
}

var one = repo.Patch{Add: map[string]any{"logins": 1}}

// rows are operations, each with the function of an example's template that does the same.
var rows = []struct {
	name   string
	entity repo.Entity[user]
	run    func(env) error
	like   string
}{
	{"`Get`", plain, func(e env) error { return check.Err(e.users.Get(e.ctx, userKey("u-1"))) }, "appcore getTransaction"},
	{"`BatchGet`", plain, func(e env) error { return check.Err(e.users.BatchGet(e.ctx, []keys.Key{userKey("u-1")})) }, ""},
	{"`Query`, `All`, `Count`, `Collect`", plain, collect, "appcore listTransactions"},
	{"pages of `shard`, on the index", plain, func(e env) error {
		r, err := shard.New[user](e.table, shards, nil)
		if err != nil {
			return err
		}
		return check.Err(r.Latest(e.ctx, 1))
	}, "appcore newestTransactions"},
	{"`Search`, on the vector index and the table", plain, func(e env) error {
		r, err := repo.New(e.table, products)
		if err != nil {
			return err
		}
		_, _, err = r.Search(e.ctx, table.Search{Index: "similar", Near: []float32{1, 0}})
		return err
	}, ""},
	{"`Create`", plain, func(e env) error { return e.users.Create(e.ctx, &user{ID: "u-2", Email: "two"}) }, ""},
	{"`Create`, with copies", copied, func(e env) error { return e.users.Create(e.ctx, &user{ID: "u-2", Email: "two"}) }, ""},
	{"`Update`", plain, update(count), "appcore patchNotification"},
	{"`Save`", plain, save, ""},
	{"`Update`, with copies", copied, update(count), "appcore patchTransaction"},
	{"`Update` of a copy's key", copied, update(move), "appcore patchUser"},
	{"`Patch`", counted, func(e env) error {
		if _, err := e.users.Patch(e.ctx, userKey("u-2"), one); !errors.Is(err, table.ErrNotFound) {
			return fmt.Errorf("a patch of a missing user: %w", err)
		}
		return check.Err(e.users.Patch(e.ctx, userKey("u-1"), one))
	}, ""},
	{"`Upsert`", counted, func(e env) error {
		if _, err := e.users.Upsert(e.ctx, user{ID: "u-2"}, one); err != nil {
			return err
		}
		return check.Err(e.users.Upsert(e.ctx, user{ID: "u-1"}, one))
	}, ""},
	{"`Delete`", copied, func(e env) error { return e.users.Delete(e.ctx, userKey("u-1")) }, ""},
	{"`table.Check` in a transaction", plain, func(e env) error {
		return e.table.Transact(e.ctx, table.Check(userKey("u-1"), expression.Name("id").AttributeExists()))
	}, ""},
	{"`idempotency.Do` with a `Create`", plain, once, "appcore createTransaction"},
}

// unclear refuses a write without the item that made its condition fail.
var unclear = tabletest.Status(http.StatusBadRequest, "ConditionalCheckFailedException", "injected")

// scenarios are what an operation can meet.
var scenarios = []func(*tabletest.Faults, *table.Table) error{
	func(*tabletest.Faults, *table.Table) error { return nil },
	// A response is lost, and the SDK's second attempt is refused.
	func(f *tabletest.Faults, _ *table.Table) error {
		for _, operation := range []string{"PutItem", "UpdateItem", "DeleteItem"} {
			f.Next(operation, tabletest.DropResponse(), unclear)
		}
		return nil
	},
	// A transaction is refused, without the record of a request.
	func(f *tabletest.Faults, _ *table.Table) error {
		f.Next("TransactWriteItems", tabletest.CancelTransaction("None", "ConditionalCheckFailed"))
		return nil
	},
	// A copy is missing.
	func(_ *tabletest.Faults, t *table.Table) error {
		return t.Do(context.Background(), table.Delete(emailKey(user{Email: "one"})))
	},
}

// actions returns what an operation needs in all scenarios.
func actions(t *testing.T, entity repo.Entity[user], run func(env) error) []string {
	t.Helper()
	needed := map[string]bool{}
	for i, scenario := range scenarios {
		plain := tabletest.New(t, spec, nil)
		users := check.Must(repo.New(plain, entity))(t)
		check.OK(t, users.Create(t.Context(), &user{ID: "u-1", Email: "one"}))
		check.OK(t, check.Must(repo.New(plain, products))(t).Create(t.Context(), &product{"p-1", []float32{1, 0}}))
		var faults tabletest.Faults
		tbl := check.Must(table.New(tabletest.Client(t, faults.Install), plain.Schema(), nil))(t)
		check.OK(t, scenario(&faults, plain))
		err := run(env{t.Context(), tbl, check.Must(repo.New(tbl, entity))(t)})
		if err != nil && i == 0 {
			t.Fatal(err)
		}
		for _, r := range faults.Requests() {
			for _, action := range actionsOf(t, r) {
				needed[action] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(needed))
}

func actionsOf(t *testing.T, r tabletest.Request) []string {
	t.Helper()
	var all []string
	for _, s := range samtest.Needed(t, []tabletest.Request{r}) {
		all = append(all, s.Action...)
	}
	return all
}

// The file that SECURITY.md names has the actions of each operation, and the templates of the examples allow
// their functions the same.
func TestTheFileShowsWhatOperationsNeed(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("operation: actions of dynamodb\n\n")
	for _, r := range rows {
		needed := actions(t, r.entity, r.run)
		if dir, handler, found := strings.Cut(r.like, " "); found {
			f := samtest.Functions(t, samtest.Read(t, "../../"+dir+"/template.yaml"))[handler]
			allowed := slices.Sorted(slices.Values(f.Policies[0].Statement[0].Action))
			check.Equal(t, r.name+": actions of "+r.like, allowed, needed)
		}
		fmt.Fprintf(&b, "%s: %s\n", r.name, strings.ReplaceAll(strings.Join(needed, ", "), "dynamodb:", ""))
	}
	t.Log(b.String())
	generated.File(t, "testdata/actions.txt", b.String())
}
