package shard_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// ofShard matches the requests for one partition.
func ofShard(pk string) func(tabletest.Request) bool {
	return func(r tabletest.Request) bool { return strings.Contains(string(r.Body), `"`+pk+`"`) }
}

// TestFailuresInLaterRounds has a shard fail in the second round, and in the middle
// of a stream.
func TestFailuresInLaterRounds(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	index := globalTx(2)
	seedAt(t, tbl, index, 0, upTo(0, 400)...)
	denied := tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected.")
	r := newReader(t, tbl, index, nil)

	faults.Next("Query", nil, nil, denied)
	page, err := r.Page(t.Context(), shard.Query{Limit: 50, Descending: true})
	if e, ok := errors.AsType[*table.Error](err); !ok || e.Name != "shard 0" || e.Index != "GSI1" || !strings.Contains(err.Error(), `"shard 0" on table `) {
		t.Errorf("second round: %v", err)
	}
	expect.Equal(t, "page", page, shard.Page[tx]{})

	before := queries(faults)
	faults.Next("Query", nil, nil, nil, denied)
	items, errs := 0, 0
	for _, err := range r.All(t.Context(), shard.Query{Descending: true}) {
		if err == nil {
			items++
			continue
		}
		errs++
	}
	expect.Equal(t, "items before the error", items, 100)
	expect.Equal(t, "errors", errs, 1)
	expect.Equal(t, "requests", queries(faults)-before, 4)
}

// TestFailureEndsTheOthers gets no response from any shard but one: the page
// returns only if the other requests are cancelled.
func TestFailureEndsTheOthers(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	denied := tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected.")
	faults.Always("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		fault := tabletest.Match(ofShard("GLOBAL_TX#6"), denied)
		return fault(r, holding{})
	})
	_, err := newReader(t, tbl, globalTx(16), nil).Latest(t.Context(), 10)
	if e, ok := errors.AsType[*table.Error](err); !ok || e.Name != "shard 6" || errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// holding never responds.
type holding struct{}

func (holding) RoundTrip(r *http.Request) (*http.Response, error) {
	return tabletest.Block(nil)(r, nil)
}

// TestContextEnds ends a context in the requests of a page, before a call, and between two
// items of a stream.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	seed(t, tbl, globalTx(16), 30)
	r := newReader(t, tbl, globalTx(16), nil)
	ctx, cancel := context.WithCancel(t.Context())
	faults.Always("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		cancel()
		return tabletest.Block(nil)(r, next)
	})
	page, err := r.Page(ctx, shard.Query{Limit: 10})
	expect.Err(t, err, context.Canceled)
	expect.Equal(t, "page", page, shard.Page[tx]{})
	before := queries(faults)
	expect.Err(t, expect.ErrOf(r.Latest(ctx, 10)), context.Canceled)
	expect.Equal(t, "requests after the end of the context", queries(faults)-before, 0)

	faults.Always("Query", nil)
	between, stop := context.WithCancel(t.Context())
	defer stop()
	items := 0
	for _, err = range r.All(between, shard.Query{}) {
		if err == nil {
			items++
		}
		stop()
	}
	expect.Err(t, err, context.Canceled)
	expect.Equal(t, "items before the end of the context", items, 1)
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	for want, options := range map[int]*shard.Options[tx]{
		1: {Concurrency: 1}, 4: {Concurrency: 4}, 16: nil, 32: {Concurrency: 40},
	} {
		tbl, faults := withFaults(t, nil)
		seed(t, tbl, globalTx(32), 100)
		// The first requests wait until as many are there as may be.
		var mu sync.Mutex
		here, full := 0, make(chan struct{})
		faults.Always("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			mu.Lock()
			if here++; here == want {
				close(full)
			}
			mu.Unlock()
			return tabletest.Block(full)(r, next)
		})
		page := expect.Value(newReader(t, tbl, globalTx(32), options).Page(t.Context(), shard.Query{Limit: 50, Descending: true}))(t)
		expect.Equal(t, "items", ids(page.Items), span(99, 50))
		if n := faults.MaxInFlight(); n > max(want, 4) { // Writing takes some, too.
			t.Errorf("%d requests in flight, want %d", n, want)
		}
	}
}

// TestPagesUnwindTheirCaller lets an observer panic in a goroutine of the library.
func TestPagesUnwindTheirCaller(t *testing.T) {
	t.Parallel()
	tbl, _ := withFaults(t, nil)
	r := newReader(t, tbl, globalTx(8), nil)
	expect.Unwinds(t, "Page", func(unwind func()) {
		ctx := table.WithObserver(t.Context(), func(context.Context, table.Event) { unwind() })
		_, _ = r.Page(ctx, shard.Query{Limit: 10})
	})
}
