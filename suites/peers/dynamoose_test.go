package peers_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// dynamooseOrder has no type attribute. Times are milliseconds.
type dynamooseOrder struct {
	Customer string   `dynamodbav:"customerId"`
	ID       string   `dynamodbav:"orderId"`
	Status   string   `dynamodbav:"status"`
	Total    int      `dynamodbav:"total"`
	Placed   int64    `dynamodbav:"placed"`
	Tags     []string `dynamodbav:"tags,stringset,omitempty"`
	Address  address  `dynamodbav:"address"`
	Updated  int64    `dynamodbav:"updatedAt"`
	Created  int64    `dynamodbav:"createdAt"`
}

const javaScriptTime = "2006-01-02T15:04:05.000Z"

func (v dynamooseOrder) order() order {
	placed := time.UnixMilli(v.Placed).UTC().Format(javaScriptTime)
	return order{v.Customer, v.ID, v.Status, v.Total, placed, v.Tags, v.Address.Street}
}

// dynamooseItem is an order with its keys.
type dynamooseItem struct {
	dynamooseOrder
	PK keys.PK `dynamodbav:"gsi1pk"`
	SK keys.SK `dynamodbav:"gsi1sk"`
}

// byTable are the orders of a table by package table, since package repo needs a type. An
// update is guarded by updatedAt, which dynamoose sets with each write.
type byTable struct{ table *table.Table }

func ordersFrom(vs []dynamooseOrder) []order {
	var all []order
	for _, v := range vs {
		all = append(all, v.order())
	}
	return all
}

func (b byTable) get(ctx context.Context, o order) (order, error) {
	v, err := table.Get[dynamooseOrder](ctx, b.table.Consistent(), upperKey(o))
	return v.order(), err
}

func (b byTable) list(ctx context.Context, customer string) ([]order, error) {
	page, err := table.QueryPage[dynamooseOrder](ctx, b.table, table.Query{PK: keys.PK("CUSTOMER#" + customer)})
	return ordersFrom(page.Items), err
}

func (b byTable) byStatus(ctx context.Context, status string) ([]order, error) {
	page, err := table.QueryPage[dynamooseOrder](ctx, b.table, table.Query{Index: "gsi1", PK: keys.PK("STATUS#" + status)})
	return ordersFrom(page.Items), err
}

func (b byTable) collect(ctx context.Context, customer string) ([]order, error) {
	var all []order
	for v, err := range table.All[dynamooseOrder](ctx, b.table, table.Query{PK: keys.PK("CUSTOMER#" + customer)}) {
		if err != nil {
			return nil, err
		}
		all = append(all, v.order())
	}
	return all, nil
}

func (b byTable) page(ctx context.Context, customer, after string) (string, error) {
	page, err := table.QueryPage[dynamooseOrder](ctx, b.table, table.Query{PK: keys.PK("CUSTOMER#" + customer), Limit: 1, After: after})
	return page.Next, err
}

func (b byTable) create(ctx context.Context, o order) error {
	placed, err := time.Parse(javaScriptTime, o.Placed)
	if err != nil {
		return err
	}
	return b.table.Do(ctx, table.Create(upperKey(o), dynamooseItem{
		dynamooseOrder{o.Customer, o.ID, o.Status, o.Total, placed.UnixMilli(), o.Tags, address{o.Street}, 1, 1},
		keys.PK("STATUS#" + o.Status), keys.SK(o.Placed + "#" + o.ID),
	}))
}

func (b byTable) update(ctx context.Context, o order, change func(*order)) error {
	for {
		v, err := table.Get[dynamooseOrder](ctx, b.table.Consistent(), upperKey(o))
		if err != nil {
			return err
		}
		o = v.order()
		change(&o)
		set := func(name string, value any) expression.UpdateBuilder {
			return expression.Set(expression.Name(name), expression.Value(value))
		}
		err = b.table.Do(ctx, table.Update(upperKey(o), set("total", o.Total).
			Set(expression.Name("status"), expression.Value(o.Status)).
			Set(expression.Name("address.street"), expression.Value(o.Street)).
			Set(expression.Name("gsi1pk"), expression.Value("STATUS#"+o.Status)).
			Set(expression.Name("updatedAt"), expression.Value(v.Updated+1))).If(table.If("updatedAt = ?", v.Updated)))
		if !errors.Is(err, table.ErrConditionFailed) {
			return err
		}
	}
}

