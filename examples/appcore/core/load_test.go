package core_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/measured"
)

// load.json has what each pattern consumes.
func TestLoadIsMeasured(t *testing.T) {
	t.Parallel()
	s, _, _ := newService(t)
	const user = "4f8b2c1e-7a90-4d3b-9c55-0e6a1d2f3b47" // as Cognito makes them
	var id string
	for i := range 25 {
		id = create(t, s, user, fmt.Sprintf("a1b2c3d4-%04d", i))
		check.Must(s.Approve(t.Context(), id))(t)
	}
	pending := create(t, s, user, "pending")
	page := func(n int, err error, want int) error {
		if err == nil && n != want {
			err = fmt.Errorf("%d items", n)
		}
		return err
	}
	measured.Load(t, "../load.json", measured.Patterns{
		"pay": func(ctx context.Context) error {
			_, _, err := s.Create(ctx, core.NewTransaction{User: user, Key: "a1b2c3d4-e5f6", Amount: 125_000, Currency: "ARS"})
			return err
		},
		"approve": func(ctx context.Context) error { return check.Err(s.Approve(ctx, pending)) },
		"annotate": func(ctx context.Context) error {
			return check.Err(s.Annotate(ctx, core.NewNote{User: user, ID: id, Note: "Lunch with the team"}))
		},
		"a transaction": func(ctx context.Context) error { return check.Err(s.Transaction(ctx, user, id)) },
		"transactions of a user": func(ctx context.Context) error {
			p, err := s.Transactions(ctx, core.List{User: user, Limit: core.DefaultLimit})
			return page(len(p.Items), err, core.DefaultLimit)
		},
		"notifications of a user": func(ctx context.Context) error {
			p, err := s.Notifications(ctx, core.List{User: user, Limit: core.DefaultLimit})
			return page(len(p.Items), err, core.DefaultLimit)
		},
		"mark a notification": func(ctx context.Context) error {
			p, err := s.Notifications(t.Context(), core.List{User: user, Limit: 1})
			if err != nil {
				return err
			}
			return check.Err(s.MarkNotification(ctx, user, p.Items[0].PublicID(), true))
		},
		"newest of all users": func(ctx context.Context) error {
			p, err := s.Newest(ctx, core.List{Limit: core.DefaultNewest})
			return page(len(p.Items), err, core.DefaultNewest)
		},
	})
}
