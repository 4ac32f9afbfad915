package refresh_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/refresh"
)

const (
	ttl   = time.Minute
	limit = time.Hour
)

var errDown = errors.New("down")

// source is a service that owns a number. The number grows with each fetch.
type source struct {
	*check.Clock
	mu      sync.Mutex
	fetches int
	err     error
	during  func() // called by a fetch
}

func (s *source) fetch(context.Context) (int, error) {
	s.mu.Lock()
	s.fetches++
	n, err, during := s.fetches, s.err, s.during
	s.mu.Unlock()
	if during != nil {
		during()
	}
	return n, err
}

func newSource() (*source, *refresh.Value[int]) {
	s := &source{Clock: check.NewClock(time.Date(2024, 1, 15, 10, 5, 0, 0, time.UTC))}
	return s, refresh.New(s.fetch, refresh.Options{TTL: ttl, Limit: limit, Now: s.Now})
}

// get checks what Get returns; want is 0 for an error.
func get(t *testing.T, v *refresh.Value[int], want int) {
	t.Helper()
	got, err := v.Get(t.Context())
	if got != want || (err == nil) != (want != 0) {
		t.Fatalf("Get = %d, %v, want %d", got, err, want)
	}
}

func TestTheFirstCallAfterTheTTLFetches(t *testing.T) {
	t.Parallel()
	s, v := newSource()
	get(t, v, 1)
	s.Pass(ttl - 1)
	get(t, v, 1)
	s.Pass(1)
	get(t, v, 2)
	s.Pass(1000 * limit) // frozen
	get(t, v, 3)
}

func TestAFailedFetchLeavesTheValueUntilTheLimit(t *testing.T) {
	t.Parallel()
	s, v := newSource()
	get(t, v, 1)
	s.err = errDown
	s.Pass(limit - 1)
	get(t, v, 1)
	get(t, v, 1)
	if s.fetches != 2 {
		t.Errorf("%d fetches, want no other one within the pause", s.fetches)
	}
	s.Pass(1)
	get(t, v, 0)
	if _, err := v.Get(t.Context()); !errors.Is(err, errDown) {
		t.Errorf("error %v, want that of the fetch", err)
	}
	s.err = nil
	s.Pass(time.Second)
	get(t, v, s.fetches+1)
}

func TestAClockThatIsSetBackCausesOneFetch(t *testing.T) {
	t.Parallel()
	s, v := newSource()
	get(t, v, 1)
	s.Pass(-100 * limit)
	get(t, v, 2)
	get(t, v, 2)
}

// A value is as old as the request for it: the process can be frozen between the
// request and the end of the fetch.
func TestAFetchThatWasFrozenGivesAnOldValue(t *testing.T) {
	t.Parallel()
	s, v := newSource()
	s.during = func() { s.Pass(2 * limit) }
	get(t, v, 0)
	s.during = nil
	s.Pass(time.Second)
	get(t, v, 2)
}

func TestOneCallerFetchesWhileOthersGetTheValueAtHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, v := newSource()
		get(t, v, 1)
		release := make(chan struct{})
		s.during = func() { <-release }
		s.Pass(ttl)
		first := make(chan int)
		go func() {
			got, _ := v.Get(t.Context())
			first <- got
		}()
		synctest.Wait()
		get(t, v, 1)
		close(release)
		check.Equal(t, "what the caller who fetches gets", <-first, 2)
	})
}

// A service that is slow must not make its callers slow while they can do without.
func TestASlowFetchIsNotAwaitedWhileThereIsAValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, v := newSource()
		get(t, v, 1)
		s.during = func() { time.Sleep(4 * time.Second) }
		s.Pass(ttl)
		start := time.Now()
		get(t, v, 1)
		check.Equal(t, "duration", time.Since(start), time.Second)
		time.Sleep(4 * time.Second)
		get(t, v, 2) // the fetch went on
		s.Pass(limit)
		get(t, v, 3) // without a value it is awaited
	})
}

func TestACallerWhoLeavesDoesNotEndTheFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, v := newSource()
		release := make(chan struct{})
		s.during = func() { <-release }
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := v.Get(ctx)
			left <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
		close(release)
		get(t, v, 1)
	})
}
