package hedge

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/internal/response"
)

// read is one request that may be sent twice.
type read struct {
	*budget
	next      aws.HTTPClient
	operation string
	// first means that it is the SDK's first attempt.
	first bool
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

// do sends the request, and once more if it is late. If the HTTP client panics, so does do:
// only its own goroutine is one that the caller can recover in.
func (c *read) do(r *http.Request) (*http.Response, error) {
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
				inFlight++
				send(ctx, true)
			}
		case got := <-results:
			inFlight--
			if got.unwound {
				return nil, nil // to nobody: the group ends this goroutine
			}
			switch {
			case got.success:
				c.succeeded(c.operation, time.Since(start), got.hedge)
				return got.response, nil
			case ctx.Err() == nil: // what the caller has ended tells nothing
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

// timer fires when a request is late.
type timer struct {
	*time.Timer
	after time.Duration
}

// timer returns one that never fires in a retry, as of a request that was throttled: the
// SDK has its delays for that.
func (c *read) timer() *timer {
	after, known := c.begin(c.operation)
	t := &timer{time.NewTimer(after), after}
	//mutants:guard a request that failed is not hedged | TestFates | || !c.first =>
	if !known || !c.first {
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
func (c *read) deliver(r *http.Request, hedge bool, to chan<- result) {
	got := result{unwound: true}
	defer func() { to <- got }()
	got = c.receive(r)
	got.hedge = hedge
}

// receive sends a request and reads its response. What kept it from being read to its end,
// the SDK meets at the same place.
func (c *read) receive(r *http.Request) result {
	received, err := c.next.Do(r)
	if err != nil || received == nil {
		return result{response: received, err: err}
	}
	var body bytes.Buffer
	body.Grow(int(min(max(received.ContentLength, 0), maxBuffer)) + bytes.MinRead)
	limited := response.LimitBody(received.Body, response.MaxOf(c.operation))
	_, err = body.ReadFrom(limited)
	_ = limited.Close()
	received.Body = io.NopCloser(&body)
	if err != nil {
		received.Body = response.CutOff(body.Bytes(), err)
	}
	return result{response: received, success: err == nil && received.StatusCode >= 200 && received.StatusCode < 300}
}

// maxBuffer bounds what is reserved for a response before it is read.
const maxBuffer = 1 << 20

// takeBody reads and closes the body of a request, as an HTTP client must.
func takeBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	return body, err
}
