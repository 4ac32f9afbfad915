package agent

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// exchange knows which requests wait for their responses, and writes these.
type exchange struct {
	mu  sync.Mutex
	out io.Writer
	// pending are the requests without a response. The batch is nil for one in none.
	pending map[jsonrpc.ID]*messageBatch
	// initialize is the id of the request that agrees on the version, and version the result.
	initialize jsonrpc.ID
	version    string
	// responded gets a value with each response. ended is closed at the end of the session.
	responded chan struct{}
	ended     chan struct{}
	once      sync.Once
}

// messageBatch is a batch of messages.
type messageBatch struct {
	open      int // what has no response yet
	responses []json.RawMessage
}

func newExchange(out io.Writer) *exchange {
	return &exchange{out: out, pending: map[jsonrpc.ID]*messageBatch{}, responded: make(chan struct{}, 1), ended: make(chan struct{})}
}

// begin notes a message that the client has sent. It returns false for a request whose id is in
// use.
func (e *exchange) begin(text []byte, of *messageBatch) bool {
	message, _ := jsonrpc.DecodeMessage(text)
	request, ok := message.(*jsonrpc.Request)
	if !ok || !request.ID.IsValid() {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, used := e.pending[request.ID]; used {
		return false
	}
	e.pending[request.ID] = of
	if of != nil {
		of.open++
	}
	if request.Method == "initialize" {
		e.initialize = request.ID
	}
	return true
}

// withoutBatches is the version of the protocol that took batches away.
const withoutBatches = "2025-06-18"

// takesBatches reports whether the version of the session has batches. It waits until the client
// and the server have agreed on a version.
func (e *exchange) takesBatches() bool {
	e.await(func() bool {
		_, unknown := e.pending[e.initialize]
		return !unknown
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.version != "" && e.version < withoutBatches
}

// longestCall is how long a response takes at most, after the one before it.
const longestCall = 5 * time.Minute

// await waits until done, which is called with the lock held. It is called by the reader only.
func (e *exchange) await(done func() bool) {
	limit := time.NewTimer(longestCall)
	defer limit.Stop()
	for {
		e.mu.Lock()
		over := done()
		e.mu.Unlock()
		if over {
			return
		}
		select {
		case <-e.responded:
			limit.Reset(longestCall)
		case <-e.ended:
			return
		case <-limit.C:
			return
		}
	}
}

// end ends all waits.
func (e *exchange) end() { e.once.Do(func() { close(e.ended) }) }

// Write writes a message of the server, or adds it to the responses of its batch.
func (e *exchange) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	message, _ := jsonrpc.DecodeMessage(p)
	response, ok := message.(*jsonrpc.Response)
	if !ok {
		return e.out.Write(p)
	}
	of := e.pending[response.ID]
	if response.ID == e.initialize {
		var result struct{ ProtocolVersion string }
		_ = json.Unmarshal(response.Result, &result) // There is none in an error.
		e.version = result.ProtocolVersion
	}
	err := e.add(bytes.TrimSpace(p), of)
	// It has its response before nobody waits for it any more.
	delete(e.pending, response.ID)
	select {
	case e.responded <- struct{}{}:
	default: // The reader has not seen the one before.
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// reply writes a response that the server has not made.
func (e *exchange) reply(response []byte, of *messageBatch) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if of != nil {
		of.open++
	}
	return e.add(response, of)
}

// close writes a batch that has all responses, now that its messages are known.
func (e *exchange) close(b *messageBatch) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b.open--
	return e.finish(b)
}

// add writes a response, or all responses of a batch with its last one.
func (e *exchange) add(response []byte, of *messageBatch) error {
	if of == nil {
		_, err := e.out.Write(append(bytes.Clone(response), '\n'))
		return err
	}
	of.open--
	of.responses = append(of.responses, bytes.Clone(response))
	return e.finish(of)
}

// finish writes the responses of a batch, if they are all there.
func (e *exchange) finish(b *messageBatch) error {
	if b.open > 0 || len(b.responses) == 0 {
		return nil
	}
	text, err := json.Marshal(b.responses)
	if err == nil {
		_, err = e.out.Write(append(text, '\n'))
	}
	return err
}

// Close does not close the output.
func (e *exchange) Close() error { return nil }
