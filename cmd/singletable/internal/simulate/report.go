package simulate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Report is what is said of a load.
type Report struct {
	Load Load `json:"load"`
	// Holds is the factor of today's load up to which nothing is refused for good.
	Holds  float64 `json:"holds"`
	Limits []Limit `json:"limits"`
	Costs  Costs   `json:"costs"`
	Prices Prices  `json:"prices"`
	// Changes are what other designs would do.
	Changes []Change `json:"changes"`
	// The simulation took so many seconds, at a factor of today's load.
	seconds int
	factor  float64
	// Seconds are those of the simulation: if there are many, the greatest values of some
	// seconds together.
	Seconds []Second `json:"seconds"`
	// Refusals has a row for each pattern, and Handlers one for each handler of the stream.
	Refusals []Refusal `json:"refusals"`
	Handlers []Handled `json:"handlers,omitempty"`
	// Kinesis has the limits of the data stream.
	Kinesis []Full `json:"kinesis,omitempty"`
}

// Refusal is how often a pattern was refused in the simulation.
type Refusal struct {
	Pattern string `json:"pattern"`
	// Refused is how many of all Times.
	Refused float64 `json:"refused"`
	Times   float64 `json:"times"`
	// First and Last are the seconds in which it was, if it was.
	First int `json:"first"`
	Last  int `json:"last"`
}

// Change is another design.
type Change struct {
	What  string  `json:"what"`
	Holds float64 `json:"holds"`
	// Then is what refuses from there on.
	Then string `json:"then,omitempty"`
	// Dollars is what a month costs more, or less.
	Dollars float64 `json:"dollars"`
}

// maxSeconds bounds the seconds in a report.
const maxSeconds = 600

// New simulates a load and reports it.
func New(l Load, seconds int, factor float64, seed uint64, p Prices) Report {
	r := Report{seconds: seconds, factor: factor, Load: l, Limits: Limits(l), Costs: Month(l, factor, p), Prices: p, Changes: changes(l, factor, p), Kinesis: Fills(l)}
	r.Holds, _ = Holds(l)
	if math.IsInf(r.Holds, 1) {
		r.Holds = math.MaxFloat64
	}
	for _, pattern := range l.Patterns {
		r.Refusals = append(r.Refusals, Refusal{Pattern: pattern.Name})
	}
	for _, h := range l.Handlers {
		r.Handlers = append(r.Handlers, newHandled(l, h, factor))
	}
	every := max(1, (seconds+maxSeconds-1)/maxSeconds)
	Run(l, seconds, factor, seed, func(s Second) {
		for i, pattern := range l.Patterns {
			r.Refusals[i].add(s, s.ByPattern[i], pattern.Rate*s.Factor)
		}
		for i, h := range s.Handlers {
			r.Handlers[i].add(s.Second, h)
		}
		if s.Second%every == 0 {
			s.ByPattern, s.Handlers = slices.Clone(s.ByPattern), slices.Clone(s.Handlers)
			r.Seconds = append(r.Seconds, s)
			return
		}
		r.Seconds[len(r.Seconds)-1].max(s)
	})
	return r
}

// max keeps the greatest of two seconds.
func (s *Second) max(other Second) {
	s.Factor, s.Refused, s.Partitions = max(s.Factor, other.Factor), max(s.Refused, other.Refused), max(s.Partitions, other.Partitions)
	s.Taken = Units{max(s.Taken.Read, other.Taken.Read), max(s.Taken.Write, other.Taken.Write)}
	for i, refused := range other.ByPattern {
		s.ByPattern[i] = max(s.ByPattern[i], refused)
	}
	for i, h := range other.Handlers {
		of := &s.Handlers[i]
		of.Oldest, of.Running, of.Lost = max(of.Oldest, h.Oldest), max(of.Running, h.Running), max(of.Lost, h.Lost)
	}
}

func (r *Refusal) add(s Second, refused, times float64) {
	if refused > 0 && r.Refused == 0 {
		r.First = s.Second
	}
	if refused > 0 {
		r.Last = s.Second
	}
	r.Refused, r.Times = r.Refused+refused, r.Times+times
}

// changes are the designs next to this one: more shards for what refuses first, and each index
// or copy left out.
func changes(l Load, factor float64, p Prices) (all []Change) {
	now := Month(l, factor, p).Total
	add := func(what string, other Load) {
		holds, first := Holds(other)
		then := ""
		if first.Most > 0 {
			then = fmt.Sprintf("%s refuses %s", placeText(first.Place), map[bool]string{false: "reads", true: "writes"}[first.Write])
		}
		all = append(all, Change{what, min(holds, math.MaxFloat64), then, Month(other, factor, p).Total - now})
	}
	_, first := Holds(l)
	if adapting, ok := Adapting(l); ok && adapting.Keys != "" && adapting.Factor < first.Factor {
		first = adapting
	}
	if first.Keys != "" && first.Write {
		for _, times := range []int{2, 4, 16} {
			if n := l.Keys[first.Keys].Shards * times; n <= maxShards {
				add(fmt.Sprintf("%d shards for %q", n, first.Keys), l.WithShards(first.Keys, n))
			}
		}
	}
	for _, d := range l.demands()[1:] {
		add("without index "+d.place+" and its queries", l.withoutIndex(d.place))
	}
	return all
}

