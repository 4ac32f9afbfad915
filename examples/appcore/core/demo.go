package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/singletable/singletable/table"
)

// DemoUsers are the users that [Service.Demo] makes.
var DemoUsers = []string{"u-123", "u-456"}

// Demo fills in users with some days of history, by the service's own methods.
// Users that are there already are left as they are.
func (s *Service) Demo(ctx context.Context) error {
	names := map[string]string{"u-123": "Ana", "u-456": "Bruno"}
	for i, user := range DemoUsers {
		_, err := s.users.Get(ctx, userKey(user))
		if err == nil {
			continue
		}
		if !errors.Is(err, table.ErrNotFound) {
			return translate(err)
		}
		if err := s.history(ctx, user, i); err != nil {
			return err
		}
		// Last, so that the next run completes a demo that was interrupted.
		n := NewUser{ID: user, Email: names[user] + "@example.com", Name: names[user]}
		if _, _, err := s.Register(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// history creates transactions in the past and approves every third of them a
// few minutes later.
func (s *Service) history(ctx context.Context, user string, offset int) error {
	const count = 12
	now := s.now()
	for i := range count {
		past := *s
		at := now.Add(-time.Duration(count-i)*5*time.Hour + time.Duration(offset)*17*time.Minute)
		past.now = func() time.Time { return at }
		n := NewTransaction{
			User: user, Key: fmt.Sprintf("demo-%d", i),
			Amount: int64(500 + 125*i), Currency: []string{"ARS", "USD", "EUR"}[i%3],
		}
		t, _, err := past.Create(ctx, n)
		if err != nil {
			return err
		}
		if i%3 > 0 {
			continue
		}
		past.now = func() time.Time { return at.Add(7 * time.Minute) }
		if _, err := past.Approve(ctx, t.ID); err != nil {
			return err
		}
	}
	return nil
}
