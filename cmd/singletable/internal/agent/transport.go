package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"

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
			r.exchange.begin(text, nil)
			r.rest = append(text, '\n')
		case len(line) <= maxLine && text[0] == '[' && r.exchange.takesBatches():
			err = errors.Join(err, r.batch(text))
		default:
			err = errors.Join(err, r.refuse(text, nil))
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

// isMessage reports whether a line is a message. A batch is not one.
func isMessage(line []byte) bool {
	_, err := jsonrpc.DecodeMessage(line) // which does not look behind the message
	return err == nil && json.Valid(line)
}

// batch passes on the messages of a batch.
func (r *messageReader) batch(line []byte) error {
	var messages []json.RawMessage
	if json.Unmarshal(line, &messages) != nil || len(messages) == 0 {
		return r.refuse(line, nil)
	}
	// It is held open until all of its messages are known.
	b := &messageBatch{open: 1}
	var err error
	for _, text := range messages {
		if !isMessage(text) || !r.exchange.begin(text, b) {
			err = errors.Join(err, r.refuse(text, b))
			continue
		}
		var compact bytes.Buffer
		_ = json.Compact(&compact, text) // It is valid.
		r.rest = append(append(r.rest, compact.Bytes()...), '\n')
	}
	return errors.Join(err, r.exchange.close(b))
}

// refuse replies to a line, or to a part of a batch. The protocol has no response without an id.
func (r *messageReader) refuse(text []byte, of *messageBatch) error {
	var request struct{ ID any }
	_ = json.Unmarshal(text, &request)
	id, err := jsonrpc.MakeID(request.ID)
	if err != nil || !id.IsValid() {
		r.log.Warn("a line of standard input is no JSON-RPC message")
		return nil
	}
	response, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidRequest, Message: "the line is no JSON-RPC message, or its id is in use",
	}})
	if err != nil {
		return err
	}
	return r.exchange.reply(response, of)
}
