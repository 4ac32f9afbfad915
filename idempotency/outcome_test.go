package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// lost are the ways in which nobody answers, before the work was done or after.
var lost = map[string]tabletest.Fault{
	"dropped before": tabletest.DropRequest(),
	"500 before":     status(http.StatusInternalServerError),
	"503 before":     status(http.StatusServiceUnavailable),
	"lost after":     tabletest.DropResponse(),
	"cut off after":  tabletest.Truncate(),
	"500 after":      tabletest.After(status(http.StatusInternalServerError)),
	"503 after":      tabletest.After(status(http.StatusServiceUnavailable)),
}

// It is so for engines that know the token and that have forgotten it.
func TestLostAnswersAreMadeGood(t *testing.T) {
	t.Parallel()
	for name, fault := range lost {
		for engineName, engine := range engines {
			for retries, client := range map[string]func(*dynamodb.Options){"once": once, "promptly": promptly} {
				t.Run(name+", "+engineName+", "+retries, func(t *testing.T) {
					t.Parallel()
					s := newShop(t, client)
					s.faults.Always("TransactWriteItems", both(engine, forgotten))
					for n := 1; n <= 3; n++ {
						key := fmt.Sprintf("k-%d", n)
						for range n {
							s.faults.Next("TransactWriteItems", both(fault, forgotten))
						}
						want := s.first(t, key)
						equal(t, "events", s.kinds(), nil)
						s.again(t, key, want)
						s.kinds()
					}
				})
			}
		}
	}
}

// Nobody ever answers.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, fault := range lost {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, promptly)
			s.faults.Always("TransactWriteItems", fault)
			n := s.sent(func() {
				_, err := s.do(t, "k")
				wantErr(t, err, table.ErrOutcomeUnknown)
				wantNot(t, err, table.ErrConditionFailed, table.ErrExists, table.ErrConflict, table.ErrThrottled)
				equal(t, "class", table.Classify(err), table.Transient)
			})
			if n > 5 {
				t.Errorf("%d requests, the SDK's own included; MaxAttempts is 5", n)
			}
			s.faults.Always("TransactWriteItems", nil)
			done := strings.Contains(name, "after")
			s.wantRecord(t, "k", done)
			result, err := s.do(t, "k")
			must(t, err)
			equal(t, "replayed", result.Replayed, done)
			s.wantEffects(t, "k", 1)
		})
	}
}

// After a lost answer no refusal proves that nothing was done: what was lost may
// be under way.
func TestRefusedAfterALostAnswer(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]tabletest.Fault{
		"throttled":          tabletest.Throttle(),
		"denied":             tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected."),
		"conflict":           cancelled(map[int]string{recordIndex: "TransactionConflict"}),
		"business condition": cancelled(map[int]string{stockIndex: "ConditionalCheckFailed"}),
		"record":             cancelled(map[int]string{recordIndex: "ConditionalCheckFailed"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, once)
			s.faults.Next("TransactWriteItems", tabletest.DropRequest())
			s.faults.Always("TransactWriteItems", refusal)
			_, err := s.do(t, "k")
			wantErr(t, err, table.ErrOutcomeUnknown)
			wantNot(t, err, table.ErrConditionFailed, table.ErrConflict, table.ErrThrottled)
			equal(t, "class", table.Classify(err), table.Transient)
			s.faults.Always("TransactWriteItems", nil)
			s.first(t, "k")
		})
	}
}

