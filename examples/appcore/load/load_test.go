package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
)

func TestALoadIsReportedAndNothingIsWrong(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	check.OK(t, run(t.Context(), []string{"-requests", "300", "-clients", "4"}, &out, io.Discard))
	for _, want := range []string{"| appcore | 300 |", "| SDK alone | 300 |", "`POST /transactions`", "`GET /transactions/{id}`", "`GET /transactions/global`", "of the throughput of SDK alone"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Count(out.String(), "idempotency keys has made exactly one transaction") != 2 || strings.Contains(out.String(), "×") {
		t.Errorf("errors:\n%s", out.String())
	}
}

func TestOnlyThisMachineIsUnderLoad(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-url", "http://example.com"},
		{"-url", "http://127.0.0.1.example.com:8080"},
		{"-url", "http://127.0.0.1@example.com"},
		{"-url", "https://127.0.0.1"},
		{"-url", "http://10.0.0.1"},
		{"-url", "127.0.0.1:8080"},
		{"-clients", "0"},
		{"-clients", "257"},
		{"-requests", "0"},
		{"-requests", "1000001"},
		{"-duration", "0s"},
		{"-duration", "11m"},
		{"what"},
	} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	o := check.Must(parse([]string{"-url", "http://localhost:8080/"}, io.Discard))(t)
	check.Equal(t, "url", o.url, "http://localhost:8080")
}

// broken is a server with a fault.
func broken(t *testing.T, fault func(w http.ResponseWriter, r *http.Request, next http.Handler)) error {
	t.Helper()
	return withServers(t.Context(), func(servers ...*server) error {
		alone := servers[1]
		forward := httputil.NewSingleHostReverseProxy(check.Must(url.Parse(alone.url))(t))
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fault(w, r, forward) }))
		defer proxy.Close()
		alone.url = proxy.URL
		return measure(t.Context(), options{requests: 200, clients: 2, duration: 60e9}, io.Discard, alone)
	})
}

// The check at the end must see what it is for.
func TestAFaultIsFound(t *testing.T) {
	t.Parallel()
	isPost := func(r *http.Request) bool { return r.Method == http.MethodPost }
	for name, c := range map[string]struct {
		fault func(w http.ResponseWriter, r *http.Request, next http.Handler)
		says  string
	}{
		"none": {func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }, ""},
		"the key is ignored": {func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			r.Header.Set("Idempotency-Key", r.Header.Get("Idempotency-Key")+r.RemoteAddr+fmt.Sprint(unique.Add(1)))
			next.ServeHTTP(w, r)
		}, "key-"},
		"a made-up response": {func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if isPost(r) {
				w.WriteHeader(http.StatusCreated)
				_ = json.NewEncoder(w).Encode(transaction{"tx-" + r.Header.Get("Idempotency-Key")})
				return
			}
			next.ServeHTTP(w, r)
		}, "listed 0 times"},
		"no JSON": {func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if strings.HasSuffix(r.URL.Path, "/global") {
				_, _ = io.WriteString(w, "oops")
				return
			}
			next.ServeHTTP(w, r)
		}, "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := broken(t, c.fault)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
		})
	}
}

var unique atomic.Int32

// A response that is lost is no response, and its key is used again.
func TestALostResponseIsMadeUpFor(t *testing.T) {
	t.Parallel()
	var posts atomic.Int64
	check.OK(t, broken(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost && posts.Add(1)%7 == 0 {
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	}))
}

func TestALoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, nil, io.Discard, io.Discard); err == nil {
		t.Error("no error")
	}
}
