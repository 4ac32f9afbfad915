package httpapi

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/singletable/singletable/table"
)

// meter adds up what one HTTP request costs.
type meter struct {
	mu       sync.Mutex
	requests int
	capacity float64
	err      error // what the request failed for
}

func (m *meter) add(requests int, capacity float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests += requests
	m.capacity += capacity
}

func (m *meter) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// attrs returns what there is to log.
func (m *meter) attrs(c *clipper) []slog.Attr {
	m.mu.Lock()
	defer m.mu.Unlock()
	attrs := []slog.Attr{
		slog.Int("dynamodbRequests", m.requests),
		slog.Float64("dynamodbCapacity", m.capacity),
	}
	if m.err != nil {
		attrs = append(attrs, slog.String("error", c.clip(m.err.Error(), maxError)))
	}
	return attrs
}

// The greatest lengths of texts in a log line that are not constants.
const (
	maxMethod    = 32
	maxRequestID = 64
	maxPanic     = 1 << 10
	maxError     = 4 << 10
)

// clipper bounds texts and counts the bytes that it cuts.
type clipper struct{ cut int }

func (c *clipper) clip(text string, length int) string {
	if len(text) <= length {
		return text
	}
	c.cut += len(text) - length
	return text[:length]
}

type meterKey struct{}

// meterOf returns the meter of the request that the context belongs to. Outside
// of requests it is one that nobody reads.
func meterOf(ctx context.Context) *meter {
	if m, ok := ctx.Value(meterKey{}).(*meter); ok {
		return m
	}
	return &meter{}
}

// Observe adds a request to DynamoDB to the cost of the HTTP request that it is
// for. It is for the Observe option of the table.
func Observe(ctx context.Context, e table.Event) {
	meterOf(ctx).add(e.Attempts, e.Capacity)
}

// requestTime bounds how long a request takes. A client that has to wait for
// longer is told to come back.
const requestTime = 10 * time.Second

// observed gives each request an id and writes one line to the log. What a
// client sends is bounded there, and the path is left out: it names people's
// things.
func (s Server) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		id := requestID(r.Header)
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		m := &meter{}
		ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), meterKey{}, m), requestTime)
		defer cancel()
		r = r.WithContext(ctx)
		sw := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			var c clipper
			attrs := append([]slog.Attr{
				slog.String("requestId", id),
				slog.String("method", c.clip(r.Method, maxMethod)),
				slog.String("route", r.Pattern),
				slog.Int("status", sw.status),
				slog.Float64("milliseconds", float64(time.Since(start).Microseconds())/1000),
			}, m.attrs(&c)...)
			if c.cut > 0 {
				attrs = append(attrs, slog.Int("bytesCut", c.cut))
			}
			s.Log.LogAttrs(r.Context(), levelOf(r.Pattern, sw.status), "request", attrs...)
		}()
		next.ServeHTTP(sw, r)
	})
}

func levelOf(route string, status int) slog.Level {
	switch {
	case status >= http.StatusInternalServerError:
		return slog.LevelError
	case route == LivePath, route == ReadyPath:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// recovered responds with status 500 if a handler panics.
func (s Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				panic(v)
			default:
				s.fail(w, r, fmt.Errorf("panic: %.*s\n%s", maxPanic, fmt.Sprint(v), debug.Stack()))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// requestID returns the id that the client has given to its request, or a new
// one.
func requestID(h http.Header) string {
	id := h.Get("X-Request-Id")
	if id == "" || len(id) > maxRequestID {
		return rand.Text()
	}
	for _, c := range id {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == '=':
		default:
			return rand.Text()
		}
	}
	return id
}

// statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets [http.ResponseController] and the server see the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
