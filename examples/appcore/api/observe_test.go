package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table/tabletest"
)

type line struct {
	Level     string  `json:"level"`
	Message   string  `json:"msg"`
	RequestID string  `json:"requestId"`
	Method    string  `json:"method"`
	Route     string  `json:"route"`
	Status    int     `json:"status"`
	Requests  int     `json:"dynamodbRequests"`
	Capacity  float64 `json:"dynamodbCapacity"`
	Error     string  `json:"error"`
}

func TestEveryRequestIsOneLineWithItsCost(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	id := a.create(t, ana, "secret-key")
	for _, r := range []request{
		{Method: http.MethodGet, Path: "/transactions/" + id, User: ana, Header: http.Header{"X-Request-Id": {"mine-1"}}},
		{Method: http.MethodGet, Path: "/transactions/global", User: ana, Header: http.Header{"X-Request-Id": {strings.Repeat("x", 65)}}},
		{Method: http.MethodGet, Path: "/transactions"},
	} {
		got := a.do(t, r)
		if echoed := got.Header.Get("X-Request-Id"); echoed == "" || len(echoed) > 64 {
			t.Errorf("X-Request-Id is %q", echoed)
		}
	}
	a.Close() // the last line is written after the response
	var lines []line
	for text := range strings.Lines(a.log.String()) {
		var l line
		check.OK(t, json.Unmarshal([]byte(text), &l))
		lines = append(lines, l)
	}
	if len(lines) != 4 {
		t.Fatalf("%d lines, want 4:\n%s", len(lines), a.log)
	}
	if l := lines[0]; l.Status != 201 || l.Requests != 1 || l.Capacity <= 0 || l.Route != "POST /transactions" {
		t.Errorf("POST: %+v", l)
	}
	if l := lines[1]; l.RequestID != "mine-1" || l.Requests != 1 || l.Capacity <= 0 || l.Route != "GET /transactions/{id}" || l.Method != "GET" {
		t.Errorf("GET: %+v", l)
	}
	if l := lines[2]; l.Requests < 4 || len(l.RequestID) > 64 {
		t.Errorf("GET global: %+v", l)
	}
	if l := lines[3]; l.Status != 401 || l.Requests != 0 || l.Error == "" {
		t.Errorf("no token: %+v", l)
	}
	for _, private := range []string{id, ana, "secret-key", "Bearer"} {
		if strings.Contains(a.log.String(), private) {
			t.Errorf("the log holds %q:\n%s", private, a.log)
		}
	}
}

// Anyone can send these requests, so what they write to the log is bounded.
func TestALogLineIsBoundedWhateverAClientSends(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	const requests = 20
	long := strings.Repeat("X", 900_000)
	for range requests {
		a.do(t, request{Method: long, Path: "/transactions", Header: http.Header{"X-Request-Id": {strings.Repeat("i", 10_000)}, "User-Agent": {strings.Repeat("u", 10_000)}}})
		a.do(t, request{Method: http.MethodGet, Path: "/" + strings.Repeat("p", 50_000), Header: http.Header{"Authorization": {strings.Repeat("a", 10_000)}}})
	}
	a.Close()
	if size := len(a.log.String()); size > requests*2*500 {
		t.Errorf("%d requests without a token wrote %d bytes", 2*requests, size)
	}
	first, _, _ := strings.Cut(a.log.String(), "\n")
	if !strings.Contains(first, `"bytesCut":899968`) || !strings.Contains(first, `"method":"`+long[:32]+`"`) {
		t.Errorf("log: %.1000s", first)
	}
}

type panicking struct{ value any }

func (p panicking) Verify(context.Context, string) (auth.Identity, error) { panic(p.value) }
func (p panicking) Ready(context.Context) error                           { panic(p.value) }

func TestAPanicIs500AndStaysInside(t *testing.T) {
	t.Parallel()
	service := check.Must(core.New(tabletest.New(t, core.Schema("any"), nil), nil))(t)
	a := serve(t, service, always, panicking{"secret 4711 " + strings.Repeat("x", 1<<20)})
	got := a.do(t, request{Method: http.MethodGet, Path: "/transactions", Header: http.Header{"Authorization": {"Bearer x"}}})
	if got.Status != 500 || decode[failure](t, got.Body).Error.Code != "internal" || strings.Contains(got.Body, "4711") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	a.Close()
	if text := a.log.String(); !strings.Contains(text, "4711") || !strings.Contains(text, "observe_test.go") || strings.Count(text, "\n") != 1 || len(text) > 10_000 {
		t.Errorf("log of %d bytes: %.10000s", len(text), text)
	}
}

// An abort is what the server itself knows how to handle.
func TestAnAbortIsPassedOn(t *testing.T) {
	t.Parallel()
	service := check.Must(core.New(tabletest.New(t, core.Schema("any"), nil), nil))(t)
	handler := api.New(service, always, panicking{http.ErrAbortHandler}, newLogger(&check.Log{}), nil).Handler(nil)
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("recovered %v", err)
		}
	}()
	r := httptest.NewRequest(http.MethodGet, "/transactions", nil)
	r.Header.Set("Authorization", "Bearer x")
	handler.ServeHTTP(httptest.NewRecorder(), r)
}

// A client that does not wait for its response is not an error of the server.
func TestAClientThatGoesAwayIsNoError(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	ctx, cancel := context.WithCancel(t.Context())
	a.faults.Always("", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		cancel()
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	req := check.Must(http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/transactions", nil))(t)
	req.Header.Set("Authorization", "Bearer "+token(t, ana))
	if resp, err := a.Client().Do(req); err == nil {
		resp.Body.Close()
		t.Errorf("status %d", resp.StatusCode)
	}
	a.Close()
	if text := a.log.String(); !strings.Contains(text, `"status":499`) || strings.Contains(text, "ERROR") {
		t.Errorf("log: %s", text)
	}
}
