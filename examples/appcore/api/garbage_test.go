package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
)

// raw sends bytes to the server as they are and returns the status of the
// response, 0 if there is none. What the server does not even take for a request
// never comes to a handler.
func (a *app) raw(tb testing.TB, request string) int {
	tb.Helper()
	conn := check.Must(net.Dial("tcp", a.Listener.Addr().String()))(tb)
	defer conn.Close()
	// A server that waits for more does not respond.
	check.OK(tb, conn.SetDeadline(time.Now().Add(3*time.Second)))
	// The server may hang up before it has read all of it.
	_, _ = io.WriteString(conn, request)
	if !strings.Contains(request, "\r\n\r\n") {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// refused checks that it is the client's fault, if it is anyone's.
func refused(tb testing.TB, a *app, request string) {
	tb.Helper()
	if status := a.raw(tb, request); status == http.StatusInternalServerError || status == http.StatusServiceUnavailable {
		tb.Errorf("status %d for %q\n%s", status, request, a.log)
	}
}

// rawPost returns a POST that is right but for what it is given.
func rawPost(tb testing.TB, headers, body string) string {
	return fmt.Sprintf("POST /transactions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%sContent-Length: %d\r\n\r\n%s",
		token(tb, ana), headers, len(body), body)
}

func rawGet(tb testing.TB, target string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", target, token(tb, ana))
}

func TestGarbageIsTheClientsFault(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	deep := strings.Repeat("[", 20_000)
	for name, request := range map[string]string{
		"nothing":             "",
		"binary":              "\x00\xff\x16\x03\x01\r\n\r\n",
		"no host":             "GET /transactions HTTP/1.1\r\n\r\n",
		"bad header":          "GET / HTTP/1.1\r\nHost: x\r\n\xff: y\r\n\r\n",
		"large header":        "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
		"star":                rawGet(t, "*"),
		"encoded nul":         rawGet(t, "/transactions/%00"),
		"encoded hash":        rawGet(t, "/transactions/a%23b%23%23"),
		"long lastKey":        rawGet(t, "/transactions?lastKey="+strings.Repeat("A", 100_000)),
		"key of control":      rawPost(t, "Idempotency-Key: a\tb\r\n", eur),
		"key at its limit":    rawPost(t, "Idempotency-Key: "+strings.Repeat("%", 255)+"\r\n", eur),
		"body nested":         rawPost(t, "Idempotency-Key: k\r\n", deep),
		"body no UTF-8":       rawPost(t, "Idempotency-Key: k\r\n", "{\"amount\":1,\"currency\":\"\xff\xff\xff\"}"),
		"surrogate":           rawPost(t, "Idempotency-Key: k\r\n", `{"amount":1,"currency":"\ud800"}`),
		"chunks of nonsense":  strings.Replace(rawPost(t, "Transfer-Encoding: chunked\r\nIdempotency-Key: k\r\n", "zz\r\n"), "Content-Length: 4\r\n", "", 1),
		"negative length":     strings.Replace(rawPost(t, "Idempotency-Key: k\r\n", eur), "Content-Length: ", "Content-Length: -", 1),
		"long token":          "GET /transactions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + strings.Repeat("a.", 50_000) + "\r\n\r\n",
		"request id of bytes": "GET /transactions HTTP/1.1\r\nHost: x\r\nX-Request-Id: \xff\xfe\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) { refused(t, a, request) })
	}
}

func FuzzRequestsAreNeverTheServersFault(f *testing.F) {
	a := newApp(f)
	f.Add("GET", "/transactions/tx-1", "", "", "")
	f.Add("GET", "/transactions", "limit=5&lastKey=abc", "", "")
	f.Add("POST", "/transactions", "", "key", eur)
	f.Add("POST", "/transactions", "a;b", "\xff", `{"amount":1e3,"currency":"\ud800"}`)
	f.Fuzz(func(t *testing.T, method, path, query, key, body string) {
		refused(t, a, fmt.Sprintf("%s %s?%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIdempotency-Key: %s\r\nContent-Length: %s\r\n\r\n%s",
			method, path, query, token(t, ana), key, strconv.Itoa(len(body)), body))
	})
}

// Arbitrary bodies, ids and cursors get a response that is documented.
func FuzzResponsesFollowTheRules(f *testing.F) {
	a := newApp(f)
	lastKey := ""
	for _, key := range []string{"1", "2", "3"} {
		a.create(f, ana, key)
		lastKey = decode[page[transaction]](f, a.get(f, ana, "/transactions?limit=1").Body).LastKey
	}
	f.Add("tx-1", lastKey, []byte(eur))
	f.Add("", "", []byte(`{"amount":1,"currency":"EUR","amount":2}`))
	f.Add("%", "SCA5", []byte("\xff"))
	f.Add("2024-01-15T10:06:00.000Z~notif-xyz", "", []byte(anaGarcia))
	f.Add(ana, "", []byte(`{"email":"ana@mail.com"}`))
	f.Fuzz(func(t *testing.T, id, cursor string, body []byte) {
		if got := a.get(t, bruno, "/transactions/"+url.PathEscape(id)); got.Status >= 500 {
			t.Errorf("id %q: %d %s", id, got.Status, got.Body)
		}
		if got := a.mark(t, bruno, id, `{"read":true}`); got.Status >= 500 || got.Status < 400 {
			t.Errorf("notification %q: %d %s", id, got.Status, got.Body)
		}
		if got := a.office(t, staff, http.MethodPost, "users", string(body)); got.Status >= 500 {
			t.Errorf("user %q: %d %s", body, got.Status, got.Body)
		}
		if got := a.office(t, staff, http.MethodPatch, "users/"+url.PathEscape(id), string(body)); got.Status >= 500 {
			t.Errorf("user %q, change %q: %d %s", id, body, got.Status, got.Body)
		}
		for _, list := range []string{"/transactions", "/transactions/global", "/notifications"} {
			got := a.get(t, bruno, list+"?lastKey="+url.QueryEscape(cursor))
			if cursor != "" && got.Status != http.StatusBadRequest {
				t.Errorf("%s with the cursor %q: %d %s", list, cursor, got.Status, got.Body)
			}
		}
		got := a.post(t, bruno, "fuzz", string(body))
		switch got.Status {
		case http.StatusCreated, http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge:
		default:
			t.Errorf("body %q: %d %s", body, got.Status, got.Body)
		}
	})
}
