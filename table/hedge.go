package table

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// hedging decides which reads of a Table are sent a second time: those that are
// later than 97 % of the recent ones of their operation, and than one and a half
// times their median, if there is a token.
//
// Twenty reads that succeed earn a token. A hedge costs one, and so does a
// request that fails. So hedges are at most 5 % of the requests, and an outage
// ends them. At most ten tokens are kept for later. It is safe for concurrent use.
//
// Dean and Barroso: "The Tail at Scale", Communications of the ACM 56(2), 2013,
// for late requests. gRPC: proposal A6, "gRPC Retry Design", for tokens, and for no
// hedge of a request that was refused.
type hedging struct {
	mu        sync.Mutex
	latencies map[string]*latencies // by operation
	parts     int                   // of tokens
}

const (
	// partsOfToken is the number of reads that earn a token.
	partsOfToken = 20
	maxTokens    = 10
)

// newHedging returns nil if hedging is off. A scan is never hedged: it reads
// pages of 1 MB, and nobody waits for a single one.
func newHedging(on bool) *hedging {
	if !on {
		return nil
	}
	return &hedging{latencies: map[string]*latencies{
		"GetItem": {}, "BatchGetItem": {}, "TransactGetItems": {}, "Query": {},
	}}
}

// install sets the HTTP client of a call of the SDK's client.
func (h *hedging) install(o *dynamodb.Options, r *request) {
	if h != nil && h.latencies[r.operation] != nil && o.HTTPClient != nil {
		o.HTTPClient = &hedgedClient{h, r, o.HTTPClient}
	}
}

// late returns the time after which a read is late, false if that is not known.
func (h *hedging) late(operation string) (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latencies[operation].late()
}

// allow takes the token of a hedge. It returns false if none is left.
func (h *hedging) allow() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.parts < partsOfToken {
		return false
	}
	h.parts -= partsOfToken
	return true
}

func (h *hedging) succeeded(operation string, after time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latencies[operation].add(after)
	h.parts = min(h.parts+1, maxTokens*partsOfToken)
}

func (h *hedging) failed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parts = max(h.parts-partsOfToken, 0)
}

// hedges counts the second requests of a call that were sent, and those that won.
// A call has few attempts, and each one hedge at most.
type hedges struct{ sent, won uint16 }

// hedgedClient is the HTTP client for the attempts of one read. It works below the
// SDK, which gets one response for each attempt, as always.
type hedgedClient struct {
	*hedging
	r    *request
	next dynamodb.HTTPClient
}

// result is what came of a request.
type result struct {
	response *http.Response
	err      error
	hedge    bool
	// success means a response in full, with a status of success.
	success bool
	// unwound means that the HTTP client has ended its goroutine: by a panic with
	// this value, or by [runtime.Goexit] if it is nil.
	unwound  bool
	panicked any
}

// Do sends a request, and once more if it is late. It returns the first success,
// or else what came of the first request. No request is in flight when it returns.
// If the HTTP client panics, so does Do: only its own goroutine is one that the
// caller can recover in.
func (c *hedgedClient) Do(r *http.Request) (*http.Response, error) {
	body, err := takeBody(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	results, inFlight := make(chan result, 2), 0
	defer func() {
		cancel()
		if inFlight > 0 { // one, since the other one is why Do returns
			(<-results).unwind()
		}
	}()
	send := func(ctx context.Context, hedge bool) {
		again := r.Clone(ctx)
		again.Body = io.NopCloser(bytes.NewReader(body))
		inFlight++
		go func() {
			got := result{unwound: true}
			defer func() {
				if got.unwound {
					got.panicked = recover()
				}
				results <- got
			}()
			got = c.receive(again, hedge)
		}()
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
				c.r.hedges.sent++
				send(ctx, true)
			}
		case got := <-results:
			inFlight--
			got.unwind()
			switch {
			case got.success:
				c.succeeded(c.r.operation, time.Since(start))
				if got.hedge {
					c.r.hedges.won++
				}
				return got.response, got.err
			case ctx.Err() == nil:
				c.failed()
			}
			if !got.hedge {
				refused = got
			}
			if inFlight == 0 {
				return refused.response, refused.err
			}
		}
	}
}

// unwind ends the caller's goroutine as the HTTP client has ended its own.
func (r result) unwind() {
	switch {
	case r.panicked != nil:
		panic(r.panicked)
	case r.unwound:
		runtime.Goexit()
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

// timer fires when a read is late. It never does so in a call in which something
// failed already, as when it was throttled: the SDK and the Table have their
// retries for that.
type timer struct {
	*time.Timer
	after time.Duration
}

func (c *hedgedClient) timer() *timer {
	after, known := c.late(c.r.operation)
	t := &timer{time.NewTimer(after), after}
	if !known || c.r.attempts.failures() > 0 {
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

// receive sends a request and reads its response. What kept it from being read to
// its end, the SDK meets at the same place.
func (c *hedgedClient) receive(r *http.Request, hedge bool) result {
	response, err := c.next.Do(r)
	if err != nil || response == nil {
		return result{response: response, err: err, hedge: hedge}
	}
	var body bytes.Buffer
	body.Grow(int(min(max(response.ContentLength, 0), maxBuffer)) + bytes.MinRead)
	_, err = body.ReadFrom(&limited{response.Body, maxResponse(c.r.operation)})
	_ = response.Body.Close()
	response.Body = io.NopCloser(&body)
	if err != nil {
		response.Body = io.NopCloser(io.MultiReader(&body, cutOff{err}))
	}
	success := err == nil && response.StatusCode >= 200 && response.StatusCode < 300
	return result{response: response, hedge: hedge, success: success}
}

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