// The order meets itself, the engine tells of that alone, and the record that
// would explain it cannot be read.
func TestRecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, repeated := range map[string]bool{"own": false, "of a repeated request": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, once)
			if repeated {
				s.first(t, "k")
				s.stock(t, 0)
			} else {
				s.faults.Next("TransactWriteItems", tabletest.DropResponse())
			}
			s.faults.Always("TransactWriteItems", answered(poor))
			s.faults.Always("GetItem", tabletest.Throttle())
			_, err := s.do(t, "k")
			wantErr(t, err, table.ErrOutcomeUnknown)
			wantNot(t, err, table.ErrExists, table.ErrConditionFailed)
			equal(t, "class", table.Classify(err), table.Transient)
			s.faults.Always("GetItem", nil)
			result, err := s.do(t, "k")
			must(t, err)
			equal(t, "replayed", result.Replayed, true)
			s.wantEffects(t, "k", 1)
		})
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{true, false} {
		t.Run(fmt.Sprintf("after the work %t", done), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, promptly)
			ctx, cancel := context.WithCancel(t.Context())
			hangUp := tabletest.Fault(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				cancel()
				return tabletest.Block(nil)(r, next)
			})
			if done {
				hangUp = tabletest.After(hangUp)
			}
			s.faults.Next("TransactWriteItems", hangUp)
			n := s.sent(func() {
				_, err := idempotency.Do(ctx, s.store, request("k"), s.snapshot("k"))
				wantErr(t, err, table.ErrOutcomeUnknown, context.Canceled)
				equal(t, "class", table.Classify(err), table.Transient)
			})
			equal(t, "requests", n, 1)
			result, err := s.do(t, "k")
			must(t, err)
			equal(t, "replayed", result.Replayed, done)
			s.wantEffects(t, "k", 1)
		})
	}
	t.Run("before it began", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, promptly)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		n := s.sent(func() {
			_, err := idempotency.Do(ctx, s.store, request("k"), s.snapshot("k"))
			wantErr(t, err, context.Canceled)
			wantNot(t, err, table.ErrOutcomeUnknown)
		})
		equal(t, "requests", n, 0)
		s.first(t, "k")
	})
	t.Run("over an expired record", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, promptly)
		s.first(t, "k")
		s.clock.move(25 * 3600e9)
		ctx, cancel := context.WithCancel(t.Context())
		s.faults.Next("TransactWriteItems", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			defer cancel()
			resp, err := next.RoundTrip(r)
			return resp, err
		})
		_, err := idempotency.Do(ctx, s.store, request("k"), s.snapshot("k"))
		wantErr(t, err, context.Canceled)
		s.wantEffects(t, "k", 1)
		_, err = s.do(t, "k")
		must(t, err)
		s.wantEffects(t, "k", 2)
	})
}

// What the engine answers to a duplicate while the first is under way.
func TestConflicts(t *testing.T) {
	t.Parallel()
	conflict := cancelled(map[int]string{recordIndex: "TransactionConflict", orderIndex: "TransactionConflict"})
	t.Run("and the first has ended", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, promptly)
		want := s.first(t, "k")
		s.faults.Always("TransactWriteItems", conflict)
		s.again(t, "k", want)
	})
	t.Run("and there is no first", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, promptly)
		s.faults.Always("TransactWriteItems", conflict)
		_, err := s.do(t, "k")
		wantErr(t, err, table.ErrConflict)
		wantNot(t, err, table.ErrOutcomeUnknown, table.ErrConditionFailed, idempotency.ErrPayloadMismatch)
		equal(t, "class", table.Classify(err), table.Transient)
		s.faults.Always("TransactWriteItems", nil)
		s.first(t, "k")
	})
	t.Run("that pass", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, promptly)
		s.faults.Next("TransactWriteItems", cancelled(map[int]string{recordIndex: "TransactionConflict", stockIndex: "ThrottlingError"}))
		want := s.first(t, "k")
		s.again(t, "k", want)
	})
	t.Run("in progress for good", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, promptly)
		s.faults.Always("TransactWriteItems", tabletest.Status(http.StatusBadRequest, "TransactionInProgressException", "Injected."))
		_, err := s.do(t, "k")
		wantErr(t, err, table.ErrOutcomeUnknown)
	})
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
			s := newShop(t, promptly)
			fault := cancelled(tt.reasons)
			if tt.want == nil {
				s.faults.Next("TransactWriteItems", fault)
			} else {
				s.faults.Always("TransactWriteItems", fault)
			}
			result, err := s.do(t, "new")
			if tt.want == nil {
				must(t, err)
				equal(t, "replayed", result.Replayed, false)
				s.wantEffects(t, "new", 1)
			} else {
				wantErr(t, err, tt.want)
				wantNot(t, err, table.ErrOutcomeUnknown)
				s.wantEffects(t, "new", 0)
			}

			other := newShop(t, promptly)
			want := other.first(t, "k")
			other.faults.Always("TransactWriteItems", fault)
			other.again(t, "k", want)
		})
	}
}

// errOther stands for an error that is none of ours.
var errOther = errors.New("another error")

// A record that is met every time and never there ends somewhere.
func TestRecordComesAndGoes(t *testing.T) {
	t.Parallel()
	s := newShop(t, promptly)
	s.faults.Always("TransactWriteItems", cancelled(map[int]string{recordIndex: "ConditionalCheckFailed"}))
	n := s.sent(func() {
		_, err := s.do(t, "k")
		wantErr(t, err, table.ErrConflict)
		wantNot(t, err, table.ErrConditionFailed, table.ErrExists, table.ErrOutcomeUnknown)
		equal(t, "class", table.Classify(err), table.Transient)
		if _, ok := errors.AsType[*idempotency.Error](err); !ok {
			t.Errorf("error %v", err)
		}
	})
	if n > 10 {
		t.Errorf("%d requests", n)
	}
}
