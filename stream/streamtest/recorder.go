package streamtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Recorder makes events of what a program writes, whatever it writes with: this library, the
// SDK, or both. [Recorder.Install] puts it under the program's client. The zero value is ready
// to use, and must not be copied after that. It is safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex
	reader *dynamodb.Client // without the Recorder; nil until Install
	now    *recording       // of the Event that runs; nil if none does
}

// recording has the changes during one Event. Requests that write wait for each other.
type recording struct {
	mu sync.Mutex
	changes
	err error // why a request is not among these
}

var errNotInstalled = errors.New("the Recorder is under no client: make the client of the table with Recorder.Install")

// Install makes the client's requests pass through the Recorder. It is an option of
// tabletest.Client and of the SDK's constructors. Of several options that change the HTTP
// client, as tabletest.Faults does, it is the first one: faults are then between the program
// and the Recorder, which sees what the engine has done.
func (r *Recorder) Install(o *dynamodb.Options) {
	reader := dynamodb.New(o.Copy())
	next := reader.Options().HTTPClient
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reader = reader
	o.HTTPClient = httpClient(func(req *http.Request) (*http.Response, error) { return r.do(next, req) })
}

type httpClient func(*http.Request) (*http.Response, error)

func (do httpClient) Do(req *http.Request) (*http.Response, error) { return do(req) }

// Event runs write and returns the event of what it has written to the table of t, as for
// [Transact]: a record for each item and request, in their order. It is the event of what was
// written, with the error of write, also if that fails half-way.
//
// The table of t has a client with the Recorder, or its writes are not seen. So they are if
// another goroutine makes them concurrently: run one Event at a time. Statements of PartiQL are an
// error, since they name no items.
func (r *Recorder) Event(t *table.Table, write func() error) (json.RawMessage, error) {
	return r.record(t, write, (*changes).event)
}

// Pipe is [Recorder.Event] in the form that EventBridge Pipes gives to a function.
//
// AWS: "Amazon DynamoDB stream as a source for EventBridge Pipes", Amazon EventBridge User Guide.
func (r *Recorder) Pipe(t *table.Table, write func() error) (json.RawMessage, error) {
	return r.record(t, write, (*changes).pipe)
}

// Kinesis is [Recorder.Event] as Lambda gives it to a function for the Kinesis data stream that the
// table streams to, with times in microseconds. Each record has a later time than the one before.
//
// AWS: "Kinesis Data Streams for DynamoDB", Amazon DynamoDB Developer Guide; "Using AWS Lambda to
// process records from Amazon Kinesis Data Streams", AWS Lambda Developer Guide.
func (r *Recorder) Kinesis(t *table.Table, write func() error) (json.RawMessage, error) {
	return r.record(t, write, (*changes).kinesis)
}

func (r *Recorder) record(t *table.Table, write func() error, form func(*changes) (json.RawMessage, error)) (json.RawMessage, error) {
	r.mu.Lock()
	reader := r.reader
	r.mu.Unlock()
	if reader == nil {
		return nil, errNotInstalled
	}
	reads, err := table.New(reader, t.Schema(), nil)
	if err != nil {
		return nil, err
	}
	rec := &recording{changes: changes{table: reads.IncludingExpired(), now: t.Now}}
	r.set(rec)
	err = write()
	r.set(nil)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	event, problem := form(&rec.changes)
	return event, errors.Join(err, rec.err, problem)
}

func (r *Recorder) set(rec *recording) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = rec
}

// do carries a request out, and records what it writes.
func (r *Recorder) do(next aws.HTTPClient, req *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	r.mu.Lock()
	rec := r.now
	r.mu.Unlock()
	if rec == nil || !writes(operation) {
		return next.Do(req)
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	ks, err := rec.written(operation, req)
	var response *http.Response
	var failed error
	done := false
	send := func() error {
		response, failed = next.Do(req) //nolint:bodyclose // it is the caller's
		done = true
		return nil
	}
	if err == nil && len(ks) > 0 {
		err = rec.record(req.Context(), ks, send)
	}
	if err != nil {
		rec.err = errors.Join(rec.err, fmt.Errorf("a request of %s is not in the event: %w", operation, err))
	}
	if !done {
		_ = send()
	}
	return response, failed
}

func writes(operation string) bool {
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems",
		"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction":
		return true
	}
	return false
}

// write is what a request does to an item.
type write struct {
	TableName string
	Key, Item json.RawMessage
}

// written returns the keys of the items that a request writes in the recorded table.
func (r *recording) written(operation string, req *http.Request) (ks []keys.Key, err error) {
	if strings.HasPrefix(operation, "Execute") || strings.HasPrefix(operation, "BatchExecute") {
		return nil, errors.New("it has statements of PartiQL")
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var sent struct {
		write
		TransactItems []map[string]write
		RequestItems  map[string][]map[string]write
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	all := []write{sent.write}
	for _, ops := range sent.TransactItems {
		for _, op := range ops {
			all = append(all, op)
		}
	}
	for name, requests := range sent.RequestItems {
		for _, ops := range requests {
			for _, op := range ops {
				op.TableName = name
				all = append(all, op)
			}
		}
	}
	spec := r.table.Schema()
	isKey := func(name []byte) bool { return string(name) == spec.PK || string(name) == spec.SK }
	for _, w := range all {
		if nameOf(w.TableName) != nameOf(spec.Name) {
			continue
		}
		image := w.Key
		if image == nil {
			image = w.Item
		}
		if key := r.table.KeyOf("", item.RawJSON(image).Attributes(isKey)); !slices.Contains(ks, key) {
			ks = append(ks, key)
		}
	}
	return ks, nil
}

// nameOf returns the name of a table, which its ARN ends with.
func nameOf(table string) string { return table[strings.LastIndex(table, "/")+1:] }
