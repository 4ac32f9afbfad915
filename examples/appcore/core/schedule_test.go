package core_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Two clients approve a transaction: it is completed in both copies, and its user is
// notified once.
func TestScheduleApproval(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, tabletest.Case{Schema: core.Schema("App"), Limit: *check.Limit, Setup: setUpApproval})
}

// Two users register with one e-mail: one of them has it, and the other one is not
// stored.
func TestScheduleRegistration(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, tabletest.Case{
		Schema: core.Schema("App"), Limit: *check.Limit, Setup: setUpRegistration,
		Allow: func(err error) bool { return errors.Is(err, core.ErrEmailTaken) },
	})
}

func setUpRegistration(_ context.Context, r *tabletest.Run) error {
	users := []core.NewUser{{ID: "ana-" + r.ID, Name: "Ana"}, {ID: "ben-" + r.ID, Name: "Ben"}}
	for i := range users {
		users[i].Email = r.ID + "@example.com"
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			s, err := core.New(r.Table(client), nil)
			if err != nil {
				return err
			}
			_, _, err = s.Register(ctx, users[i])
			return err
		})
	}
	r.Check(func(ctx context.Context, errs []error) error {
		return checkRegistration(ctx, r, users, errs)
	})
	return nil
}

func checkRegistration(ctx context.Context, r *tabletest.Run, users []core.NewUser, errs []error) error {
	tbl := r.Table(r.Client)
	id := func(key keys.Key) (string, error) {
		u, err := table.Get[core.User](ctx, tbl.Consistent(), key)
		if errors.Is(err, table.ErrNotFound) {
			err = nil
		}
		return u.ID, err
	}
	owner, err := id(keys.Key{PK: keys.Prefix("EMAIL").PK(users[0].Email), SK: keys.Metadata})
	if err != nil {
		return err
	}
	for i, u := range users {
		stored, err := id(keys.Key{PK: keys.User.PK(u.ID), SK: keys.Profile})
		switch {
		case err != nil:
			return err
		case (stored == u.ID) != (owner == u.ID):
			return fmt.Errorf("user %d: stored %t, and the e-mail is owned by %q", i, stored == u.ID, owner)
		case errs[i] == nil && owner != u.ID:
			return fmt.Errorf("user %d: told that it is registered, and it is not", i)
		case errs[i] != nil && owner == u.ID && !errors.Is(errs[i], table.ErrOutcomeUnknown):
			return fmt.Errorf("user %d: registered, and told %w", i, errs[i])
		case errors.Is(errs[i], core.ErrEmailTaken) && owner == "":
			return fmt.Errorf("user %d: told that the e-mail is taken, and it is free", i)
		}
	}
	return nil
}

func setUpApproval(ctx context.Context, r *tabletest.Run) error {
	s, err := core.New(r.Table(r.Client), nil)
	if err != nil {
		return err
	}
	n := core.NewTransaction{User: "ana-" + r.ID, Key: "k", Amount: 500, Currency: "ARS"}
	created, _, err := s.Create(ctx, n)
	if err != nil {
		return err
	}
	for range 2 {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			s, err := core.New(r.Table(client), nil)
			if err != nil {
				return err
			}
			_, err = s.Approve(ctx, created.ID)
			return err
		})
	}
	r.Check(func(ctx context.Context, errs []error) error { return checkApproval(ctx, s, n.User, created.ID, errs) })
	return nil
}

func checkApproval(ctx context.Context, s *core.Service, user, id string, errs []error) error {
	main, err := s.Transaction(ctx, user, id)
	if err != nil {
		return err
	}
	list := core.List{User: user, Limit: 10}
	copies, err := s.Transactions(ctx, list)
	if err != nil {
		return err
	}
	if diff := cmp.Diff([]core.Transaction{main}, copies.Items); diff != "" {
		return fmt.Errorf("the user's list (-transaction +list):\n%s", diff)
	}
	notified, err := s.Notifications(ctx, list)
	if err != nil {
		return err
	}
	approved := main.Status == core.Completed
	if approved != (len(notified.Items) == 1) || len(notified.Items) > 1 {
		return fmt.Errorf("approved %t, %d notifications", approved, len(notified.Items))
	}
	unknown := false
	for _, err := range errs {
		if err == nil && !approved {
			return fmt.Errorf("told that it is approved, and it is %s", main.Status)
		}
		unknown = unknown || err == nil || errors.Is(err, table.ErrOutcomeUnknown)
	}
	if approved && !unknown {
		return fmt.Errorf("approved, and told %w", errors.Join(errs...))
	}
	return nil
}
