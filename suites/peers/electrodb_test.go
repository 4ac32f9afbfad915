package peers_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

type electrodbOrder struct {
	fields
	Tags     []string `dynamodbav:"tags,stringset,omitempty"`
	Model    string   `dynamodbav:"__edb_v__"`
	Revision string   `dynamodbav:"rev"`
}

// electrodbKey joins labels and values.
func electrodbKey(prefix string, labelled ...string) string {
	for i := 0; i < len(labelled); i += 2 {
		prefix += "#" + labelled[i] + "_" + labelled[i+1]
	}
	return strings.ToLower(prefix)
}

// electrodbEntity describes a type with the fields of an order.
func electrodbEntity[T any](of func(T) fields) repo.Entity[T] {
	return repo.Entity[T]{
		Type: "order",
		Key: func(v T) keys.Key {
			return keys.Key{
				PK: keys.PK(electrodbKey("$shop", "customerId", of(v).Customer)),
				SK: keys.SK(electrodbKey("$account#order_1", "orderId", of(v).ID)),
			}
		},
		Indexes: repo.Indexes[T]{"gsi1": func(v T) keys.Key {
			return keys.Key{
				PK: keys.PK(electrodbKey("$shop", "status", of(v).Status)),
				SK: keys.SK(electrodbKey("$order_1", "placed", of(v).Placed, "orderId", of(v).ID)),
			}
		}},
	}
}

// versioned adds the version of Go programs.
func versioned[T any](e repo.Entity[T]) repo.Entity[T] {
	e.Version = "rev"
	return e
}

var electrodbModel = model[electrodbOrder]{
	schema: schema.Table{TypeAttribute: "__edb_e__", Indexes: gsi1},
	entity: versioned(electrodbEntity(func(o electrodbOrder) fields { return o.fields })),
	list: func(customer string) table.Query {
		return table.Query{PK: keys.PK(electrodbKey("$shop", "customerId", customer)), Range: keys.Range{Prefix: "$account#order_1#"}}
	},
	byStatus: func(status string) table.Query {
		return table.Query{Index: "gsi1", PK: keys.PK(electrodbKey("$shop", "status", status))}
	},
	of:   func(v electrodbOrder) order { return v.order(v.Tags) },
	into: func(o order, v *electrodbOrder) { v.fields, v.Tags, v.Model = fieldsOf(o), o.Tags, "1" },
}

// without are orders that lack the version of the peer's model.
func without(s *shop) orders {
	type bare struct {
		fields
		Revision string `dynamodbav:"rev"`
	}
	m := model[bare]{
		entity: versioned(electrodbEntity(func(v bare) fields { return v.fields })),
		of:     func(v bare) order { return v.order(nil) },
		into:   func(o order, v *bare) { v.fields = fieldsOf(o) },
	}
	return expect.Value(m.open(s.table))(s)
}

// readAs has the peer create an order of a customer, which this library reads.
func readAs(s *shop, p *peer, customer string) string {
	o := anOrder
	o.Customer = customer
	s.call("create", o.values())
	got, err := expect.Value(p.open(s.table))(s).get(s.Context(), o)
	if errors.Is(err, table.ErrNotFound) {
		return "`ErrNotFound`"
	}
	expect.OK(s, err)
	expect.Equal(s, "Get", got, o)
	return same
}

// numbersInKeys has the peer create prices, whose sort key has the amount.
func numbersInKeys(s *shop, _ *peer) string {
	var all []string
	for _, amount := range []string{"5", "-3", "0.10", "1e-7", "1e20", "1e21", "9007199254740993"} {
		if _, err := s.try("createPrice", json.Number(amount)); err != nil {
			all = append(all, amount+": throws")
			continue
		}
		item := s.scan()[0]
		sk := s.table.KeyOf("", item).SK
		all = append(all, amount+": `"+strings.TrimPrefix(string(sk), "$price_1#amount_")+"`")
		expect.OK(s, s.table.Do(s.Context(), table.Delete(s.table.KeyOf("", item))))
	}
	return strings.Join(all, ", ")
}

