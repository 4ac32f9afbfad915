package peers_test

import (
	"encoding/json"
	"errors"
	"fmt"
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
	Tags []string `dynamodbav:"tags,stringset,omitempty"`
}

// The prefixes of ElectroDB's keys.
var electrodbShop, electrodbAccount, electrodbStatuses = keys.LabelPrefix{Text: "$shop"}, keys.LabelPrefix{Text: "$account#order_1"}, keys.LabelPrefix{Text: "$order_1"}

func electrodbCustomer(id string) keys.PK { return electrodbShop.PK(keys.Label("customerId", id)) }

func electrodbStatus(status string) keys.PK { return electrodbShop.PK(keys.Label("status", status)) }

var electrodbModel = model[electrodbOrder]{
	schema: schema.Table{TypeAttribute: "__edb_e__", Indexes: gsi1},
	entity: repo.Entity[electrodbOrder]{
		Type: "order",
		Key: func(v electrodbOrder) keys.Key {
			return keys.Key{PK: electrodbCustomer(v.Customer), SK: electrodbAccount.SK(keys.Label("orderId", v.ID))}
		},
		Indexes: repo.Indexes[electrodbOrder]{"gsi1": func(v electrodbOrder) keys.Key {
			return keys.Key{
				PK: electrodbStatus(v.Status),
				SK: electrodbStatuses.SK(keys.Label("placed", v.Placed), keys.Label("orderId", v.ID)),
			}
		}},
		Shared: &repo.Shared[electrodbOrder]{Constants: map[string]string{"__edb_v__": "1"}},
	},
	list: func(customer string) table.Query {
		return table.Query{PK: electrodbCustomer(customer), Range: electrodbAccount.All()}
	},
	byStatus: func(status string) table.Query { return table.Query{Index: "gsi1", PK: electrodbStatus(status)} },
	of:       func(v electrodbOrder) order { return v.order(v.Tags) },
	into:     func(o order, v *electrodbOrder) { v.fields, v.Tags = fieldsOf(o), o.Tags },
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
		expect.Equal(s, amount, sk, keys.LabelPrefix{Text: "$price_1"}.SK(keys.Label("amount", keys.JSNumber(expect.Value(json.Number(amount).Float64())(s)))))
		all = append(all, amount+": `"+strings.TrimPrefix(string(sk), "$price_1#amount_")+"`")
		expect.OK(s, s.table.Do(s.Context(), table.Delete(s.table.KeyOf("", item))))
	}
	return strings.Join(all, ", ")
}

// electrodbRows are what holds for this library alone.
var electrodbRows = []row{
	{usual: true, call: "`Collect` and `Stream`, and its collection, of a partition that both write", holds: bothRead, see: together(electrodbModel, customers("customer", func(id string) keys.Key {
		return keys.Key{PK: electrodbCustomer(id), SK: keys.LabelPrefix{Text: "$account#customer_1"}.SK()}
	}))},
	{
		usual: true, call: "an order of `Create` with `__edb_v__` as a constant", holds: "get: found; the list of the customer: 2 of 2 orders; create: throws",
		see: func(s *shop, p *peer) string { return found(s, p, expect.Value(p.open(s.table))(s)) },
	},
	{
		usual: true, call: "`PutOps` over its order", holds: "`ErrInvalid`",
		see: func(s *shop, p *peer) string {
			s.call("create", anOrder.values())
			all := expect.Value(repo.New(s.table, electrodbModel.entity))(s)
			err := s.table.Transact(s.Context(), all.PutOps(&electrodbOrder{fields: fieldsOf(anOrder)})...)
			expect.Equal(s, "its get", orderOf(s.one("get", orderKey(anOrder))), anOrder)
			return text(err, table.ErrInvalid, "`ErrInvalid`")
		},
	},
	{
		usual: true, call: "`Get` and `Update` of its order of another model version", holds: "`ErrWrongType`",
		see: func(s *shop, p *peer) string {
			s.call("create", anOrder.values())
			key := s.table.KeyOf("", s.scan()[0])
			expect.OK(s, s.table.Do(s.Context(), table.Patch(key, table.Item{"__edb_v__": attributeText("2")})))
			ours := expect.Value(p.open(s.table))(s)
			_, err := ours.get(s.Context(), anOrder)
			expect.Equal(s, "its get", s.one("get", orderKey(anOrder)), nil)
			expect.Err(s, ours.update(s.Context(), anOrder, func(o *order) { o.Total++ }), table.ErrWrongType)
			return text(err, table.ErrWrongType, "`ErrWrongType`")
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
	{usual: true, call: "`Get` of its order of the customer `ΟΔΟΣ`", holds: same, see: func(s *shop, p *peer) string { return readAs(s, p, "ΟΔΟΣ") }},
	{usual: true, call: "`Get` of its order of the customer `İstanbul`", holds: same, see: func(s *shop, p *peer) string { return readAs(s, p, "İstanbul") }},
	{usual: true, call: "`Get` of its order of the customer `STRASSE Ä`", holds: same, see: func(s *shop, p *peer) string { return readAs(s, p, "STRASSE Ä") }},
	{call: "numbers in its keys", holds: "5: `5`, -3: `-3`, 0.10: `0.1`, 1e-7: `1e-7`, 1e20: throws, 1e21: throws, 9007199254740993: throws", see: numbersInKeys},
	{usual: true, call: "`Create` of an order of the customer \"\", or `a#b`", holds: "`ErrInvalid`", see: func(s *shop, p *peer) string {
		for _, customer := range []string{"", "a#b"} {
			o := anOrder
			o.Customer = customer
			if err := expect.Value(p.open(s.table))(s).create(s.Context(), o); !errors.Is(err, table.ErrInvalid) {
				return fmt.Sprint(err)
			}
		}
		return "`ErrInvalid`"
	}},
}

var electrodb = &peer{
	name: "ElectroDB", file: "electrodb", pkg: "electrodb",
	spec: electrodbModel.spec(), open: electrodbModel.open, order: order.values,
	rows: slices.Concat(orderRows(), electrodbRows, commandRows(
		"`$shop#customerid_{customerId:lower}` `$account#order_1#orderid_{orderId:lower}`, in the index `$shop#status_{status:lower}` `$order_1#placed_{placed:lower}#orderid_{orderId:lower}`",
	)),
	writes: []write{
		{call: "patch().set()", same: "kept", other: "kept", saved: "overwritten", after: "kept", deleted: "throws", do: func(s *shop, _, set values) error { return s.do("patch", orderKey(anOrder), set) }},
		{call: "update().set()", same: "kept", other: "kept", saved: "overwritten", after: "kept", deleted: "stores a part of the order", do: func(s *shop, _, set values) error { return s.do("update", orderKey(anOrder), set) }},
		{call: "put()", same: "kept", other: "kept", saved: "overwritten", after: "overwritten", deleted: "stores the order", do: func(s *shop, held, set values) error { return s.do("put", held.with(set)) }},
		{call: "patch().add()", same: "kept", other: "kept", saved: "overwritten", after: "kept", deleted: "throws", do: func(s *shop, _, set values) error {
			if set["total"] != nil {
				return s.do("patch.add", orderKey(anOrder), values{"total": 87})
			}
			return s.do("patch", orderKey(anOrder), set)
		}},
		{call: "upsert()", same: "kept", other: "kept", saved: "overwritten", after: "overwritten", deleted: "stores the order", do: func(s *shop, held, set values) error { return s.do("upsert", held.with(set)) }},
	},
}
