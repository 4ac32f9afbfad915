package lambdatest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program/programtest"
)

// timeout is the time of an invocation.
const timeout = time.Minute

// Function is a process of a function, and the Lambda Runtime API for it.
type Function struct {
	handler string
	log     *os.File // what the process has written since the last look
	unread  string   // the beginning of a line of the log
	events  chan invocation
	posted  chan post
	ended   chan struct{}
	status  error // of the process that has ended
	invoked int
}

type invocation struct {
	id    string
	event json.RawMessage
}

// post is a request to the Lambda Runtime API that ends an invocation, or the start.
type post struct {
	path string
	body json.RawMessage
}

// Line is a line of the log.
type Line struct {
	Level, Msg, Service, RequestID string
	Error                          any
	// Text is the line itself.
	Text string `json:"-"`
}

// Outcome is what became of an invocation.
type Outcome struct {
	RequestID string
	// Response is the response, nil for an error.
	Response json.RawMessage
	// Error is the message of the error.
	Error string
	// Lines are those that were logged.
	Lines []Line
}

// Start starts the process of a function, which ends with the test.
func (s *Stack) Start(t *testing.T, handler string) *Function {
	t.Helper()
	return s.start(t, handler, nil)
}

func (s *Stack) start(t *testing.T, handler string, replaced map[string]string) *Function {
	t.Helper()
	f := &Function{handler: handler, events: make(chan invocation), posted: make(chan post, 1), ended: make(chan struct{})}
	written := check.Must(os.Create(filepath.Join(t.TempDir(), "log")))(t)
	defer written.Close()
	f.log = check.Must(os.Open(written.Name()))(t)
	api := httptest.NewServer(f.api())
	cmd := programtest.Command(t.Context())
	for name, value := range s.environment(t, handler, replaced) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"))
	cmd.Stdout, cmd.Stderr = written, written // files, which have a line once it is written
	check.OK(t, cmd.Start())
	go func() {
		f.status = cmd.Wait()
		close(f.ended)
	}()
	t.Cleanup(func() { // the context of the test has ended, and with it the process
		<-f.ended
		api.Close()
		f.log.Close()
	})
	return f
}

// api is the Lambda Runtime API.
// AWS: "Using the Lambda runtime API for custom runtimes", AWS Lambda Developer Guide.
func (f *Function) api() http.Handler {
	const runtime = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+runtime+"invocation/next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case i := <-f.events:
			for name, value := range map[string]string{
				"Content-Type":                        "application/json",
				"Lambda-Runtime-Aws-Request-Id":       i.id,
				"Lambda-Runtime-Deadline-Ms":          strconv.FormatInt(time.Now().Add(timeout).UnixMilli(), 10),
				"Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:123456789012:function:" + f.handler,
				"Lambda-Runtime-Trace-Id":             "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=1",
			} {
				w.Header().Set(name, value)
			}
			_, _ = w.Write(i.event) // a process that has ended is noticed
		case <-r.Context().Done():
		}
	})
	end := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the process has ended
		}
		f.posted <- post{strings.TrimPrefix(r.URL.Path, runtime), body}
		w.WriteHeader(http.StatusAccepted)
	}
	mux.HandleFunc("POST "+runtime+"invocation/{id}/response", end)
	mux.HandleFunc("POST "+runtime+"invocation/{id}/error", end)
	mux.HandleFunc("POST "+runtime+"init/error", end)
	return mux
}

