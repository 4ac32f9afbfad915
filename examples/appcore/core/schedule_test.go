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
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Two clients approve a transaction: it is completed in both copies, and its user is
// notified once.
func TestScheduleApproval(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, tabletest.Case{Schema: core.Schema("App"), Limit: *check.Limit, Setup: setUpApproval})
}

func setUpApproval(ctx context.Context, r *tabletest.Run) error {
	open := func(client *dynamodb.Client) (*core.Service, error) {
		tbl, err := table.New(client, r.Schema, nil)
		if err != nil {
			return nil, err
		}
		return core.New(tbl)
	}
	s, err := open(r.Client)
	if err != nil {
		return err
	}
	n := core.NewTransaction{User: "ana-" + r.ID, Key: "k", Amount: 500, Currency: "ARS"}
	id, _, err := core.CreateTransaction(ctx, s, n, func(tx core.Transaction) (string, error) { return tx.ID, nil })
	if err != nil {
		return err
	}
	for range 2 {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			s, err := open(client)
			if err != nil {
				return err
			}
			_, err = s.Approve(ctx, id)
			return err
		})
	}
	r.Check(func(ctx context.Context, errs []error) error { return checkApproval(ctx, s, n.User, id, errs) })
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
