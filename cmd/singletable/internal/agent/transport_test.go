package agent_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/singletable/singletable/cmd/singletable/internal/agent"
)

// A line that is no message does not end the session. It gets an error if it has an id.
func TestLinesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, nil)
	server, err := agent.New(o)
	ok(t, err)
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	var log bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(t.Context(), agent.Transport(toServer, fromServer, slog.New(slog.NewTextHandler(&log, nil))))
		_ = fromServer.Close()
	}()
	responses := bufio.NewReader(out)
	const ping, pong = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `"id":1,"result":{}`
	for _, c := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, `"id":0,"result"`},
		{"{", ""},
		{"debug: loaded", ""},
		{"\xff\x00", ""},
		{ping + ping, ""},
		{strings.Repeat("[", 20_000), ""},
		{`"` + strings.Repeat("x", 3<<20) + `"`, ""},
		{ping + strings.Repeat(" ", 3<<20) + "}", `"id":1,"error":{"code":-32600`},
		{"null", ""},
		{"5", ""},
		{"[]", ""},
		{"[" + ping + "]", ""},
		{"{}", ""},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, ""},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, `"id":7,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":"a","method":5}`, `"id":"a","error":{"code":-32600`},
		{"\r\n\n \t" + ping + " \r", pong},
	} {
		want := c.want
		if want == "" {
			c.line, want = c.line+"\n"+ping, pong
		}
		_, err := io.WriteString(in, c.line+"\n")
		ok(t, err)
		got, err := responses.ReadString('\n')
		if err != nil {
			t.Fatalf("%.80q: %v, %v", c.line, err, <-ended)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%.80q: %s, want %s", c.line, got, want)
		}
	}
	ok(t, in.Close())
	ok(t, <-ended)
	if n := strings.Count(log.String(), "no JSON-RPC message"); n != 12 || strings.Contains(log.String(), "loaded") {
		t.Errorf("%d lines: %s", n, &log)
	}
}
