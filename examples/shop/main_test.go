package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/shop/setup"
)

func TestMistakesAreErrors(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		nil, {"-nope"}, {"-dev", "nope"}, {"-dev", "-serve"}, {"-walk", "-admin", "ana@example.com"}, {"-serve", "-data", "x"}, {"-dev", "-addr", "0.0.0.0:0"},
	} {
		if err := shop.Run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
	const good = "ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo="
	for _, key := range []string{"", "short", "c2hvcnQ=", "not base64 but quite long, more than enough of it", good + ",", good + ",c2hvcnQ="} {
		if _, err := setup.ParseKeys(key); err == nil || key != "" && strings.Contains(err.Error(), key) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

// The server starts, its page is there, and both sample users log in with what it
// prints: one of them is an admin.
func TestTheDevelopmentServer(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancelCause(t.Context())
	errEnd := errors.New("the test ends")
	out, w := io.Pipe()
	stopped := make(chan error, 1)
	go func() {
		err := shop.Run(ctx, []string{"-dev", "-addr", "127.0.0.1:0", "-table", programtest.Table(t, "Shop")}, w, io.Discard)
		w.CloseWithError(errors.Join(err, io.EOF))
		stopped <- err
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	url := strings.TrimPrefix(lines.Text(), "listening on ")
	go func() { _, _ = io.Copy(io.Discard, out) }()
	page := check.Must(http.Get(url + "/"))(t)
	page.Body.Close()
	check.Equal(t, "the page", page.StatusCode, http.StatusOK)
	for email, role := range map[string]string{"ana@example.com": "admin", "bruno@example.com": "customer"} {
		resp := check.Must(http.Post(url+"/sessions", "application/json", strings.NewReader(`{"email":"`+email+`","password":"correct horse"}`)))(t)
		var body struct{ User struct{ Role string } }
		check.OK(t, json.NewDecoder(resp.Body).Decode(&body))
		resp.Body.Close()
		check.Equal(t, email, body.User.Role, role)
	}
	end(errEnd)
	check.OK(t, <-stopped)
}
