package peers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

const (
	ana, bob, eve = "ana@example.com", "bob@example.com", "eve@example.com"
)

// unique describes customers whose e-mail the peer keeps in an item of its own.
type unique struct {
	entity repo.Entity[customer]
	// email is the key of the item for an e-mail, and typ its type, empty if it has none.
	email func(string) keys.Key
	typ   string
}

// open returns the customers with their e-mails as Unique.
func (u unique) open(s *shop) *repo.Repo[customer] {
	s.Helper()
	e := u.entity
	e.Shared = &repo.Shared[customer]{
		Unique: func(c customer) []keys.Key { return []keys.Key{u.email(c.Email)} }, UniqueType: u.typ,
	}
	return expect.Value(repo.New(s.table, e))(s)
}

func (u unique) key(id string) keys.Key { return u.entity.Key(customer{ID: id}) }

// taken says whether a new customer of the peer can have an e-mail.
func taken(s *shop, email string) string {
	s.Helper()
	if _, err := s.try("createCustomer", values{"customerId": "for " + email, "email": email}); err != nil {
		return "taken"
	}
	return "free"
}

func formerAndNew(s *shop) string {
	s.Helper()
	return fmt.Sprintf("the former %s, the new one %s", taken(s, ana), taken(s, bob))
}

func customerKey(id string) values { return values{"customerId": id} }

const movedEmail = "the former free, the new one taken"

// rows are the rows about unique values.
func (u unique) rows() []row {
	created := func(s *shop) { s.call("createCustomer", values{"customerId": "c-1", "email": ana}) }
	toBob := func(c *customer) error { c.Email = bob; return nil }
	return usual([]row{
		{call: "e-mail of a customer of `Create` with `Unique`, for its create", holds: "taken", see: func(s *shop, _ *peer) string {
			expect.OK(s, u.open(s).Create(s.Context(), &customer{ID: "c-1", Email: ana}))
			return taken(s, ana)
		}},
		{call: "e-mail of its customer, for `Create` with `Unique`", holds: "`ErrExists`", see: func(s *shop, _ *peer) string {
			created(s)
			err := u.open(s).Create(s.Context(), &customer{ID: "c-2", Email: ana})
			return text(err, table.ErrExists, "`ErrExists`")
		}},
		{call: "e-mails of our customer after its update", holds: movedEmail, see: func(s *shop, _ *peer) string {
			expect.OK(s, u.open(s).Create(s.Context(), &customer{ID: "c-1", Email: ana}))
			s.call("updateCustomer", customerKey("c-1"), values{"email": bob})
			return formerAndNew(s)
		}},
		{call: "e-mail of our customer after its delete", holds: "free", see: func(s *shop, _ *peer) string {
			expect.OK(s, u.open(s).Create(s.Context(), &customer{ID: "c-1", Email: ana}))
			s.call("removeCustomer", customerKey("c-1"))
			return taken(s, ana)
		}},
		{call: "e-mails of its customer after `Update` with `Unique`", holds: movedEmail, see: func(s *shop, _ *peer) string {
			created(s)
			expect.OK(s, expect.ErrOf(u.open(s).Update(s.Context(), u.key("c-1"), toBob)))
			return formerAndNew(s)
		}},
		{call: "e-mail of its customer after `Delete` with `Unique`", holds: "free", see: func(s *shop, _ *peer) string {
			created(s)
			expect.OK(s, u.open(s).Delete(s.Context(), u.key("c-1")))
			return taken(s, ana)
		}},
		{call: "`Refresh` of its customer with `Unique`", holds: "nothing to write", see: func(s *shop, _ *peer) string {
			created(s)
			before := s.scan()
			if expect.Value(u.open(s).Refresh(s.Context(), u.key("c-1")))(s) {
				return "writes"
			}
			return or(cmp.Diff(inJSON(before), inJSON(s.scan())), "nothing to write")
		}},
		{call: "e-mails of its customer that it changes before the write of our `Update` of the e-mail", holds: "its e-mail free, ours taken", see: u.bothChange},
		{call: "its customer that takes the e-mail before the write of our `Update`", holds: "`ErrExists`, and our customer keeps its e-mail", see: u.bothTake},
		{call: "e-mails of its customer that it deletes before the write of our `Update` of the e-mail", holds: "`ErrNotFound`, all free", see: u.deletedThere},
		{call: "e-mails of its customer that it changes before the write of our `Delete`", holds: "all free", see: u.deletedHere},
		{call: "e-mails of its customer after `UpdateWith` and ops for both items", holds: movedEmail, see: u.byOps},
		{call: "`CheckUnique` of two customers, and with one item deleted and one left", holds: "no faults, then 2", see: u.checked},
	})
}

