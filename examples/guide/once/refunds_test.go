package once

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/lease"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// refunding is a process that sends refunds, with a provider that counts calls.
func refunding(t *testing.T, tbl *table.Table, calls *atomic.Int64, fail error, options ...func(*tabletest.Faults)) *Refunds {
	t.Helper()
	var faults tabletest.Faults
	for _, option := range options {
		option(&faults)
	}
	now := tbl.Now().Add(time.Hour) // after the lease of whoever was there before
	behind := check.Must(table.New(tabletest.Client(t, faults.Install), tbl.Schema(), &table.Options{
		MaxAttempts: 1, Now: func() time.Time { return now },
	}))(t)
	call := func(context.Context, Refund) error { calls.Add(1); return fail }
	return &Refunds{behind, check.Must(repo.New(behind, refundEntity))(t), call}
}

// A process dies at each of its requests, before or after DynamoDB has it. Whoever comes next
// finishes: the call is made once at most, and what is not known is UNKNOWN.
func TestARefundIsSentOnceOrKnownToBeUnknown(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]tabletest.Fault{"before": tabletest.DropRequest(), "after": tabletest.DropResponse()} {
		for n := range 8 {
			t.Run(fmt.Sprintf("%s request %d", name, n+1), func(t *testing.T) {
				t.Parallel()
				tbl := tabletest.New(t, Schema, nil)
				var calls atomic.Int64
				next := refunding(t, tbl, &calls, nil)
				check.OK(t, next.refunds.Create(t.Context(), &Refund{ID: "r", Cents: 500, Status: Requested}))
				dies := make([]tabletest.Fault, 40) // and nothing it sends after that arrives
				for i := range dies {
					if i == n {
						dies[i] = fault
					} else if i > n {
						dies[i] = tabletest.DropRequest()
					}
				}
				first := refunding(t, tbl, &calls, nil, func(f *tabletest.Faults) { f.Next("", dies...) })
				_, died := first.Send(t.Context(), "r")
				later := next.table.Now().Add(time.Hour)
				last := refunding(t, tbl, &calls, nil)
				last.table = check.Must(table.New(tabletest.Client(t), tbl.Schema(), &table.Options{Now: func() time.Time { return later }}))(t)
				last.refunds = check.Must(repo.New(last.table, refundEntity))(t)
				r := check.Must(last.Send(t.Context(), "r"))(t)
				switch {
				case calls.Load() > 1:
					t.Errorf("%d calls", calls.Load())
				case r.Status == Sent && calls.Load() != 1, r.Status != Sent && r.Status != Unknown:
					t.Errorf("%s after %d calls; the first process had %v", r.Status, calls.Load(), died)
				}
			})
		}
	}
}

func TestWhatTheProviderSays(t *testing.T) {
	t.Parallel()
	for fail, want := range map[error]string{nil: Sent, ErrRefused: Refused, errors.New("timeout"): Unknown} {
		tbl := tabletest.New(t, Schema, nil)
		var calls atomic.Int64
		s := refunding(t, tbl, &calls, fail)
		check.OK(t, s.refunds.Create(t.Context(), &Refund{ID: "r", Cents: 500, Status: Requested}))
		for range 2 {
			r := check.Must(s.Send(t.Context(), "r"))(t)
			check.Equal(t, fmt.Sprint(fail), r.Status, want)
		}
		check.Equal(t, "calls", calls.Load(), int64(1))
	}
}

func TestTwoProcessesSendOneRefund(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, Schema, nil)
	var calls atomic.Int64
	s := refunding(t, tbl, &calls, nil)
	check.OK(t, s.refunds.Create(t.Context(), &Refund{ID: "r", Cents: 500, Status: Requested}))
	for _, err := range check.Errors(4, func(int) error { _, err := s.Send(t.Context(), "r"); return err }) {
		if err != nil && !errors.Is(err, lease.ErrHeld) && !errors.Is(err, table.ErrConflict) {
			t.Error(err)
		}
	}
	check.Equal(t, "calls", calls.Load(), int64(1))
}
