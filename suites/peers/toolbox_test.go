package peers_test

import (
	"cmp"
	"slices"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

type toolboxOrder struct {
	fields
	Tags     []string      `dynamodbav:"tags,stringset,omitempty"`
	Created  table.ISOTime `dynamodbav:"_ct"`
	Modified table.ISOTime `dynamodbav:"_md"`
}

// upperModel describes the orders of the peers whose keys are of the form CUSTOMER#c-1.
func upperModel[T any](typeAttribute, typ, version string, of func(T) order, into func(order, *T)) model[T] {
	return model[T]{
		schema: schema.Table{TypeAttribute: typeAttribute, Indexes: gsi1},
		entity: repo.Entity[T]{
			Type: typ, Version: version, Shared: &repo.Shared[T]{},
			Key: func(v T) keys.Key { return upperKey(of(v)) },
			Indexes: repo.Indexes[T]{"gsi1": func(v T) keys.Key {
				o := of(v)
				return keys.Key{PK: keys.PK("STATUS#" + o.Status), SK: keys.SK(o.Placed + "#" + o.ID)}
			}},
		},
		list: func(customer string) table.Query {
			return table.Query{PK: keys.PK("CUSTOMER#" + customer), Range: keys.Range{Prefix: "ORDER#"}}
		},
		byStatus: func(status string) table.Query {
			return table.Query{Index: "gsi1", PK: keys.PK("STATUS#" + status)}
		},
		of: of, into: into,
	}
}

func upperKey(o order) keys.Key {
	return keys.Key{PK: keys.PK("CUSTOMER#" + o.Customer), SK: keys.SK("ORDER#" + o.ID)}
}

func profileKey(id string) keys.Key { return keys.Key{PK: keys.PK("CUSTOMER#" + id), SK: "PROFILE"} }

var toolboxModel = upperModel("_et", "Order", "_md",
	func(v toolboxOrder) order { return v.order(v.Tags) },
	func(o order, v *toolboxOrder) {
		v.fields, v.Tags = fieldsOf(o), o.Tags
		v.Created = cmp.Or(v.Created, table.ISOTime{Time: o.placed()})
	})

// toolboxRows are what holds for this library alone.
var toolboxRows = []row{
	{usual: true, call: "`Collect` and `Stream`, and its query of two entities, of a partition that both write", holds: bothRead, see: together(toolboxModel, customers("Customer", profileKey))},
	{
		usual: true, call: "an order of `Create` with `_md` as the version", holds: "get: found; the list of the customer: 2 of 2 orders; create: throws",
		see: func(s *shop, p *peer) string { return found(s, p, expect.Value(p.open(s.table))(s)) },
	},
	{call: "an order of `Create` of a type without `_ct`", holds: "get: throws; the list of the customer: throws; create: throws", see: func(s *shop, p *peer) string {
		type bare struct {
			fields
			Modified string `dynamodbav:"_md"`
		}
		m := upperModel("_et", "Order", "_md", func(v bare) order { return v.order(nil) }, func(o order, v *bare) { v.fields = fieldsOf(o) })
		return found(s, p, expect.Value(m.open(s.table))(s))
	}},
	{call: "a set that `Update` has changed in a `[]string` without `stringset`", holds: "get: found; the list of the customer: 2 of 2 orders", see: func(s *shop, p *peer) string {
		type listed struct {
			fields
			Tags     []string `dynamodbav:"tags"`
			Created  string   `dynamodbav:"_ct"`
			Modified string   `dynamodbav:"_md"`
		}
		m := upperModel("_et", "Order", "_md", func(v listed) order { return v.order(v.Tags) }, func(o order, v *listed) { v.fields, v.Tags = fieldsOf(o), o.Tags })
		return changedSet(s, p, []string{"blue"}, expect.Value(m.open(s.table))(s))
	}},
	{call: "a set that `Update` has emptied, without `omitempty`", holds: "get: found; the list of the customer: 2 of 2 orders", see: func(s *shop, p *peer) string {
		type nulled struct {
			fields
			Tags     []string `dynamodbav:"tags,stringset"`
			Created  string   `dynamodbav:"_ct"`
			Modified string   `dynamodbav:"_md"`
		}
		m := upperModel("_et", "Order", "_md", func(v nulled) order { return v.order(v.Tags) }, func(o order, v *nulled) { v.fields, v.Tags = fieldsOf(o), o.Tags })
		return changedSet(s, p, nil, expect.Value(m.open(s.table))(s))
	}},
	{usual: true, call: "the `_md` that it reads after `Update`", holds: "the time of the write", see: func(s *shop, p *peer) string {
		s.call("create", anOrder.values())
		before, _ := s.one("get", orderKey(anOrder))["modified"].(string)
		expect.OK(s, expect.Value(p.open(s.table))(s).update(s.Context(), anOrder, func(o *order) { o.Total++ }))
		after, _ := s.one("get", orderKey(anOrder))["modified"].(string)
		return timeOfWrite(after, before)
	}},
}

var toolbox = &peer{
	name: "DynamoDB-Toolbox", file: "toolbox", pkg: "dynamodb-toolbox",
	spec: toolboxModel.spec(), open: toolboxModel.open, order: order.values,
	rows: slices.Concat(orderRows(), toolboxRows, commandRows(
		"`CUSTOMER#{customerId}` `ORDER#{orderId}`, in the index `STATUS#{status}` `{placed:time}#{orderId}`",
	)),
	writes: []write{
		{call: "UpdateItemCommand", same: "kept", other: "kept", saved: "kept: `ErrStale`", after: "kept", deleted: "stores a part of the order", do: func(s *shop, _, set values) error { return s.do("update", orderKey(anOrder), set) }},
		{call: "UpdateAttributesCommand", same: "kept", other: "kept", saved: "kept: `ErrStale`", after: "kept", deleted: "stores a part of the order", do: func(s *shop, _, set values) error { return s.do("updateAttributes", orderKey(anOrder), set) }},
		{call: "PutItemCommand", same: "kept", other: "kept", saved: "kept: `ErrStale`", after: "overwritten", deleted: "stores the order", do: func(s *shop, held, set values) error {
			v := held.with(set)
			delete(v, "created")
			delete(v, "modified")
			return s.do("put", v)
		}},
		{call: "PutItemCommand with created and modified as read", same: "kept", other: "kept", saved: "overwritten", after: "overwritten", deleted: "stores the order", do: func(s *shop, held, set values) error {
			return s.do("put", held.with(set))
		}},
	},
}
