package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport reads a JSON-RPC message from each line, and writes one on each. A line that is no
// message gets an error if its id can be read, else a line in the log, and the session goes on:
// the SDK's transport alone would end it. Transport closes neither in nor out.
func Transport(in io.Reader, out io.Writer, log *slog.Logger) *mcp.IOTransport {
	w := &messageWriter{out: out}
	return &mcp.IOTransport{Reader: io.NopCloser(&messageReader{in: bufio.NewReader(in), out: w, log: log}), Writer: w}
}

// maxLine bounds a message, in bytes.
const maxLine = 1 << 20

// messageReader passes on the lines that are messages.
type messageReader struct {
	in   *bufio.Reader
	out  *messageWriter
	log  *slog.Logger
	rest []byte // of the line that is passed on
}

func (r *messageReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.line()
		text := bytes.TrimSpace(line)
		switch {
		case len(text) == 0:
		case len(line) <= maxLine && isMessage(text):
			r.rest = append(text, '\n')
		default:
			err = errors.Join(err, r.refuse(text))
		}
		if err != nil && len(r.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
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

// isMessage reports whether a line is a message. A batch is not one: the protocol has had none
// since its version 2025-06-18.
func isMessage(line []byte) bool {
	_, err := jsonrpc.DecodeMessage(line) // which does not look behind the message
	return err == nil && json.Valid(line)
}

// refuse replies to a line. The protocol has no response without an id.
func (r *messageReader) refuse(line []byte) error {
	var request struct{ ID any }
	_ = json.Unmarshal(line, &request)
	id, err := jsonrpc.MakeID(request.ID)
	if err != nil || !id.IsValid() {
		r.log.Warn("a line of standard input is no JSON-RPC message")
		return nil
	}
	response, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidRequest, Message: "the line is no JSON-RPC message",
	}})
	if err == nil {
		_, err = r.out.Write(append(response, '\n'))
	}
	return err
}

// messageWriter writes messages one at a time.
type messageWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *messageWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (w *messageWriter) Close() error { return nil }
