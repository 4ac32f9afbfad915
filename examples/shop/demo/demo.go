// Package demo is sample data of the shop, for the walk and for a server on a developer's
// machine.
package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table"
)

// The sample data.
var (
	// Opening is when the users signed up.
	Opening = time.Date(2024, 1, 15, 9, 0, 0, 0, time.UTC)

	// Categories, Products and Users are what Seed writes.
	Categories = []store.Category{
		{ID: "home", Name: "Home", Description: "For the rooms you live in."},
		{ID: "kitchen", Name: "Kitchen", Description: "To cook and to eat."},
		{ID: "garden", Name: "Garden", Description: "For beds and borders."},
	}
	Products = []store.Product{
		{ID: "p-lamp", Name: "Desk lamp", Category: "home", Price: 4900, Stock: 3, Active: true},
		{ID: "p-desk", Name: "Desk, oak", Category: "home", Price: 39900, Stock: 10, Active: true},
		{ID: "p-bin", Name: "Desktop bin", Category: "home", Price: 1200, Stock: 5},
		{ID: "p-organ", Name: "Desktop organizer", Category: "home", Price: 1900, Stock: 40, Active: true},
		{ID: "p-knife", Name: "Bread knife", Category: "kitchen", Price: 2500, Stock: 12, Active: true},
		{ID: "p-bowl", Name: "Bowl", Category: "kitchen", Price: 900, Stock: 80, Active: true},
		{ID: "p-spade", Name: "Spade", Category: "garden", Price: 3100, Stock: 7, Active: true},
	}
	Users = []store.User{
		{ID: "u-ana", Email: "ana@example.com", Name: "Ana", CreatedAt: Opening},
		{ID: "u-bruno", Email: "bruno@example.com", Name: "Bruno", CreatedAt: Opening},
	}
)

const (
	// Shopkeeper is the id of the user who changes the catalogue.
	Shopkeeper = "u-shopkeeper"
	// Password is everybody's, and no secret.
	Password = "correct horse"
	// Rounds are few, since the password is no secret.
	Rounds = 1000
)

// Seed writes the sample data, unless a table has them. A seed that was cut is completed.
// What was changed since is kept.
func Seed(ctx context.Context, s *store.Shop) error {
	last := Users[len(Users)-1] // is written last
	u, err := s.UserByID(ctx, last.ID)
	switch {
	case err == nil && !u.Unverified:
		return nil
	case err != nil && !errors.Is(err, table.ErrNotFound):
		return err
	}
	for _, c := range Categories {
		if err := program.UnlessThere(s.AddCategory(ctx, c)); err != nil {
			return err
		}
	}
	for _, p := range Products {
		if err := program.UnlessThere(s.AddProduct(ctx, Shopkeeper, p)); err != nil {
			return fmt.Errorf("product %s: %w", p.ID, err)
		}
	}
	for _, u := range Users {
		if err := SignUp(ctx, s, u); err != nil {
			return err
		}
	}
	return nil
}

// Reset writes the sample data. If a table has them from an earlier run, it gives the
// products their first state again and empties the carts.
func Reset(ctx context.Context, s *store.Shop) error {
	if err := Seed(ctx, s); err != nil {
		return err
	}
	for _, p := range Products {
		_, err := s.ChangeProduct(ctx, Shopkeeper, p.ID, func(old *store.Product) error {
			p.Version, p.ChangedBy = old.Version, old.ChangedBy
			*old = p
			return nil
		})
		if err != nil {
			return fmt.Errorf("product %s: %w", p.ID, err)
		}
	}
	for _, u := range Users {
		lines, err := s.Cart(ctx, u.ID)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if err := s.RemoveFromCart(ctx, u.ID, l.ProductID); err != nil {
				return err
			}
		}
	}
	return nil
}

// SignUp creates a user with the [Password], whose e-mail is verified. A user who is there
// already is verified.
func SignUp(ctx context.Context, s *store.Shop, u store.User) error {
	if _, err := s.SignUp(ctx, u, Password); err != nil && !errors.Is(err, store.ErrEmailTaken) {
		return err
	}
	_, code, err := s.NewCode(ctx, u.Email)
	if err == nil {
		_, err = s.LogIn(ctx, store.Login{Email: u.Email, Password: Password, Code: code, Client: "127.0.0.1"})
	}
	return err
}
