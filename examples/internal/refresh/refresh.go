// Package refresh keeps a value that another service owns, such as a set of
// keys, and fetches it again as it ages.
package refresh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// fetchTimeout limits one fetch.
	fetchTimeout = 5 * time.Second
	// getWait limits how long a caller of Get waits for the fetch that it started
	// while there is a value to return.
	getWait = time.Second
	// fetchPause is the least time between the end of a fetch and the next one
	// while there is a value to return.
	fetchPause = 10 * time.Second
	// retryPause is the Pause by default.
	retryPause = time.Second
)

// errTooOld is the error of a value that was too old when its fetch ended: the
// process was frozen in between.
var errTooOld = errors.New("the fetched value is too old")

// Options configures a [Value]. TTL and Limit are required.
type Options struct {
	// TTL is the age from which a call of [Value.Get] fetches the value again.
	TTL time.Duration
	// Limit is the age from which [Value.Get] does not return the value, even if
	// it cannot be fetched again.
	Limit time.Duration
	// Pause is how long after a failed fetch the next one is, if callers get nothing until
	// one succeeds. Zero means a second, less means none.
	Pause time.Duration
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
}

// Value is a cached value. It is safe for concurrent use. Get one from [New].
//
// Nothing happens between calls, so a Value also works in a process that is
// frozen in between: age is measured by the wall clock, and the first call after
// the TTL fetches. A clock that is set back makes the value stale.
type Value[T any] struct {
	fetch func(context.Context) (T, error)
	ttl   time.Duration
	limit time.Duration
	pause time.Duration
	now   func() time.Time

	mu     sync.Mutex
	flight chan struct{} // closed at the end of the fetch in flight; nil without one
	value  T
	loaded time.Time // start of the last fetch that succeeded
	ended  time.Time // end of the last fetch
	err    error     // of the last fetch
}

// New returns a value that fetch gets. It fetches nothing yet.
func New[T any](fetch func(context.Context) (T, error), options Options) *Value[T] {
	now := options.Now
	if now == nil {
		now = time.Now
	}
	return &Value[T]{
		fetch: fetch, ttl: options.TTL, limit: options.Limit, pause: cmp.Or(options.Pause, retryPause),
		// The monotonic clock stops while a process is frozen.
		now: func() time.Time { return now().Round(0) },
	}
}

// Get returns the value, and fetches it first if it has reached the TTL. If the
// fetch fails or takes longer than a second, or another caller is fetching, Get
// returns the value at hand until that reaches the limit. The error is that of the
// last fetch, or the context's.
func (v *Value[T]) Get(ctx context.Context) (T, error) {
	v.mu.Lock()
	var flight <-chan struct{}
	switch {
	case v.younger(v.ttl):
	case !v.younger(v.limit) && v.err != nil:
		flight = v.begin(ctx, v.pause)
	case !v.younger(v.limit):
		flight = v.begin(ctx, 0)
	case v.flight == nil:
		flight = v.begin(ctx, fetchPause)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, getWait)
		defer cancel()
	}
	v.mu.Unlock()
	waited := wait(ctx, flight)

	v.mu.Lock()
	defer v.mu.Unlock()
	if v.younger(v.limit) {
		return v.value, nil
	}
	var none T
	switch {
	case waited != nil:
		return none, waited
	case v.err != nil:
		return none, v.err
	}
	return none, errTooOld
}

// Renew fetches the value again, whatever its age, and returns it. It is for a
// caller who misses something in the value. Fetches are ten seconds apart, or the Pause
// after a failure. In between, Renew returns the result of the last one.
func (v *Value[T]) Renew(ctx context.Context) (T, error) {
	v.mu.Lock()
	pause := fetchPause
	if v.err != nil {
		pause = v.pause
	}
	flight := v.begin(ctx, pause)
	v.mu.Unlock()
	if err := wait(ctx, flight); err != nil {
		var none T
		return none, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.value, v.err
}

func (v *Value[T]) younger(than time.Duration) bool {
	age := v.now().Sub(v.loaded)
	return !v.loaded.IsZero() && age >= 0 && age < than
}

// begin joins the fetch in flight or starts one. It returns nil if the last one
// ended less than pause ago.
func (v *Value[T]) begin(ctx context.Context, pause time.Duration) <-chan struct{} {
	if v.flight != nil {
		return v.flight
	}
	if ago := v.now().Sub(v.ended); !v.ended.IsZero() && ago >= 0 && ago < pause {
		return nil
	}
	v.flight = make(chan struct{})
	// The fetch is for every caller who waits, so it outlives the first of them.
	go v.fly(context.WithoutCancel(ctx), v.now())
	return v.flight
}

// fly fetches. The value is as old as the request for it: a process can be
// frozen between the two.
func (v *Value[T]) fly(ctx context.Context, started time.Time) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	value, err := v.recovered(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended, v.err = v.now(), err; err == nil {
		v.value, v.loaded = value, started
	}
	close(v.flight)
	v.flight = nil
}

// recovered fetches. A panic would end the process, since it is in a goroutine of its own.
func (v *Value[T]) recovered(ctx context.Context) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %.1000s\n%s", fmt.Sprint(p), debug.Stack())
		}
	}()
	return v.fetch(ctx)
}

func wait(ctx context.Context, flight <-chan struct{}) error {
	if flight == nil {
		return nil
	}
	select {
	case <-flight:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
