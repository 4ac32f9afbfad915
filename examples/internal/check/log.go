package check

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// Log keeps what was written to it. It is safe for concurrent use, and its zero
// value is ready.
type Log struct {
	mu      sync.Mutex
	text    strings.Builder
	written chan struct{} // closed by the next write
}

// Write implements [io.Writer].
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written != nil {
		close(l.written)
		l.written = nil
	}
	return l.text.Write(p)
}

// String returns what was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Wait returns once a text has been written.
func (l *Log) Wait(tb testing.TB, text string) {
	tb.Helper()
	timeout := time.After(20 * time.Second)
	for {
		l.mu.Lock()
		found := strings.Contains(l.text.String(), text)
		if l.written == nil {
			l.written = make(chan struct{})
		}
		written := l.written
		l.mu.Unlock()
		if found {
			return
		}
		select {
		case <-written:
		case <-timeout:
			tb.Fatalf("no %s in\n%s", text, l)
		}
	}
}
