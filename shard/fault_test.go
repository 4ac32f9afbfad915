package shard_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// ofShard matches the requests for one partition.
func ofShard(pk string) func(tabletest.Request) bool {
	return func(r tabletest.Request) bool { return strings.Contains(string(r.Body), `"`+pk+`"`) }
}

func TestFailingShard(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	seed(t, tbl, globalTx(16), 200)
	r := newReader(t, tbl, globalTx(16), nil)
	first, err := r.Page(t.Context(), shard.Query{Limit: 10, Descending: true})
	must(t, err)
	faults.Always("Query", tabletest.Match(ofShard("GLOBAL_TX#11"), tabletest.Throttle()))

	for name, q := range map[string]shard.Query{"first page": {Limit: 10, Descending: true}, "next page": {Limit: 10, After: first.Next, Descending: true}} {
		page, err := r.Page(t.Context(), q)
		e, ok := errors.AsType[*shard.Error](err)
		if !ok || e.Shard != 11 || e.Index != "GSI1" || !errors.Is(err, table.ErrThrottled) ||
			table.Classify(err) != table.Transient || !strings.Contains(err.Error(), "shard 11 ") {
			t.Errorf("%s: %v", name, err)
		}
		equal(t, name, page, shard.Page[tx]{})
	}
	latest, err := r.Latest(t.Context(), 10)
	if !errors.Is(err, table.ErrThrottled) || latest != nil {
		t.Errorf("Latest: %v, %v", latest, err)
	}
	yields := 0
	for v, err := range r.All(t.Context(), shard.Query{Descending: true}) {
		yields++
		if !errors.Is(err, table.ErrThrottled) || v != (tx{}) {
			t.Errorf("All: %v, %v", v, err)
		}
	}
	equal(t, "yields", yields, 1)

	faults.Always("Query", nil)
	page, err := r.Page(t.Context(), shard.Query{Limit: 10, After: first.Next, Descending: true})
	must(t, err)
	equal(t, "the page again", ids(page.Items), span(189, 180))
}

// TestFailingLater has a shard fail in the second round, and in the middle of a
// stream.
func TestFailingLater(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	index := globalTx(2)
	seedAt(t, tbl, index, 0, upTo(0, 400)...)
	denied := tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected.")
	r := newReader(t, tbl, index, nil)

	faults.Next("Query", nil, nil, denied)
	page, err := r.Page(t.Context(), shard.Query{Limit: 50, Descending: true})
	if e, ok := errors.AsType[*shard.Error](err); !ok || e.Shard != 0 {
		t.Errorf("second round: %v", err)
	}
	equal(t, "page", page, shard.Page[tx]{})

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
	equal(t, "items before the error", items, 100)
	equal(t, "errors", errs, 1)
	equal(t, "requests", queries(faults)-before, 4)
}

// TestFailureEndsTheOthers has all shards but one never answer: only an end of
// their requests lets the page return.
func TestFailureEndsTheOthers(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	denied := tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected.")
	faults.Always("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		fault := tabletest.Match(ofShard("GLOBAL_TX#6"), denied)
		return fault(r, holding{})
	})
	_, err := newReader(t, tbl, globalTx(16), nil).Latest(t.Context(), 10)
	if e, ok := errors.AsType[*shard.Error](err); !ok || e.Shard != 6 || errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// holding never answers.
type holding struct{}

func (holding) RoundTrip(r *http.Request) (*http.Response, error) {
	return tabletest.Block(nil)(r, nil)
}

// TestThrottledOnce checks that the SDK's retries are not seen.
func TestThrottledOnce(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	seed(t, tbl, globalTx(8), 50)
	faults.Next("Query", tabletest.Throttle(), tabletest.DropResponse(), nil, tabletest.DropRequest())
	latest, err := newReader(t, tbl, globalTx(8), nil).Latest(t.Context(), 20)
	must(t, err)
	equal(t, "items", ids(latest), span(49, 30))
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
		page, err := newReader(t, tbl, globalTx(32), options).Page(t.Context(), shard.Query{Limit: 50, Descending: true})
		must(t, err)
		equal(t, "items", ids(page.Items), span(99, 50))
		if n := faults.MaxInFlight(); n > max(want, 4) { // Writing takes some, too.
			t.Errorf("%d requests in flight, want %d", n, want)
		}
	}
}

