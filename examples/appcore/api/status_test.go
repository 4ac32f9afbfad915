package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table/tabletest"
)

// refusal is a request that is refused, and how.
type refusal struct {
	name   string
	r      request
	status int
	code   string
}

// refusedReads are requests to an application with a transaction of ana's.
func refusedReads(id string) []refusal {
	get := func(user, path string) request { return request{Method: http.MethodGet, Path: path, User: user} }
	return []refusal{
		{"no token", get("", "/transactions"), 401, "unauthorized"},
		{"no token, POST", request{Method: http.MethodPost, Path: "/transactions", Key: "k", Body: eur}, 401, "unauthorized"},
		{"no bearer", request{Method: http.MethodGet, Path: "/notifications", Header: http.Header{"Authorization": {"Basic dTpw"}}}, 401, "unauthorized"},
		{"a bad token", request{Method: http.MethodGet, Path: "/notifications", Header: http.Header{"Authorization": {"Bearer a.b.c"}}}, 401, "unauthorized"},
		{"two tokens", request{Method: http.MethodGet, Path: "/notifications", Header: http.Header{"Authorization": {"Bearer a", "Bearer b"}}}, 401, "unauthorized"},
		{"another user's transaction", get(bruno, "/transactions/"+id), 403, "forbidden"},
		{"no such transaction", get(ana, "/transactions/tx-none"), 404, "not_found"},
		{"an id that cannot be", get(ana, "/transactions/%ff"), 404, "not_found"},
		{"an id that is too long", get(ana, "/transactions/"+strings.Repeat("x", 4000)), 404, "not_found"},
		{"no such path", get(ana, "/nothing"), 404, "not_found"},
		{"slash at the end", get(ana, "/transactions/"), 404, "not_found"},
		{"slash at the end of an id", get(ana, "/transactions/"+id+"/"), 404, "not_found"},
		{"two slashes", get(ana, "//transactions"), 404, "not_found"},
		{"dots", get(ana, "/x/../transactions"), 404, "not_found"},
		{"dots and no such method", request{Method: http.MethodPut, Path: "/./transactions"}, 404, "not_found"},
		{"no such method", request{Method: http.MethodPut, Path: "/transactions", User: ana}, 405, "method_not_allowed"},
		{"no such method of a health check", request{Method: http.MethodPost, Path: "/healthz"}, 405, "method_not_allowed"},
		{"limit 0", get(ana, "/transactions?limit=0"), 400, "invalid_limit"},
		{"limit 101", get(ana, "/transactions/global?limit=101"), 400, "invalid_limit"},
		{"limit ten", get(ana, "/notifications?limit=ten"), 400, "invalid_limit"},
		{"limit empty", get(ana, "/notifications?limit="), 400, "invalid_limit"},
		{"two limits", get(ana, "/notifications?limit=1&limit=2"), 400, "invalid_query"},
		{"query malformed", get(ana, "/notifications?limit=%zz"), 400, "invalid_query"},
		{"lastKey made up", get(ana, "/transactions?lastKey=abc"), 400, "invalid_cursor"},
		{"lastKey made up, global", get(ana, "/transactions/global?lastKey=abc"), 400, "invalid_cursor"},
		{"lastKey made up, notifications", get(ana, "/notifications?lastKey=%ff"), 400, "invalid_cursor"},
	}
}