// electrodbRows are what holds for this library alone.
var electrodbRows = []row{
	{call: "`Collect` and `Stream`, and its collection, of a partition that both write", holds: bothRead, see: together(electrodbModel, customers("customer", func(id string) keys.Key {
		return keys.Key{PK: keys.PK(electrodbKey("$shop", "customerId", id)), SK: "$account#customer_1"}
	}))},
	{
		call: "an order of `Create` without `__edb_v__`", holds: "get: nothing; the list of the customer: 1 of 2 orders; create: throws",
		pending: "R2: a constant of the entity is written with each item",
		see:     func(s *shop, p *peer) string { return unseen(s, p, without(s)) },
	},
	{
		call: "its get of its order after `PutOps` of a type without `__edb_v__`", holds: "nothing",
		pending: "R2: PutOps is refused for an entity with constants",
		see: func(s *shop, p *peer) string {
			s.call("create", anOrder.values())
			type bare struct{ fields }
			e := electrodbEntity(func(v bare) fields { return v.fields })
			all := expect.Value(repo.New(s.table, e))(s)
			expect.OK(s, s.table.Transact(s.Context(), all.PutOps(&bare{fieldsOf(anOrder)})...))
			return seen(s.try("get", orderKey(anOrder)))
		},
	},
	{
		call: "`Get` of its order of another model version", holds: "the order",
		pending: "R2: ErrWrongType",
		see: func(s *shop, p *peer) string {
			s.call("create", anOrder.values())
			key := s.table.KeyOf("", s.scan()[0])
			expect.OK(s, s.table.Do(s.Context(), table.Patch(key, table.Item{"__edb_v__": attributeText("2")})))
			_, err := expect.Value(p.open(s.table))(s).get(s.Context(), anOrder)
			expect.Equal(s, "its get", s.one("get", orderKey(anOrder)), nil)
			return text(err, nil, "the order")
		},
	},
	{
		call: "its index after `Update` of an entity without `Indexes`", holds: "has the former key",
		see: func(s *shop, p *peer) string {
			s.call("create", anOrder.values())
			m := electrodbModel
			m.entity.Indexes = nil
			expect.OK(s, expect.Value(m.open(s.table))(s).update(s.Context(), anOrder, func(o *order) { o.Status = "sent" }))
			if n := len(s.many("byStatus", "new")); n == 1 {
				return "has the former key"
			}
			return "follows"
		},
	},
	{
		call: "`Get` with `strings.ToLower`, of the customer `ΟΔΟΣ`", holds: "`ErrNotFound`",
		pending: "R7: keys are in JavaScript's lower case",
		see:     func(s *shop, p *peer) string { return readAs(s, p, "ΟΔΟΣ") },
	},
	{
		call: "`Get` with `strings.ToLower`, of the customer `İstanbul`", holds: "`ErrNotFound`",
		pending: "R7: keys are in JavaScript's lower case",
		see:     func(s *shop, p *peer) string { return readAs(s, p, "İstanbul") },
	},
	{call: "`Get` with `strings.ToLower`, of the customer `STRASSE Ä`", holds: same, see: func(s *shop, p *peer) string { return readAs(s, p, "STRASSE Ä") }},
	{call: "numbers in its keys", holds: "5: `5`, -3: `-3`, 0.10: `0.1`, 1e-7: `1e-7`, 1e20: throws, 1e21: throws, 9007199254740993: throws", see: numbersInKeys},
	{
		call: "`Create` of an order of the customer \"\"", holds: "stored",
		pending: "R7: an empty value of a key is refused",
		see: func(s *shop, p *peer) string {
			o := anOrder
			o.Customer = ""
			expect.OK(s, expect.Value(p.open(s.table))(s).create(s.Context(), o))
			return "stored"
		},
	},
}

var electrodb = &peer{
	name: "ElectroDB", file: "electrodb", pkg: "electrodb",
	spec: electrodbModel.spec(), open: electrodbModel.open, order: order.values,
	rows: slices.Concat(orderRows(), electrodbRows, commandRows(
		row{holds: "`{1}#{2}` `{3}#{4}#{5}`, in the index `{1}#{2}` `{3}#{4}#{5}`", pending: "R6: patterns have labels and `:lower`"},
		row{holds: "written; the index has the former key", pending: "R6: refused"},
	)),
	writes: []write{
		{call: "patch().set()", same: "lost", other: "kept", after: "kept", deleted: "throws", pending: keptByValues, do: func(s *shop, _, set values) error { return s.do("patch", orderKey(anOrder), set) }},
		{call: "update().set()", same: "lost", other: "kept", after: "kept", deleted: "stores a part of the order", pending: keptByValues, do: func(s *shop, _, set values) error { return s.do("update", orderKey(anOrder), set) }},
		{call: "put()", same: "kept", other: "kept", after: "overwritten, `rev` removed", deleted: "stores the order", do: func(s *shop, held, set values) error { return s.do("put", held.with(set)) }},
		{call: "patch().add()", same: "lost", other: "kept", after: "kept", deleted: "throws", pending: keptByValues, do: func(s *shop, _, set values) error {
			if set["total"] != nil {
				return s.do("patch.add", orderKey(anOrder), values{"total": 87})
			}
			return s.do("patch", orderKey(anOrder), set)
		}},
		{call: "upsert()", same: "lost", other: "kept", after: "overwritten", deleted: "stores the order", pending: keptByValues, do: func(s *shop, held, set values) error { return s.do("upsert", held.with(set)) }},
	},
}
