package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/usage/queue"
)

// running is a program that runs with -dev.
type running struct {
	t    *testing.T
	addr string
	log  *bytes.Buffer
	// stop stops it as Ctrl-C does.
	stop func()
}

func develop(t *testing.T, table, data string) running {
	t.Helper()
	r := running{t: t, log: &bytes.Buffer{}}
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	d := developer{
		addr: "127.0.0.1:0", table: table, data: data, visibility: 10 * time.Millisecond, log: r.log,
		ready: func(addr string) { ready <- addr },
	}
	go func() { ended <- d.run(ctx) }()
	select {
	case r.addr = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	r.stop = func() {
		cancel()
		check.OK(t, <-ended)
	}
	return r
}

// do runs a command and returns what it prints.
func (r running) do(args ...string) string {
	r.t.Helper()
	var out strings.Builder
	check.OK(r.t, client(r.t.Context(), append([]string{args[0], "-addr", r.addr}, args[1:]...), &out))
	return out.String()
}

// settled returns the contents of the queue when nothing is to be delivered.
func (r running) settled() (c queue.Contents) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(time.Millisecond); ; {
		c = queue.Contents{}
		check.OK(r.t, json.Unmarshal([]byte(r.do("queue")), &c))
		if c.Visible+c.InFlight == 0 {
			return c
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.t.Fatalf("%+v", c)
		}
	}
}

func TestMessagesAreSentAndAskedForByHand(t *testing.T) {
	t.Parallel()
	const (
		body  = `{"workspaceId":"acme","metricId":"exports","count":2,"date":"2026-01-15T23"}`
		ahead = `{"schemaVersion":2}`
		ask   = `{"workspaceId":"acme","metricId":"exports","fromDate":"2026-01-15T00","toDate":"2026-01-15T23"}`
	)
	data := t.TempDir()
	table := programtest.Table(t, "Usage")
	r := develop(t, table, data)
	r.do("send", body)
	r.do("send", ahead)
	// A program that is killed now has the message.
	if file := check.Must(os.ReadFile(filepath.Join(data, "queue.json")))(t); !strings.Contains(string(file), "schemaVersion") {
		t.Errorf("the file holds %s", file)
	}
	dead := r.settled().Dead
	if len(dead) != 1 || dead[0].Body != ahead || dead[0].Receives != 3 {
		t.Errorf("dead letters %+v", dead)
	}
	if got := r.do("ask", ask); !strings.HasPrefix(got, `{"total":2,`) {
		t.Error(got)
	}
	if got := r.do("ask", "{}"); !strings.Contains(got, "VALIDATION_ERROR") {
		t.Error(got)
	}
	// It is stopped with messages in the queue.
	for range 20 {
		r.do("send", body)
	}
	r.stop()

	r = develop(t, table, data)
	check.Equal(t, "dead letters", r.settled().Dead, dead, cmpopts.IgnoreUnexported(queue.Message{}))
	if got := r.do("ask", ask); !strings.HasPrefix(got, `{"total":42,`) {
		t.Error(got)
	}
	check.Equal(t, "replay", r.do("replay"), "{\"replayed\":1}\n")
	if again := r.settled().Dead; len(again) != 1 || again[0].ID == dead[0].ID {
		t.Errorf("dead letters %+v", again)
	}
	r.stop()
	if !strings.Contains(r.log.String(), `"msg":"message returned"`) {
		t.Error(r.log)
	}
}

func TestWebPagesAndOtherMachinesAreRefused(t *testing.T) {
	t.Parallel()
	if err := (developer{addr: "0.0.0.0:0"}).run(t.Context()); err == nil {
		t.Error("it listens to other machines")
	}
	r := develop(t, programtest.Table(t, "Usage"), "")
	defer r.stop()
	for _, tt := range []struct{ host, kind string }{{"evil.example:80", "application/json"}, {r.addr, "text/plain"}} {
		request := check.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.addr+"/send", strings.NewReader("{}")))(t)
		request.Host = tt.host
		request.Header.Set("Content-Type", tt.kind)
		response := check.Must(http.DefaultClient.Do(request))(t)
		check.OK(t, response.Body.Close())
		check.Equal(t, tt.host+" "+tt.kind, response.StatusCode, http.StatusForbidden)
	}
	check.Equal(t, "queue", r.do("queue"), `{"visible":0,"inFlight":0,"dead":[]}`+"\n")
}