// refusedPosts are requests to an application in which ana has used the key k-1.
func refusedPosts() []refusal {
	long := strings.Repeat("x", 300)
	post := func(key, body string) request {
		return request{Method: http.MethodPost, Path: "/transactions", User: ana, Key: key, Body: body}
	}
	header := func(name string, values ...string) request {
		r := post("", eur)
		r.Header = http.Header{name: values}
		return r
	}
	return []refusal{
		{"no key", post("", eur), 400, "missing_idempotency_key"},
		{"key too long", post(long, eur), 400, "invalid_idempotency_key"},
		{"key not ASCII", header("Idempotency-Key", "clé"), 400, "invalid_idempotency_key"},
		{"two keys", header("Idempotency-Key", "a", "b"), 400, "invalid_idempotency_key"},
		{"two keys, joined", header("Idempotency-Key", "a,b"), 400, "invalid_idempotency_key"},
		{"no body", post("k", ""), 400, "invalid_json"},
		{"trailing data", post("k", eur+"x"), 400, "invalid_json"},
		{"unknown field", post("k", `{"amount":500,"currency":"EUR","status":"COMPLETED"}`), 400, "unknown_field"},
		{"field twice", post("k", `{"amount":1,"amount":500,"currency":"EUR"}`), 400, "duplicate_field"},
		{"no amount", post("k", `{"currency":"EUR"}`), 400, "invalid_amount"},
		{"amount null", post("k", `{"amount":null,"currency":"EUR"}`), 400, "invalid_amount"},
		{"amount 0", post("k", `{"amount":0,"currency":"EUR"}`), 400, "invalid_amount"},
		{"amount negative", post("k", `{"amount":-1,"currency":"EUR"}`), 400, "invalid_amount"},
		{"amount text", post("k", `{"amount":"500","currency":"EUR"}`), 400, "invalid_amount"},
		{"amount broken", post("k", `{"amount":1.5,"currency":"EUR"}`), 400, "invalid_amount"},
		{"amount too great", post("k", `{"amount":1000000000001,"currency":"EUR"}`), 400, "invalid_amount"},
		{"amount far too great", post("k", `{"amount":1e400,"currency":"EUR"}`), 400, "invalid_amount"},
		{"no currency", post("k", `{"amount":500}`), 400, "invalid_currency"},
		{"currency unknown", post("k", `{"amount":500,"currency":"ABC"}`), 400, "invalid_currency"},
		{"currency in small letters", post("k", `{"amount":500,"currency":"eur"}`), 400, "invalid_currency"},
		{"currency number", post("k", `{"amount":500,"currency":7}`), 400, "invalid_currency"},
		{"body over 64 KB", post("k", eur+strings.Repeat(" ", 64<<10)), 413, "body_too_large"},
		{"key of another request", post("k-1", `{"amount":501,"currency":"EUR"}`), 409, "idempotency_key_reused"},
	}
}

func TestEveryRefusalHasItsStatus(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	id := a.create(t, ana, "k-1")
	for _, c := range slices.Concat(refusedReads(id), refusedPosts(), refusedPatches(id)) {
		t.Run(c.name, func(t *testing.T) {
			got := a.do(t, c.r)
			if allow := got.Header.Get("Allow"); (allow != "") != (got.Status == http.StatusMethodNotAllowed) {
				t.Errorf("Allow is %q", allow)
			}
			got.refused(t, c.status, c.code)
		})
	}
	a.lists(t, ana, "/transactions", 1)
}

// The server is in a bubble of package synctest, whose clock moves on by itself,
// and connections are pipes.
func TestABodyThatIsLateIs408(t *testing.T) {
	t.Parallel()
	service := check.Must(core.New(tabletest.New(t, core.Schema("any"), tableOptions(t)), nil))(t)
	synctest.Test(t, func(t *testing.T) {
		log := &check.Log{}
		listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: newAPI(t, service, log, nil).Handler(nil)}
		go func() { _ = server.Serve(listener) }()
		defer server.Close()
		client, conn := net.Pipe()
		defer client.Close()
		listener.conns <- conn

		start := time.Now()
		late := time.AfterFunc(12*time.Second, func() { _, _ = io.WriteString(client, eur[1:]) })
		defer late.Stop()
		fmt.Fprintf(client, "POST /transactions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIdempotency-Key: k\r\nContent-Length: %d\r\n\r\n{", token(t, ana), len(eur))
		resp := check.Must(http.ReadResponse(bufio.NewReader(client), nil))(t)
		defer resp.Body.Close()
		body := check.Must(io.ReadAll(resp.Body))(t)
		if code := decode[failure](t, string(body)).Error.Code; resp.StatusCode != http.StatusRequestTimeout || code != "body_too_slow" || !resp.Close {
			t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
		}
		check.Equal(t, "duration", time.Since(start), 5*time.Second)
	})
}

// pipes is a listener for connections of a test.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestHealthNeedsNoTokenAndNoTable(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	before := len(a.faults.Requests())
	for _, path := range []string{"/healthz", "/readyz"} {
		a.get(t, "", path).is(t, http.StatusOK, "{\"status\":\"ok\"}\n")
	}
	if sent := a.faults.Requests()[before:]; len(sent) > 0 {
		t.Errorf("%d requests to DynamoDB", len(sent))
	}
	if a.Close(); strings.Contains(a.log.String(), "healthz") {
		t.Errorf("log: %s", a.log)
	}
}

// Without the keys of tokens or cursors, the process is alive, but not ready.
// What needs no cursor works without the keys of cursors.
func TestWithoutKeysTheServerIsNotReady(t *testing.T) {
	t.Parallel()
	good := newApp(t)
	noLists := func(context.Context) error { return fmt.Errorf("%w: x", core.ErrUnavailable) }
	for _, c := range map[string]struct {
		*app
		lists, posted int
	}{
		"keys of tokens":  {serve(t, good.service, always, failing{auth.ErrUnavailable}), 503, 503},
		"keys of cursors": {serve(t, good.service, noLists, verifier(t)), 503, 201},
	} {
		for path, want := range map[string]int{
			"/healthz": 200, "/readyz": 503, "/transactions": c.lists, "/transactions/global": c.lists, "/notifications": c.lists,
		} {
			c.get(t, ana, path).is(t, want)
		}
		c.app.post(t, ana, "k", eur).is(t, c.posted)
	}
}

