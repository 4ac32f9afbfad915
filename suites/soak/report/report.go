// Package report counts what a soak did and prints it as a table.
package report

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/singletable/singletable/table"
)

// Report counts operations, faults and promises. The zero value is ready to use.
// It is safe for concurrent use.
type Report struct {
	mu       sync.Mutex
	ops      map[string]*ops
	faults   map[string]int
	promises map[Promise]*tally
	requests int
	retries  int
	replayed int
	mended   int
	failures []string
	notes    []string
}

// ops are the operations of one kind by their outcome.
type ops struct{ done, refused, unknown, failed int }

// tally is how often a promise was tried and how often it did not hold.
type tally struct{ tried, broken int }

// maxFailures bounds what is printed of a promise that is broken all the time.
const maxFailures = 4

// Op counts an operation by what came of it.
func (r *Report) Op(name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ops == nil {
		r.ops = make(map[string]*ops)
	}
	o := r.ops[name]
	if o == nil {
		o = &ops{}
		r.ops[name] = o
	}
	switch {
	case err == nil:
		o.done++
	case errors.Is(err, table.ErrOutcomeUnknown):
		o.unknown++
	case table.Classify(err) == table.Permanent, errors.Is(err, table.ErrConflict):
		o.refused++
	default:
		o.failed++
	}
}

// Fault counts a fault.
func (r *Report) Fault(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faults == nil {
		r.faults = make(map[string]int)
	}
	r.faults[kind]++
}

// Requests counts requests, those among them that the SDK sent again, those that were sent
// without its client, and faults from which the library recovered.
func (r *Report) Requests(sent, again, replayed, mended int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests += sent
	r.retries += again
	r.replayed += replayed
	r.mended += mended
}

// Note adds a remark to the table.
func (r *Report) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// Check counts that a promise was tried. An error, which says how it was broken,
// is kept with where it happened.
func (r *Report) Check(p Promise, where string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.promises == nil {
		r.promises = make(map[Promise]*tally)
	}
	t := r.promises[p]
	if t == nil {
		t = &tally{}
		r.promises[p] = t
	}
	t.tried++
	if err == nil {
		return
	}
	t.broken++
	if t.broken <= maxFailures {
		r.failures = append(r.failures, fmt.Sprintf("%s: %s: %v", where, p, err))
	}
}

// Broken returns how often a promise did not hold so far.
func (r *Report) Broken(p Promise) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.promises[p]; t != nil {
		return t.broken
	}
	return 0
}

// Verdict returns what is wrong with the run: promises that were broken, and
// promises and faults that were to be tried and were not. Requests are to be tried both ways:
// replayed, and made by the SDK's client.
func (r *Report) Verdict(promises []Promise, faults []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, f := range r.failures {
		errs = append(errs, errors.New(f))
	}
	if r.requests > 0 && (r.replayed == 0 || r.replayed == r.requests) {
		errs = append(errs, fmt.Errorf("only one way was tried: %d of %d requests were replayed", r.replayed, r.requests))
	}
	return errors.Join(append(errs, r.missing(promises, faults)...)...)
}

// Complete reports whether all promises were tried and all faults injected.
func (r *Report) Complete(promises []Promise, faults []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.missing(promises, faults)) == 0
}

func (r *Report) missing(promises []Promise, faults []string) []error {
	var errs []error
	for _, p := range promises {
		if t := r.promises[p]; t == nil || t.tried == 0 {
			errs = append(errs, fmt.Errorf("never tried: %s", p))
		}
	}
	for _, f := range faults {
		if r.faults[f] == 0 {
			errs = append(errs, fmt.Errorf("never injected: %s", f))
		}
	}
	return errs
}

// Print writes the table.
func (r *Report) Print(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	line := func(first, second, third, fourth any, what string) {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%8v %8v %8v %8v  %s", first, second, third, fourth, what), " "))
	}

	line("done", "refused", "unknown", "failed", "OPERATION")
	var sum ops
	for _, name := range slices.Sorted(maps.Keys(r.ops)) {
		o := r.ops[name]
		line(o.done, o.refused, o.unknown, o.failed, name)
		sum.done, sum.refused = sum.done+o.done, sum.refused+o.refused
		sum.unknown, sum.failed = sum.unknown+o.unknown, sum.failed+o.failed
	}
	line(sum.done, sum.refused, sum.unknown, sum.failed, "all")
	line("", "", "", "", "")
	line("", "", "", "times", "REQUEST")
	line("", "", "", r.requests, "sent")
	line("", "", "", r.retries, "of these, sent again by the SDK")
	line("", "", "", r.replayed, "of these, replayed")
	line("", "", "", r.mended, "faults made good by the library itself")
	line("", "", "", "", "")
	line("", "", "", "times", "FAULT")
	for _, kind := range slices.Sorted(maps.Keys(r.faults)) {
		line("", "", "", r.faults[kind], kind)
	}
	line("", "", "", "", "")
	line("", "tried", "held", "broken", "PROMISE")
	for _, p := range All() {
		c := r.promises[p]
		if c == nil {
			c = &tally{}
		}
		line("", c.tried, c.tried-c.broken, c.broken, string(p))
	}
	for _, n := range r.notes {
		fmt.Fprintln(&b, n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
