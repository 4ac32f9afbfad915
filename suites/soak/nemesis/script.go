package nemesis

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/singletable/singletable/suites/internal/warm"
	"github.com/singletable/singletable/table/tabletest"
)

// Script does to the requests of one operation, one after the other, what it was
// told when the operation began. It is safe for concurrent use by the requests
// of one operation; operations come one after the other.
type Script struct {
	// Count is called for every fault that was injected.
	Count func(Fault)

	mu   sync.Mutex
	line []Fault
	met  []Fault
	sent Sent
	end  context.CancelFunc
	// done are the tokens of the transactions that were executed.
	done   map[string]bool
	flying sync.WaitGroup
}

// Sent counts the requests of an operation.
type Sent struct {
	// Requests is how many there were, Again how many of them the SDK has sent
	// a second or third time, and Replayed how many were sent without its client.
	Requests, Again, Replayed int
}

// Begin sets what happens to the coming requests. It returns the context of the
// operation, which the script may end.
func (s *Script) Begin(ctx context.Context, line []Fault) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line, s.met, s.sent, s.done = line, nil, Sent{}, map[string]bool{}
	ctx, s.end = context.WithCancel(ctx)
	return ctx
}

// End ends the operation. It waits for requests that the operation has left
// behind, so that later reads see the final state. It returns the faults that
// were met and how many requests there were. What is left of the script is
// forgotten.
func (s *Script) End() (met []Fault, sent Sent) {
	s.flying.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end()
	}
	s.line, s.end = nil, nil
	return s.met, s.sent
}

// RoundTrip is the script as a fault that every request is to meet.
func (s *Script) RoundTrip(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	q := read(r)
	carry := carrier(func(r *http.Request) (*http.Response, error) { return s.carry(q, r, next) })
	fault, end := s.take(q)
	return s.fault(fault, q, end)(r, carry)
}

// request is what a script knows of a request.
type request struct {
	operation string
	token     string
	items     int // of a transaction
	again     bool
	replayed  bool
}

func read(r *http.Request) request {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	attempt := r.Header.Get("Amz-Sdk-Request")
	q := request{operation: operation, again: attempt != "" && !strings.HasPrefix(attempt, "attempt=1;"), replayed: warm.Replayed(r)}
	if !strings.HasPrefix(operation, "Transact") || r.GetBody == nil {
		return q
	}
	body, err := r.GetBody()
	if err != nil {
		return q
	}
	defer func() { _ = body.Close() }()
	var in struct {
		ClientRequestToken string
		TransactItems      []json.RawMessage
	}
	if json.NewDecoder(body).Decode(&in) == nil {
		q.token, q.items = in.ClientRequestToken, len(in.TransactItems)
	}
	return q
}

// take takes the next fault out of the script. One that cannot befall the
// request becomes its like, or lets it pass.
func (s *Script) take(q request) (Fault, context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent.Requests++
	if q.again {
		s.sent.Again++
	}
	if q.replayed {
		s.sent.Replayed++
	}
	if len(s.line) == 0 {
		return Pass, s.end
	}
	fault := s.line[0]
	s.line = s.line[1:]
	// DynamoDB does not refuse what the token shows to be executed already. AWS:
	// TransactWriteItems, Amazon DynamoDB API Reference.
	committed := q.token != "" && s.done[q.token]
	batch := strings.HasPrefix(q.operation, "Batch")
	switch {
	case batch && (fault == ReasonThrottled || fault == Conflict || fault == InProgress):
		fault = Unprocessed
	case fault == ReasonThrottled && q.items == 0:
		fault = Throttled
	}
	single := q.operation == "PutItem" || q.operation == "UpdateItem" || q.operation == "DeleteItem"
	switch {
	case fault == Conflict && (q.items == 0 && !single || committed),
		fault == ReasonThrottled && committed,
		fault == InProgress && (q.operation != "TransactWriteItems" || committed),
		fault == Unprocessed && !batch:
		fault = Pass
	}
	if fault != Pass {
		s.met = append(s.met, fault)
		if s.Count != nil {
			s.Count(fault)
		}
	}
	return fault, s.end
}

const (
	slowness = 2 * time.Millisecond
	// The context ends while the request is somewhere: at the engine, on its way
	// back, or back already.
	flight = 300 * time.Microsecond
)

// Plain returns the faults that know nothing of the request or of its operation.
func Plain() map[Fault]tabletest.Fault {
	internal := tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")
	return map[Fault]tabletest.Fault{
		Reset:        tabletest.DropRequest(),
		LostResponse: tabletest.DropResponse(),
		ErrorBefore:  internal,
		ErrorAfter:   tabletest.After(internal),
		Throttled:    tabletest.Throttle(),
		Truncated:    tabletest.Truncate(),
		Corrupted:    tabletest.Corrupt(),
	}
}

func (s *Script) fault(fault Fault, q request, end context.CancelFunc) tabletest.Fault {
	if plain, ok := Plain()[fault]; ok {
		return plain
	}
	switch fault {
	case ReasonThrottled:
		return tabletest.CancelTransaction(reasons(q.items, "ThrottlingError")...)
	case Conflict:
		if q.items == 0 {
			return tabletest.Status(http.StatusBadRequest, "TransactionConflictException", "Injected.")
		}
		return tabletest.CancelTransaction(reasons(q.items, "TransactionConflict")...)
	case InProgress:
		return tabletest.Status(http.StatusBadRequest, "TransactionInProgressException", "Injected.")
	case Unprocessed:
		return tabletest.Unprocessed(2)
	case Slow:
		return delayed(slowness)
	case CancelBefore:
		return ended(end, tabletest.Block(nil))
	case CancelAfter:
		return tabletest.After(ended(end, tabletest.Block(nil)))
	case CancelDuring:
		return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			timer := time.AfterFunc(flight, end)
			defer timer.Stop()
			return next.RoundTrip(r)
		}
	}
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) { return next.RoundTrip(r) }
}

// reasons are those of a transaction whose last operation was at fault.
func reasons(n int, code string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = "None"
	}
	all[n-1] = code
	return all
}

func delayed(d time.Duration) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		release := make(chan struct{})
		timer := time.AfterFunc(d, func() { close(release) })
		defer timer.Stop()
		return tabletest.Block(release)(r, next)
	}
}

func ended(end context.CancelFunc, then tabletest.Fault) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		end()
		return then(r, next)
	}
}

// carry executes a request whatever becomes of its context: a request whose
// sender is gone may be executed all the same, and the script must know when
// that is over.
func (s *Script) carry(q request, r *http.Request, next http.RoundTripper) (*http.Response, error) {
	type response struct {
		resp *http.Response
		err  error
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	responses := make(chan response, 1)
	s.flying.Go(func() {
		resp, err := next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
		if err == nil {
			err = buffer(resp)
		}
		if err == nil && q.token != "" && resp.StatusCode == http.StatusOK {
			s.mu.Lock()
			s.done[q.token] = true
			s.mu.Unlock()
		}
		responses <- response{resp, err}
	})
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case a := <-responses:
		return a.resp, a.err
	}
}

// buffer reads the response into memory, which frees its connection.
func buffer(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return err
}

// carrier is a function as an [http.RoundTripper].
type carrier func(*http.Request) (*http.Response, error)

// RoundTrip calls c.
func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }
