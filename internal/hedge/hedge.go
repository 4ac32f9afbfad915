// Package hedge is what stands between the SDK and HTTP: requests that are late are sent
// a second time, and a caller that outgrows the SDK's pool of connections gets a larger
// one. It knows requests and responses, and nothing of what is in them.
package hedge

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/singletable/singletable/internal/group"
)

// Budget decides which requests are sent a second time: those that are late, if there is
// a token.
//
// Twenty requests that succeed earn a token. A hedge costs one, and so does a
// request that fails. So hedges are at most 5 % of the requests, and an outage
// ends them. At most ten tokens are kept for later. It is safe for concurrent use.
//
// Dean and Barroso: "The Tail at Scale", Communications of the ACM 56(2), 2013,
// for late requests. gRPC: proposal A6, "gRPC Retry Design", for tokens, and for no
// hedge of a request that was refused.
type Budget struct {
	mu        sync.Mutex
	latencies map[string]*latencies // by operation
	parts     int                   // of tokens
}

const (
	// partsOfToken is the number of requests that earn a token.
	partsOfToken = 20
	maxTokens    = 10
)

// New returns a budget for requests of these operations. All others are sent once.
func New(operations ...string) *Budget {
	b := &Budget{latencies: make(map[string]*latencies, len(operations))}
	for _, operation := range operations {
		b.latencies[operation] = &latencies{}
	}
	return b
}

// Call is what one call, of one attempt or more, tells of itself, and is told. It is
// used by one call at a time.
type Call struct {
	Operation string
	// MaxResponse is the greatest size of a response, in bytes.
	MaxResponse int64
	// Failed reports whether something in the call failed already. Then its attempts
	// are sent once.
	Failed func() bool
	// Sent are the second requests of all attempts, and Won those that won. A call has few
	// attempts, and each one hedge at most.
	Sent, Won uint16
}

// Client returns the HTTP client for the attempts of a call. It works below the SDK,
// which gets one response for each attempt, as always.
func (b *Budget) Client(next aws.HTTPClient, call *Call) aws.HTTPClient {
	if b.latencies[call.Operation] == nil || next == nil {
		return next
	}
	return &client{b, call, next}
}

// late returns the time after which a request is late, false if that is not known.
func (b *Budget) late(operation string) (time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.latencies[operation].late()
}

// allow takes the token of a hedge. It returns false if none is left.
func (b *Budget) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	//mutants:guard a hedge costs a token | TestHedge ./table
	if b.parts < partsOfToken {
		return false
	}
	b.parts -= partsOfToken
	return true
}

func (b *Budget) succeeded(operation string, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latencies[operation].add(after)
	b.parts = min(b.parts+1, maxTokens*partsOfToken)
}

func (b *Budget) failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts = max(b.parts-partsOfToken, 0)
}

// client is the HTTP client of one call.
type client struct {
	*Budget
	call *Call
	next aws.HTTPClient
}

// result is what came of a request.
type result struct {
	response *http.Response
	err      error
	hedge    bool
	// success means a response in full, with a status of success.
	success bool
	// unwound means that the HTTP client has panicked, or ended its goroutine.
	unwound bool
}