// Invoke gives an event to the function.
func (f *Function) Invoke(t *testing.T, event json.RawMessage) Outcome {
	t.Helper()
	f.invoked++
	o := Outcome{RequestID: fmt.Sprintf("8476a536-e9f4-11e8-9739-%012d", f.invoked)}
	select {
	case f.events <- invocation{o.RequestID, event}:
	case <-f.ended:
		t.Fatalf("%s has ended: %v\n%v", f.handler, f.status, f.lines(t))
	}
	var outcome post
	select {
	case outcome = <-f.posted:
	case <-f.ended:
		if len(f.posted) == 0 {
			t.Fatalf("%s ends during an invocation: %v\n%v", f.handler, f.status, f.lines(t))
		}
		outcome = <-f.posted
	}
	o.Lines = f.lines(t)
	switch outcome.path {
	case "invocation/" + o.RequestID + "/response":
		o.Response = outcome.body
	case "invocation/" + o.RequestID + "/error":
		var e struct{ ErrorMessage, ErrorType string }
		if err := json.Unmarshal(outcome.body, &e); err != nil || e.ErrorMessage == "" || e.ErrorType == "" {
			t.Fatalf("%s: the error %s: %v", f.handler, outcome.body, err)
		}
		o.Error = e.ErrorMessage
	default:
		t.Fatalf("%s: the invocation %s ends with a request of %s", f.handler, o.RequestID, outcome.path)
	}
	return o
}

// Fails gives an event to the function, which must fail for a reason that the error and the
// one line of the log tell.
func (f *Function) Fails(t *testing.T, event json.RawMessage, reason string) {
	t.Helper()
	o := f.Invoke(t, event)
	if o.Response != nil || !strings.Contains(o.Error, reason) {
		t.Errorf("%s: response %s, error %q, want one with %q", f.handler, o.Response, o.Error, reason)
	}
	l := o.Line(t)
	check.Equal(t, f.handler+": the log", []string{l.Level, l.Msg, l.RequestID}, []string{"ERROR", "invocation failed", o.RequestID})
	if !strings.Contains(fmt.Sprint(l.Error), reason) {
		t.Errorf("%s: the log has no %q: %s", f.handler, reason, l.Text)
	}
}

// Line returns the line that was logged. There must be one.
func (o Outcome) Line(t *testing.T) Line {
	t.Helper()
	if len(o.Lines) != 1 {
		t.Fatalf("%d lines, want one: %v", len(o.Lines), o.Lines)
	}
	return o.Lines[0]
}

// Ends waits until the process has ended, with status 1, and returns what it has logged
// since the last invocation.
func (f *Function) Ends(t *testing.T) []Line {
	t.Helper()
	<-f.ended
	if f.status == nil || f.status.Error() != "exit status 1" {
		t.Fatalf("%s has ended: %v\n%v", f.handler, f.status, f.lines(t))
	}
	return f.lines(t)
}

// StartFails starts the process of a function with some variables replaced. It must exit
// with status 1 and ask for no event. The result is the last line of its log, the only one
// that is no warning.
func (s *Stack) StartFails(t *testing.T, handler string, replaced map[string]string) Line {
	t.Helper()
	f := s.start(t, handler, replaced)
	select {
	case f.events <- invocation{event: json.RawMessage("{}")}:
		t.Fatalf("%s starts with %v", handler, replaced)
	case outcome := <-f.posted:
		t.Fatalf("%s posts %s: %s", handler, outcome.path, outcome.body)
	case <-f.ended:
	}
	l := Outcome{Lines: slices.DeleteFunc(f.Ends(t), func(l Line) bool { return l.Level == "WARN" })}.Line(t)
	check.Equal(t, handler+": the log", []string{l.Level, l.Msg, l.RequestID}, []string{"ERROR", "the function does not start", ""})
	return l
}

// lines returns the further lines of the log that are whole: the process may be writing.
// Each must be JSON with the service and a request id.
func (f *Function) lines(t *testing.T) (lines []Line) {
	t.Helper()
	f.unread += string(check.Must(io.ReadAll(f.log))(t))
	whole := strings.LastIndex(f.unread, "\n") + 1
	text := f.unread[:whole]
	f.unread = f.unread[whole:]
	for text := range strings.Lines(text) {
		l := Line{Text: strings.TrimSpace(text)}
		if err := json.Unmarshal([]byte(text), &l); err != nil || l.Service == "" || strings.Count(text, `"requestId":"`) != 1 {
			t.Errorf("%s: the log has the line %s", f.handler, text)
		}
		lines = append(lines, l)
	}
	return lines
}
