package view_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// now is the time by the clock of the pages.
var now = time.Date(2024, 1, 18, 12, 0, 0, 0, time.UTC)

const (
	email   keys.Prefix = "EMAIL"
	order   keys.Prefix = "ORDER"
	status  keys.Prefix = "STATUS"
	session keys.Prefix = "SESSION"
)

// shop is the schema of the tests' table.
func shop() schema.Table {
	return schema.Table{
		Name: "Shop", TTLAttribute: "expiresAt",
		Indexes: []schema.Index{
			{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"},
			{Name: "GSI2", PK: "gsi2pk", SK: "gsi2sk", Projection: "KEYS_ONLY"},
		},
	}
}

// user is in two items: the second makes its address unique.
type user struct {
	ID       string            `dynamodbav:"userId"`
	Name     string            `dynamodbav:"name"`
	Email    string            `dynamodbav:"email"`
	Since    time.Time         `dynamodbav:"createdAt"`
	Settings map[string]any    `dynamodbav:"settings"`
	Address  map[string]string `dynamodbav:"address"`
	Roles    []string          `dynamodbav:"roles,stringset"`
	Revision string            `dynamodbav:"revision"`
}

func users(t *table.Table) (*repo.Repo[user], error) {
	return repo.New(t, repo.Entity[user]{
		Type: "USER", Version: "revision",
		Key: func(u user) keys.Key { return keys.Key{PK: keys.User.PK(u.ID), SK: keys.Profile} },
		Copies: []repo.Copy[user]{{Name: "by email", Key: func(u user) keys.Key {
			return keys.Key{PK: email.PK(u.Email), SK: keys.Profile}
		}}},
	})
}

// purchase is an order, which an index finds by its status.
type purchase struct {
	User   string    `dynamodbav:"userId"`
	ID     string    `dynamodbav:"orderId"`
	At     time.Time `dynamodbav:"placedAt"`
	Status string    `dynamodbav:"status"`
	Cents  int       `dynamodbav:"totalCents"`
	Lines  []line    `dynamodbav:"lines"`
	Note   string    `dynamodbav:"note,omitempty"`
}

type line struct {
	SKU   string `dynamodbav:"sku"`
	Count int    `dynamodbav:"count"`
}

func purchases(t *table.Table) (*repo.Repo[purchase], error) {
	return repo.New(t, repo.Entity[purchase]{
		Type: "ORDER",
		Key: func(p purchase) keys.Key {
			return keys.Key{PK: keys.User.PK(p.User), SK: order.SK(keys.Time(p.At), keys.Str(p.ID))}
		},
		Indexes: repo.Indexes[purchase]{"GSI1": func(p purchase) keys.Key {
			return keys.Key{PK: status.PK(p.Status), SK: order.SK(keys.Time(p.At))}
		}},
	})
}

// login expires. DynamoDB has not deleted those in the past.
type login struct {
	User    string `dynamodbav:"userId"`
	ID      string `dynamodbav:"sessionId"`
	Expires int64  `dynamodbav:"expiresAt"`
	Agent   string `dynamodbav:"agent"`
}

func logins(t *table.Table) (*repo.Repo[login], error) {
	return repo.New(t, repo.Entity[login]{
		Type: "SESSION",
		Key: func(l login) keys.Key {
			return keys.Key{PK: keys.User.PK(l.User), SK: session.SK(keys.Str(l.ID))}
		},
		Indexes: repo.Indexes[login]{"GSI2": func(l login) keys.Key {
			return keys.Key{PK: session.PK(l.ID), SK: keys.Profile}
		}},
	})
}

// fill stores three users with orders and sessions, and an idempotency record. The
// table's clock must be that of now.
func fill(ctx context.Context, t *table.Table) error {
	people, err := users(t)
	if err != nil {
		return err
	}
	orders, err := purchases(t)
	if err != nil {
		return err
	}
	sessions, err := logins(t)
	if err != nil {
		return err
	}
	for i, id := range []string{"ana", "ben", "c#d"} {
		err := people.Create(ctx, &user{
			ID: id, Name: fmt.Sprintf("Person %d", i), Email: id + "@example.com", Since: now.AddDate(0, -5*i-1, 0),
			Settings: map[string]any{"theme": "dark", "mail": map[string]any{"weekly": true, "lists": []string{"news", "offers"}}},
			Address:  map[string]string{"city": "Lisbon", "street": "Rua Augusta 1"},
			Roles:    []string{"buyer", "editor"},
		})
		if err != nil {
			return err
		}
		for j := range 6 - 2*i {
			p := purchase{
				User: id, ID: fmt.Sprintf("o-%d%d", i, j), At: now.Add(-time.Duration(31*j+5*i+2) * time.Hour), Cents: 1250 * (j + 1),
				Status: []string{"placed", "paid", "sent"}[j%3], Lines: []line{{"pen", j + 1}, {"paper", 2}},
			}
			if err := orders.Create(ctx, &p); err != nil {
				return err
			}
		}
		for j, at := range []time.Duration{2 * time.Hour, -5 * time.Minute} {
			l := login{User: id, ID: fmt.Sprintf("s-%d%d", i, j), Expires: now.Add(at).Unix(), Agent: "Firefox on Linux"}
			if err := sessions.Save(ctx, &l); err != nil {
				return err
			}
		}
	}
	records, err := idempotency.New(t, nil)
	if err != nil {
		return err
	}
	_, err = idempotency.Exec(ctx, records, idempotency.Request{Scope: "checkout", Key: "k-1", Payload: idempotency.Text("{}")}, func(context.Context) ([]table.Op, error) {
		op := table.Put(keys.Key{PK: "COUNTER#orders", SK: keys.Metadata}, table.Item{})
		return []table.Op{op}, nil
	})
	return err
}

// seed is fill for tests.
func seed(tb testing.TB, t *table.Table) {
	tb.Helper()
	if err := fill(tb.Context(), t); err != nil {
		tb.Fatal(err)
	}
}

func clock() time.Time { return now }
