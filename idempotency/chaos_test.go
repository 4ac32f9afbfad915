package idempotency_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var seedFlag = flag.Uint64("seed", 0, "the seed of randomized tests; 0 draws one")

// newRand returns a source of random numbers whose seed is in the test's log.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// chance returns a source of its own for one of many goroutines.
func chance(r *rand.Rand) *rand.Rand { return rand.New(rand.NewPCG(r.Uint64(), r.Uint64())) }

// trouble draws a fault at random for every request.
func trouble(r *rand.Rand) tabletest.Fault {
	var mu sync.Mutex
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}
	all := []tabletest.Fault{
		tabletest.DropRequest(), tabletest.DropResponse(), tabletest.Truncate(), tabletest.Throttle(),
		status(http.StatusInternalServerError), tabletest.After(status(http.StatusServiceUnavailable)),
		cancelled(map[int]string{recordIndex: "TransactionConflict"}),
		cancelled(map[int]string{orderIndex: "TransactionConflict", recordIndex: "ThrottlingError"}),
		tabletest.Status(http.StatusBadRequest, "TransactionInProgressException", "Injected."),
		changedResponse(poor), changedResponse(firstFailure), changedResponse(withoutOld), changedResponse(poor),
	}
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		fault := tabletest.Fault(func(r *http.Request, next http.RoundTripper) (*http.Response, error) { return next.RoundTrip(r) })
		if i := draw(2 * len(all)); i < len(all) {
			fault = all[i]
		}
		if r.Header.Get("X-Amz-Target") == "DynamoDB_20120810.TransactWriteItems" && draw(2) == 0 {
			fault = both(fault, forgotten)
		}
		return fault(r, next)
	}
}

// TestChaos has clients repeat the same requests at the same time, over
// connections and an engine that fail in every way, while goods run out and come
// back and records expire before. There is one effect and one result, and at most
// one call is told that it was the first.
func TestChaos(t *testing.T) {
	t.Parallel()
	const rounds, clients, calls = 24, 4, 3
	r := newRand(t)
	s := newShop(t, promptly)
	for round := range rounds {
		key := fmt.Sprintf("k-%d", round)
		expired := round%3 == 0
		if expired {
			s.first(t, key)
			s.clock.move(25 * time.Hour)
		}
		before := effects(t, s.table, key)
		if round%4 == 0 {
			s.stock(t, 0)
		}
		results := s.chaos(t, key, r, clients, calls)
		s.stock(t, 1000)
		last := expect.Value(s.do(t, key))(t)
		s.wantEffects(t, key, before+1)
		fresh := 0
		for _, result := range append(results, last) {
			if !result.Replayed {
				fresh++
			}
			expect.Equal(t, key+": result", result.Value, last.Value)
		}
		if fresh > 1 {
			t.Errorf("%s: %d calls were told that they are the first", key, fresh)
		}
		if t.Failed() {
			return
		}
	}
}

// chaos returns the results of those calls that succeeded.
func (s *shop) chaos(t *testing.T, key string, r *rand.Rand, clients, calls int) []idempotency.Result[order] {
	t.Helper()
	var mu sync.Mutex
	var results []idempotency.Result[order]
	var group sync.WaitGroup
	for i := range clients {
		var faults tabletest.Faults
		faults.Always("", trouble(chance(r)))
		retries := once
		if i%2 == 0 {
			retries = promptly
		}
		tbl := expect.Value(table.New(tabletest.Client(t, retries, faults.Install), s.table.Schema(), &table.Options{Now: s.clock.now, MaxAttempts: 2}))(t)
		store := newStore(t, tbl, nil)
		group.Go(func() {
			for range calls {
				mu.Lock()
				known := len(results) > 0
				mu.Unlock()
				o := s.newOrder()
				result, err := idempotency.Do(t.Context(), store, request(key), planned(func() (idempotency.Plan[order], error) {
					return idempotency.Snapshot(o, ops(key, o)...), nil
				}))
				s.wantHonest(t, o, result, err)
				mu.Lock()
				switch {
				case err == nil:
					results = append(results, result)
				case known && notCarriedOut(err):
					t.Errorf("%s: after a result: %v", key, err)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return results
}

// notCarriedOut reports whether an error says that the order cannot be.
func notCarriedOut(err error) bool {
	return errors.Is(err, table.ErrConditionFailed) || errors.Is(err, table.ErrExists)
}

// wantHonest checks what a call says about its own work.
func (s *shop) wantHonest(t *testing.T, o order, result idempotency.Result[order], err error) {
	t.Helper()
	if errors.Is(err, table.ErrOutcomeUnknown) {
		return
	}
	_, readErr := table.Get[order](t.Context(), s.table.Consistent(), orderKey(o.ID))
	written := !errors.Is(readErr, table.ErrNotFound)
	if want := err == nil && !result.Replayed; written != want {
		t.Errorf("order %s: written %t, replayed %t, error %v", o.ID, written, result.Replayed, err)
	}
	if written && result.Value.ID != o.ID {
		t.Errorf("order %s: the result is %s", o.ID, result.Value.ID)
	}
}
