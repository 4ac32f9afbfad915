package peers_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// onetableOrder has updated as its version, which OneTable sets with each write.
type onetableOrder struct {
	fields
	Tags    []string        `dynamodbav:"tags,stringset,omitempty"`
	Updated table.UnixMilli `dynamodbav:"updated"`
}

var onetableModel = model[onetableOrder]{
	schema: schema.Table{TypeAttribute: "_type", Indexes: gsi1},
	entity: repo.Entity[onetableOrder]{
		Type: "Order", Version: "updated", Shared: &repo.Shared[onetableOrder]{},
		Key: func(v onetableOrder) keys.Key { return onetableKey(v.order(nil)) },
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

// sentOrder is an order with the time at which it was sent.
type sentOrder struct {
	Sent    table.UnixMilli `dynamodbav:"sent"`
	Updated table.UnixMilli `dynamodbav:"updated"`
}

// sentInSeconds has a field of another type for the time.
type sentInSeconds struct {
	Sent    time.Time       `dynamodbav:"sent,unixtime"`
	Updated table.UnixMilli `dynamodbav:"updated"`
}

// sent opens the order as a T.
func sent[T any](s *shop) *repo.Repo[T] {
	s.Helper()
	return expect.Value(repo.New(s.table, repo.Entity[T]{
		Type: "Order", Version: "updated", Shared: &repo.Shared[T]{},
		Key: func(T) keys.Key { return onetableKey(anOrder) },
	}))(s)
}

// sentThere returns the time that the peer reads.
func sentThere(s *shop) string {
	s.Helper()
	if at, ok := s.one("get", orderKey(anOrder))["sent"].(map[string]any); ok {
		return fmt.Sprint(at["$date"])
	}
	return "none"
}

// sentAt has this library change the time, and returns what the peer reads.
func sentAt(s *shop, to time.Time) string {
	s.call("create", anOrder.values().with(values{"sent": date(anOrder.Placed)}))
	expect.OK(s, expect.ErrOf(sent[sentOrder](s).Update(s.Context(), onetableKey(anOrder), func(v *sentOrder) error {
		v.Sent.Time = to
		return nil
	})))
	return sentThere(s)
}

func onetableKey(o order) keys.Key {
	return keys.Key{PK: keys.PK("customer#" + o.Customer), SK: keys.SK("order#" + o.ID)}
}

var onetableCustomers = func() repo.Entity[customer] {
	e := customers("Customer", func(id string) keys.Key { return keys.Key{PK: keys.PK("customer#" + id), SK: "profile"} })
	e.Version = "updated"
	return e
}()

var onetableUnique = unique{
	entity: onetableCustomers,
	email: func(email string) keys.Key {
		return keys.Key{PK: keys.PK("_unique#Customer#email#" + email), SK: "_unique#"}
	},
	typ: "_Unique",
}

// onetableRows are what holds for this library alone.
var onetableRows = []row{
	{usual: true, call: "`Collect` and `Stream`, and its query by type, of a partition that both write", holds: bothRead, see: together(onetableModel, onetableCustomers)},
	{call: "e-mail of its customer after its update({set})", holds: "the former taken, the new one free", see: func(s *shop, _ *peer) string {
		s.call("createCustomer", values{"customerId": "c-1", "email": ana})
		s.call("updateCustomer.set", customerKey("c-1"), values{"email": bob})
		return fmt.Sprintf("the former %s, the new one %s", taken(s, ana), taken(s, bob))
	}},
	{call: "its index of two attributes after its update of one", holds: "has the former key", see: func(s *shop, p *peer) string {
		s.call("create", anOrder.values())
		before := attribute(s.scan()[0]["gsi1sk"])
		s.call("update", orderKey(anOrder), values{"total": 13})
		if attribute(s.scan()[0]["gsi1sk"]) == before {
			return "has the former key"
		}
		return "follows"
	}},
	{call: "its find with a limit of 1 and a filter, of 3 orders of which the last passes", holds: "1 order", see: func(s *shop, _ *peer) string {
		for i, id := range []string{"o-1", "o-2", "o-3"} {
			o := anOrder
			o.ID, o.Total = id, i
			s.call("create", o.values())
		}
		return fmt.Sprintf("%d order", len(s.many("limited", anOrder.Customer, 1)))
	}},
	{
		usual: true, call: "the `updated` that it reads after `Create`", holds: "the time of the write",
		see: func(s *shop, p *peer) string {
			expect.OK(s, expect.Value(p.open(s.table))(s).create(s.Context(), anOrder))
			updated, _ := s.one("get", orderKey(anOrder))["updated"].(map[string]any)["$date"].(string)
			return timeOfWrite(updated, anOrder.Placed)
		},
	},
	{
		call: "its `Date` in a `time.Time` with `unixtime`", holds: namesUnixMilli,
		see: func(s *shop, p *peer) string {
			s.call("create", anOrder.values().with(values{"sent": date(anOrder.Placed)}))
			_, err := sent[sentInSeconds](s).Get(s.Context(), onetableKey(anOrder))
			return undecoded(err, "sent")
		},
	},
	{
		usual: true, call: "the `Date` that it reads of a `table.UnixMilli` after `Update`", holds: "2027-06-05T04:03:02.001Z",
		see: func(s *shop, p *peer) string { return sentAt(s, time.Date(2027, 6, 5, 4, 3, 2, 1e6, time.UTC)) },
	},
	{
		call: "the `Date` that it reads of the zero `table.UnixMilli` after `Update`", holds: "none",
		see: func(s *shop, p *peer) string { return sentAt(s, time.Time{}) },
	},
	{
		call: "the `Date` that it reads of the zero `time.Time` with `unixtime` after `Create`", holds: "none",
		see: func(s *shop, p *peer) string {
			expect.OK(s, sent[sentInSeconds](s).Create(s.Context(), &sentInSeconds{}))
			return sentThere(s)
		},
	},
}

var onetable = &peer{
	name: "OneTable", file: "onetable", pkg: "dynamodb-onetable",
	spec: onetableModel.spec(), open: onetableModel.open, order: order.values,
	update: func(set values) values { return set.with(values{"placed": anOrder.Placed}) },
	rows: slices.Concat(orderRows(row{call: cursorRow, holds: "the first page"}), onetableUnique.rows(), onetableRows, commandRows(
		"`customer#{customerId}` `order#{orderId}`, in the index `status#{status}` `{placed:time}#{total}`",
	)),
	writes: []write{
		{call: "update()", same: "kept", other: "kept", saved: "kept: `ErrStale`", after: "kept", deleted: "throws", do: func(s *shop, _, set values) error {
			return s.do("update", orderKey(anOrder), set.with(values{"placed": anOrder.Placed}))
		}},
		{call: "update({set})", same: "kept", other: "kept", saved: "kept: `ErrStale`", after: "kept; the index has the former key", deleted: "throws", do: func(s *shop, _, set values) error { return s.do("update.set", orderKey(anOrder), set) }},
		{call: "upsert()", same: "kept", other: "kept", saved: "kept: `ErrStale`", after: "overwritten", deleted: "throws", do: func(s *shop, held, set values) error { return s.do("upsert", held.with(set)) }},
		{call: "create({exists: null})", same: "kept", other: "kept", saved: "kept: `ErrStale`", after: "overwritten", deleted: "stores the order", do: func(s *shop, held, set values) error { return s.do("put", held.with(set)) }},
	},
}
