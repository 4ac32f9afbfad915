package agent_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
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
		{"[" + ping + "]", `"id":1,"error":{"code":-32600`},
		{"{}", ""},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, ""},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, `"id":7,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":"a","method":5}`, `"id":"a","error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":10}`, `"id":10,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`, `"id":9007199254740991,"result"`},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `"id":9007199254740993,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":-1e30,"method":"ping"}`, `"id":-1e30,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"id":1.5,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":12,"result":{}}`, ""},
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
	if n := strings.Count(log.String(), "no JSON-RPC message"); n != 11 || strings.Count(log.String(), "nothing was requested") != 1 || strings.Contains(log.String(), "loaded") {
		t.Errorf("%d lines: %s", n, &log)
	}
}

// agreed are the lines that begin a session.
func agreed(version string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
}

// A session that is one text, as of a pipe in a shell, gets all of its responses, also the one
// to a request that is followed at once by the end. A batch gets one line, where the version of
// the protocol has batches.
func TestSessionsThatEndAtOnce(t *testing.T) {
	t.Parallel()
	call := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"describe_table","arguments":{}}}`
	}
	const ping, note = `{"jsonrpc":"2.0","id":"p","method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}`
	for name, c := range map[string]struct {
		text string
		want []string // the ids in each line but the first, in their order
		log  int
	}{
		"a request":                        {agreed("2025-06-18") + call("1"), []string{"1"}, 0},
		"with a line end":                  {agreed("2025-11-25") + call("1") + "\n" + ping + "\n\n", []string{"1", "p"}, 0},
		"no request":                       {agreed("2025-11-25"), nil, 0},
		"a batch":                          {agreed("2025-03-26") + "[" + call("1") + " ,\t" + note + "," + ping + "]", []string{"1 p"}, 0},
		"the first version":                {agreed("2024-11-05") + "[" + ping + "]\n" + call("2"), []string{"2", "p"}, 0},
		"two batches":                      {agreed("2025-03-26") + "[" + call("1") + "," + call("2") + "]\n[" + ping + "]", []string{"1 2", "p"}, 0},
		"notifications alone":              {agreed("2025-03-26") + "[" + note + "," + note + "]", nil, 0},
		"an id twice in a batch":           {agreed("2025-03-26") + "[" + ping + "," + ping + "]", []string{"p p"}, 0},
		"parts that are no messages":       {agreed("2025-03-26") + "[1,{}," + strings.Replace(ping, "2.0", "1.0", 1) + "," + call("1") + "]", []string{"1 p"}, 2},
		"nothing but such a part":          {agreed("2025-03-26") + "[" + strings.Replace(ping, "2.0", "1.0", 1) + "]", []string{"p"}, 0},
		"an empty batch":                   {agreed("2025-03-26") + "[]", nil, 1},
		"a batch where there are none":     {agreed("2025-06-18") + "[" + ping + "," + note + "," + call("1") + "]", []string{"1", "p"}, 1},
		"a batch before the first request": {"[" + note + "]\n" + agreed("2025-03-26"), nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := tenants(t, nil)
			server, err := agent.New(o)
			ok(t, err)
			var out, log bytes.Buffer
			ok(t, server.Run(t.Context(), agent.Transport(strings.NewReader(c.text), &out, slog.New(slog.NewTextHandler(&log, nil)))))
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			var got []string
			for _, line := range lines[1:] {
				got = append(got, ids(t, line))
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) || !strings.Contains(lines[0], `"id":0,"result"`) {
				t.Errorf("%q, want %q: %s", got, c.want, out.String())
			}
			if n := strings.Count(log.String(), "no JSON-RPC message"); n != c.log {
				t.Errorf("%d lines in the log: %s", n, &log)
			}
		})
	}
}

// A request with the id of one that has no response yet is logged, and not answered: its response
// would be taken for that of the other one.
func TestRequestsWithAnIDInUse(t *testing.T) {
	t.Parallel()
	o, faults := tenants(t, nil)
	second := make(chan struct{})
	faults.Always("GetItem", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		<-second
		return next.RoundTrip(r)
	})
	server, err := agent.New(o)
	ok(t, err)
	call := func(name string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{"pk":"a","sk":"b"}}}` + "\n"
	}
	toServer, in := io.Pipe()
	var out, log bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(t.Context(), agent.Transport(toServer, &out, slog.New(slog.NewTextHandler(&log, nil))))
	}()
	for _, text := range []string{agreed("2025-06-18"), call("get_item"), call("explain_key"), "\n"} {
		_, err := io.WriteString(in, text)
		ok(t, err)
	}
	close(second)
	ok(t, in.Close())
	ok(t, <-ended)
	if n := strings.Count(out.String(), `"id":1,`); n != 1 || strings.Count(log.String(), "has no response yet") != 1 {
		t.Errorf("%d responses: %s\n%s", n, &out, &log)
	}
}

// ids returns the ids of the responses in a line, in their order.
func ids(t *testing.T, line string) string {
	t.Helper()
	var responses []struct {
		ID     any
		Result json.RawMessage
		Error  json.RawMessage
	}
	if !strings.HasPrefix(line, "[") {
		line = "[" + line + "]"
	}
	ok(t, json.Unmarshal([]byte(line), &responses))
	var all []string
	for _, r := range responses {
		if (r.Result == nil) == (r.Error == nil) {
			t.Errorf("a result or an error: %s", line)
		}
		all = append(all, fmt.Sprint(r.ID))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
