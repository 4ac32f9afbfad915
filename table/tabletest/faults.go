package tabletest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Faults stands between the SDK's client and the engine, records each request,
// and breaks those it is told to. [Faults.Install] puts it under a client. The
// zero value is ready to use and lets everything pass; it must not be copied
// after that. It is safe for concurrent use.
//
// It sees what goes over the wire: a call that the SDK tries four times, as it does
// by default, is four requests, and a fault that is to outlast the SDK's retries has
// to be there four times, or always.
type Faults struct {
	// Base carries requests out when Faults is itself used as the Transport of
	// an http.Client. Nil means http.DefaultTransport. Under a client that it is
	// installed in, that client's own transport does.
	Base http.RoundTripper

	mu       sync.Mutex
	next     map[string][]Fault
	always   map[string]Fault
	requests []Request
	inFlight int
	peak     int
}

// Request is one request as the client has sent it.
type Request struct {
	// Operation is the DynamoDB operation, such as PutItem.
	Operation string
	// Body is the request's JSON.
	Body json.RawMessage
}

// Install makes the client's requests pass through f. It is an option of
// [Client], [Engine.Client] and the SDK's own constructors.
func (f *Faults) Install(o *dynamodb.Options) {
	var base http.RoundTripper
	if inner := o.HTTPClient; inner != nil {
		base = roundTripper(inner.Do)
	}
	o.HTTPClient = &http.Client{
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) { return f.roundTrip(base, r) }),
		// As the SDK's own client does.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Next lines faults up for the coming requests of an operation, one each, after
// those that are there already. A nil Fault lets its request pass. When the line
// is empty, requests pass again, or meet the fault of [Faults.Always].
//
// The empty operation is any operation on items; operations on tables, such as
// CreateTable, must be named. Faults of a named operation come before these.
func (f *Faults) Next(operation string, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = make(map[string][]Fault)
	}
	f.next[operation] = append(f.next[operation], faults...)
}

// Always sets the fault that every request of an operation meets that has none
// by [Faults.Next]. Nil removes it. The empty operation is as there.
func (f *Faults) Always(operation string, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.always == nil {
		f.always = make(map[string]Fault)
	}
	f.always[operation] = fault
}

// Requests returns the requests so far in the order in which they were sent,
// also those that a fault has kept from the engine. With operations, it returns
// the requests of these only.
func (f *Faults) Requests(operations ...string) []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Request
	for _, r := range f.requests {
		if len(operations) == 0 || slices.Contains(operations, r.Operation) {
			out = append(out, r)
		}
	}
	return out
}

// Transcript returns requests as text to compare with a golden file: each as
// indented JSON under its operation, members in alphabetical order. The
// ClientRequestToken of a transaction, which is new each time, is written TOKEN.
// What else differs from run to run, such as the table's name, is for the replacer; nil
// replaces nothing. Concurrent requests are in any order.
func Transcript(requests []Request, replacer *strings.Replacer) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	for _, r := range requests {
		body := decoded(r.Body)
		if members, ok := body.(map[string]any); ok && members["ClientRequestToken"] != nil {
			members["ClientRequestToken"] = "TOKEN"
		}
		// Anything that JSON was decoded to can be encoded.
		_ = enc.Encode(map[string]any{r.Operation: body})
	}
	if replacer == nil {
		return b.String()
	}
	return replacer.Replace(b.String())
}

// MaxInFlight returns the largest number of requests that were in flight at the
// same time.
func (f *Faults) MaxInFlight() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peak
}

// RoundTrip implements [http.RoundTripper].
func (f *Faults) RoundTrip(r *http.Request) (*http.Response, error) { return f.roundTrip(f.Base, r) }

func (f *Faults) roundTrip(base http.RoundTripper, r *http.Request) (*http.Response, error) {
	base = cmp.Or(base, http.DefaultTransport)
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	fault := f.begin(Request{Operation: operationName(r), Body: body})
	defer f.end()
	r = withBody(r, body)
	var resp *http.Response
	if fault == nil {
		resp, err = base.RoundTrip(r)
	} else {
		resp, err = fault(r, base)
	}
	if err != nil {
		return nil, err
	}
	// Reading the body here ends the request while it still counts as in
	// flight, and leaves its connection free for the next.
	return buffer(resp), nil
}

// begin records the request and takes its fault out of the line.
func (f *Faults) begin(r Request) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r)
	f.inFlight++
	f.peak = max(f.peak, f.inFlight)

	names := []string{r.Operation}
	if onItems(r.Operation) {
		names = append(names, "")
	}
	for _, name := range names {
		if line := f.next[name]; len(line) > 0 {
			f.next[name] = line[1:]
			return line[0]
		}
	}
	for _, name := range names {
		if fault := f.always[name]; fault != nil {
			return fault
		}
	}
	return nil
}

func (f *Faults) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight--
}

// onItems reports whether the operation is one on items.
func onItems(operation string) bool {
	switch operation {
	case "GetItem", "PutItem", "UpdateItem", "DeleteItem",
		"BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems",
		"Query", "Scan", "SearchVectors", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction":
		return true
	default:
		return false
	}
}

// operationName returns the operation of a request: its X-Amz-Target is
// DynamoDB_20120810.PutItem.
func operationName(r *http.Request) string {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return name
}

// roundTripper is a function as an [http.RoundTripper] and an [aws.HTTPClient].
type roundTripper func(*http.Request) (*http.Response, error)

// Do calls f.
func (f roundTripper) Do(r *http.Request) (*http.Response, error) { return f(r) }

// RoundTrip calls f.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// readBody reads and closes the request's body, as a RoundTripper must.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("tabletest: read the request: %w", err)
	}
	return body, nil
}

// withBody returns a copy of the request with a body that can be read again.
func withBody(r *http.Request, body []byte) *http.Request {
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.ContentLength = int64(len(body))
	return r
}

// buffer reads the response's body into memory. What kept it from being read to
// its end, the caller meets at the same place.
func buffer(resp *http.Response) *http.Response {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	var rest io.Reader = bytes.NewReader(body)
	if err != nil {
		rest = io.MultiReader(rest, failingReader{err})
	}
	resp.Body = io.NopCloser(rest)
	return resp
}

// failingReader is the end of a body that cannot be read any further.
type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }
