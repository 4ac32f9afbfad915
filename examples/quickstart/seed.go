package main

import (
	"context"
	"fmt"
	"time"

	"github.com/singletable/singletable/examples/internal/program"
)

// seed writes the sample data: two users, their transactions and notifications.
// Rows that are there already, from an earlier run, are left as they are.
func seed(ctx context.Context, r repos) error {
	start := time.Date(2024, 1, 15, 10, 5, 0, 0, time.UTC)
	for _, u := range []User{
		{ID: "u-123", Name: "Ana", CreatedAt: start.AddDate(0, -1, 0)},
		{ID: "u-456", Name: "Bruno", CreatedAt: start.AddDate(0, -1, 3)},
	} {
		if err := program.UnlessThere(r.users.Create(ctx, &u)); err != nil {
			return err
		}
	}
	for i := range 16 {
		t := Transaction{
			ID: fmt.Sprintf("tx-%03d", i), UserID: "u-123",
			Amount: int64(500 + 25*i), Currency: "ARS", Status: "PENDING",
			CreatedAt: start.Add(time.Duration(i) * 7 * time.Minute),
		}
		if i == 0 {
			t.ID = "tx-abc"
		}
		if i%4 == 3 {
			t.UserID = "u-456"
		}
		if err := program.UnlessThere(r.transactions.Create(ctx, &t)); err != nil {
			return err
		}
	}
	for i, text := range []string{"Payment received", "Payment approved", "Statement ready"} {
		n := Notification{
			ID: fmt.Sprintf("notif-%03d", i), UserID: "u-123", Text: text,
			CreatedAt: start.Add(time.Minute + time.Duration(i)*time.Hour),
		}
		if i == 0 {
			n.ID = "notif-xyz"
		}
		if err := program.UnlessThere(r.notifications.Create(ctx, &n)); err != nil {
			return err
		}
	}
	return nil
}
