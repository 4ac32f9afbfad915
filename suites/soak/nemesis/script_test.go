package nemesis_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var key = keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}

// newTable returns a table behind a script, without the SDK's retries, and the
// same table without the script.
func newTable(t *testing.T, s *nemesis.Script) (broken, calm *table.Table) {
	t.Helper()
	calm = tabletest.New(t, schema.Table{}, nil)
	var faults tabletest.Faults
	faults.Always("", s.RoundTrip)
	client := tabletest.Client(t, faults.Install, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	broken = expect.Value(table.New(client, calm.Schema(), nil))(t)
	return broken, calm
}

// Each fault of a write is counted once, and says truly whether the engine has
// seen the write.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault           nemesis.Fault
		written, failed bool
	}{
		{nemesis.Pass, true, false},
		{nemesis.Slow, true, false},
		{nemesis.Reset, false, true},
		{nemesis.LostResponse, true, true},
		{nemesis.ErrorBefore, false, true},
		{nemesis.ErrorAfter, true, true},
		{nemesis.Throttled, false, true},
		{nemesis.Truncated, true, true},
		{nemesis.Corrupted, true, true},
		{nemesis.CancelBefore, false, true},
		{nemesis.CancelAfter, true, true},
	} {
		t.Run(string(tt.fault), func(t *testing.T) {
			t.Parallel()
			var counted []nemesis.Fault
			s := nemesis.Script{Count: func(k nemesis.Fault) { counted = append(counted, k) }}
			broken, calm := newTable(t, &s)
			err := broken.Do(s.Begin(t.Context(), []nemesis.Fault{tt.fault}), table.Put(key, nil))
			met, sent := s.End()
			if (err != nil) != tt.failed {
				t.Errorf("error %v, want one: %t", err, tt.failed)
			}
			if _, err := table.Get[table.Item](t.Context(), calm, key); (err == nil) != tt.written {
				t.Errorf("the item: %v, want it: %t", err, tt.written)
			}
			var want []nemesis.Fault
			if tt.fault != nemesis.Pass {
				want = []nemesis.Fault{tt.fault}
			}
			if diff := cmp.Diff([2][]nemesis.Fault{want, want}, [2][]nemesis.Fault{met, counted}); diff != "" {
				t.Error(diff)
			}
			if sent.Requests != 1 {
				t.Errorf("%d requests", sent.Requests)
			}
			if err := broken.Do(s.Begin(t.Context(), nil), table.Put(key, nil)); err != nil {
				t.Errorf("after the script: %v", err)
			}
			s.End()
		})
	}
}

// After End nothing of the operation is under way, though its context has ended
// before.
func TestEndWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var carried atomic.Bool
		engine := roundTripper(func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Minute)
			carried.Store(true)
			return nil, io.EOF
		})
		var s nemesis.Script
		ctx := s.Begin(t.Context(), []nemesis.Fault{nemesis.CancelDuring})
		r := expect.Value(http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost", http.NoBody))(t)
		resp, err := s.RoundTrip(r, engine)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, context.Canceled) || carried.Load() {
			t.Errorf("error %v, executed %t", err, carried.Load())
		}
		if s.End(); !carried.Load() {
			t.Error("the request is still under way")
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The faults of transactions and batches befall these, and not a transaction
// that was executed before.
func TestFaultsOfTransactions(t *testing.T) {
	t.Parallel()
	var s nemesis.Script
	broken, _ := newTable(t, &s)
	transact := func(line ...nemesis.Fault) (met []nemesis.Fault, err error) {
		err = broken.Transact(s.Begin(t.Context(), line), table.Put(key, nil))
		met, _ = s.End()
		return met, err
	}
	for _, fault := range []nemesis.Fault{nemesis.Conflict, nemesis.ReasonThrottled} {
		met, err := transact(fault, fault)
		if diff := cmp.Diff([]nemesis.Fault{fault, fault}, met); err != nil || diff != "" {
			t.Errorf("%s: %v %s", fault, err, diff)
		}
	}
	err := broken.BatchWrite(s.Begin(t.Context(), []nemesis.Fault{nemesis.Unprocessed}), table.Put(key, nil))
	met, sent := s.End()
	if diff := cmp.Diff([]nemesis.Fault{nemesis.Unprocessed}, met); err != nil || diff != "" || sent.Requests != 2 {
		t.Errorf("batch: %v, %d requests, %s", err, sent.Requests, diff)
	}
	err = broken.Do(s.Begin(t.Context(), []nemesis.Fault{nemesis.Unprocessed, nemesis.InProgress}), table.Put(key, nil))
	if met, _ := s.End(); err != nil || len(met) > 0 {
		t.Errorf("a put met %q: %v", met, err)
	}
}

func TestPassing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		met                 []nemesis.Fault
		passing, unsettling bool
	}{
		"none":               {nil, true, false},
		"as many as mended":  {[]nemesis.Fault{nemesis.Throttled, nemesis.Reset, nemesis.Throttled}, true, true},
		"more":               {slices.Repeat([]nemesis.Fault{nemesis.Throttled}, 4), false, false},
		"conflicts":          {[]nemesis.Fault{nemesis.Conflict, nemesis.Conflict, nemesis.Conflict}, true, false},
		"too many conflicts": {slices.Repeat([]nemesis.Fault{nemesis.Conflict}, 7), false, false},
		"an ended context":   {[]nemesis.Fault{nemesis.CancelBefore}, false, true},
		"a bad response":     {[]nemesis.Fault{nemesis.Corrupted}, true, true},
	} {
		if got := nemesis.Passing(tt.met); got != tt.passing {
			t.Errorf("%s: passing %t", name, got)
		}
		if got := nemesis.Unsettling(tt.met); got != tt.unsettling {
			t.Errorf("%s: unsettling %t", name, got)
		}
	}
}