// Do sends a request, and once more if it is late. It returns the first success,
// or else what came of the first request. No request is in flight when it returns.
// If the HTTP client panics, so does Do: only its own goroutine is one that the
// caller can recover in.
func (c *client) Do(r *http.Request) (*http.Response, error) {
	body, err := takeBody(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	var sent group.Group
	results, inFlight := make(chan result, 2), 1
	defer func() {
		cancel()
		sent.Wait()
	}()
	send := func(ctx context.Context, hedge bool) {
		again := r.Clone(ctx)
		again.Body = io.NopCloser(bytes.NewReader(body))
		sent.Go(func() { c.deliver(again, hedge, results) })
	}
	first := connection{made: make(chan struct{}, 1)}
	start, late := time.Now(), c.timer()
	defer late.Stop()
	send(first.trace(ctx), false)
	var refused result
	for {
		select {
		case <-first.made:
			start = time.Now()
			late.restart()
		case <-late.C:
			if !first.awaited.Load() && c.allow() {
				late.off()
				c.call.Sent++
				inFlight++
				send(ctx, true)
			}
		case got := <-results:
			inFlight--
			if got.unwound {
				return nil, nil // to nobody: the group ends this goroutine
			}
			c.learn(ctx, got, time.Since(start))
			switch {
			case got.success:
				return got.response, got.err
			case !got.hedge:
				refused = got
			}
			if inFlight == 0 {
				return refused.response, refused.err
			}
		}
	}
}

// learn changes the budget by what came of a request. One that the caller has ended
// tells nothing.
func (c *client) learn(ctx context.Context, got result, after time.Duration) {
	switch {
	case got.success:
		c.succeeded(c.call.Operation, after)
		if got.hedge {
			c.call.Won++
		}
	case ctx.Err() == nil:
		c.failed()
	}
}

// connection tells when a request has its connection. The wait for a new one is
// no lateness: each hedge closes a connection, and would lead to the next hedge.
type connection struct {
	awaited atomic.Bool
	made    chan struct{}
}

// trace returns a context with which net/http reports the connection.
func (c *connection) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { c.awaited.Store(true) },
		GotConn: func(httptrace.GotConnInfo) {
			c.awaited.Store(false)
			select {
			case c.made <- struct{}{}:
			default:
			}
		},
	})
}

// timer fires when a request is late. It never does so in a call in which something
// failed already, as when it was throttled: the callers have their retries for that.
type timer struct {
	*time.Timer
	after time.Duration
}

func (c *client) timer() *timer {
	after, known := c.late(c.call.Operation)
	t := &timer{time.NewTimer(after), after}
	//mutants:guard a request that failed is not hedged | TestHedgeFates ./table | || c.call.Failed() =>
	if !known || c.call.Failed() {
		t.off()
	}
	return t
}

// restart lets the time begin again, unless the timer is off.
func (t *timer) restart() {
	if t.C != nil {
		t.Reset(t.after)
	}
}

func (t *timer) off() {
	t.Stop()
	t.C = nil
}

// deliver sends a request and delivers what came of it, also if the HTTP client panics.
func (c *client) deliver(r *http.Request, hedge bool, to chan<- result) {
	got := result{unwound: true}
	defer func() { to <- got }()
	got = c.receive(r, hedge)
}

// receive sends a request and reads its response, and one byte more than the greatest
// one has, for the SDK to see. What kept it from being read to its end, the SDK meets at
// the same place.
func (c *client) receive(r *http.Request, hedge bool) result {
	response, err := c.next.Do(r)
	if err != nil || response == nil {
		return result{response: response, err: err, hedge: hedge}
	}
	var body bytes.Buffer
	body.Grow(int(min(max(response.ContentLength, 0), maxBuffer)) + bytes.MinRead)
	_, err = body.ReadFrom(io.LimitReader(response.Body, c.call.MaxResponse+1))
	_ = response.Body.Close()
	response.Body = io.NopCloser(&body)
	if err != nil {
		response.Body = io.NopCloser(io.MultiReader(&body, cutOff{err}))
	}
	success := err == nil && int64(body.Len()) <= c.call.MaxResponse && response.StatusCode >= 200 && response.StatusCode < 300
	return result{response: response, hedge: hedge, success: success}
}

// maxBuffer bounds what is reserved for a response before it is read.
const maxBuffer = 1 << 20

// cutOff is the end of a body that cannot be read any further.
type cutOff struct{ error }

func (c cutOff) Read([]byte) (int, error) { return 0, c.error }

// takeBody reads and closes the body of a request, as an HTTP client must.
func takeBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	return body, err
}
