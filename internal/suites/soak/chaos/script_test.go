package chaos_test

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

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/internal/suites/soak/chaos"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var key = keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}

// newTable returns a table behind a script, without the SDK's retries, and the
// same table without the script.
func newTable(t *testing.T, s *chaos.Script) (broken, calm *table.Table) {
	t.Helper()
	calm = tabletest.New(t, table.Schema{}, nil)
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
		kind            chaos.Kind
		written, failed bool
	}{
		{chaos.Pass, true, false},
		{chaos.Slow, true, false},
		{chaos.Reset, false, true},
		{chaos.LostAnswer, true, true},
		{chaos.ErrorBefore, false, true},
		{chaos.ErrorAfter, true, true},
		{chaos.Throttled, false, true},
		{chaos.Truncated, true, true},
		{chaos.Garbled, true, true},
		{chaos.EndBefore, false, true},
		{chaos.EndAfter, true, true},
	} {
		t.Run(string(tt.kind), func(t *testing.T) {
			t.Parallel()
			var counted []chaos.Kind
			s := chaos.Script{Count: func(k chaos.Kind) { counted = append(counted, k) }}
			broken, calm := newTable(t, &s)
			err := broken.Do(s.Begin(t.Context(), []chaos.Kind{tt.kind}), table.Put(key, nil))
			met, sent := s.End()
			if (err != nil) != tt.failed {
				t.Errorf("error %v, want one: %t", err, tt.failed)
			}
			if _, err := table.Get[table.Item](t.Context(), calm, key); (err == nil) != tt.written {
				t.Errorf("the item: %v, want it: %t", err, tt.written)
			}
			var want []chaos.Kind
			if tt.kind != chaos.Pass {
				want = []chaos.Kind{tt.kind}
			}
			if diff := cmp.Diff([2][]chaos.Kind{want, want}, [2][]chaos.Kind{met, counted}); diff != "" {
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
		var s chaos.Script
		ctx := s.Begin(t.Context(), []chaos.Kind{chaos.EndDuring})
		r := expect.Value(http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost", http.NoBody))(t)
		resp, err := s.RoundTrip(r, engine)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, context.Canceled) || carried.Load() {
			t.Errorf("error %v, carried out %t", err, carried.Load())
		}
		if s.End(); !carried.Load() {
			t.Error("the request is still under way")
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The faults of transactions and batches befall these, and not a transaction
// that was carried out before.
func TestFaultsOfTransactions(t *testing.T) {
	t.Parallel()
	var s chaos.Script
	broken, _ := newTable(t, &s)
	transact := func(line ...chaos.Kind) (met []chaos.Kind, err error) {
		err = broken.Transact(s.Begin(t.Context(), line), table.Put(key, nil))
		met, _ = s.End()
		return met, err
	}
	for _, kind := range []chaos.Kind{chaos.Conflict, chaos.ReasonThrottled} {
		met, err := transact(kind, kind)
		if diff := cmp.Diff([]chaos.Kind{kind, kind}, met); err != nil || diff != "" {
			t.Errorf("%s: %v %s", kind, err, diff)
		}
	}
	err := broken.BatchWrite(s.Begin(t.Context(), []chaos.Kind{chaos.LeftOver}), table.Put(key, nil))
	met, sent := s.End()
	if diff := cmp.Diff([]chaos.Kind{chaos.LeftOver}, met); err != nil || diff != "" || sent.Requests != 2 {
		t.Errorf("batch: %v, %d requests, %s", err, sent.Requests, diff)
	}
	err = broken.Do(s.Begin(t.Context(), []chaos.Kind{chaos.LeftOver, chaos.InProgress}), table.Put(key, nil))
	if met, _ := s.End(); err != nil || len(met) > 0 {
		t.Errorf("a put met %q: %v", met, err)
	}
}

func TestPassing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		met                 []chaos.Kind
		passing, unsettling bool
	}{
		"none":               {nil, true, false},
		"as many as mended":  {[]chaos.Kind{chaos.Throttled, chaos.Reset}, true, true},
		"more":               {[]chaos.Kind{chaos.Throttled, chaos.Throttled, chaos.Throttled}, false, false},
		"conflicts":          {[]chaos.Kind{chaos.Conflict, chaos.Conflict, chaos.Conflict}, true, false},
		"too many conflicts": {slices.Repeat([]chaos.Kind{chaos.Conflict}, 8), false, false},
		"an ended context":   {[]chaos.Kind{chaos.EndBefore}, false, true},
		"a bad response":     {[]chaos.Kind{chaos.Garbled}, true, true},
	} {
		if got := chaos.Passing(tt.met); got != tt.passing {
			t.Errorf("%s: passing %t", name, got)
		}
		if got := chaos.Unsettling(tt.met); got != tt.unsettling {
			t.Errorf("%s: unsettling %t", name, got)
		}
	}
}
