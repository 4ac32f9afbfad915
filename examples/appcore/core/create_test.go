package core_test

import (
	"context"
	"testing"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/idempotency"
)

// A new table has nothing to look for first: a creation is one request.
func TestACreationIsOneRequest(t *testing.T) {
	t.Parallel()
	s, _, faults := newService(t)
	before := len(faults.Requests())
	create(t, s, "u-123", "k")
	check.Equal(t, "requests", len(faults.Requests())-before, 1)
}

// The release before kept its response, and the names of what it had created.
func TestARecordOfTheReleaseBeforeLeadsToItsTransaction(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	made := check.Must(s.Transaction(t.Context(), "u-123", create(t, s, "u-123", "another")))(t)
	n := core.NewTransaction{User: "u-123", Key: "k", Amount: 500, Currency: "ARS"}
	type response struct {
		Location string `dynamodbav:"location"`
		Body     []byte `dynamodbav:"body"`
	}
	records := check.Must(idempotency.New(tbl, nil))(t)
	request := idempotency.Request{Scope: "CreateTransaction:" + n.User, Key: n.Key, Payload: idempotency.JSON(n)}
	check.Must(idempotency.Do(t.Context(), records, request, func(context.Context) (idempotency.Plan[response], error) {
		plan := idempotency.Snapshot(response{"/transactions/" + made.ID, []byte("{}")})
		return plan.With(map[string]string{"txId": made.ID, "userId": made.UserID}), nil
	}))(t)
	for range 2 {
		got, replayed, err := s.Create(t.Context(), n)
		check.OK(t, err)
		check.Equal(t, "replayed", replayed, true)
		check.Equal(t, "transaction", got, made)
	}
	check.Equal(t, "transactions", len(ofType(t, tbl, "TRANSACTION")), 2)
}
