package idempotency_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A transient refusal after a lost response is retried, since a later response can
// settle the outcome.
func TestThrottledAfterALostResponse(t *testing.T) {
	t.Parallel()
	s := newShop(t, once)
	s.faults.Next("TransactWriteItems", tabletest.DropResponse(), tabletest.Throttle())
	s.first(t, "k")
}

// The context ends while a response arrives that settles nothing. The error says both.
func TestContextEndsOverAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := newShop(t, once)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client has hung up")
	failure := status(http.StatusInternalServerError)
	s.faults.Next("TransactWriteItems", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		defer cancel(gone)
		return failure(r, next)
	})
	wantErr(t, expect.ErrOf(idempotency.Do(ctx, s.store, request("k"), s.snapshot("k"))), table.ErrOutcomeUnknown, gone)
}

// Every way in which a transaction can be cancelled, with and without a record.
func TestReasons(t *testing.T) {
	t.Parallel()
	const failed, conflict, throttled, invalid = "ConditionalCheckFailed", "TransactionConflict", "ThrottlingError", "ValidationError"
	for _, tt := range []struct {
		name    string
		reasons map[int]string
		// want is the error where there is no record; nil means that the request
		// is carried out by the next attempt. With a record it is replayed.
		want error
	}{
		{"record", map[int]string{recordIndex: failed}, nil},
		{"record and order", map[int]string{recordIndex: failed, stockIndex: failed}, nil},
		{"record, and the rest in conflict", map[int]string{recordIndex: failed, stockIndex: conflict, orderIndex: throttled}, nil},
		{"record, and an invalid op", map[int]string{recordIndex: failed, stockIndex: invalid}, nil},
		{"order", map[int]string{stockIndex: failed}, table.ErrConditionFailed},
		{"order exists", map[int]string{orderIndex: failed}, table.ErrExists},
		{"order, and the record in conflict", map[int]string{stockIndex: failed, recordIndex: conflict}, table.ErrConditionFailed},
		{"throttled", map[int]string{recordIndex: throttled}, table.ErrThrottled},
		{"throttled and in conflict", map[int]string{recordIndex: throttled, stockIndex: conflict}, table.ErrConflict},
		{"invalid", map[int]string{stockIndex: invalid}, errOther},
		{"no reasons", nil, errOther},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			fault := cancelled(tt.reasons)
			if tt.want == nil {
				s.faults.Next("TransactWriteItems", fault)
			} else {
				s.faults.Always("TransactWriteItems", fault)
			}
			result, err := s.do(t, "new")
			if tt.want == nil {
				expect.OK(t, err)
				expect.Equal(t, "replayed", result.Replayed, false)
				s.wantEffects(t, "new", 1)
			} else {
				wantErr(t, err, tt.want)
				expect.NotErr(t, err, table.ErrOutcomeUnknown)
				s.wantEffects(t, "new", 0)
			}

			other := newShop(t)
			want := other.first(t, "k")
			other.faults.Always("TransactWriteItems", fault)
			other.again(t, "k", want)
		})
	}
}

// A Region that checks transactions before they run does not say that the record exists.
func TestRecordOfARequestThatIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	want := s.first(t, "k")
	s.faults.Always("TransactWriteItems", tabletest.Status(http.StatusBadRequest, "ValidationException", "Item size to update has exceeded the maximum allowed size"))
	s.again(t, "k", want)
	_, err := s.do(t, "new")
	wantErr(t, err, table.ErrTooLarge)
	expect.NotErr(t, err, table.ErrOutcomeUnknown)
}

// errOther stands for an error that is none of ours.
var errOther = errors.New("another error")

// The condition says each time that the record exists, and no read finds it. The
// retries end.
func TestRecordThatIsNeverFound(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.faults.Always("TransactWriteItems", cancelled(map[int]string{recordIndex: "ConditionalCheckFailed"}))
	n := s.sent(func() {
		_, err := s.do(t, "k")
		wantErr(t, err, table.ErrConflict)
		expect.NotErr(t, err, table.ErrConditionFailed, table.ErrExists, table.ErrOutcomeUnknown)
		expect.Equal(t, "class", table.Classify(err), table.Transient)
		if _, ok := errors.AsType[*table.Error](err); !ok {
			t.Errorf("error %v", err)
		}
	})
	if n > 12 { // 5 failures, and the first one, which only takes an expired record over
		t.Errorf("%d requests", n)
	}
}