func TestABodyOf64KBIsTaken(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	got := a.post(t, ana, "k", eur+strings.Repeat(" ", 64<<10-len(eur)))
	got.is(t, http.StatusCreated)
}

func TestATransactionIsCreatedAndFoundEverywhere(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	before := time.Now().Add(-time.Millisecond)
	const greatest = 1_000_000_000_000
	got := a.post(t, ana, "k", `{"currency":"ARS","amount":1000000000000}`)
	got.is(t, http.StatusCreated)
	created := decode[transaction](t, got.Body)
	want := transaction{ID: created.ID, User: ana, Amount: greatest, Currency: "ARS", Status: "PENDING", CreatedAt: created.CreatedAt}
	check.Equal(t, "created", created, want)
	at, err := time.Parse("2006-01-02T15:04:05.000Z", created.CreatedAt)
	if err != nil || at.Before(before) || at.After(time.Now()) {
		t.Errorf("createdAt is %q", created.CreatedAt)
	}
	location := got.Header.Get("Location")
	if location != "/transactions/"+created.ID {
		t.Errorf("Location is %q", location)
	}
	check.Equal(t, "Idempotency-Replayed", got.Header.Get("Idempotency-Replayed"), "")

	a.get(t, ana, location).is(t, http.StatusOK, got.Body)
	for _, path := range []string{"/transactions", "/transactions/global"} {
		listed := a.get(t, ana, path)
		check.Equal(t, path, decode[page[transaction]](t, listed.Body), page[transaction]{Items: []transaction{want}})
		if strings.Contains(listed.Body, "lastKey") {
			t.Errorf("%s: the last page has a lastKey: %s", path, listed.Body)
		}
	}
}

func TestListsAreNewestFirstPageByPage(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	var want []string
	for _, key := range []string{"1", "2", "3", "4", "5"} {
		id := a.create(t, ana, key)
		check.Must(a.service.Approve(t.Context(), id))(t)
		want = append(want, id)
	}
	slices.Sort(want)
	for _, path := range []string{"/transactions", "/transactions/global", "/notifications"} {
		var got []string
		last := "9"
		for v := range walk[map[string]any](t, a, ana, path+"?limit=2") {
			at := v["createdAt"].(string)
			if at > last {
				t.Errorf("%s: one of %s comes after one of %s", path, at, last)
			}
			got, last = append(got, v["txId"].(string)), at
		}
		slices.Sort(got)
		check.Equal(t, path, got, want)
	}
	for n := range walk[notification](t, a, ana, "/notifications?limit=2") {
		check.Equal(t, "user notified", n.User, ana)
	}
	a.lists(t, bruno, "/notifications", 0)
}

func TestTroubleWithDynamoDBHasItsStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fault  tabletest.Fault
		status int
	}{
		{"throttled", tabletest.Throttle(), 503},
		{"out of reach", tabletest.DropRequest(), 503},
		{"failing", tabletest.Status(500, "InternalServerError", "oops-4711"), 503},
		{"no permission", tabletest.Status(400, "AccessDeniedException", "User: arn:aws:iam::4711 is not authorized"), 500},
		{"no table", tabletest.Status(400, "ResourceNotFoundException", "Requested resource not found: 4711"), 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newApp(t)
			a.faults.Always("", c.fault)
			for _, r := range []request{
				{Method: http.MethodGet, Path: "/transactions"},
				{Method: http.MethodGet, Path: "/transactions/tx-1"},
				{Method: http.MethodGet, Path: "/transactions/global"},
				{Method: http.MethodGet, Path: "/notifications"},
				{Method: http.MethodPost, Path: "/transactions", Key: "k", Body: eur},
			} {
				r.User = ana
				got := a.do(t, r)
				got.is(t, c.status)
				if retry := got.Header.Get("Retry-After"); (retry != "") != (c.status == http.StatusServiceUnavailable) {
					t.Errorf("%s %s: Retry-After is %q", r.Method, r.Path, retry)
				}
				for _, internal := range []string{"4711", "singletable", "DynamoDB", "arn:", "GSI1", "AppCore"} {
					if strings.Contains(got.Body, internal) {
						t.Errorf("%s %s: the response tells of %s: %s", r.Method, r.Path, internal, got.Body)
					}
				}
			}
			// The trouble is in the log, and nowhere else.
			if !strings.Contains(a.log.String(), `"error":"`) {
				t.Errorf("the log says nothing: %s", a.log)
			}
		})
	}
}
