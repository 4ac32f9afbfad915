package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Two users order the last piece: one of them gets it, and an order that is refused
// has changed nothing.
func TestScheduleLastPiece(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, tabletest.Case{
		Schema: Schema("Shop"), Limit: *check.Limit, Setup: setUpLastPiece,
		Allow: func(err error) bool { return errors.Is(err, ErrOutOfStock) },
	})
}

func setUpLastPiece(ctx context.Context, r *tabletest.Run) error {
	s, err := New(r.Table(r.Client), 1)
	if err != nil {
		return err
	}
	lamp := "lamp-" + r.ID
	users := []string{"ana-" + r.ID, "ben-" + r.ID}
	err = s.products.Create(ctx, &Product{ID: lamp, Name: "Lamp", Category: r.ID, Price: 100, Stock: 1, Active: true})
	for _, user := range users {
		err = errors.Join(err, s.AddToCart(ctx, user, lamp, 1, noon))
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			s, err := New(r.Table(client), 1)
			if err != nil {
				return err
			}
			_, err = s.CheckOut(ctx, user, "o-"+user, noon)
			return err
		})
	}
	r.Check(func(ctx context.Context, errs []error) error {
		sold := 0
		for i, user := range users {
			ordered, err := s.ordered(ctx, user)
			if err != nil {
				return err
			}
			if ordered {
				sold++
			}
			if ordered != (errs[i] == nil) && !errors.Is(errs[i], table.ErrOutcomeUnknown) {
				return fmt.Errorf("%s: ordered %t, and told %w", user, ordered, errs[i])
			}
		}
		product, err := s.products.Consistent().Get(ctx, ProductKey(lamp))
		if err == nil && (product.Stock < 0 || product.Stock+sold != 1) {
			err = fmt.Errorf("%d orders of one piece, %d left", sold, product.Stock)
		}
		return err
	})
	return err
}

// ordered reports whether the user's cart has become an order, as a whole.
func (s *Shop) ordered(ctx context.Context, user string) (bool, error) {
	order, items, err := s.OrderWithItems(ctx, "o-"+user)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return false, err
	}
	ordered := err == nil
	list, err := s.OrdersByUser(ctx, user, 0, "")
	if err != nil {
		return false, err
	}
	cart, err := table.Collect(s.cartLines.Consistent().All(ctx, CartQuery(user)))
	if err != nil {
		return false, err
	}
	if ordered != (len(items) == 1) || ordered != (len(list.Items) == 1) || ordered != (len(cart) == 0) {
		err = fmt.Errorf("%s: ordered %t, %d items, %d in the list, %d lines in the cart", user, ordered, len(items), len(list.Items), len(cart))
	}
	for _, i := range items {
		order.Total -= i.Subtotal
	}
	if order.Total != 0 {
		err = errors.Join(err, fmt.Errorf("%s: the subtotals differ from the total by %d", user, order.Total))
	}
	return ordered, err
}

// One user signs up with the e-mail that another one changes to: one of them has it.
func TestScheduleUniqueEmail(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, tabletest.Case{
		Schema: Schema("Shop"), Limit: *check.Limit, Setup: setUpUniqueEmail,
		Allow: func(err error) bool { return errors.Is(err, ErrEmailTaken) },
	})
}

func setUpUniqueEmail(ctx context.Context, r *tabletest.Run) error {
	s, err := New(r.Table(r.Client), 1)
	if err != nil {
		return err
	}
	mail := func(name string) string { return name + "@" + r.ID + ".example" }
	ben := User{ID: "ben-" + r.ID, Email: mail("ben"), Name: "Ben"}
	if _, err := s.SignUp(ctx, ben, "secret-1"); err != nil {
		return err
	}
	ana := User{ID: "ana-" + r.ID, Email: mail("shared"), Name: "Ana"}
	r.Go(func(ctx context.Context, client *dynamodb.Client) error {
		s, err := New(r.Table(client), 1)
		if err != nil {
			return err
		}
		_, err = s.SignUp(ctx, ana, "secret-1")
		return err
	})
	r.Go(func(ctx context.Context, client *dynamodb.Client) error {
		s, err := New(r.Table(client), 1)
		if err != nil {
			return err
		}
		_, err = s.ChangeEmail(ctx, ben.ID, mail("shared"))
		return err
	})
	r.Check(func(ctx context.Context, errs []error) error {
		var has [2]bool
		for i, id := range []string{ana.ID, ben.ID} {
			u, err := s.users.Consistent().Get(ctx, UserKey(id))
			if errors.Is(err, table.ErrNotFound) && id == ana.ID {
				continue
			}
			if err != nil {
				return err
			}
			has[i] = u.Email == mail("shared")
			// The item under the e-mail is the user's, and no other is left.
			for _, email := range []string{mail("ben"), mail("shared")} {
				found, err := s.users.Consistent().Get(ctx, EmailKey(email))
				if err != nil && !errors.Is(err, table.ErrNotFound) {
					return err
				}
				if (found.ID == id) != (email == u.Email) {
					return fmt.Errorf("%s has the e-mail %s, and under %s is %q", id, u.Email, email, found.ID)
				}
			}
		}
		for i, err := range errs {
			if has[i] != (err == nil) && !errors.Is(err, table.ErrOutcomeUnknown) {
				return fmt.Errorf("operation %d: has the e-mail %t, and told %w", i, has[i], err)
			}
		}
		return nil
	})
	return nil
}
