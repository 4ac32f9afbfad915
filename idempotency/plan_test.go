package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A plan that reads can meet the effect of the first request.
func TestPlanThatFails(t *testing.T) {
	t.Parallel()
	s := newShop(t, promptly)
	refused := errors.New("the customer has an order already")
	calls := 0
	fails := func(context.Context) (idempotency.Plan[order], error) {
		calls++
		return idempotency.Plan[order]{}, refused
	}
	_, err := idempotency.Do(t.Context(), s.store, request("k"), fails)
	if err != refused { //nolint:errorlint // it is returned as it is
		t.Errorf("error %v", err)
	}
	s.wantRecord(t, "k", false)

	want := s.first(t, "k")
	result, err := idempotency.Do(t.Context(), s.store, request("k"), fails)
	must(t, err)
	equal(t, "result", result, idempotency.Result[order]{Value: want, Replayed: true})
	_, err = idempotency.Do(t.Context(), s.store, otherPayload("k"), fails)
	wantErr(t, err, idempotency.ErrKeyReused)
	equal(t, "calls of the plan", calls, 3)

	// It must not be taken for the answer while the record cannot be read.
	s.faults.Next("GetItem", tabletest.Drop(), tabletest.Drop(), tabletest.Drop())
	_, err = idempotency.Do(t.Context(), s.store, request("k"), fails)
	wantErr(t, err, table.ErrOutcomeUnknown)
	wantNot(t, err, refused)
}

func TestAsManyOpsAsThereMayBe(t *testing.T) {
	t.Parallel()
	s := newShop(t, promptly)
	plan := func(n int) planner {
		return func(context.Context) (idempotency.Plan[order], error) {
			all := make([]table.Op, n)
			for i := range all {
				all[i] = table.Create(orderKey(fmt.Sprintf("o-%d", i)), nil)
			}
			return idempotency.Snapshot(order{}, all...), nil
		}
	}
	n := s.sent(func() {
		_, err := idempotency.Do(t.Context(), s.store, request("k"), plan(100))
		wantErr(t, err, idempotency.ErrInvalidRequest, table.ErrTooLarge)
	})
	equal(t, "requests", n, 0)
	result, err := idempotency.Do(t.Context(), s.store, request("k"), plan(99))
	must(t, err)
	equal(t, "replayed", result.Replayed, false)
	result, err = idempotency.Do(t.Context(), s.store, request("k"), plan(99))
	must(t, err)
	equal(t, "replayed", result.Replayed, true)
	_, err = table.Get[table.Item](t.Context(), s.table, orderKey("o-98"))
	must(t, err)
}

// What cannot be right is refused before anything is sent.
func TestPlansThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newShop(t, promptly)
	good := idempotency.Snapshot[any](nil)
	for name, tt := range map[string]struct {
		plan idempotency.Plan[any]
		want error
	}{
		"a result that is too large":     {idempotency.Snapshot[any](strings.Repeat("x", 400<<10)), table.ErrTooLarge},
		"attributes that are too large":  {good.With(map[string]string{"x": strings.Repeat("x", 400<<10)}), table.ErrTooLarge},
		"a result that cannot be stored": {idempotency.Snapshot[any](failing{}), idempotency.ErrInvalidRequest},
		"no key to refer to":             {idempotency.Reference[any](nil, keys.Key{}), idempotency.ErrInvalidRequest},
		"a key that cannot be":           {idempotency.Reference[any](nil, keys.Key{PK: "a##b"}), idempotency.ErrInvalidRequest},
		"attributes that cannot be":      {good.With(failing{}), idempotency.ErrInvalidRequest},
		"attributes that are none":       {good.With(7), idempotency.ErrInvalidRequest},
		"an attribute of the record":     {good.With(map[string]string{"createdAt": "x"}), idempotency.ErrInvalidRequest},
		"a result among the attributes":  {good.With(map[string]string{"resultPK": "x"}), idempotency.ErrInvalidRequest},
		"a key among the attributes":     {good.With(map[string]string{"pk": "x"}), idempotency.ErrInvalidRequest},
		"the op of the record":           {idempotency.Snapshot[any](nil, table.Delete(recordKey("k"))), table.ErrInvalidOp},
		"the zero op":                    {idempotency.Snapshot[any](nil, table.Op{}), table.ErrInvalidOp},
	} {
		t.Run(name, func(t *testing.T) {
			n := s.sent(func() {
				_, err := idempotency.Do(t.Context(), s.store, request("k"),
					func(context.Context) (idempotency.Plan[any], error) { return tt.plan, nil })
				wantErr(t, err, tt.want)
				wantNot(t, err, table.ErrOutcomeUnknown)
				equal(t, "class", table.Classify(err), table.Permanent)
			})
			equal(t, "requests", n, 0)
		})
	}
	n := s.sent(func() {
		_, err := idempotency.Do(t.Context(), s.store, request("k"), func(context.Context) (idempotency.Plan[oneWay], error) {
			return idempotency.Snapshot(oneWay{}, ops("k", s.newOrder())...), nil
		})
		wantErr(t, err, idempotency.ErrInvalidRequest)
	})
	equal(t, "requests for a result that cannot be read back", n, 0)
}

type failing struct{}

func (failing) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return nil, errors.New("as told")
}

// oneWay can be stored and not read.
type oneWay struct{}

func (*oneWay) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error {
	return errors.New("as told")
}
