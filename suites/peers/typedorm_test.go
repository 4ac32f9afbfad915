package peers_test

import (
	"slices"

	"github.com/singletable/singletable/keys"
)

type typedormOrder struct {
	fields
	Tags []string `dynamodbav:"tags"`
}

var typedormModel = upperModel("__en", "order", "",
	func(v typedormOrder) order { return v.order(v.Tags) },
	func(o order, v *typedormOrder) { v.fields, v.Tags = fieldsOf(o), o.Tags })

var typedormUnique = unique{
	entity: customers("customer", profileKey),
	email: func(email string) keys.Key {
		key := "DRM_GEN_CUSTOMER.EMAIL#" + email
		return keys.Key{PK: keys.PK(key), SK: keys.SK(key)}
	},
}

var typedorm = &peer{
	name: "TypeDORM", file: "typedorm", pkg: "@typedorm/core",
	spec: typedormModel.spec(), open: typedormModel.open,
	order: func(o order) values { return o.values().with(values{"tags": o.Tags}) }, lists: true,
	rows: slices.Concat(orderRows(), typedormUnique.rows(), commandRows(
		"`CUSTOMER#{customerId}` `ORDER#{orderId}`, in the index `STATUS#{status}` `{placed:time}#{orderId}`",
	)),
	writes: []write{
		{call: "update()", same: "kept", other: "kept", saved: "overwritten", after: "kept", deleted: "stores what `Get` refuses", do: func(s *shop, _, set values) error { return s.do("update", orderKey(anOrder), set) }},
		{call: "create(overwriteIfExists)", same: "kept", other: "kept", saved: "overwritten", after: "overwritten", deleted: "stores the order", do: func(s *shop, held, set values) error { return s.do("put", held.with(set)) }},
	},
}
