package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/usage/lambda"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/examples/usage/queue"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

const (
	// maxMessage is the most that SQS takes, in bytes.
	maxMessage = 1 << 20
	batchSize  = 10
	// functionTime is the time of an invocation.
	functionTime = 30 * time.Second
)

// developer is the two functions behind a local queue and HTTP. Everybody on this
// machine can reach it, and nobody else.
type developer struct {
	program.Run
	visibility time.Duration
	settings   lambda.Settings
	// ready is told the address.
	ready func(addr string)
}

// newDeveloper returns what runs with -dev. It has the settings of the functions.
func newDeveloper(r program.Run, getenv func(string) string) (developer, error) {
	settings, err := lambda.ReadSettings(getenv)
	return developer{
		Run: r, visibility: 5 * time.Second, settings: settings,
		ready: func(addr string) { fmt.Fprintf(r.Stdout, "listening on %s; Ctrl-C stops\n", addr) },
	}, err
}

// run serves until the context ends. Then it finishes requests and batches in
// flight, and saves the queue.
func (d developer) run(ctx context.Context) (err error) {
	if err := httpapi.CheckLocal(d.Addr, ""); err != nil {
		return err
	}
	o := queue.Options{Visibility: d.visibility, MaxReceives: 3}
	var path string
	if d.Data != "" {
		if err := os.MkdirAll(d.Data, 0o700); err != nil {
			return err
		}
		// The system closes it with the program, also one that is killed.
		lock, err := openAlone(filepath.Join(d.Data, "lock"))
		if err != nil {
			return fmt.Errorf("-data: %w", err)
		}
		defer lock.Close()
		path, o.File = filepath.Join(d.Data, "table.db"), filepath.Join(d.Data, "queue.json")
	}
	messages, err := queue.Open(o)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, messages.Save()) }()
	return program.WithEngine(ctx, path, func(engine *tabletest.Engine) error {
		count, query, err := d.functions(ctx, engine)
		if err != nil {
			return err
		}
		var workers sync.WaitGroup
		defer workers.Wait()
		ctx, stop := context.WithCancel(ctx)
		defer stop() // before the wait
		for range 2 {
			workers.Go(func() { consume(ctx, messages, count) })
		}
		return httpapi.Serve(ctx, d.Addr, handler(messages, query), slog.New(slog.DiscardHandler), func(url string) {
			d.ready(strings.TrimPrefix(url, "http://"))
		})
	})
}

// functions returns the two functions on a table that is created if it is missing.
func (d developer) functions(ctx context.Context, engine *tabletest.Engine) (count, query awslambda.Handler, err error) {
	spec := metering.Schema(d.Table)
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		return nil, nil, err
	}
	tbl, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		return nil, nil, err
	}
	return d.settings.Functions(tbl, lambda.NewLog(d.Stderr, d.settings.Level))
}

// invoke invokes a function as Lambda does. What has begun is finished, also if the
// context ends.
func invoke(ctx context.Context, f awslambda.Handler, event []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), functionTime)
	defer cancel()
	return f.Invoke(lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: rand.Text()}), event)
}

// consume gives batches of messages to the function until the context ends, and
// deletes those that are done. A failed invocation deletes none.
func consume(ctx context.Context, messages *queue.Queue, count awslambda.Handler) {
	for ctx.Err() == nil {
		var e events.SQSEvent
		left := map[string]bool{}
		for _, m := range messages.Receive(ctx, batchSize) {
			left[m.ID] = true
			e.Records = append(e.Records, events.SQSMessage{MessageId: m.ID, Body: m.Body, EventSource: "aws:sqs"})
		}
		if len(e.Records) == 0 {
			continue
		}
		event, _ := json.Marshal(e) // of strings it does not fail
		response, err := invoke(ctx, count, event)
		var failed events.SQSEventResponse
		if err != nil || json.Unmarshal(response, &failed) != nil {
			continue // which the function has logged
		}
		for _, f := range failed.BatchItemFailures {
			delete(left, f.ItemIdentifier)
		}
		messages.Delete(slices.Collect(maps.Keys(left))...)
		// What stays in the file is delivered again after a kill, and is known as
		// counted for some days only. A file that cannot be written is reported at
		// the end.
		_ = messages.Save()
	}
}

// handler serves what the commands send, ask, queue and replay ask for.
func handler(messages *queue.Queue, query awslambda.Handler) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, check func(body []byte) error, serve func(ctx context.Context, body []byte) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
			if err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			if err := check(body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			response, err := serve(r.Context(), body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(response) // the client has gone
		})
	}
	handle("POST /send", metering.CheckJSON, func(_ context.Context, body []byte) (any, error) {
		ids := messages.Send(string(body))
		return map[string]string{"messageId": ids[0]}, messages.Save()
	})
	handle("POST /ask", metering.CheckJSON, func(ctx context.Context, body []byte) (any, error) {
		response, err := invoke(ctx, query, body)
		return json.RawMessage(response), err
	})
	free := func([]byte) error { return nil }
	handle("GET /queue", free, func(context.Context, []byte) (any, error) { return messages.Contents(), nil })
	handle("POST /replay", free, func(context.Context, []byte) (any, error) {
		n, err := messages.Replay()
		return map[string]int{"replayed": n}, err
	})
	return local(mux)
}

// local refuses what a web page in a browser on this machine can send: requests by
// another host name, which resolves to this machine, and those that a page may make
// without being asked about them first.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if !httpapi.IsLoopback(r.Host) || r.Method == http.MethodPost && kind != "application/json" {
			http.Error(w, "for programs of this machine: by the address that was printed, and application/json", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// request sends a request of a command and writes the response.
func request(ctx context.Context, addr, command string, body []byte, out io.Writer) error {
	method := http.MethodPost
	if command == "queue" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+addr+"/"+command, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("%w: does a program run with -dev?", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, bytes.TrimSpace(text))
	}
	_, err = out.Write(text)
	return err
}
