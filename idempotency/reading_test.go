package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// sequence is the item with the last number that was given.
var sequence = keys.Key{PK: keys.Prefix("SEQUENCE").PK("orders"), SK: keys.Metadata}

// last returns the last number.
func (s *shop) last(ctx context.Context) (int64, error) {
	found, err := table.Get[struct {
		N int64 `dynamodbav:"n"`
	}](ctx, s.table.Consistent(), sequence)
	if errors.Is(err, table.ErrNotFound) {
		return 0, nil
	}
	return found.N, err
}

// numberAfter plans to give the number after last.
func numberAfter(last int64) idempotency.Plan[int64] {
	next := last + 1
	return idempotency.Snapshot(next,
		table.Update(sequence, expression.Set(expression.Name("n"), expression.Value(next))).IfVersion("n", last),
		table.Create(orderKey(fmt.Sprint(next)), table.Item{}),
	)
}

// number plans to give the next number, which it reads.
func (s *shop) number(ctx context.Context) (idempotency.Plan[int64], error) {
	last, err := s.last(ctx)
	return numberAfter(last), err
}

// TestPlansThatRead draws numbers for many requests at once, each of which is sent twice,
// under lost responses. There is no gap, and both responses to a request have its number.
func TestPlansThatRead(t *testing.T) {
	t.Parallel()
	const callers = 12
	s := newShop(t)
	s.faults.Next("TransactWriteItems", tabletest.DropResponse(), tabletest.Throttle(), tabletest.DropResponse())
	got := make([][2]int64, callers)
	var all group.Group
	for i := range callers {
		for j := range 2 {
			all.Go(func() {
				result, err := idempotency.Do(t.Context(), s.store, request(fmt.Sprint(i)), s.number)
				if err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
				got[i][j] = result.Value
			})
		}
	}
	all.Wait()
	var numbers []int64
	for i, n := range got {
		if n[0] != n[1] {
			t.Errorf("caller %d has the numbers %d and %d", i, n[0], n[1])
		}
		numbers = append(numbers, n[0])
	}
	slices.Sort(numbers)
	expect.Equal(t, "numbers", numbers, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	expect.Equal(t, "the last number", expect.Value(s.last(t.Context()))(t), callers)
}

// overtaken lets another request draw a number while f does.
func (s *shop) overtaken(t *testing.T, f func(context.Context) (idempotency.Plan[int64], error)) func(context.Context) (idempotency.Plan[int64], error) {
	runs := 0
	return func(ctx context.Context) (idempotency.Plan[int64], error) {
		plan, err := f(ctx)
		if runs++; runs == 1 {
			_, other := idempotency.Do(t.Context(), s.store, request("another"), s.number)
			expect.OK(t, other)
		}
		return plan, err
	}
}

// A plan that does not read what its op expects is not made again and again: a version
// that a client has named is stale at once.
func TestPlanThatExpectsTheSame(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	runs := 0
	_, err := idempotency.Do(t.Context(), s.store, request("k"), s.overtaken(t, func(context.Context) (idempotency.Plan[int64], error) {
		runs++
		return numberAfter(0), nil
	}))
	wantErr(t, err, table.ErrStale)
	expect.Equal(t, "runs of the plan", runs, 2)
	s.wantRecord(t, "k", false)
}

// late keeps a transaction, which takes effect when send is called.
type late struct{ send func() }

func (l *late) fault(t *testing.T) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		body := expect.Value(io.ReadAll(r.Body))(t)
		l.send = func() {
			r := r.Clone(t.Context())
			r.Body = io.NopCloser(bytes.NewReader(body))
			response := expect.Value(next.RoundTrip(r))(t)
			expect.OK(t, response.Body.Close())
		}
		return nil, errors.New("the connection is lost")
	}
}

// newLateShop returns a shop whose first transaction is late, and whose second one is stale.
func newLateShop(t *testing.T) (*shop, *late) {
	t.Helper()
	s, first := newShop(t, once), &late{}
	s.faults.Next("TransactWriteItems", first.fault(t), tabletest.CancelTransaction("ConditionalCheckFailed", "None", "None"))
	return s, first
}

// The first run is lost, and its transaction takes effect while the second one, with another number,
// is made. The result is what the record holds.
func TestRecordOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	s, first := newLateShop(t)
	runs := 0
	result, err := idempotency.Do(t.Context(), s.store, request("k"), func(ctx context.Context) (idempotency.Plan[int64], error) {
		if runs++; runs == 2 {
			first.send()
		}
		return s.number(ctx)
	})
	expect.OK(t, err)
	expect.Equal(t, "runs of the plan", runs, 2)
	expect.Equal(t, "result", result, idempotency.Result[int64]{Value: 1})
	expect.Equal(t, "the last number", expect.Value(s.last(t.Context()))(t), 1)
}

// A run that refuses, after one whose outcome is not known, settles nothing unless there is a record.
func TestPlanThatRefusesAfterALostAttempt(t *testing.T) {
	t.Parallel()
	refused := errors.New("sold out")
	for name, arrives := range map[string]bool{"it takes effect": true, "it may still": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, first := newLateShop(t)
			runs := 0
			result, err := idempotency.Do(t.Context(), s.store, request("k"), func(ctx context.Context) (idempotency.Plan[int64], error) {
				if runs++; runs == 1 {
					return s.number(ctx)
				}
				if arrives {
					first.send()
				}
				return idempotency.Plan[int64]{}, refused
			})
			if !arrives {
				wantErr(t, err, table.ErrOutcomeUnknown, refused)
				return
			}
			expect.OK(t, err)
			expect.Equal(t, "result", result, idempotency.Result[int64]{Value: 1})
		})
	}
}
