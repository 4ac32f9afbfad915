// Package report prints what the example programs do, for a reader: access
// patterns, keys, rows, and what the requests cost.
package report

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Meter adds up what the requests cost. A service would feed its metrics from
// the same events. It is safe for concurrent use; its zero value is ready.
type Meter struct {
	mu       sync.Mutex
	requests int
	units    float64
}

// Observe is for the Observe option of a table.
func (m *Meter) Observe(_ context.Context, e table.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	m.units += e.Capacity
}

// Take returns the sums since the last call.
func (m *Meter) Take() (requests int, units float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	requests, units = m.requests, m.units
	m.requests, m.units = 0, 0
	return requests, units
}

// Report prints to Out, which keeps its own errors: see [Writer].
type Report struct {
	Out   io.Writer
	Meter *Meter
}

// Title begins a section.
func (r Report) Title(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(r.Out, "\n%s\n%s\n", text, strings.Repeat("-", utf8.RuneCountInString(text)))
}

// Line prints a line.
func (r Report) Line(format string, args ...any) {
	fmt.Fprintf(r.Out, format+"\n", args...)
}

// Rows prints lines of tab-separated cells in columns.
func (r Report) Rows(lines ...string) {
	w := tabwriter.NewWriter(r.Out, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintf(w, "    %s\n", l)
	}
	_ = w.Flush() // Out keeps its own error
}

// Query prints what a query asks a table for, by the names of the keys.
func (r Report) Query(s schema.Table, q table.Query) {
	where, pk, sk := "table", cmp.Or(s.PK, "pk"), cmp.Or(s.SK, "sk")
	for _, x := range s.Indexes {
		if x.Name == q.Index {
			where, pk, sk = "index "+x.Name, x.PK, x.SK
		}
	}
	text := fmt.Sprintf("%s, %s = %s", where, pk, q.PK)
	switch {
	case q.Range.Prefix != "":
		text += fmt.Sprintf(" and %s begins with %s", sk, q.Range.Prefix)
	case q.Range.From != "":
		text += fmt.Sprintf(" and %s from %s to %+q", sk, q.Range.From, q.Range.To)
	}
	if q.Descending {
		text += ", backwards"
	}
	r.Line("  %s", text)
}

// Found prints a row for each value that was read, and what was spent on it.
func Found[T any](r Report, values []T, row func(T) string) {
	rows := make([]string, len(values))
	for i, v := range values {
		rows[i] = row(v)
	}
	r.Rows(rows...)
	r.Cost("read", len(values))
}

// Cost prints how much was found and what was spent since the last call.
func (r Report) Cost(kind string, found int) {
	requests, units := r.Meter.Take()
	r.Line("  found %d, requests %d, %s units %g", found, requests, kind, units)
}

// Spent prints what was spent on something since the last call.
func (r Report) Spent(what string) {
	requests, units := r.Meter.Take()
	r.Line("  %s: requests %d, units %g", what, requests, units)
}

// Writer remembers the first error, so that a report need not look at each
// line.
type Writer struct {
	io.Writer
	Err error
}

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	if w.Err != nil {
		return 0, w.Err
	}
	n, err := w.Writer.Write(p)
	w.Err = err
	return n, err
}
