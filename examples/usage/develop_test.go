package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/usage/queue"
)

// running is a program that runs with -dev.
type running struct {
	t        *testing.T
	addr     string
	out, log *check.Log
	// stop stops it as Ctrl-C does.
	stop func()
}

func begin(t *testing.T, table, data string) running {
	t.Helper()
	return start(t, 10*time.Millisecond, nil, table, data)
}

// start starts the program with an environment.
func start(t *testing.T, visibility time.Duration, environment map[string]string, table, data string) running {
	t.Helper()
	r := running{t: t, out: &check.Log{}, log: &check.Log{}}
	run := program.Run{Addr: "127.0.0.1:0", Table: table, Data: data, Stdout: r.out, Stderr: r.log}
	d := check.Must(newDeveloper(run, func(name string) string { return environment[name] }))(t)
	d.visibility = visibility
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	say := d.ready
	d.ready = func(addr string) {
		say(addr)
		ready <- addr
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
	check.OK(r.t, service.Run(r.t.Context(), append([]string{args[0], "-addr", r.addr}, args[1:]...), &out, &out))
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
	r := begin(t, table, data)
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

	r = begin(t, table, data)
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

// counted is a function that counts every message, and is the last one to be invoked.
type counted struct{ stop func() }

func (c counted) Invoke(context.Context, []byte) ([]byte, error) {
	c.stop()
	return []byte(`{"batchItemFailures":[]}`), nil
}

// A counted message that a killed program leaves in the file is received again at the
// next start, which can be after its record has expired.
func TestACountedMessageIsNotInTheFile(t *testing.T) {
	t.Parallel()
	o := queue.Options{Visibility: time.Minute, MaxReceives: 3, File: filepath.Join(t.TempDir(), "queue.json")}
	messages := check.Must(queue.Open(o))(t)
	messages.Send("a", "b")
	check.OK(t, messages.Save())
	ctx, cancel := context.WithCancel(t.Context())
	consume(ctx, messages, counted{cancel})
	check.Equal(t, "contents", check.Must(queue.Open(o))(t).Contents(), queue.Contents{Dead: []queue.Message{}})
}

func TestTextThatIsNotJSONIsRefused(t *testing.T) {
	t.Parallel()
	r := begin(t, programtest.Table(t, "Usage"), "")
	defer r.stop()
	for _, command := range []string{"send", "ask"} {
		err := service.Run(t.Context(), []string{command, "-addr", r.addr, "{\n  secret"}, io.Discard, io.Discard)
		check.Equal(t, command, fmt.Sprint(err), "400 Bad Request: metering: not valid: invalid: it is not JSON in UTF-8: see line 2, column 3")
	}
	check.Equal(t, "queue", r.do("queue"), `{"visible":0,"inFlight":0,"dead":[]}`+"\n")
}

func TestWebPagesAndOtherMachinesAreRefused(t *testing.T) {
	t.Parallel()
	if err := (developer{Run: program.Run{Addr: "0.0.0.0:0"}}).run(t.Context()); err == nil {
		t.Error("it listens to other machines")
	}
	r := begin(t, programtest.Table(t, "Usage"), "")
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

func TestTheEnvironmentIsReadAsByTheFunctions(t *testing.T) {
	t.Parallel()
	r := start(t, 10*time.Millisecond, map[string]string{"LOG_LEVEL": "error", "TTL_DAYS": "20", "MAX_DATE_RANGE_DAYS": "10"}, programtest.Table(t, "Usage"), "")
	defer r.stop()
	r.do("send", `{"schemaVersion":2}`)
	at := time.Now().UTC().AddDate(0, 0, -30).Format("2006-01-02T15")
	r.do("send", `{"workspaceId":"acme","metricId":"exports","count":2,"date":"`+at+`"}`)
	r.settled()
	for text, logged := range map[string]bool{"message returned": false, "longer ago than counters are kept": true} {
		if strings.Contains(r.log.String(), text) != logged {
			t.Errorf("%q is in the log: %t, want %t\n%s", text, !logged, logged, r.log)
		}
	}
	if got := r.do("ask", `{"workspaceId":"acme","metricId":"exports","fromDate":"2026-01-01T00","toDate":"2026-01-11T01"}`); !strings.Contains(got, "more than 10 days") {
		t.Error(got)
	}
}

//go:generate go test . -run ^TestTheREADMEShowsASession$ -update

// changing is what differs from run to run: times, ids, and the directory.
var changing = regexp.MustCompile(`"(time|messageId|id|requestId)":"[^"]*"`)

func TestTheREADMEShowsASession(t *testing.T) {
	t.Parallel()
	// Nothing is delivered again while it is counted, also on a busy machine.
	r := start(t, time.Second/2, nil, programtest.Table(t, "Usage"), t.TempDir())
	var second strings.Builder
	do := func(args ...string) {
		line := "$ go run . " + args[0]
		for _, arg := range args[1:] {
			line += " '" + arg + "'"
		}
		fmt.Fprintf(&second, "%s\n%s", line, r.do(args...))
		r.settled()
	}
	do("send", `{"workspaceId":"acme","userId":"ana","metricId":"exports","count":2,"date":"2026-01-15T14"}`)
	do("ask", `{"workspaceId":"acme","metricId":"exports","fromDate":"2026-01-15T00","toDate":"2026-01-15T23"}`)
	do("send", `{"schemaVersion":2}`)
	do("queue")
	do("replay")
	r.stop()
	first := "$ go run . -dev -data /tmp/usage\n" + strings.Replace(r.out.String(), r.addr, program.Addr, 1) + r.log.String() + "^C\n"
	text := "```console\n" + first + "```\n\nand in the other terminal:\n\n```console\n" + second.String() + "```\n"
	lines := strings.Split(changing.ReplaceAllString(text, `"$1":"…"`), "\n")
	generated.Part(t, "README.md", "session", strings.Join(slices.Compact(lines), "\n"))
}
