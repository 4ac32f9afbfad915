package simulate

import (
	"fmt"
	"math"
	"strings"
)

// Handled is what is said of a handler.
type Handled struct {
	Handler string `json:"handler"`
	// KeepsUp is the factor of today's load up to which it does not fall behind for good.
	KeepsUp float64  `json:"keepsUp"`
	Behind  []Behind `json:"behind"`
	// Oldest is the greatest age of a record that waited in the simulation, in seconds, in the
	// second At. Waited is the last second in which one was older than a few seconds, -1 if none
	// was, and Waits means that this was so to the end.
	Oldest float64 `json:"oldest"`
	At     int     `json:"at"`
	Waited int     `json:"waited"`
	Waits  bool    `json:"waits,omitempty"`
	// Running is how many batches were handled at once at most, and Lost how many records the
	// stream deleted before they were handled.
	Running float64 `json:"running"`
	Lost    float64 `json:"lost"`
	// LostAfter is after how many hours records are lost, if the load stays at the peak of the
	// simulation; 0 is never.
	LostAfter float64 `json:"lostAfter,omitzero"`
	// More is what more at once would change.
	More []More `json:"more,omitempty"`
}

// More is a handler that handles more at once: batches of a shard, or items of a batch.
type More struct {
	Parallel    int     `json:"parallel"`
	Concurrency int     `json:"concurrency"`
	KeepsUp     float64 `json:"keepsUp"`
	// Then is where it falls behind from there on.
	Then string `json:"then,omitempty"`
}

// late is an age of records, in seconds, that chance does not make.
const late = 5

// newHandled returns what is known of a handler before the simulation.
func newHandled(l Load, h Handler, factor float64) Handled {
	r := Handled{Handler: h.Name, Behind: Falls(l, h), Waited: -1}
	keeps, _ := keepsUp(l, h)
	r.KeepsUp = min(keeps, math.MaxFloat64)
	if keeps < factor {
		r.LostAfter = retention / 3600 / (1 - keeps/factor)
	}
	for _, n := range []int{2, 4, 10} {
		if math.IsInf(keeps, 1) {
			break
		}
		more := h
		if h.Source == reader {
			more.Concurrency = min(h.Concurrency*n, maxConcurrency)
		} else {
			more.Parallel = max(h.Parallel, n)
		}
		if more.Parallel == h.Parallel && more.Concurrency == h.Concurrency {
			continue
		}
		keeps, then := keepsUp(l, more)
		r.More = append(r.More, More{more.Parallel, more.Concurrency, min(keeps, math.MaxFloat64), then.Why})
	}
	return r
}

// add adds a second of the simulation.
func (r *Handled) add(second int, s Reading) {
	if s.Oldest > r.Oldest {
		r.Oldest, r.At = s.Oldest, second
	}
	r.Waits = s.Oldest >= late
	if r.Waits {
		r.Waited = second
	}
	r.Running, r.Lost = max(r.Running, s.Running), r.Lost+s.Lost
}

// handled writes what is said of the handlers.
func (r Report) handled(line func(string, ...any)) {
	if len(r.Handlers) == 0 {
		return
	}
	line("\nHandlers of the stream:")
	if len(r.Handlers) > readers {
		line("  %d read each shard, and AWS advises at most %d: more can be throttled, which is not in the model. Kinesis takes more: see kinesis of the file", len(r.Handlers), readers)
	}
	for i, h := range r.Handlers {
		keeps := keepsText(h.KeepsUp, "")
		if h.KeepsUp < math.MaxFloat64 && h.KeepsUp > r.Holds {
			keeps += ", more than the table holds"
		}
		line("  %s: %s", h.Handler, keeps)
		for n, x := range h.Behind {
			if n >= mostLimits || x.Factor > mostFactor {
				line("    … and %d more; see -json", len(h.Behind)-n)
				break
			}
			line("    from %8s  %s. Written by %s.", number(x.Factor), x.Why, strings.Join(x.Patterns, ", "))
		}
		line("    simulated: %s; at most %s at once", h.ages(), batches(h.Running))
		if h.LostAfter > 0 {
			line("    at the peak of this load, records are lost after %s hours: a stream keeps them for %d", number(h.LostAfter), retention/3600)
		}
		for _, m := range h.More {
			what := fmt.Sprintf("%d batches of a shard at once", m.Parallel)
			if r.Load.Handlers[i].Source == reader {
				what = fmt.Sprintf("%d items of a batch at once", m.Concurrency)
			}
			line("    %s: %s", what, keepsText(m.KeepsUp, m.Then))
		}
	}
}

func keepsText(factor float64, then string) string {
	switch {
	case factor >= math.MaxFloat64:
		return "keeps up with all that the table takes"
	case then == "":
		return fmt.Sprintf("keeps up with %s times today's load", number(factor))
	}
	return fmt.Sprintf("keeps up with %s times today's load, then %s", number(factor), then)
}

func batches(n float64) string {
	if n == 1 {
		return "1 batch"
	}
	return number(n) + " batches"
}

// ages says how old the records became.
func (r Handled) ages() string {
	lost := ""
	if r.Lost > 0 {
		lost = fmt.Sprintf("; %s records were lost", number(r.Lost))
	}
	switch {
	case r.Waited < 0:
		return "never behind"
	case r.Waits:
		return fmt.Sprintf("a record was %s seconds old in second %s, and some were waiting at the end%s", number(r.Oldest), number(float64(r.At)), lost)
	}
	return fmt.Sprintf("a record was %s seconds old in second %s, and none was late after second %s%s",
		number(r.Oldest), number(float64(r.At)), number(float64(r.Waited)), lost)
}
