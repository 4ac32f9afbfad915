package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/httpapi"
)

// newLimited returns an application that limits each user to a request a second
// and three at once, by the clock.
func newLimited(t *testing.T, now func() time.Time) *app {
	t.Helper()
	limiter := check.Must(httpapi.NewLimiter(httpapi.Limits{PerSecond: 1, Burst: 3, Now: now}))(t)
	return newAppWith(t, &api.Options{Limiter: limiter})
}

func TestAUserOverTheLimitWaitsAndOthersDoNot(t *testing.T) {
	t.Parallel()
	clock := check.NewClock(time.Now())
	a := newLimited(t, clock.Now)
	// All endpoints count together, and a request that is refused too.
	a.get(t, ana, "/transactions").is(t, http.StatusOK)
	a.get(t, ana, "/notifications?limit=0").is(t, http.StatusBadRequest)
	a.create(t, ana, "k")

	before := len(a.faults.Requests())
	for _, path := range []string{"/transactions", "/transactions/global", "/notifications", "/transactions/tx-1"} {
		got := a.get(t, ana, path)
		got.refused(t, http.StatusTooManyRequests, "too_many_requests", path)
		check.Equal(t, "Retry-After", got.Header.Get("Retry-After"), "1")
	}
	if sent := a.faults.Requests()[before:]; len(sent) > 0 {
		t.Errorf("%d requests to DynamoDB", len(sent))
	}
	a.get(t, bruno, "/transactions").is(t, http.StatusOK)
	for _, path := range []string{"/healthz", "/readyz"} {
		a.get(t, "", path).is(t, http.StatusOK)
	}
	clock.Pass(time.Second)
	a.get(t, ana, "/transactions").is(t, http.StatusOK)
	a.get(t, ana, "/transactions").is(t, http.StatusTooManyRequests)
}

// Without a valid token nobody is known to be limited, and nobody can use up
// another user's requests.
func TestRequestsWithoutATokenCountForNobody(t *testing.T) {
	t.Parallel()
	clock := check.NewClock(time.Now())
	a := newLimited(t, clock.Now)
	for range 20 {
		forged := token(t, ana)[:40] + "x"
		a.do(t, request{Method: http.MethodGet, Path: "/transactions", Header: http.Header{"Authorization": {"Bearer " + forged}}}).is(t, http.StatusUnauthorized)
	}
	a.get(t, ana, "/transactions").is(t, http.StatusOK)
}
