package peers_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// dynamooseOrder has no type attribute.
type dynamooseOrder struct {
	Customer string          `dynamodbav:"customerId"`
	ID       string          `dynamodbav:"orderId"`
	Status   string          `dynamodbav:"status"`
	Total    int             `dynamodbav:"total"`
	Placed   table.UnixMilli `dynamodbav:"placed"`
	Tags     []string        `dynamodbav:"tags,stringset,omitempty"`
	Address  address         `dynamodbav:"address"`
	Updated  table.UnixMilli `dynamodbav:"updatedAt"`
	Created  table.UnixMilli `dynamodbav:"createdAt"`
}

func (v dynamooseOrder) order() order {
	return order{v.Customer, v.ID, v.Status, v.Total, table.ISOTime(v.Placed).String(), v.Tags, v.Address.Street}
}

// dynamooseModel recognizes orders by their keys, since they have no type.
var dynamooseModel = func() model[dynamooseOrder] {
	m := upperModel("", "order", "updatedAt", dynamooseOrder.order, func(o order, v *dynamooseOrder) {
		v.Customer, v.ID, v.Status, v.Total, v.Placed = o.Customer, o.ID, o.Status, o.Total, table.UnixMilli{Time: o.placed()}
		v.Tags, v.Address, v.Created = o.Tags, address{o.Street}, cmp.Or(v.Created, v.Placed)
	})
	m.schema.Kinds = []schema.Kind{{Type: "order", PK: "CUSTOMER#", SK: "ORDER#"}}
	return m
}()

var dynamooseRows = []row{
	{
		usual: true, call: "`Repo.Get` of an item of another form", holds: "`ErrWrongType`",
		see: func(s *shop, p *peer) string {
			expect.OK(s, s.table.Do(s.Context(), table.Put(profileKey(anOrder.Customer), dynamooseOrder{})))
			all := expect.Value(repo.New(s.table, dynamooseModel.entity))(s)
			_, err := all.Get(s.Context(), profileKey(anOrder.Customer))
			return text(err, table.ErrWrongType, "`ErrWrongType`")
		},
	},
	{
		usual: true, call: "the `updatedAt` that it reads after `Update`", holds: "the time of the write",
		see: func(s *shop, p *peer) string {
			s.call("create", p.order(anOrder))
			read := func() string {
				at, _ := s.one("get", orderKey(anOrder))["updatedAt"].(map[string]any)["$date"].(string)
				return at
			}
			before := read()
			expect.OK(s, expect.Value(p.open(s.table))(s).update(s.Context(), anOrder, func(o *order) { o.Total++ }))
			return timeOfWrite(read(), before)
		},
	},
	{
		call: "its times in a `time.Time` with `unixtime`", holds: namesUnixMilli,
		see: func(s *shop, p *peer) string {
			s.call("create", p.order(anOrder))
			_, err := table.Get[struct {
				Placed time.Time `dynamodbav:"placed,unixtime"`
			}](s.Context(), s.table, upperKey(anOrder))
			return undecoded(err, "placed")
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
}

var dynamoose = &peer{
	name: "dynamoose", file: "dynamoose", pkg: "dynamoose",
	spec: dynamooseModel.spec(), open: dynamooseModel.open,
	order:  func(o order) values { return o.values().with(values{"placed": date(o.Placed)}) },
	update: dynamooseChange,
	rows:   slices.Concat(orderRows(), dynamooseRows),
	writes: []write{
		{call: "Model.update()", same: "kept", other: "kept", saved: "kept: `ErrStale`", after: "kept", deleted: "stores a part of the order", do: func(s *shop, _, set values) error { return s.do("update", orderKey(anOrder), dynamooseChange(set)) }},
		{call: "save()", same: "kept", other: "kept", saved: "kept: `ErrStale`", after: "overwritten", deleted: "stores the order", do: func(s *shop, _, set values) error { return s.do("save", dynamooseChange(set)) }},
		{call: "Model.create(overwrite)", same: "kept", other: "kept", saved: "kept: `ErrStale`", after: "overwritten", deleted: "stores the order", do: func(s *shop, held, set values) error { return s.do("put", held.with(set)) }},
	},
}

// dynamooseChange adds the key of the index, which dynamoose does not make.
func dynamooseChange(v values) values {
	if status, ok := v["status"]; ok {
		return v.with(values{"gsi1pk": fmt.Sprint("STATUS#", status)})
	}
	return v
}