// checked has both programs create a customer, then takes the item of one, and adds that of nobody.
func (u unique) checked(s *shop, _ *peer) string {
	people := u.open(s)
	s.call("createCustomer", values{"customerId": "c-1", "email": ana})
	expect.OK(s, people.Create(s.Context(), &customer{ID: "c-2", Email: bob}))
	job := backfill.Job{Name: "check", Table: s.table, Entities: []backfill.Entity{people}}
	of := func(key keys.Key) bool { return strings.HasPrefix(string(key.PK), string(u.email("").PK)) }
	before := expect.Value(job.CheckUnique(s.Context(), of))(s)
	expect.Equal(s, "read", before.SetAside, 0)
	expect.OK(s, s.table.Do(s.Context(), table.Delete(u.email(ana))))
	expect.OK(s, s.table.Do(s.Context(), table.Create(u.email(eve), table.Item{})))
	after := expect.Value(job.CheckUnique(s.Context(), of))(s)
	return fmt.Sprintf("%s faults, then %d", map[int]string{0: "no"}[len(before.Faults)], len(after.Faults))
}

// race has the peer write between the read and the write of an Update of ours to bob, and
// returns its error.
func (u unique) race(s *shop, below bool, theirs func()) error {
	s.Helper()
	s.call("createCustomer", values{"customerId": "c-1", "email": ana})
	meanwhile := s.meanwhile(below, "TransactWriteItems", theirs)
	return expect.ErrOf(u.open(s).Update(s.Context(), u.key("c-1"), func(c *customer) error {
		meanwhile()
		c.Email = bob
		return nil
	}))
}

func (u unique) bothChange(s *shop, _ *peer) string {
	return s.inBoth(func(below bool) string {
		expect.OK(s, u.race(s, below, func() { s.call("updateCustomer", customerKey("c-1"), values{"email": eve}) }))
		expect.Equal(s, "e-mail", s.one("getCustomer", customerKey("c-1"))["email"], bob)
		expect.Equal(s, "the former e-mail", taken(s, ana), "free")
		return fmt.Sprintf("its e-mail %s, ours %s", taken(s, eve), taken(s, bob))
	})
}

func (u unique) bothTake(s *shop, _ *peer) string {
	return s.inBoth(func(below bool) string {
		err := u.race(s, below, func() { s.call("createCustomer", values{"customerId": "c-2", "email": bob}) })
		expect.Equal(s, "e-mail", s.one("getCustomer", customerKey("c-1"))["email"], ana)
		expect.Equal(s, "e-mails", formerAndNew(s), "the former taken, the new one taken")
		return text(err, table.ErrExists, "`ErrExists`, and our customer keeps its e-mail")
	})
}

func (u unique) deletedThere(s *shop, _ *peer) string {
	return s.inBoth(func(below bool) string {
		err := u.race(s, below, func() { s.call("removeCustomer", customerKey("c-1")) })
		expect.Equal(s, "items", len(s.scan()), 0)
		return text(err, table.ErrNotFound, "`ErrNotFound`, all free")
	})
}

func (u unique) deletedHere(s *shop, _ *peer) string {
	s.call("createCustomer", values{"customerId": "c-1", "email": ana})
	s.meanwhile(true, "TransactWriteItems", func() { s.call("updateCustomer", customerKey("c-1"), values{"email": eve}) })
	expect.OK(s, u.open(s).Delete(s.Context(), u.key("c-1")))
	if left := s.scan(); len(left) > 0 {
		return fmt.Sprintf("%d items are left", len(left))
	}
	return "all free"
}

// byOps changes the e-mail in one transaction with the items of both, as
// docs/share-a-table.md does.
func (u unique) byOps(s *shop, _ *peer) string {
	s.call("createCustomer", values{"customerId": "c-1", "email": ana})
	people := expect.Value(repo.New(s.table, u.entity))(s)
	of := map[string]string{}
	if u.typ != "" {
		of[s.table.Schema().TypeAttribute] = u.typ
	}
	_, err := people.UpdateWith(s.Context(), u.key("c-1"), func(c *customer) ([]table.Op, error) {
		c.Email = bob
		return []table.Op{table.Delete(u.email(ana)), table.Create(u.email(bob), of)}, nil
	})
	expect.OK(s, err)
	return formerAndNew(s)
}

// inJSON returns items as texts.
func inJSON(items []table.Item) (all []string) {
	for _, i := range items {
		all = append(all, string(item.JSON(i)))
	}
	slices.Sort(all)
	return all
}

// text is that of an error if it is the one that is wanted.
func text(err, want error, otherwise string) string {
	if errors.Is(err, want) {
		return otherwise
	}
	return fmt.Sprint(err)
}