func (b byTable) save(ctx context.Context, o order, change func(*order)) error {
	return b.update(ctx, o, change)
}

func (b byTable) remove(ctx context.Context, o order) error {
	return b.table.Do(ctx, table.Delete(upperKey(o)))
}

var errNoRepo = errors.New("package stream needs entities")

func (b byTable) changes(context.Context, *shop, int) ([]stream.Kind, error) { return nil, errNoRepo }

var dynamooseSpec = model[dynamooseOrder]{schema: schema.Table{Indexes: gsi1}}.spec()

var dynamoose = &peer{
	name: "dynamoose", file: "dynamoose", pkg: "dynamoose", spec: dynamooseSpec,
	open:   func(t *table.Table) (orders, error) { return byTable{t}, nil },
	order:  func(o order) values { return o.values().with(values{"placed": date(o.Placed)}) },
	update: dynamooseChange,
	rows: []row{
		{
			call: "`Repo.Get` of its order", holds: "`ErrWrongType`",
			pending: "R8: entities without a type attribute are recognized by their keys",
			see: func(s *shop, p *peer) string {
				s.call("create", p.order(anOrder))
				m := upperModel("", "order", dynamooseOrder.order, func(o order, v *dynamooseOrder) { v.Customer, v.ID = o.Customer, o.ID })
				m.entity.Version, m.entity.Indexes = "", nil
				_, err := expect.Value(m.open(s.table))(s).get(s.Context(), anOrder)
				return text(err, table.ErrWrongType, "`ErrWrongType`")
			},
		},
		{call: "`table.Get`, `QueryPage`, an index and `All` of its order", holds: same, see: readHere},
		{call: "its reads of what `table.Create` has stored", holds: same, see: createdHere},
		{call: "its reads of its order after `table.Update`", holds: same + ", and all that the Go type lacks", see: updatedHere},
		{call: "its reads after `table.Delete`", holds: "gone", see: removedHere},
		{call: "our reads of our order after its update", holds: same, see: updatedThere},
		{call: "`table.Get` of our order after its delete", holds: "`ErrNotFound`", see: removedThere},
		{call: "its query with a cursor of ours", holds: "throws", see: ourCursor},
		{call: "`QueryPage` with its cursor", holds: "`ErrInvalidCursor`", see: theirCursor},
		{
			call: "its times in a `time.Time` with `unixtime`", holds: "the year 57974",
			pending: "R11: an error that names the type for milliseconds",
			see: func(s *shop, p *peer) string {
				s.call("create", p.order(anOrder))
				v := expect.Value(table.Get[struct {
					Placed time.Time `dynamodbav:"placed,unixtime"`
				}](s.Context(), s.table, upperKey(anOrder)))(s)
				return fmt.Sprint("the year ", v.Placed.UTC().Year())
			},
		},
		{
			call: "type and version that Go has added, after its `get` and `save()`", holds: "removed",
			see: func(s *shop, p *peer) string {
				s.call("create", p.order(anOrder))
				expect.OK(s, s.table.Do(s.Context(), table.Patch(upperKey(anOrder), table.Item{"entityType": attributeText("order"), "rev": attributeText("1")})))
				s.one("get", orderKey(anOrder))
				s.call("save", values{"total": 13})
				if item := s.scan()[0]; item["entityType"] == nil && item["rev"] == nil {
					return "removed"
				}
				return "kept"
			},
		},
	},
	writes: []write{
		{call: "Model.update()", same: "kept", other: "kept", after: "kept", deleted: "stores a part of the order", do: func(s *shop, _, set values) error { return s.do("update", orderKey(anOrder), dynamooseChange(set)) }},
		{call: "save()", same: "kept", other: "kept", after: "overwritten", deleted: "stores the order", do: func(s *shop, _, set values) error { return s.do("save", dynamooseChange(set)) }},
		{call: "Model.create(overwrite)", same: "kept", other: "kept", after: "overwritten", deleted: "stores the order", do: func(s *shop, held, set values) error { return s.do("put", held.with(set)) }},
	},
}

// dynamooseChange adds the key of the index, which dynamoose does not make.
func dynamooseChange(v values) values {
	if status, ok := v["status"]; ok {
		return v.with(values{"gsi1pk": fmt.Sprint("STATUS#", status)})
	}
	return v
}
