package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/singletable/singletable/table"
)

// meter adds up what the requests cost. A service would feed its metrics from
// the same events.
type meter struct {
	mu       sync.Mutex
	requests int
	units    float64
}

func (m *meter) observe(_ context.Context, e table.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	m.units += e.Capacity
}

// take returns the sums since the last call.
func (m *meter) take() (requests int, units float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	requests, units = m.requests, m.units
	m.requests, m.units = 0, 0
	return requests, units
}

// report prints access patterns for a reader.
type report struct {
	out   io.Writer
	meter *meter
}

func (r report) title(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(r.out, "\n%s\n%s\n", text, strings.Repeat("-", len(text)))
}

func (r report) line(format string, args ...any) {
	fmt.Fprintf(r.out, format+"\n", args...)
}

// rows prints lines of tab-separated cells in columns.
func (r report) rows(lines ...string) {
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintf(w, "    %s\n", l)
	}
	_ = w.Flush() // the report's writer keeps its own error
}

// cost prints what was spent since the last call.
func (r report) cost(kind string, found int) {
	requests, units := r.meter.take()
	r.line("  found %d, requests %d, %s units %g", found, requests, kind, units)
}

// stickyWriter remembers the first error, so that a report need not look at
// each line.
type stickyWriter struct {
	io.Writer
	err error
}

func (w *stickyWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.Writer.Write(p)
	w.err = err
	return n, err
}
