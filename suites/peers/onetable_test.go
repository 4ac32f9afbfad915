package peers_test

import (
	"fmt"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// onetableOrder has updated as its version, which OneTable sets with each write.
type onetableOrder struct {
	fields
	Tags    []string `dynamodbav:"tags,stringset,omitempty"`
	Updated int64    `dynamodbav:"updated"`
}

var onetableModel = model[onetableOrder]{
	schema: schema.Table{TypeAttribute: "_type", Indexes: gsi1},
	entity: repo.Entity[onetableOrder]{
		Type: "Order", Version: "updated",
		Key: func(o onetableOrder) keys.Key {
			return keys.Key{PK: keys.PK("customer#" + o.Customer), SK: keys.SK("order#" + o.ID)}
		},
		Indexes: repo.Indexes[onetableOrder]{"gsi1": func(o onetableOrder) keys.Key {
			return keys.Key{PK: keys.PK("status#" + o.Status), SK: keys.SK(fmt.Sprint(o.Placed, "#", o.Total))}
		}},
	},
	list: func(customer string) table.Query {
		return table.Query{PK: keys.PK("customer#" + customer), Range: keys.Range{Prefix: "order#"}}
	},
	byStatus: func(status string) table.Query { return table.Query{Index: "gsi1", PK: keys.PK("status#" + status)} },
	of:       func(v onetableOrder) order { return v.order(v.Tags) },
	into:     func(o order, v *onetableOrder) { v.fields, v.Tags = fieldsOf(o), o.Tags },
}

var onetableCustomers = customers("Customer", func(id string) keys.Key {
	return keys.Key{PK: keys.PK("customer#" + id), SK: "profile"}
})

var onetableUnique = unique{
	entity: onetableCustomers,
	email: func(email string) keys.Key {
		return keys.Key{PK: keys.PK("_unique#Customer#email#" + email), SK: "_unique#"}
	},
	item: values{"_type": "_Unique"},
}

var onetable = &peer{
	name: "OneTable", file: "onetable", pkg: "dynamodb-onetable",
	spec: onetableModel.spec(), open: onetableModel.open, order: order.values,
	update: func(set values) values { return set.with(values{"placed": anOrder.Placed}) },
	rows: append(append(orderRows(
		row{call: "its query with a cursor of ours", holds: "the first page"},
		row{call: savedRow, holds: "`ErrStale`"},
	), onetableUnique.rows()...), []row{
		{call: "`Collect` and `Stream`, and its query by type, of a partition that both write", holds: bothRead, see: together(onetableModel, onetableCustomers)},
	}...),
	writes: []write{
		{call: "update()", same: "kept", other: "kept", after: "kept", do: func(s *shop, _, set values) {
			s.call("update", orderKey(anOrder), set.with(values{"placed": anOrder.Placed}))
		}},
		{call: "update({set})", same: "kept", other: "kept", after: "kept; the index has the former key", do: func(s *shop, _, set values) { s.call("update.set", orderKey(anOrder), set) }},
		{call: "upsert()", same: "kept", other: "kept", after: "overwritten", do: func(s *shop, held, set values) { s.call("upsert", held.with(set)) }},
		{call: "create({exists: null})", same: "kept", other: "kept", after: "overwritten", do: func(s *shop, held, set values) { s.call("put", held.with(set)) }},
	},
}
