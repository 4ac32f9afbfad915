package api_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table/tabletest"
)

const global = "/transactions/global"

// newTimed returns an application and its clock.
func newTimed(t *testing.T) (*app, *check.Clock) {
	t.Helper()
	c := check.NewClock(time.Now())
	return newAppWith(t, &api.Options{Now: c.Now}), c
}

// queries returns how many queries were sent so far.
func (a *app) queries() (count int) {
	for _, r := range a.faults.Requests() {
		if r.Operation == "Query" {
			count++
		}
	}
	return count
}

// fanOut is how many queries a page of the list takes: one for each shard.
const fanOut = 4

func TestThePageIsKeptForASecond(t *testing.T) {
	t.Parallel()
	a, clock := newTimed(t)
	a.create(t, ana, "1")
	first := a.get(t, ana, global)
	first.is(t, http.StatusOK)
	a.create(t, ana, "2")
	for _, c := range []struct {
		pass     time.Duration
		queries  int
		sameBody bool
	}{
		{0, fanOut, true},
		{time.Second - time.Nanosecond, fanOut, true},
		{time.Nanosecond, 2 * fanOut, false},
		{-time.Minute, 3 * fanOut, false}, // the clock is set back
	} {
		clock.Pass(c.pass)
		for _, user := range []string{ana, bruno} {
			got := a.get(t, user, global)
			// As much again at the client.
			check.Equal(t, "Cache-Control", got.Header.Get("Cache-Control"), "private, max-age=1")
			check.Equal(t, "Vary", got.Header.Get("Vary"), "Authorization")
			check.Equal(t, "the first body", got.Body == first.Body, c.sameBody)
			check.Equal(t, "queries", a.queries(), c.queries)
		}
	}
	a.lists(t, ana, global, 2)
}

func TestOnlyThePageWithoutParametersIsKept(t *testing.T) {
	t.Parallel()
	a, _ := newTimed(t)
	for _, key := range []string{"1", "2", "3"} {
		a.create(t, ana, key)
	}
	whole, one := a.get(t, ana, global), a.get(t, ana, global+"?limit=1")
	check.Equal(t, "queries", a.queries(), 2*fanOut)
	a.get(t, ana, global+"?limit=10").is(t, http.StatusOK, whole.Body) // which is the default
	check.Equal(t, "queries", a.queries(), 2*fanOut)
	if one.Body == whole.Body {
		t.Errorf("a page of 1 is the same: %s", one.Body)
	}
	// A cursor that one user was given leads on for another.
	lastKey := decode[page[transaction]](t, one.Body).LastKey
	before := a.queries()
	for _, user := range []string{ana, bruno, ana} {
		got := a.get(t, user, global+"?limit=1&lastKey="+url.QueryEscape(lastKey))
		got.is(t, http.StatusOK)
		check.Equal(t, "Cache-Control", got.Header.Get("Cache-Control"), "no-store")
	}
	if sent := a.queries() - before; sent < 3 {
		t.Errorf("3 further pages take %d queries", sent)
	}
	// Others get none of it.
	for _, path := range []string{"/transactions", "/notifications"} {
		check.Equal(t, path, a.get(t, ana, path).Header.Get("Cache-Control"), "no-store")
	}
	// Nor does a user without a role, and the page is as warm as can be.
	nobody := request{Method: http.MethodGet, Path: global, Header: http.Header{
		"Authorization": {"Bearer " + check.Must(check.Must(issuer())(t).Token(ana))(t)},
	}}
	a.do(t, nobody).is(t, http.StatusForbidden)
	check.Equal(t, "what the staff sees", a.get(t, staff, global).Body, whole.Body)
	a.get(t, "", global).is(t, http.StatusUnauthorized)
	a.get(t, ana, global+"?limit=0").is(t, http.StatusBadRequest)
}

// held blocks queries until it is released.
type held struct {
	arrived chan struct{} // gets a value for each query
	release chan struct{}
}

func hold(a *app) held {
	h := held{make(chan struct{}, 1000), make(chan struct{})}
	a.faults.Always("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		h.arrived <- struct{}{}
		select {
		case <-h.release:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		return next.RoundTrip(r)
	})
	return h
}

func TestConcurrentRequestsShareOneRead(t *testing.T) {
	t.Parallel()
	a, _ := newTimed(t)
	a.create(t, ana, "1")
	h := hold(a)
	responses := make([]response, 100)
	go func() {
		<-h.arrived
		// Whoever comes later finds the page. No schedule of the others takes a
		// second read.
		close(h.release)
	}()
	check.Together(len(responses), func(i int) { responses[i] = a.get(t, ana, global) })
	for _, got := range responses {
		got.is(t, http.StatusOK, responses[0].Body)
	}
	check.Equal(t, "queries", a.queries(), fanOut)
}

func TestAnErrorIsNotKept(t *testing.T) {
	t.Parallel()
	a, _ := newTimed(t)
	a.faults.Always("Query", tabletest.Throttle())
	got := a.get(t, ana, global)
	got.is(t, http.StatusServiceUnavailable)
	check.Equal(t, "Cache-Control", got.Header.Get("Cache-Control"), "no-store")
	a.faults.Always("Query", nil)
	a.get(t, ana, global).is(t, http.StatusOK, "{\"items\":[]}\n")
}

// A panic outside of the goroutine of a request would end the process.
func TestAPanicOfTheReadIs500(t *testing.T) {
	t.Parallel()
	panics := func(context.Context) error { panic("secret 4711") }
	a := serve(t, newApp(t).service, panics, verifier(t))
	got := a.get(t, ana, global)
	got.is(t, http.StatusInternalServerError)
	if strings.Contains(got.Body, "4711") {
		t.Error(got.Body)
	}
	a.log.Wait(t, "secret 4711")
}

func TestAClientThatGoesAwayDoesNotFailTheOthers(t *testing.T) {
	t.Parallel()
	a, _ := newTimed(t)
	a.create(t, ana, "1")
	h := hold(a)
	ctx, leave := context.WithCancel(t.Context())
	req := check.Must(http.NewRequestWithContext(ctx, http.MethodGet, a.URL+global, nil))(t)
	req.Header.Set("Authorization", "Bearer "+token(t, ana))
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := a.Client().Do(req); err == nil {
			resp.Body.Close()
			t.Errorf("status %d", resp.StatusCode)
		}
	}()
	<-h.arrived // the read of the first client is under way
	second := make(chan response)
	go func() { second <- a.get(t, bruno, global) }()
	leave()
	<-gone
	a.log.Wait(t, `"status":499`)
	close(h.release)
	got := <-second
	got.is(t, http.StatusOK)
	check.Equal(t, "queries", a.queries(), fanOut)
}
