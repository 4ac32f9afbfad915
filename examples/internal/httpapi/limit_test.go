package httpapi_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// passed returns how many of n requests of a client pass, and the Retry-After of
// the first that does not.
func passed(l *httpapi.Limiter, client string, n int) (count int, retryAfter string) {
	for range n {
		w := httptest.NewRecorder()
		if l.Check(w, client) == nil {
			count++
		} else if retryAfter == "" {
			retryAfter = w.Header().Get("Retry-After")
		}
	}
	return count, retryAfter
}

func TestAClientIsLimitedByItsBucket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		perSecond float64
		burst     int
		after     []time.Duration // between 20 requests and the next 20
		want      []int
		retry     string
	}{
		{5, 10, []time.Duration{0, 199 * time.Millisecond, time.Millisecond, time.Second, time.Hour}, []int{10, 0, 0, 1, 5, 10}, "1"},
		{0.1, 1, []time.Duration{9 * time.Second, time.Second}, []int{1, 0, 1}, "10"},
		{1e-9, 3, []time.Duration{time.Hour}, []int{3, 0}, "1000000000"},
		{1e9, 1, []time.Duration{time.Second}, []int{1, 1}, "1"},
	} {
		clock := check.NewClock(start)
		l := check.Must(httpapi.NewLimiter(httpapi.Limits{PerSecond: c.perSecond, Burst: c.burst, Now: clock.Now}))(t)
		count, retry := passed(l, "a", 20)
		got := []int{count}
		check.Equal(t, fmt.Sprintf("Retry-After of %+v", c), retry, c.retry)
		for _, d := range c.after {
			clock.Pass(d)
			count, _ := passed(l, "a", 20)
			got = append(got, count)
		}
		check.Equal(t, fmt.Sprintf("%+v", c), got, c.want)
		if other, _ := passed(l, "b", 20); other != c.burst {
			t.Errorf("%+v: %d requests of another client pass", c, other)
		}
	}
}

func TestARequestOverTheLimitIs429(t *testing.T) {
	t.Parallel()
	l := check.Must(httpapi.NewLimiter(httpapi.Limits{PerSecond: 1, Burst: 1, Now: check.NewClock(start).Now}))(t)
	check.OK(t, l.Check(httptest.NewRecorder(), "a"))
	f, _ := errors.AsType[*rest.Failure](l.Check(httptest.NewRecorder(), "a"))
	if f == nil || f.Status != http.StatusTooManyRequests || f.Code != "too_many_requests" {
		t.Errorf("%+v", f)
	}
}

func TestZeroLimitsNothingAndNonsenseIsAnError(t *testing.T) {
	t.Parallel()
	off := check.Must(httpapi.NewLimiter(httpapi.Limits{}))(t)
	if count, _ := passed(off, "a", 1000); count != 1000 {
		t.Errorf("%d of 1000 pass", count)
	}
	for _, bad := range []httpapi.Limits{{PerSecond: -1, Burst: 1}, {PerSecond: math.NaN(), Burst: 1}, {PerSecond: math.Inf(1), Burst: 1}, {PerSecond: 1}, {PerSecond: 1, Burst: -1}} {
		if _, err := httpapi.NewLimiter(bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

func TestConcurrentFirstRequestsShareABucket(t *testing.T) {
	t.Parallel()
	l := check.Must(httpapi.NewLimiter(httpapi.Limits{PerSecond: 1, Burst: 7, Now: check.NewClock(start).Now}))(t)
	var passed atomic.Int64
	check.Together(100, func(int) {
		if l.Check(httptest.NewRecorder(), "a") == nil {
			passed.Add(1)
		}
	})
	check.Equal(t, "requests that pass", passed.Load(), 7)
}

// Not parallel: it measures the memory of the process.
func TestManyClientsDoNotGrowTheMemory(t *testing.T) {
	l := check.Must(httpapi.NewLimiter(httpapi.Limits{PerSecond: 1, Burst: 1}))(t)
	w := httptest.NewRecorder()
	flood := func(from, to int) uint64 {
		for i := from; i < to; i++ {
			check.OK(t, l.Check(w, fmt.Sprintf("%0128d", i))) // the longest user id
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	full := flood(0, 10_000)
	after := flood(10_000, 110_000)
	if limit := full + 1<<20; after > limit {
		t.Errorf("10,000 clients take %d bytes of the heap, 110,000 clients %d", full, after)
	}
	runtime.KeepAlive(l)
}