// TestConcurrencyOfFour is counted at the requests
// themselves.
func TestConcurrencyOfFour(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	seed(t, tbl, globalTx(32), 320)
	var faults tabletest.Faults
	own, err := table.New(tabletest.Client(t, faults.Install), tbl.Schema(), nil)
	must(t, err)
	r := newReader(t, own, globalTx(32), &shard.Options[tx]{Concurrency: 4})
	all, err := table.Collect(r.All(t.Context(), shard.Query{Descending: true}))
	must(t, err)
	equal(t, "items", ids(all), span(319, 0))
	if n := faults.MaxInFlight(); n > 4 {
		t.Errorf("%d requests in flight", n)
	}
}

func TestEndedContext(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newReader(t, tbl, globalTx(16), nil)
	if _, err := r.Latest(ctx, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("Latest: %v", err)
	}
	if _, err := table.Collect(r.All(ctx, shard.Query{Descending: true})); !errors.Is(err, context.Canceled) {
		t.Errorf("All: %v", err)
	}
	equal(t, "requests", queries(faults), 0)
}

// TestCancelledInStream checks that an ended context is seen between items, too.
func TestCancelledInStream(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	seed(t, tbl, globalTx(4), 50)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	items := 0
	var last error
	for _, err := range newReader(t, tbl, globalTx(4), nil).All(ctx, shard.Query{Descending: true}) {
		if last = err; err == nil {
			items++
		}
		cancel()
	}
	if items != 1 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d items, %v", items, last)
	}
}

func TestBreak(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	seed(t, tbl, globalTx(4), 300)
	seq := newReader(t, tbl, globalTx(4), nil).All(t.Context(), shard.Query{Descending: true})
	equal(t, "requests before ranging", queries(faults), 0)
	for range 2 { // Ranging again starts anew.
		before, n := queries(faults), 0
		for v, err := range seq {
			must(t, err)
			equal(t, "item", v.ID, id(299-n))
			if n++; n == 60 {
				break
			}
		}
		if sent := queries(faults) - before; sent < 4 || sent > 8 {
			t.Errorf("%d requests", sent)
		}
	}
	some, err := table.Collect(newReader(t, tbl, globalTx(4), nil).All(t.Context(), shard.Query{Limit: 130, Descending: true}))
	must(t, err)
	equal(t, "limited", ids(some), span(299, 170))
}

// TestNothingIsLeft is not parallel: it
// looks at all goroutines of the process.
func TestNothingIsLeft(t *testing.T) {
	tbl, faults := withFaults(t, nil)
	seed(t, tbl, globalTx(32), 100)
	r := newReader(t, tbl, globalTx(32), &shard.Options[tx]{Concurrency: 8})
	for name, call := range map[string]func(context.Context) error{
		"Latest": func(ctx context.Context) error { _, err := r.Latest(ctx, 10); return err },
		"All": func(ctx context.Context) error {
			_, err := table.Collect(r.All(ctx, shard.Query{Descending: true}))
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		before := queries(faults)
		faults.Next("Query", nil, nil, nil)
		faults.Always("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if queries(faults)-before > 8 {
				cancel()
			}
			return tabletest.Block(nil)(r, next)
		})
		start := time.Now()
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s took %v", name, d)
		}
		if n := queries(faults) - before; n > 8+3+8 {
			t.Errorf("%s: %d requests, after the end of the context", name, n)
		}
		cancel()
	}
	faults.Always("Query", nil)
	for _, err := range r.All(t.Context(), shard.Query{Descending: true}) {
		must(t, err)
		break
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(10 * time.Second); ; {
		left := goroutines("singletable/shard.(", "singletable/table.")
		if left == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("goroutines are left:\n%s", left)
		}
	}
}

// goroutines returns the stacks that mention one of the parts.
func goroutines(parts ...string) string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var found []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		for _, part := range parts {
			if strings.Contains(stack, part) {
				found = append(found, stack)
				break
			}
		}
	}
	return strings.Join(found, "\n\n")
}