// withoutIndex returns a load that neither writes nor reads an index.
func (l Load) withoutIndex(name string) Load {
	changed := l
	changed.Patterns = nil
	for _, p := range l.Patterns {
		kept := p
		kept.Requests = nil
		for _, r := range p.Requests {
			if r.In == name {
				continue
			}
			var indexes []IndexWrite
			for _, x := range r.Indexes {
				if x.In != name {
					indexes = append(indexes, x)
				}
			}
			r.Indexes = indexes
			kept.Requests = append(kept.Requests, r)
		}
		if len(kept.Requests) > 0 {
			changed.Patterns = append(changed.Patterns, kept)
		}
	}
	return changed
}

// Text returns the report for people.
func (r Report) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if r.Holds >= math.MaxFloat64 {
		line("%s: nothing refuses for good.", r.Load.Name)
	} else {
		line("%s holds %s times today's load. Then:", r.Load.Name, number(r.Holds))
	}
	r.limits(line, false, "")
	if first, ok := Adapting(r.Load); ok {
		r.limits(line, true, fmt.Sprintf("From %s times on, DynamoDB adapts by itself, after minutes in which it refuses requests:", number(first.Factor)))
	}
	line("\nSimulated %s seconds, at a load of %s times today's:", number(float64(r.seconds)), number(r.factor))
	for _, x := range r.Refusals {
		if x.Refused == 0 {
			line("  %s: never refused", x.Pattern)
			continue
		}
		line("  %s: %s of %s times refused, from second %d to %d", x.Pattern, number(x.Refused), number(x.Times), x.First, x.Last)
	}
	r.handled(line)
	r.filled(line)
	line("\nA month at %s times today's load, by the prices of %s of %s:", number(r.factor), r.Prices.Region, r.Prices.Date)
	for _, c := range r.Costs.Patterns {
		cost := dollars(c.Dollars)
		if r.Load.Provisioned.Read > 0 { // which is paid for as a whole
			cost = ""
		}
		line("  %12s  %s: %s read and %s write units each time", cost, c.Name, number(c.Units.Read), number(c.Units.Write))
	}
	for _, c := range r.Costs.Places {
		u := Units{}.add(c.Units, r.factor)
		line("  %12s  %s: %s read and %s write units a second", dollars(c.Dollars), placeText(c.Name), number(u.Read), number(u.Write))
	}
	line("  %12s  in all, with %s for storage", dollars(r.Costs.Total), dollars(r.Costs.Storage))
	if len(r.Changes) > 0 {
		line("\nOther designs:")
	}
	for _, c := range r.Changes {
		holds := "nothing refuses for good"
		if c.Holds < math.MaxFloat64 {
			holds = fmt.Sprintf("holds %s times today's load, then %s", number(c.Holds), c.Then)
		}
		line("  %s: %s; %s a month", c.What, holds, map[bool]string{true: dollars(c.Dollars), false: "+" + dollars(c.Dollars)}[c.Dollars < 0])
	}
	a := r.Load.Assumptions
	line("\nAssumed, since AWS does not document it: a partition is divided after %d seconds over its limits, and an on-demand table", a.SplitAfter)
	if len(r.Load.Handlers) > 0 {
		line("is scaled for twice a new peak after %d seconds. A function asks a shard for records %d times a second, and items are", a.GrowAfter, a.Polls)
		line("spread over the batches of a shard by their hash. Retries, failures of handlers, other tables of the account and")
		line("latencies are not in the model.")
		return b.String()
	}
	line("is scaled for twice a new peak after %d seconds. Retries, other tables of the account and latencies are not in the model.", a.GrowAfter)
	return b.String()
}

// The text has so many limits of each sort, up to a factor.
const (
	mostLimits = 8
	mostFactor = 10_000
)

func (r Report) limits(line func(string, ...any), adapts bool, title string) {
	n, hidden := 0, 0
	for _, x := range r.Limits {
		if x.Adapts != adapts {
			continue
		}
		if n == 0 && title != "" {
			line("%s", title)
		}
		if n++; n > mostLimits || x.Factor > mostFactor {
			hidden++
			continue
		}
		line("  from %8s  %s. Asked for by %s.", number(x.Factor), x.Why, strings.Join(x.Patterns, ", "))
	}
	if hidden > 0 {
		line("  … and %d more; see -json", hidden)
	}
}

// number writes a number with three digits, and all before the point.
func number(f float64) string {
	if f >= 999.5 {
		text := strconv.FormatFloat(math.Round(f), 'f', 0, 64)
		for i := len(text) - 3; i > 0; i -= 3 {
			text = text[:i] + "," + text[i:]
		}
		return text
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

func dollars(f float64) string {
	sign := ""
	if f < 0 {
		sign = "-"
	}
	if f = math.Abs(f); f >= 1000 {
		return sign + "$" + number(f)
	}
	return sign + "$" + strconv.FormatFloat(f, 'f', 2, 64)
}
