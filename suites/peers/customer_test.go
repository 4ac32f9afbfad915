package peers_test

import (
	"fmt"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// customer is a customer of the shop. A peer's type attribute is in the schema.
type customer struct {
	ID      string          `dynamodbav:"customerId"`
	Email   string          `dynamodbav:"email"`
	Updated table.UnixMilli `dynamodbav:"updated"` // the version in OneTable, which alone has one
}

// customers describes customers by their key.
func customers(typ string, key func(id string) keys.Key) repo.Entity[customer] {
	return repo.Entity[customer]{Type: typ, Key: func(c customer) keys.Key { return key(c.ID) }, Shared: &repo.Shared[customer]{}}
}

const bothRead = "here 1 customer and 1 order, there 1 customer and 1 order"

// together sees a partition with a customer that the peer has written, and an order that this
// library has written.
func together[T any](m model[T], of repo.Entity[customer]) func(*shop, *peer) string {
	return func(s *shop, _ *peer) string {
		ctx := s.Context()
		people := expect.Value(repo.New(s.table, of))(s)
		all := expect.Value(repo.New(s.table, m.entity))(s)
		s.call("createCustomer", values{"customerId": anOrder.Customer, "email": "ana@example.com"})
		expect.OK(s, entities[T]{m, s.table, all}.create(ctx, anOrder))

		q := m.list(anOrder.Customer)
		q.Range = keys.Range{}
		var cs []customer
		var os []T
		expect.OK(s, repo.Collect(ctx, s.table, q, people.AppendTo(&cs), all.AppendTo(&os)))
		streamed := 0
		for v, err := range repo.Stream(ctx, s.table, q, people, all) {
			expect.OK(s, err)
			switch v := v.(type) {
			case customer:
				expect.Equal(s, "Stream", v, cs[0])
			case T:
				expect.Equal(s, "Stream", m.of(v), anOrder)
			}
			streamed++
		}
		expect.Equal(s, "Collect", len(cs)+len(os), streamed)
		return fmt.Sprintf("here %d customer and %d order, there %v", len(cs), len(os), s.call("account", anOrder.Customer))
	}
}
