package seeds

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
)

// payers are the users of the payments application, and the currencies they pay in.
var payers = []struct{ name, currency string }{
	{"Ana Lima", "BRL"},
	{"Bruno Costa", "BRL"},
	{"Carla Gómez", "ARS"},
	{"Diego Fernández", "ARS"},
	{"Elif Kaya", "EUR"},
	{"Frank Weber", "EUR"},
	{"Grace Kim", "USD"},
	{"Hiro Tanaka", "JPY"},
}

// notes are what users write on transactions.
var notes = []string{"rent, March", "paid in cash", "books", "dinner with Carla", "invoice 2026-0117", "half of the trip", "gift"}

func TestTheSeedAppCore(t *testing.T) {
	m := newMaker(t, core.Schema("AppCore"))
	s := check.Must(core.New(m.table, nil))(t)
	ctx := t.Context()
	ids := make([]string, len(payers))
	for i, p := range payers {
		first, _, _ := strings.Cut(strings.ToLower(p.name), " ")
		ids[i] = fmt.Sprintf("u-%d", 101+i)
		m.at(day(i, 9+i, 13*i%60), func() error {
			_, _, err := s.Register(ctx, core.NewUser{ID: ids[i], Email: first + "@example.com", Name: p.name})
			return err
		})
	}
	const transactions = 44
	for i := range transactions {
		user := i * 3 % len(ids)
		n := core.NewTransaction{
			User: ids[user], Key: fmt.Sprintf("order-%04d", 1+i), Amount: int64(100 * (5 + m.rand.IntN(900))), Currency: payers[user].currency,
		}
		at := day(8+i*82/transactions, 8+m.rand.IntN(12), m.rand.IntN(60))
		m.at(at, func() error { return pay(ctx, m, s, n, at, i) })
	}
	m.at(day(60, 12, 0), func() error {
		_, err := s.ChangeEmail(ctx, ids[1], "bruno.costa@example.org")
		return err
	})
	// The records of the first weeks have expired.
	m.compare("appcore", s.Forms(), func(_ string, expiry time.Time) bool { return expiry.Before(day(14, 0, 0)) })
}

// pay creates the transaction with number i. Most are approved, some have a note, and
// some users have read about it.
func pay(ctx context.Context, m *maker, s *core.Service, n core.NewTransaction, at time.Time, i int) error {
	created, _, err := s.Create(ctx, n)
	if err != nil {
		return err
	}
	id := created.ID
	if i%4 == 1 {
		m.now = at.Add(3 * time.Minute)
		if _, err := s.Annotate(ctx, core.NewNote{User: n.User, ID: id, Note: pick(m, notes)}); err != nil {
			return err
		}
	}
	if i%3 == 0 {
		return nil
	}
	m.now = at.Add(time.Duration(4+m.rand.IntN(300)) * time.Minute)
	if _, err := s.Approve(ctx, id); err != nil || i%2 > 0 {
		return err
	}
	page, err := s.Notifications(ctx, core.List{User: n.User, Limit: 1})
	if err != nil {
		return err
	}
	m.now = m.now.Add(2 * time.Hour)
	_, err = s.MarkNotification(ctx, n.User, page.Items[0].PublicID(), true)
	return err
}
