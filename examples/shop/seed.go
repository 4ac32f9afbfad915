package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/table"
)

// The sample data: what is in the shop when the walk begins.
var (
	opening = time.Date(2024, 1, 15, 9, 0, 0, 0, time.UTC)

	sampleCategories = []Category{
		{ID: "home", Name: "Home"},
		{ID: "kitchen", Name: "Kitchen"},
		{ID: "garden", Name: "Garden"},
	}
	sampleProducts = []Product{
		{ID: "p-lamp", Name: "Desk lamp", Category: "home", Price: 4900, Stock: 3, Active: true},
		{ID: "p-desk", Name: "Desk, oak", Category: "home", Price: 39900, Stock: 10, Active: true},
		{ID: "p-bin", Name: "Desktop bin", Category: "home", Price: 1200, Stock: 5},
		{ID: "p-organ", Name: "Desktop organizer", Category: "home", Price: 1900, Stock: 40, Active: true},
		{ID: "p-knife", Name: "Bread knife", Category: "kitchen", Price: 2500, Stock: 12, Active: true},
		{ID: "p-bowl", Name: "Bowl", Category: "kitchen", Price: 900, Stock: 80, Active: true},
		{ID: "p-spade", Name: "Spade", Category: "garden", Price: 3100, Stock: 7, Active: true},
	}
	sampleUsers = []User{
		{ID: "u-ana", Email: "ana@example.com", Name: "Ana", CreatedAt: opening},
		{ID: "u-bruno", Email: "bruno@example.com", Name: "Bruno", CreatedAt: opening},
	}
)

// samplePassword is everybody's, and no secret, so few rounds do.
// seeder changes the catalogue.
const seeder = "u-shopkeeper"

const (
	samplePassword = "correct horse"
	sampleRounds   = 1000
)

// seed writes the sample data. On a table that has them from an earlier run it
// fills the stocks up again and empties the carts.
func seed(ctx context.Context, s *shop) error {
	for _, c := range sampleCategories {
		if err := program.UnlessThere(s.addCategory(ctx, c)); err != nil {
			return err
		}
	}
	for _, p := range sampleProducts {
		err := s.addProduct(ctx, seeder, p)
		if errors.Is(err, table.ErrExists) {
			_, err = s.changeProduct(ctx, seeder, p.ID, func(old *Product) error {
				p.Version, p.ChangedBy = old.Version, old.ChangedBy
				*old = p
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("product %s: %w", p.ID, err)
		}
	}
	for _, u := range sampleUsers {
		if _, err := s.signUp(ctx, u, samplePassword); err != nil && !errors.Is(err, errEmailTaken) {
			return err
		}
		lines, err := s.cart(ctx, u.ID)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if err := s.removeFromCart(ctx, u.ID, l.ProductID); err != nil {
				return err
			}
		}
	}
	return nil
}
