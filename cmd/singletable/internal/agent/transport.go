package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport reads a JSON-RPC message from each line, and writes one on each. A line that is no
// message gets an error if its id can be read, else a line in the log, and the session goes on:
// the SDK's transport alone would end it. A line can be a batch, where the version of the
// protocol has them; its responses are one line. The end of in is the end of the session once
// every request has its response: the SDK alone would drop those. Transport closes neither in
// nor out.
func Transport(in io.Reader, out io.Writer, log *slog.Logger) *mcp.IOTransport {
	s := newExchange(out)
	return &mcp.IOTransport{Reader: &messageReader{in: bufio.NewReader(in), exchange: s, log: log}, Writer: s}
}

// maxLine bounds a message, in bytes.
const maxLine = 1 << 20

// messageReader passes on the lines that are messages, and the messages of batches.
type messageReader struct {
	in       *bufio.Reader
	exchange *exchange
	log      *slog.Logger
	rest     []byte // of the lines that are passed on
}

func (r *messageReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.line()
		text := bytes.TrimSpace(line)
		switch {
		case len(text) == 0:
		case len(line) <= maxLine && isMessage(text):
			if r.exchange.begin(text, nil) {
				r.rest = append(text, '\n')
			} else { // A response would be taken for that of the other request.
				r.log.Warn("a request has the id of one that has no response yet: it is left out")
			}
		case len(line) <= maxLine && text[0] == '[':
			err = errors.Join(err, r.batch(text))
		default:
			err = errors.Join(err, r.refuse(text, nil, noMessage))
		}
		if err != nil && len(r.rest) == 0 {
			r.exchange.await(func() bool { return len(r.exchange.pending) == 0 })
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close ends the wait for responses.
func (r *messageReader) Close() error {
	r.exchange.end()
	return nil
}

// line returns the next line. A longer one than maxLine is cut off behind that.
func (r *messageReader) line() (line []byte, err error) {
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// isMessage reports whether a line is a message that the server can take. A batch is not one, and
// neither is a response: the server has no requests.
func isMessage(line []byte) bool {
	message, err := jsonrpc.DecodeMessage(line) // which does not look behind the message
	if _, isRequest := message.(*jsonrpc.Request); err != nil || !isRequest || !json.Valid(line) {
		return false
	}
	id := idOf(line)
	return id == nil || echoes(id)
}

// idOf returns the id of a message as it is written, nil for one that has none.
func idOf(text []byte) json.RawMessage {
	var message struct{ ID json.RawMessage }
	if json.Unmarshal(text, &message) != nil || string(message.ID) == "null" {
		return nil
	}
	return message.ID
}

// echoes reports whether the SDK, which has ids as whole numbers and reads them as floating-point
// ones, returns an id as it was. The protocol has texts and whole numbers as ids.
func echoes(id json.RawMessage) bool {
	const most = 1 << 53
	var number float64
	if json.Unmarshal(id, &number) != nil {
		return id[0] == '"'
	}
	return number == math.Trunc(number) && math.Abs(number) < most
}

// batch passes on the messages of a batch. Where the version of the protocol has none, each of
// its requests gets an error.
func (r *messageReader) batch(line []byte) error {
	var messages []json.RawMessage
	if json.Unmarshal(line, &messages) != nil || len(messages) == 0 {
		return r.refuse(line, nil, noMessage)
	}
	if !r.exchange.takesBatches() {
		var errs []error
		for _, text := range messages {
			errs = append(errs, r.refuse(text, nil, "the version of the protocol has no batches: send each message on a line of its own"))
		}
		return errors.Join(errs...)
	}
	// It is held open until all of its messages are known.
	b := &messageBatch{open: 1}
	var err error
	for _, text := range messages {
		if !isMessage(text) || !r.exchange.begin(text, b) {
			err = errors.Join(err, r.refuse(text, b, noMessage))
			continue
		}
		var compact bytes.Buffer
		_ = json.Compact(&compact, text) // It is valid.
		r.rest = append(append(r.rest, compact.Bytes()...), '\n')
	}
	return errors.Join(err, r.exchange.close(b))
}

// noMessage says why most lines are refused.
const noMessage = "the line is no JSON-RPC message, or its id is in use, or a number that is not whole or has more than 53 bits"

// refuse replies to a line, or to a part of a batch. The protocol has no response without an id.
func (r *messageReader) refuse(text []byte, of *messageBatch, why string) error {
	id := idOf(text)
	message, _ := jsonrpc.DecodeMessage(text)
	response, isResponse := message.(*jsonrpc.Response)
	switch {
	case isResponse && (response.Result != nil || response.Error != nil):
		r.log.Warn("a line of standard input is a response, and nothing was requested")
		return nil
	case id == nil || !strings.ContainsAny(string(id[:1]), `"-0123456789`):
		r.log.Warn("a line of standard input is no JSON-RPC message")
		return nil
	}
	// The SDK would write another id than this one.
	refused, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why}})
	if err != nil {
		return err
	}
	return r.exchange.reply(refused, of)
}
