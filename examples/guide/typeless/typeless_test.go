package typeless

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestThePageQuotesTheCode$ -update

func TestThePageQuotesTheCode(t *testing.T) {
	t.Parallel()
	if n := generated.Code(t, "../../../docs/from-dynamoose.md", "."); n != 2 {
		t.Errorf("%d quotations", n)
	}
}

// An item as dynamoose 4.2.0 stores it is read, and a change that it makes between the read and
// the write of Update is kept.
func TestItemsOfDynamoose(t *testing.T) {
	t.Parallel()
	ctx, tbl := t.Context(), tabletest.New(t, Schema, nil)
	orders := check.Must(repo.New(tbl, orderEntity))(t)
	key := orderKey("c-1", "o-1")
	check.OK(t, tbl.Do(ctx, table.Put(key, map[string]any{
		"customerId": "c-1", "orderId": "o-1", "status": "open", "color": "red", "createdAt": 1700000000000, "updatedAt": 1700000000000,
		"gsi1pk": "STATUS#open", "gsi1sk": "ORDER#o-1",
	})))
	runs := 0
	_, err := orders.Update(ctx, key, func(o *Order) error {
		if runs++; runs == 1 {
			check.OK(t, tbl.Do(ctx, table.Update(key, expression.Set(expression.Name("tags"), expression.Value(&[]string{"a"})).
				Set(expression.Name("updatedAt"), expression.Value(1700000000001)))))
		}
		o.Status, o.Tags = "paid", []string{"a"}
		return nil
	})
	check.OK(t, err)
	check.Equal(t, "runs", runs, 2)
	check.OK(t, Place(ctx, orders, Order{Customer: "c-2", ID: "o-2", Status: "paid"}))
	page := check.Must(ByStatus(ctx, orders, "paid"))(t)
	check.Equal(t, "paid", len(page.Items), 2)
	stored := check.Must(table.Get[map[string]any](ctx, tbl, key))(t)
	check.Equal(t, "what Go does not know", stored["color"], any("red"))
	check.Equal(t, "type", stored["entityType"], nil)
}

func TestAccountsOfAuthJS(t *testing.T) {
	t.Parallel()
	ctx, tbl := t.Context(), tabletest.New(t, AuthSchema, nil)
	users, accounts := check.Must(repo.New(tbl, userEntity))(t), check.Must(repo.New(tbl, accountEntity))(t)
	ana := User{ID: "u", Name: "Ana", Email: "ana@x"}
	check.OK(t, users.Create(ctx, &ana))
	stored := check.Must(table.Get[map[string]string](ctx, tbl, userEntity.Key(ana)))(t)
	check.Equal(t, "type", stored["type"], "USER")
	for _, a := range []Account{{"u", "oauth", "github", "1"}, {"u", "oidc", "google", "2"}} {
		check.OK(t, accounts.Create(ctx, &a))
		stored := check.Must(table.Get[map[string]string](ctx, tbl, accountEntity.Key(a)))(t)
		check.Equal(t, "type", stored["type"], a.Type)
	}
	var us []User
	var as []Account
	check.OK(t, repo.Collect(ctx, tbl, table.Query{PK: "USER#u"}, users.AppendTo(&us), accounts.AppendTo(&as)))
	check.Equal(t, "read", []int{len(us), len(as)}, []int{1, 2})
}

func TestEventsOfCastore(t *testing.T) {
	t.Parallel()
	ctx, tbl := t.Context(), tabletest.New(t, EventSchema, nil)
	events := check.Must(repo.New(tbl, eventEntity))(t)
	at := table.ISOTime{Time: time.UnixMilli(1767323045678)}
	for _, version := range []int{1, 2, 10} {
		check.OK(t, events.Create(ctx, &Event{Aggregate: "ORDERS#o-1", Version: version, Type: "PAID", Timestamp: at, Payload: map[string]any{"total": 3.0}}))
	}
	check.Is(t, events.Create(ctx, &Event{Aggregate: "ORDERS#o-1", Version: 2}), table.ErrExists)
	page := check.Must(Since(ctx, events, "o-1", 2))(t)
	check.Equal(t, "versions", []int{page.Items[0].Version, page.Items[1].Version}, []int{2, 10})
	stored := check.Must(table.Get[map[string]any](ctx, tbl, keys.Key{PK: "ORDERS#o-1", SK: "10"}))(t)
	check.Equal(t, "stored", stored, map[string]any{
		"aggregateId": "ORDERS#o-1", "version": 10.0, "type": "PAID", "timestamp": "2026-01-02T03:04:05.678Z", "payload": map[string]any{"total": 3.0},
	})
}

// The type comes as a constant, into each item. After that, a release knows the items by it.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	ctx, spec := t.Context(), Schema
	spec.TypeAttribute = "unused"
	tbl := tabletest.New(t, spec, nil)
	typed := orderEntity
	typed.Shared = &repo.Shared[Order]{Constants: map[string]string{"entityType": "Order"}}
	orders := check.Must(repo.New(tbl, typed))(t)
	check.OK(t, tbl.Do(ctx, table.Put(orderKey("c", "old"), map[string]any{"customerId": "c", "orderId": "old", "status": "open", "updatedAt": 1700000000000})))
	check.OK(t, Place(ctx, orders, Order{Customer: "c", ID: "new", Status: "open"}))
	report := check.Must(backfill.Job{Name: "types", Table: tbl, Entities: []backfill.Entity{orders}}.Run(ctx))(t)
	check.Equal(t, "changed", report.Changed, 1)

	spec = tbl.Schema()
	spec.TypeAttribute, spec.Kinds = "", nil
	own := orderEntity
	own.Shared = nil
	next := check.Must(repo.New(check.Must(table.New(tabletest.Client(t), spec, nil))(t), own))(t)
	check.OK(t, check.Err(next.Update(ctx, orderKey("c", "old"), func(o *Order) error { o.Status = "paid"; return nil })))
	check.Equal(t, "orders", len(check.Must(next.Query(ctx, table.Query{PK: "CUSTOMER#c"}))(t).Items), 2)
}
