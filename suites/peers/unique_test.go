package peers_test

import (
	"errors"
	"fmt"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

const (
	ana, bob = "ana@example.com", "bob@example.com"
)

// unique describes customers whose e-mail the peer keeps in an item of its own.
type unique struct {
	entity repo.Entity[customer]
	// email is the key of the item for an e-mail, and item what it has besides its key.
	email func(string) keys.Key
	item  any
}

// claiming is the entity with the items as Claims.
func (u unique) claiming() repo.Entity[customer] {
	e := u.entity
	e.Claims = func(c customer) []keys.Key { return []keys.Key{u.email(c.Email)} }
	return e
}

// taken says whether a new customer of the peer can have an e-mail.
func taken(s *shop, email string) string {
	s.Helper()
	if _, err := s.try("createCustomer", values{"customerId": "for " + email, "email": email}); err != nil {
		return "taken"
	}
	return "free"
}

func customerKey(id string) values { return values{"customerId": id} }

// rows are the rows about unique values. byClaims are what holds with Claims.
func (u unique) rows() []row {
	created := func(s *shop) { s.call("createCustomer", values{"customerId": "c-1", "email": ana}) }
	claiming := func(s *shop) *repo.Repo[customer] { return expect.Value(repo.New(s.table, u.claiming()))(s) }
	toBob := func(c *customer) error { c.Email = bob; return nil }
	return []row{
		{
			call: "e-mail of a customer of `Create` with `Claims`, for its create", holds: "taken",
			see: func(s *shop, _ *peer) string {
				expect.OK(s, claiming(s).Create(s.Context(), &customer{ID: "c-1", Email: ana}))
				return taken(s, ana)
			},
		},
		{
			call: "e-mail of its customer, for `Create` with `Claims`", holds: "`ErrExists`",
			see: func(s *shop, _ *peer) string {
				created(s)
				err := claiming(s).Create(s.Context(), &customer{ID: "c-2", Email: ana})
				return text(err, table.ErrExists, "`ErrExists`")
			},
		},
		{
			call: "former e-mail of our customer after its update", holds: "free",
			see: func(s *shop, _ *peer) string {
				expect.OK(s, claiming(s).Create(s.Context(), &customer{ID: "c-1", Email: ana}))
				s.call("updateCustomer", customerKey("c-1"), values{"email": bob})
				return taken(s, ana)
			},
		},
		{
			call: "e-mail of our customer after its delete", holds: "free",
			see: func(s *shop, _ *peer) string {
				expect.OK(s, claiming(s).Create(s.Context(), &customer{ID: "c-1", Email: ana}))
				s.call("removeCustomer", customerKey("c-1"))
				return taken(s, ana)
			},
		},
		{
			call: "former e-mail of its customer after `Update` with `Claims`", holds: "taken",
			pending: "R5: it is free",
			see: func(s *shop, _ *peer) string {
				created(s)
				_, err := claiming(s).Update(s.Context(), u.entity.Key(customer{ID: "c-1"}), toBob)
				expect.OK(s, err)
				return taken(s, ana)
			},
		},
		{
			call: "e-mail of its customer after `Delete` with `Claims`", holds: "taken",
			pending: "R5: it is free",
			see: func(s *shop, _ *peer) string {
				created(s)
				expect.OK(s, claiming(s).Delete(s.Context(), u.entity.Key(customer{ID: "c-1"})))
				return taken(s, ana)
			},
		},
		{
			call: "`Refresh` of its customer with `Claims`", holds: "`ErrExists`",
			pending: "R5: it adopts the item, and writes nothing",
			see: func(s *shop, _ *peer) string {
				created(s)
				_, err := claiming(s).Refresh(s.Context(), u.entity.Key(customer{ID: "c-1"}))
				return text(err, table.ErrExists, "`ErrExists`")
			},
		},
		{
			call: "`GetByClaim` of its customer", holds: "`ErrWrongType`",
			pending: "R5: the customer",
			see: func(s *shop, _ *peer) string {
				created(s)
				_, err := claiming(s).GetByClaim(s.Context(), u.email(ana))
				return text(err, table.ErrWrongType, "`ErrWrongType`")
			},
		},
		{call: "e-mails of its customer after `UpdateWith` and ops for both items", holds: "the former free, the new one taken", see: u.byOps},
	}
}

// byOps changes the e-mail in one transaction with the items of both, as
// docs/share-a-table.md does.
func (u unique) byOps(s *shop, _ *peer) string {
	s.call("createCustomer", values{"customerId": "c-1", "email": ana})
	people := expect.Value(repo.New(s.table, u.entity))(s)
	_, err := people.UpdateWith(s.Context(), u.entity.Key(customer{ID: "c-1"}), func(c *customer) ([]table.Op, error) {
		c.Email = bob
		return []table.Op{table.Delete(u.email(ana)), table.Create(u.email(bob), u.item)}, nil
	})
	expect.OK(s, err)
	return fmt.Sprintf("the former %s, the new one %s", taken(s, ana), taken(s, bob))
}

// text is that of an error if it is the one that is wanted.
func text(err, want error, otherwise string) string {
	if errors.Is(err, want) {
		return otherwise
	}
	return fmt.Sprint(err)
}
