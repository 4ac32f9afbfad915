package peers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// These functions see the rows that all libraries for orders have.

const same = "the same order"

// differences says how orders that were read differ from what is wanted.
func differences(want []order, read map[string][]order) string {
	var all []string
	for call, got := range read {
		if diff := cmp.Diff(want, got); diff != "" {
			all = append(all, call+":\n"+diff)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// here says how our reads differ from what is wanted.
func here(s *shop, ours orders, want order) string {
	s.Helper()
	got := expect.Value(ours.get(s.Context(), want))(s)
	return differences([]order{want}, map[string][]order{
		"Get":      {got},
		"Query":    expect.Value(ours.list(s.Context(), want.Customer))(s),
		"an index": expect.Value(ours.byStatus(s.Context(), want.Status))(s),
		"Collect":  expect.Value(ours.collect(s.Context(), want.Customer))(s),
	})
}

// there says how the reads of the peer differ from what is wanted.
func there(s *shop, want order) string {
	s.Helper()
	return differences([]order{want}, map[string][]order{
		"get":      {orderOf(s.one("get", orderKey(want)))},
		"list":     ordersOf(s.many("list", want.Customer)),
		"byStatus": ordersOf(s.many("byStatus", want.Status)),
	})
}

func or(difference, otherwise string) string {
	if difference == "" {
		return otherwise
	}
	return difference
}

func readHere(s *shop, p *peer) string {
	s.call("create", p.order(anOrder).with(more))
	return or(here(s, expect.Value(p.open(s.table))(s), anOrder), same)
}

func streamed(s *shop, p *peer) string {
	s.call("create", p.order(anOrder))
	s.call("update", orderKey(anOrder), values{"total": 13})
	s.call("remove", orderKey(anOrder))
	return fmt.Sprint(expect.Value(expect.Value(p.open(s.table))(s).changes(s.Context(), s, 3))(s))
}

func createdHere(s *shop, p *peer) string {
	expect.OK(s, expect.Value(p.open(s.table))(s).create(s.Context(), anOrder))
	return or(there(s, anOrder), same)
}

// updatedHere changes an order of the peer, also what its index is made of.
func updatedHere(s *shop, p *peer) string {
	s.call("create", p.order(anOrder).with(more))
	before := s.one("get", orderKey(anOrder))
	ours, want := expect.Value(p.open(s.table))(s), anOrder
	change := func(o *order) { o.Status, o.Total, o.Street = "sent", 14, "Side" }
	change(&want)
	expect.OK(s, ours.update(s.Context(), anOrder, change))
	if diff := there(s, want); diff != "" {
		return diff
	}
	after := s.one("get", orderKey(anOrder))
	for name := range before {
		if name != "address" && !cmp.Equal(p.order(want)[name], p.order(anOrder)[name]) {
			delete(before, name)
			delete(after, name)
		}
	}
	// The version moves with each write, and so does the key of an index.
	for _, name := range []string{"updated", "updatedAt", "modified", "gsi1pk"} {
		delete(before, name)
		delete(after, name)
	}
	if address, ok := before["address"].(map[string]any); ok {
		address["street"] = "Side"
	}
	return or(cmp.Diff(before, after), same+", and all that the Go type lacks")
}

func savedHere(s *shop, p *peer) string {
	s.call("create", p.order(anOrder).with(more))
	ours, want := expect.Value(p.open(s.table))(s), anOrder
	want.Status = "sent"
	expect.OK(s, ours.save(s.Context(), anOrder, func(o *order) { o.Status = "sent" }))
	return or(there(s, want), same)
}

func removedHere(s *shop, p *peer) string {
	s.call("create", p.order(anOrder))
	expect.OK(s, expect.Value(p.open(s.table))(s).remove(s.Context(), anOrder))
	if item := s.one("get", orderKey(anOrder)); item != nil {
		return "get: it is there"
	}
	return or(differences(nil, map[string][]order{
		"list": ordersOf(s.many("list", anOrder.Customer)), "byStatus": ordersOf(s.many("byStatus", anOrder.Status)),
	}), "gone")
}

// updatedThere has the peer change an order of ours, also what its index is made of.
func updatedThere(s *shop, p *peer) string {
	ours, want := expect.Value(p.open(s.table))(s), anOrder
	expect.OK(s, ours.create(s.Context(), anOrder))
	want.Status, want.Total = "paid", 15
	p.change(s, values{"status": want.Status, "total": want.Total})
	return or(here(s, ours, want), same)
}

// removedThere has the peer delete an order of ours.
func removedThere(s *shop, p *peer) string {
	ours := expect.Value(p.open(s.table))(s)
	expect.OK(s, ours.create(s.Context(), anOrder))
	s.call("remove", orderKey(anOrder))
	if _, err := ours.get(s.Context(), anOrder); !errors.Is(err, table.ErrNotFound) {
		return fmt.Sprint(err)
	}
	return "`ErrNotFound`"
}

// ourCursor gives the peer a cursor of ours.
func ourCursor(s *shop, p *peer) string {
	ours := twoOrders(s, p)
	cursor := expect.Value(ours.page(s.Context(), anOrder.Customer, ""))(s)
	result, err := s.try("page", anOrder.Customer, cursor)
	if err != nil {
		return "throws"
	}
	page, _ := result.(map[string]any)
	first, _ := page["data"].([]any)[0].(map[string]any)
	if orderOf(first).ID == anOrder.ID {
		return "the first page"
	}
	return "the second page"
}

// theirCursor gives our query a cursor of the peer.
func theirCursor(s *shop, p *peer) string {
	ours := twoOrders(s, p)
	page := s.one("page", anOrder.Customer)
	cursor, text := page["cursor"].(string)
	if !text {
		cursor = fmt.Sprint(page["cursor"])
	}
	if _, err := ours.page(s.Context(), anOrder.Customer, cursor); !errors.Is(err, paginate.ErrInvalidCursor) {
		return fmt.Sprint(err)
	}
	return "`ErrInvalidCursor`"
}

func twoOrders(s *shop, p *peer) orders {
	second := anOrder
	second.ID = "o-2"
	s.call("create", p.order(anOrder))
	s.call("create", p.order(second))
	return expect.Value(p.open(s.table))(s)
}

// orderRows are the rows of every library for orders, but for those that hold is given for.
func orderRows(other ...row) []row {
	rows := []row{
		{call: "`Get`, `Query`, an index and `Collect` of its order", holds: same, see: readHere},
		{call: "a router of its create, update and delete", holds: "[insert modify remove]", see: streamed},
		{call: "its reads of what `Create` has stored", holds: same, see: createdHere},
		{call: "its reads of its order after `Update`", holds: same + ", and all that the Go type lacks", see: updatedHere},
		{call: "its reads of its order after `Save`", holds: same, see: savedHere},
		{call: "its reads after `Delete`", holds: "gone", see: removedHere},
		{call: "our reads of our order after its update", holds: same, see: updatedThere},
		{call: "`Get` of our order after its delete", holds: "`ErrNotFound`", see: removedThere},
		{call: "`Update` of its order that it deletes before the write", holds: "`ErrNotFound`", see: missedDuring},
		{call: "`Delete` of its order that it changes before the write", holds: "deleted", see: deletedDuring},
		{call: cursorRow, holds: "throws", see: ourCursor},
		{call: "`Query` with its cursor", holds: "`ErrInvalidCursor`", see: theirCursor},
	}
	usual(rows)
	for _, r := range other {
		i := slices.IndexFunc(rows, func(have row) bool { return have.call == r.call })
		rows[i].holds, rows[i].usual = r.holds, false
	}
	return rows
}

// found says what the peer does with an order that ours has created, and with another one of
// the same customer, which is its own.
func found(s *shop, p *peer, ours orders) string {
	second := anOrder
	second.ID = "o-2"
	s.call("create", p.order(second))
	expect.OK(s, ours.create(s.Context(), anOrder))
	outcome := "get: " + seen(s.try("get", orderKey(anOrder)))
	outcome += "; the list of the customer: " + seen(s.try("list", anOrder.Customer))
	return outcome + "; create: " + seen(s.try("create", p.order(anOrder)))
}

// seen describes what a peer has returned.
func seen(result any, err error) string {
	switch result := result.(type) {
	case []any:
		return fmt.Sprintf("%d of 2 orders", len(result))
	case nil:
		if err != nil {
			return "throws"
		}
		return "nothing"
	default:
		return "found"
	}
}

// changedSet says what the peer does with a set that an Update of ours has changed, in
// the list of two orders.
func changedSet(s *shop, p *peer, to []string, ours orders) string {
	second := anOrder
	second.ID = "o-2"
	s.call("create", p.order(second))
	s.call("create", p.order(anOrder))
	expect.OK(s, ours.update(s.Context(), anOrder, func(o *order) { o.Tags = to }))
	return "get: " + seen(s.try("get", orderKey(anOrder))) + "; the list of the customer: " + seen(s.try("list", anOrder.Customer))
}

// deletedDuring has the peer change the order between the read and the write of our Delete.
func deletedDuring(s *shop, p *peer) string {
	ours := p.begin(s)
	s.meanwhile(true, "DeleteItem", func() { p.change(s, values{"total": 100}) })
	expect.OK(s, ours.remove(s.Context(), anOrder))
	if left := s.scan(); len(left) != 0 {
		return "left"
	}
	return "deleted"
}

// missedDuring has the peer delete the order between the read and the write of our Update.
func missedDuring(s *shop, p *peer) string {
	return s.inBoth(func(below bool) string {
		ours := p.begin(s)
		meanwhile := s.meanwhile(below, "UpdateItem", func() { s.call("remove", orderKey(anOrder)) })
		err := ours.update(s.Context(), anOrder, func(o *order) {
			meanwhile()
			o.Total++
		})
		if left := s.scan(); len(left) != 0 {
			return "stores a part"
		}
		return text(err, table.ErrNotFound, "`ErrNotFound`")
	})
}

// timeOfWrite says whether a time is as JavaScript writes it, and not before another one.
func timeOfWrite(is, since string) string {
	if at, err := time.Parse(time.RFC3339, is); err != nil || is != (table.ISOTime{Time: at}).String() || is < since {
		return "is " + is
	}
	return "the time of the write"
}

const namesUnixMilli = "an error that names `table.UnixMilli`"

// undecoded says whether an error names an attribute and the type for milliseconds.
func undecoded(err error, attribute string) string {
	if misfit, ok := errors.AsType[*item.Error](err); ok && misfit.Path == attribute && strings.Contains(misfit.Problem, "table.UnixMilli") {
		return namesUnixMilli
	}
	return fmt.Sprint(err)
}

const cursorRow = "its query with a cursor of ours"

func keptIf(kept bool) string {
	if kept {
		return "kept"
	}
	return "lost"
}
